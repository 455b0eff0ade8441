"""What a set-up says and mends, on a made-up machine: programs that stand in for the system's."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

REAL = ("bash", "cat", "env", "grep", "head", "ls", "mkdir", "ln", "sort", "dirname")
ENOUGH = {"g++": "", "make": "", "cargo": "echo cargo 99.0.0", "python3": "echo Python 3.11.2"}
SAYS_IT_WAS_CALLED = 'echo "$(basename $0) $*" >> "$CALLS"'


class Machine:
    """A folder of programs, which write down how they were called; nothing else is found."""

    def __init__(self, folder):
        self.folder, self.calls = folder, folder / "calls"
        self.calls.touch()
        (folder / "bin").mkdir()
        (folder / "tools").mkdir()
        (folder / "updates").mkdir()
        for name in (*REAL, "basename"):
            (folder / "bin" / name).symlink_to(shutil.which(name))
        for name in ("bootstrap.sh", "apt_install.sh"):
            shutil.copy(ROOT / "tools" / name, folder / "tools" / name)
        for name in ("dpkg", "apt-get"):
            self.has(name)
        self.has("id", "echo 0")

    def has(self, name, does=""):
        path = self.folder / "bin" / name
        path.write_text(f"#!/usr/bin/env bash\n{SAYS_IT_WAS_CALLED}\n{does}\n")
        path.chmod(0o755)

    def run(self, script, *arguments):
        return subprocess.run(
            [self.folder / "tools" / script, *arguments],
            env={
                "PATH": str(self.folder / "bin"),
                "CALLS": str(self.calls),
                "DPKG_UPDATES": str(self.folder / "updates"),
            },
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def called(self, *names):
        lines = self.calls.read_text().splitlines()
        return [line for line in lines if line.split()[0] in names]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_packages_are_installed(machine):
    done = machine.run("apt_install.sh", "one", "two")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "installing: one two\n"
    assert machine.called("apt-get") == [
        "apt-get update -q",
        "apt-get install -qy --no-install-recommends one two",
    ]
    assert machine.called("dpkg") == ["dpkg --audit"]


def test_who_is_not_root_takes_sudo(machine):
    machine.has("id", "echo 1000")
    machine.has("sudo", '"$@"')
    assert machine.run("apt_install.sh", "one").returncode == 0
    assert len(machine.called("sudo")) == len(machine.called("apt-get")) == 2


@pytest.mark.parametrize("sign", ["audit", "updates"])
def test_what_was_stopped_half_way_is_finished_first(machine, sign):
    if sign == "audit":
        machine.has("dpkg", '[ "$1" != --audit ] || echo "g++ is half configured"')
    else:
        (machine.folder / "updates" / "0001").touch()
    done = machine.run("apt_install.sh", "one")
    assert done.returncode == 0, done.stderr
    assert "an earlier installation was stopped half-way" in done.stderr
    assert [line.split()[1] for line in machine.called("dpkg", "apt-get")] == [
        *("--audit", "--configure", "update", "install"),
    ]


def test_what_apt_could_not_get_is_said(machine):
    machine.has("apt-get", '[ "$1" = update ] || exit 100')
    done = machine.run("apt_install.sh", "one", "two")
    assert done.returncode == 5
    last = done.stderr.splitlines()[-1]
    assert last.startswith("could not install one two by apt-get.")
    assert last.endswith("it goes on where it stopped")


def test_without_apt_it_is_said_what_to_install(machine):
    (machine.folder / "bin" / "apt-get").unlink()
    done = machine.run("apt_install.sh", "one")
    assert done.returncode == 5
    assert "no apt-get here" in done.stderr


def test_the_tries_of_pip_are_one_line(machine):
    for name, does in ENOUGH.items():
        machine.has(name, does)
    pip = machine.folder / "build" / "tools" / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.write_text(
        "#!/usr/bin/env bash\necho WARNING: Retrying >&2\necho ERROR: no uv >&2\nexit 1\n"
    )
    pip.chmod(0o755)
    done = machine.run("bootstrap.sh")
    assert done.returncode == 5
    said = done.stderr.splitlines()
    assert "could not install uv by pip: ERROR: no uv" in said
    assert "goes on where it stopped" in said[-1]
    assert "Retrying" not in done.stderr


def test_both_bootstraps_install_by_the_same_script():
    for path in (ROOT / "tools/bootstrap.sh", ROOT / "tools/android/bootstrap.sh"):
        assert 'tools/apt_install.sh "${missing[@]}"' in path.read_text()
    assert os.access(ROOT / "tools/apt_install.sh", os.X_OK)
    assert (
        Path(ROOT / "Dockerfile").read_text().count("tools/bootstrap.sh tools/apt_install.sh") == 2
    )
