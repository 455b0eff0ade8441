"""A small study, and what it comes to on this machine alone: what every pool has to come to."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import SCENARIO, command_line

from support.patience import PATIENCE_S

SWEEP = """
[sweep]
scenario = "small.toml"
seed = [1, 2, 3]

[axes]
"workload.rate" = ["4/s", "8/s", "16/s", "32/s"]
"""
RUNS = 12


class Place:
    """A folder with the study, and the command line there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cli = command_line(folder, sys.executable, "-m", "pocketsim.cli", timeout_s=PATIENCE_S)
        small = SCENARIO.replace('duration = "2s"', 'duration = "40s"')
        (folder / "small.toml").write_text(small.replace('["4/s", "8/s"]', '"4/s"'))
        (folder / "sweep.toml").write_text(SWEEP)

    def __call__(self, *arguments, code=0, **variables):
        done = self.cli(*arguments, **variables)
        assert done.returncode == code, done.stderr
        return done

    def collected(self) -> bytes:
        """Return the Parquet of all its runs."""
        self("sweep", "collect", "sweep.toml", "-o", "all.parquet")
        return (self.folder / "all.parquet").read_bytes()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.fixture(scope="session")
def alone(tmp_path_factory):
    """The study's Parquet, made here."""
    place = Place(tmp_path_factory.mktemp("alone"))
    place("sweep", "run", "sweep.toml", "--jobs", "2")
    return place.collected()
