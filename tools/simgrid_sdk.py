"""Lays out SimGrid's headers and library in build/simgrid, and compiles the engine's shim.

The installed simgrid distribution holds the library but no headers; they are in the source archive
of the same version. This fetches that archive, checks it against the hash in uv.lock, unpacks
`include/` and examples of platforms, and copies the installed library into `lib/`, so that headers
and library cannot differ. The copy has no tables for debuggers: a wheel takes it along. It is made
once. The shim becomes pocketsim/sim/_simgrid.so, which the engine loads for runs with flows.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
SDK = ROOT / "build" / "simgrid"
SHIM = ROOT / "sim" / "engine" / "shim" / "shim.cpp"
MODULE = ROOT / "pocketsim" / "sim" / "_simgrid.so"


def main() -> int:
    """Make the SDK if it is missing or belongs to another version, and the shim; return 0."""
    version, sha256 = locked_simgrid(ROOT / "uv.lock")
    lay_out(version, sha256)
    compile_shim()
    return 0


def lay_out(version: str, sha256: str) -> None:
    """Make the SDK of a version, whose source archive has a SHA-256, unless it is there."""
    library = installed_library(version)
    made_from = f"{sha256} {hashlib.sha256(library.read_bytes()).hexdigest()}"
    mark = SDK / "made_from"
    if mark.exists() and mark.read_text() == made_from:
        return
    shutil.rmtree(SDK, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        archive = download(version, sha256, Path(folder))
        unpack(archive, "include", SDK / "include")
        unpack(archive, "examples/platforms", SDK / "examples" / "platforms")
    write_generated_headers(SDK / "include" / "simgrid", version)
    copy_library(library, SDK / "lib")
    mark.write_text(made_from)
    print(f"SimGrid {version}: headers and library in {SDK.relative_to(ROOT)}")


def compile_shim() -> None:
    """Compile the shim; it finds SimGrid by its run path, as long as both stay where they are."""
    options = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden"]
    linked = [f"-L{SDK / 'lib'}", "-lsimgrid", "-Wl,-rpath,$ORIGIN/../../build/simgrid/lib"]
    command = [os.environ.get("CXX", "g++"), *options, f"-I{SDK / 'include'}", str(SHIM)]
    subprocess.run([*command, "-o", str(MODULE), *linked], check=True)


def locked_simgrid(lock: Path) -> tuple[str, str]:
    """Return the version of simgrid in the lock, and the SHA-256 of its source archive."""
    packages = tomllib.loads(lock.read_text())["package"]
    simgrid = next(package for package in packages if package["name"] == "simgrid")
    return simgrid["version"], simgrid["sdist"]["hash"].removeprefix("sha256:")


def installed_library(version: str) -> Path:
    """Return libsimgrid of the running interpreter's environment."""
    distribution = importlib.metadata.distribution("simgrid")
    if distribution.version != version:
        sys.exit(
            f"simgrid {distribution.version} is installed, {version} is locked: run make setup"
        )
    return Path(str(distribution.locate_file(f"libsimgrid.so.{version}"))).resolve(strict=True)


def download(version: str, sha256: str, folder: Path) -> Path:
    """Fetch the source archive with pip from the configured index and check its hash."""
    requirement = folder / "requirement.txt"
    requirement.write_text(f"simgrid=={version} --hash=sha256:{sha256}\n")
    # pip asks the archive for its metadata, which needs pybind11 and setuptools but builds nothing.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += [
        "--no-deps",
        "--no-binary",
        "simgrid",
        "--dest",
        str(folder),
        "-r",
        str(requirement),
    ]
    subprocess.run(command, check=True)
    (archive,) = folder.glob("simgrid-*.tar.gz")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != sha256:
        sys.exit(f"{archive.name} does not have the SHA-256 of uv.lock")
    return archive


def unpack(archive: Path, folder: str, to: Path) -> None:
    """Unpack a folder of the archive to `to`."""
    parts = PurePosixPath(folder).parts
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            inside = PurePosixPath(member.name).parts[1:]
            content = tar.extractfile(member)
            if inside[: len(parts)] == parts and content is not None:
                target = to.joinpath(*inside[len(parts) :])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read())


def write_generated_headers(folder: Path, version: str) -> None:
    """Write config.h and version.h as SimGrid's own configure step does.

    Every optional part is off: the Python distribution is built without mallocators, model checking
    and ns-3; Eigen and JSON appear in no declaration that the shim includes.
    """
    major, minor, patch = (*version.split("."), "0")[:3]
    values = {
        "SIMGRID_VERSION_MAJOR": major,
        "SIMGRID_VERSION_MINOR": minor,
        "SIMGRID_VERSION_PATCH": patch,
        "SIMGRID_VERSION_STRING": f"SimGrid version {version}",
        "GIT_VERSION": "",
        "CMAKE_INSTALL_PREFIX": "",
    }
    for name in ("config.h", "version.h"):
        text = (folder / f"{name}.in").read_text()
        (folder / name).write_text(substitute(text, values))


def substitute(template: str, values: dict[str, str]) -> str:
    """Do what cmake's `configure_file` does, with every `#cmakedefine` off."""
    text = re.sub(r"^#cmakedefine01 (\w+)$", r"#define \1 0", template, flags=re.MULTILINE)
    text = re.sub(r"^#cmakedefine (\w+).*$", r"/* #undef \1 */", text, flags=re.MULTILINE)
    return re.sub(r"@(\w+)@", lambda match: values[match[1]], text)


def copy_library(library: Path, folder: Path) -> None:
    """Copy the library, stripped, under its SONAME, and link the linker's name to it."""
    folder.mkdir(parents=True)
    subprocess.run(
        [shutil.which("strip") or "strip", "-o", folder / library.name, library], check=True
    )
    (folder / "libsimgrid.so").symlink_to(library.name)


if __name__ == "__main__":
    raise SystemExit(main())
