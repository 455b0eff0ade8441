"""`calibrate implementation` and `profile pin`: what the library writes, by a command."""

from __future__ import annotations

import json
import shutil

import pytest

import pocketsim as ps
from support import synthetic_reports as synthetic


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a report that has timed the program's steps, and its profile."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "report.json").write_text(json.dumps(synthetic.Phone(1).paced_report()))
    ps.calibrate(folder / "report.json", folder / "mine.toml")
    return folder


@pytest.fixture
def report(made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "report.json"


def test_the_command_writes_the_implementation_of_the_library(cli, report, tmp_path):
    ps.calibrate_implementation(report, tmp_path / "library.toml", device=tmp_path / "mine.toml")
    done = cli(
        *("calibrate", "implementation", report.name),
        *("--device", "mine.toml", "-o", "command.toml"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["command.toml"]
    assert (tmp_path / "command.toml").read_bytes() == (tmp_path / "library.toml").read_bytes()


def test_it_says_which_steps_were_timed_and_which_are_the_bases(cli, report, tmp_path):
    lines = json.loads(report.read_text())
    kept = [case for case in lines["measurements"] if not case["kernel"].startswith("tftp")]
    report.write_text(json.dumps({**lines, "measurements": kept}))
    arguments = (report.name, "--device", "mine.toml", "-o", "p.toml")
    done = cli("calibrate", "implementation", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    costs = ps.implementation(tmp_path / "p.toml").contents["own_costs"]
    by_report = {name for name, cost in costs.items() if cost["source"].startswith("probe report")}
    assert {one["name"] for one in told["measured"]} == by_report
    assert {one["name"] for one in told["kept"]} == set(costs) - by_report
    assert by_report
    for one in told["measured"]:
        assert f"measured: {one['name']} (measured)" in done.stderr
    for one in told["kept"]:
        assert f"taken from probe: {one['name']} ({one['basis']})" in done.stderr


def test_a_report_that_timed_no_step_gives_the_base_with_a_warning(cli, report):
    lines = json.loads(report.read_text())
    report.write_text(json.dumps({**lines, "measurements": []}))
    done = cli("calibrate", "implementation", report.name, "--device", "mine.toml", "-o", "p.toml")
    assert done.returncode == 0, done.stderr
    assert "warning: no step of the program was timed; all costs are those of probe" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["report.json", "--device", "mine.tml", "-o", "p.toml"], "mine.tml: no device"),
        (["report.json", "--device", "moto_g4s", "-o", "p.toml"], "did you mean moto_g04s?"),
        (["reprt.json", "--device", "mine.toml", "-o", "p.toml"], "did you mean report.json?"),
        (["mine.toml", "--device", "mine.toml", "-o", "p.toml"], "mine.toml: "),
        (["report.json", "--device", "mine.toml", "-o", "p.json"], "ends in .toml"),
        (["report.json", "--device", "probe", "-o", "p.toml"], "probe"),
        (
            ["report.json", "--device", "mine.toml", "--base", "prob", "-o", "p.toml"],
            "did you mean probe?",
        ),
        (["report.json", "report.json", "--device", "mine.toml", "-o", "p.toml"], "is there twice"),
        (["report.json", "-o", "p.toml"], "--device"),
        (["report.json", "--device", "mine.toml", "-o", "mine.toml/p.toml"], "cannot be written"),
    ],
)
def test_a_mistake_is_exit_2_and_nothing_is_written(cli, report, tmp_path, arguments, reason):
    before = sorted(report.parent.iterdir())
    done = cli("calibrate", "implementation", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_pin_writes_the_profile_of_the_library(cli, root, tmp_path):
    report = root / "pocketsim/notebooks/loopback_report.json"
    ps.calibrate(report, tmp_path / "mine.toml", base="thinkpad_l13", allow_spoiled=True)
    ps.pin_profile(tmp_path / "mine.toml", tmp_path / "library.toml", report)
    done = cli("profile", "pin", "mine.toml", "--report", report, "-o", "command.toml")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["command.toml"]
    assert (tmp_path / "command.toml").read_bytes() == (tmp_path / "library.toml").read_bytes()
    again = cli("profile", "pin", "command.toml", "-o", "twice.toml")
    assert again.returncode == 2
    assert "command.toml: scheduler.send_after: is of a process already" in again.stderr
    assert not (tmp_path / "twice.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["moto_g4s", "-o", "p.toml"], "did you mean moto_g04s?"),
        (["moto_g04s", "-o", "p.tml"], "ends in .toml"),
        (["moto_g04s", "--report", "none.json", "-o", "p.toml"], "none.json: no such file"),
    ],
)
def test_a_mistake_in_pinning_is_exit_2(cli, tmp_path, arguments, reason):
    done = cli("profile", "pin", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert list(tmp_path.iterdir()) == []
