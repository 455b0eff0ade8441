"""The wheel, installed where nobody could compile, does the main job anywhere.

`make test-wheel` builds it and runs this. Its dependencies come from the package index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[2]
SIZE_MAX_BYTES = 40e6


@pytest.fixture(scope="session")
def wheel():
    (found,) = (ROOT / "dist").glob("pocketsim-*.whl")
    return found


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """Return the folder of programs of an environment that has the wheel and what it needs."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # What has no wheel would be compiled: that is refused.
    options = ("--quiet", "--disable-pip-version-check", "--only-binary", ":all:")
    subprocess.run([folder / "bin/pip", "install", *options, wheel], check=True)
    return folder / "bin"


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """Go to a folder with modules of names that others have, too, which break who loads them."""
    for name in ("json.py", "sim/__init__.py", "calibration/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"raise SystemExit('{name} of this folder was loaded')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*command):
    # Neither what the tests run in nor what a checkout has may be of help.
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_published_figures_are_simulated_in_any_folder(installed, theirs):
    before = set(theirs.iterdir())
    done = run(installed / "pocketsim", "validate", "--subset", "latency", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "All met" in done.stdout
    assert set(theirs.iterdir()) - before == {theirs / "out"}


def test_doctor_finds_nothing_missing(installed, theirs):
    done = run(installed / "pocketsim", "doctor")
    assert done.returncode == 0, done.stdout
    assert "MISSING" not in done.stdout
    assert {path.name for path in theirs.iterdir()} == {"json.py", "sim", "calibration"}


def test_the_library_does_not_load_what_lies_around(installed, theirs):
    (theirs / "json.py").unlink()  # a name of Python's own, which nobody can have in a notebook
    code = (
        "import pocketsim as ps;"
        "runs = ps.run('udp_100b', {'run.duration': '1s', 'run.repetitions': 1,"
        " 'workload.rate': ['4/s', '8/s']});"
        "frame = runs.to_frame();"
        "print(*sorted(frame['rate_per_s']), frame['store_count'].min() > 0)"
    )
    done = run(installed / "python", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["4.0", "8.0", "True"]


def test_every_document_is_in_it(wheel):
    suffixes = {".toml", ".csv", ".json", ".css", ".typed", ".ipynb"}
    files = (path for path in (ROOT / "pocketsim").rglob("*") if path.suffix in suffixes)
    documents = {path.relative_to(ROOT).as_posix() for path in files}
    assert len(documents) > 50
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert documents <= names
    assert not {name for name in names if Path(name).suffix in {".rs", ".cpp", ".journal"}}


def test_simgrid_is_inside_with_its_licence(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    (licence,) = tmp_path.rglob("LGPL-2.1.txt")
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in licence.read_text()
    (offer,) = tmp_path.rglob("SimGrid.md")
    lock = (ROOT / "uv.lock").read_text()
    (archive_hash,) = {word for word in offer.read_text().split("`") if len(word) == 64}
    assert f'simgrid-4.1.tar.gz", hash = "sha256:{archive_hash}' in lock
    (library,) = (tmp_path / "pocketsim.libs").iterdir()
    with (tmp_path / "pocketsim" / "sim" / "_simgrid.so").open("rb") as file:
        tags = list(ELFFile(file).get_section_by_name(".dynamic").iter_tags())
    assert library.name in {tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"}
    (path,) = {tag.rpath for tag in tags if tag.entry.d_tag == "DT_RPATH"}
    assert all(part.startswith("$ORIGIN") for part in path.split(":"))


def test_it_is_small(wheel):
    assert wheel.stat().st_size < SIZE_MAX_BYTES
