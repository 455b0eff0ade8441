"""Builds the container of Dockerfile with buildah and tries it: `make container`.

It takes neither Docker nor a registry of images: what stands in for Debian's image is made of
Debian's packages by debootstrap. So what is built here is for trying, never to be published. As UID
1000 and without a network, pocketsim runs one rung in a folder of this machine, and Jupyter a
notebook; as a user whom nobody knows, pocketsim finds nothing missing.

What deliberately does not live here: what a container holds, which is Dockerfile's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> int:
    """Build and try what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TRIALS)}")
    parser.add_argument("--wheel", metavar="DIR", help="a folder with a wheel, instead of a build")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TRIALS):
        parser.error(f"{', '.join(sorted(unknown))}: no target, there are {', '.join(TRIALS)}")
    need_programs()
    need_debian()
    too_large = False
    for target in options.targets or TRIALS:
        image = build(target, options.wheel)
        TRIALS[target](image)
        size_bytes = size_of(image)
        print(f"{target}: {size_bytes / 1e6:.0f} MB")
        too_large |= size_bytes > SIZE_MAX_BYTES[target]
    return EXIT_CHECK_FAILED if too_large else 0


def need_programs() -> None:
    """Install what is missing, from Debian's packages."""
    missing = [name for program, name in PROGRAMS.items() if not shutil.which(program, path=PATH)]
    if not missing:
        return
    print(f"installing: {' '.join(missing)}", file=sys.stderr)
    if shutil.which("apt-get") is None:
        print(f"no apt-get here: install {' and '.join(missing)}, run again", file=sys.stderr)
        sys.exit(EXIT_ENVIRONMENT)
    run("apt-get", "update", "-q")
    quiet = ("env", "DEBIAN_FRONTEND=noninteractive")
    run(*quiet, "apt-get", "install", "-qy", "--no-install-recommends", *missing)


def need_debian() -> None:
    """Make what stands in for Debian's slim image, unless it is there."""
    if said(*BUILDAH, "images", "--quiet", "--filter", f"reference={DEBIAN}"):
        return
    with container("scratch") as made:
        tree = said(*BUILDAH, "mount", made)
        run("debootstrap", "--variant=minbase", SUITE, tree)
        run("sh", "-euc", SLIM, "sh", tree)
        run(*BUILDAH, "umount", made)
        run(*BUILDAH, "commit", "--quiet", made, DEBIAN)


def build(target: str, wheel: str | None) -> str:
    """Build a target of Dockerfile; return the image's name."""
    image = f"{TRIAL}:{target}"
    options = ["--isolation", "chroot", "--pull-never", "--layers", "--format", "docker"]
    options += ["--build-arg", f"DEBIAN={DEBIAN}", "--target", target, "--tag", image]
    if wheel:
        options += ["--build-context", f"wheel={Path(wheel).resolve()}"]
    for path in OF_THIS_MACHINE:
        if path.exists():
            options += ["--volume", f"{path}:{path}:ro"]
    run(*BUILDAH, "bud", *options, str(ROOT))
    return image


def try_pocketsim(image: str) -> None:
    """Run one rung as UID 1000 into a folder of this machine; look around as somebody else."""
    with container(image) as made, folder_of(USER) as folder:
        command = entrypoint(made)
        start(made, USER, [*command, "run", *RUNG, "--out", "runs"], folder)
        (metrics,) = folder.glob("runs/*/*/metrics.json")
        check(metrics.stat().st_uid == USER, "a run is not of the user who made it")
        stored = json.loads(metrics.read_text())["counts"]["stored"]
        check(stored > 0, "nothing was stored")
        start(made, NOBODY, ["python", "-c", LOOK_AROUND])
        start(made, NOBODY, [*command, "doctor"])


def try_notebook(image: str) -> None:
    """Run a notebook as UID 1000."""
    with container(image) as made, folder_of(USER) as folder:
        (folder / "trial.ipynb").write_text(json.dumps(NOTEBOOK))
        start(made, USER, [*entrypoint(made), "--version"])
        start(made, USER, ["jupyter", "execute", "trial.ipynb"], folder)


def start(made: str, user: int, command: list[str], folder: Path | None = None) -> None:
    """Run a command in a container without a network, if asked with a folder as /work."""
    options = ["--isolation", "chroot", "--user", f"{user}:{user}"]
    if folder:
        options += ["--volume", f"{folder}:/work"]
    # So isolated, a container has the network of whoever starts it: as with Docker, a loopback.
    alone = ("unshare", "--net", "sh", "-euc", 'ip link set lo up; exec "$@"', "sh")
    run(*alone, *BUILDAH, "run", *options, made, "--", *command)


def entrypoint(made: str) -> list[str]:
    """Return the command that a container of Docker's would start with."""
    described = json.loads(said(*BUILDAH, "inspect", made))
    command: list[str] = described["Docker"]["config"]["Entrypoint"]
    return command


def size_of(image: str) -> float:
    """Return the size of all layers, in bytes and as exactly as buildah says it."""
    value, unit = said(*BUILDAH, "images", "--format", "{{.Size}}", image).split()
    return float(value) * BYTES[unit]


@contextmanager
def container(image: str) -> Iterator[str]:
    """Have a working container of an image for as long as it takes."""
    made = said(*BUILDAH, "from", "--pull-never", image)
    try:
        yield made
    finally:
        said(*BUILDAH, "rm", made)


@contextmanager
def folder_of(user: int) -> Iterator[Path]:
    """Have a folder of a user's for as long as it takes."""
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        run("chown", f"{user}:{user}", str(folder))
        yield folder
    finally:
        run("rm", "-rf", str(folder))


def check(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # as with assert
    """End with the exit code of a failed check unless something holds."""
    if not holds:
        print(f"error: {otherwise}", file=sys.stderr)
        sys.exit(EXIT_CHECK_FAILED)


def run(*command: str) -> None:
    """Run a command that must not fail, as root."""
    subprocess.run([*AS_ROOT, *command], check=True)


def said(*command: str) -> str:
    """Run a command that must not fail, as root; return what it says."""
    done = subprocess.run([*AS_ROOT, *command], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


ROOT = Path(__file__).resolve().parent.parent
PATH = f"{os.environ['PATH']}:/usr/sbin"  # which is root's
AS_ROOT = () if os.geteuid() == 0 else ("sudo",)
# Programs that it takes, and Debian's packages of them.
PROGRAMS = {"buildah": "buildah", "debootstrap": "debootstrap", "ip": "iproute2"}
TRIALS = {"pocketsim": try_pocketsim, "notebook": try_notebook}
# What the targets may weigh.
SIZE_MAX_BYTES = {"pocketsim": 600e6, "notebook": 800e6}
BYTES = {"kB": 1e3, "MB": 1e6, "GB": 1e9}
EXIT_CHECK_FAILED = 3
EXIT_ENVIRONMENT = 5

# A folder of one's own for images keeps them apart from others, and is removed as one.
FOLDER = os.environ.get("POCKETSIM_CONTAINERS")
BUILDAH = ("buildah", *(("--root", FOLDER, "--runroot", f"{FOLDER}/run") if FOLDER else ()))
TRIAL = "localhost/pocketsim-trial"
DEBIAN = f"{TRIAL}:debian"
SUITE = "bookworm"  # that of Dockerfile
# What Debian's slim image lacks, too; sh's first argument is the tree.
SLIM = """
cd "$1"
find usr/share/doc -type f ! -name copyright -delete
rm -rf usr/share/man/* usr/share/info/* usr/share/locale/* var/lib/apt/lists/* var/cache/apt/*.bin
rm -rf var/cache/apt/archives/*.deb var/log/*
printf 'path-exclude /usr/share/%s/*\\n' doc man info locale >etc/dpkg/dpkg.cfg.d/slim
"""
# How this machine reaches the packages, where it is not as everywhere.
OF_THIS_MACHINE = (
    Path("/usr/local/share/ca-certificates"),
    Path("/etc/pip.conf"),
    Path("/etc/uv"),
)

USER = 1000
NOBODY = 4321  # whom /etc/passwd does not know
RUNG = ("udp_100b", "--set", "workload.rate=4/s", "--set", "run.duration=2s")
LOOK_AROUND = """
import os, pathlib, socket
names = [name for _, name in socket.if_nameindex()]
assert names == ["lo"], f"there is a network: {names}"
assert os.getuid() == 4321
pathlib.Path("here").touch(), pathlib.Path.home().joinpath("there").touch()
"""
CELL = "import pocketsim as ps; assert 'udp_100b' in {name for name in ps.scenarios()}"
NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
    "cells": [
        {
            "id": "1",
            "cell_type": "code",
            "source": CELL,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
    ],
}


if __name__ == "__main__":
    raise SystemExit(main())
