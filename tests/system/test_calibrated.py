"""The path of docs/calibrate_a_phone.md: what calibration makes is checked, compared and simulated.

Profiles of every kind that it makes go through the commands that the page names. The page's own
commands run with the real probe, as they stand there.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import subprocess
import sys

import pytest
from conftest import ROOT, command_line

from support import synthetic_reports as synthetic
from support.interop_programs import built

REPORTS = ROOT / "tests" / "reports"
PAGE = (ROOT / "docs" / "calibrate_a_phone.md").read_text()
MADE = ("of_reports.toml", "with_a_base.toml", "of_this_machine.toml", "pinned.toml")
SUSPICIOUS = 3


def linux_report(number):
    """Return a report of Linux 6.12: its profile has a choice among its numbers, the policy."""
    report = synthetic.Phone(number).waking_report()
    report["device"]["kernel"] = "6.12.1"
    return report


def in_folder(path):
    return command_line(path, sys.executable, "-m", "pocketsim.cli", timeout_s=300)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make the profiles, and return the command line where they are."""
    folder = tmp_path_factory.mktemp("calibrated")
    pocketsim = in_folder(folder)
    files = [folder / f"{number}.json" for number in range(2)]
    for number, file in enumerate(files):
        file.write_text(json.dumps(linux_report(number)))
    virtual = REPORTS / "linux_vm.json"
    for call in (
        ["calibrate", *files, "-o", "of_reports.toml"],
        ["calibrate", virtual, "--base=moto_g04s", "--allow-spoiled", "-o", "with_a_base.toml"],
        ["calibrate", "this-machine", "--seconds=0.5", "-o", "of_this_machine.toml"],
        ["profile", "pin", "of_reports.toml", "--report", files[0], "-o", "pinned.toml"],
    ):
        done = pocketsim(*call)
        assert done.returncode == 0, done.stderr
    return pocketsim


def test_a_profile_of_linux_has_a_policy(made):
    assert "scheduler.policy" in made("profile", "show", "of_reports.toml").stdout


@pytest.mark.parametrize("name", MADE)
def test_what_calibration_makes_is_valid_and_can_be_looked_at(made, name):
    assert made("check", name).returncode == 0
    looked = made("profile", "lint", name, "--json")
    assert looked.returncode in {0, SUSPICIOUS}, looked.stderr
    assert isinstance(json.loads(looked.stdout)["findings"], list)


@pytest.mark.parametrize("pair", [("moto_g04s", name) for name in MADE] + [MADE[:2], MADE[2:]])
def test_what_calibration_makes_is_compared(made, pair):
    for devices in (pair, pair[::-1]):
        done = made("profile", "compare", *devices, "--json")
        assert done.returncode == 0, done.stderr
        rows = [one for one in json.loads(done.stdout)["rows"] if one["ratio"] is not None]
        signs = [one for one in rows if one["number"] == "operations.sign"]
        assert len(signs) == 1
        assert all(0 < one["ci95_low"] <= one["ratio"] <= one["ci95_high"] for one in rows)
        assert all(math.isfinite(one["ci95_high"]) for one in rows)
    table = made("profile", "compare", *pair)
    assert table.returncode == 0, table.stderr
    assert "operations.sign" in table.stdout


@pytest.mark.engine
@pytest.mark.parametrize("name", MADE)
def test_what_calibration_makes_is_simulated(made, name):
    short = ["run.duration=1s", "run.repetitions=1", "workload.rate=4/s"]
    settings = [f"devices[0].profile={name}", *short]
    done = made("run", "udp_100b", *(word for one in settings for word in ("--set", one)))
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.engine
def test_a_computer_is_calibrated_as_the_page_says(tmp_path):
    """The commands of the first section, with what they may end with; they take minutes."""
    section = re.search(r"^## 1\. .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    blocks = re.findall(r"^```sh\n(.*?)^```$", section[0], re.MULTILINE | re.DOTALL)
    lines = [shlex.split(line, comments=True) for line in "".join(blocks).splitlines()]
    assert [words[:2] for words in lines].count(["build/bin/probe", "run"]) == 1
    pocketsim = in_folder(tmp_path)
    for program, *arguments in lines:
        if program == "pocketsim":
            done = pocketsim(*arguments)
        else:
            command = [built() / "probe", *arguments]
            done = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert len(done.stderr.splitlines()) <= 25, done.stderr
        suspicious = arguments[:2] == ["profile", "lint"] and done.returncode == SUSPICIOUS
        assert done.returncode == 0 or suspicious, done.stderr
