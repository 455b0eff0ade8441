"""A SLURM of one node, of Debian's programs as tools/slurm.sh unpacks them, on loopback.

Nothing is installed and no service of the machine's is asked or disturbed: the three daemons are
processes of ours, with keys, ports and folders of their own, and end with the block.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.patience import end, patiently
from support.skipping import skip

UNPACKED = Path(__file__).resolve().parents[2] / "build" / "slurm"
# A requeued element waits for as long as a credential lives, two minutes if it is not said: slurmd
# refuses one of the second in which the last one was revoked ("already killed"), and slurmctld then
# ends the element with exit code 1. Too short, one expires on a busy machine before it is read.
CONFIGURATION = """
ClusterName=one
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=10
CredType=cred/munge
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=10000,batch_sched_delay=0,bf_interval=1
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """A SLURM that runs; its commands are found in `environment`."""

    environment: dict[str, str]
    folder: Path

    def __call__(self, program: str, *arguments: str) -> str:
        """Return what a command of it says; fail where it fails."""
        path = shutil.which(program, path=self.environment["PATH"])
        assert path is not None
        done = subprocess.run(
            [path, *arguments], env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def states(self, job: str) -> list[str]:
        """Return the states of a job's elements that have not ended."""
        return self("squeue", "--noheader", "--array", f"--job={job}", "--format=%T").split()

    def told(self, job: str, element: int) -> dict[str, str]:
        """Return what SLURM knows of an element."""
        words = self("scontrol", "--oneliner", "show", "job", f"{job}_{element}").split()
        return {name: value for name, _, value in (word.partition("=") for word in words)}

    def said(self, job: str) -> str:
        """Return what the daemons said of the element whose own number is `job`."""
        about_it = re.compile(rf"\bjob {job}\b|JobId={job}\b|\({job}\)", re.IGNORECASE)
        texts = (path.read_text() for path in sorted(self.folder.glob("slurm*.txt")))
        lines = (line for text in texts for line in text.splitlines())
        return "\n".join(line for line in lines if about_it.search(line))


@contextlib.contextmanager
def one_node(folder: Path) -> Iterator[Slurm]:
    """Run a SLURM until the block ends; `folder` is its own, and short, as a socket's path is."""
    if not (UNPACKED / "usr" / "sbin" / "slurmctld-wlm").exists():
        skip("no SLURM: tools/slurm.sh fetches it")
    libraries = next((UNPACKED / "usr" / "lib").glob("*-linux-gnu"))
    plugins = libraries / "slurm-wlm"
    settings = folder / "slurm.conf"
    for name in ("state", "spool"):
        (folder / name).mkdir()
    user, host = pwd.getpwuid(os.geteuid()).pw_name, socket.gethostname().partition(".")[0]
    settings.write_text(
        CONFIGURATION.format(
            host=host, user=user, ports=free_ports(2), folder=folder, plugins=plugins
        )
    )
    (folder / "munge.key").touch(0o600)
    (folder / "munge.key").write_bytes(secrets.token_bytes(64))
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, (libraries, plugins))),
        "PATH": os.pathsep.join([str(UNPACKED / "usr" / "bin"), os.environ["PATH"]]),
        "SLURM_CONF": str(settings),
    }
    sbin = UNPACKED / "usr" / "sbin"
    files = {"key-file": "key", "socket": "socket", "pid-file": "pid"}
    files |= {"seed-file": "seed", "log-file": "log"}
    munge = [f"--{option}={folder}/munge.{suffix}" for option, suffix in files.items()]
    with contextlib.ExitStack() as daemons:

        def start(*command: object) -> None:
            daemons.enter_context(daemon(list(map(str, command)), folder, environment))

        start(sbin / "munged", "--foreground", "--force", *munge)
        patiently((folder / "munge.socket").exists, "munged")
        start(sbin / "slurmctld-wlm", "-D")
        start(sbin / "slurmd-wlm", "-D", "-d", sbin / "slurmstepd-wlm")
        slurm = Slurm(environment, folder)
        patiently(lambda: is_idle(slurm), "the node")
        try:
            yield slurm
        finally:
            slurm("scancel", f"--user={user}", "--signal=KILL")
            slurm("scancel", f"--user={user}")
            patiently(lambda: not slurm("squeue", "--noheader").strip(), "jobs to end")


@contextlib.contextmanager
def daemon(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """Run a daemon, with what it says in a file of its name, until the block ends."""
    with (folder / f"{Path(command[0]).name}.txt").open("wb") as said:
        process = subprocess.Popen(command, env=environment, stdout=said, stderr=said, cwd=folder)
        try:
            yield
        finally:
            end(process)


def is_idle(slurm: Slurm) -> bool:
    try:
        return slurm("sinfo", "--noheader", "--format=%T").strip() == "idle"
    except AssertionError:  # slurmctld does not answer yet
        return False


def free_ports(count: int) -> list[int]:
    """Return ports that nobody has now; all of them are held until the last is known."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
