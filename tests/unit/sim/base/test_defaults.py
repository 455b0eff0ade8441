"""Variables of the environment that stand in for options, for the command line and the library."""

from pathlib import Path

import pytest

import pocketsim as ps
from pocketsim.api import progress
from pocketsim.sim.base import cores, defaults
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.run import runner


def test_without_variables_it_is_what_is_usual():
    assert defaults.out() == Path("runs")
    assert defaults.jobs() == cores.usable_cores()
    assert not defaults.is_quiet()


def test_an_empty_variable_is_none(monkeypatch):
    for name in (defaults.OUT, defaults.JOBS, defaults.QUIET):
        monkeypatch.setenv(name, "")
    test_without_variables_it_is_what_is_usual()


def test_the_library_takes_what_variables_say(monkeypatch, tmp_path, scenario, fake_engine):
    asked = []
    made = runner.run_tasks
    monkeypatch.setattr(
        runner,
        "run_tasks",
        lambda tasks, jobs, **more: asked.append(jobs) or made(tasks, jobs, **more),
    )
    monkeypatch.setenv("POCKETSIM_OUT", str(tmp_path / "kept"))
    monkeypatch.setenv("POCKETSIM_JOBS", "3")
    runs = ps.run(scenario, {"workload.rate": "4/s"})
    assert asked == [3]
    assert runs[0].directory.parent == tmp_path / "kept" / scenario.stem
    assert [run.directory for run in ps.load()] == [runs[0].directory]
    ps.run(scenario, {"workload.rate": "4/s"}, jobs=2, out=tmp_path / "other")
    assert asked == [3, 2]
    assert (tmp_path / "other").is_dir()


def test_a_study_lies_where_the_variable_says(monkeypatch, tmp_path):
    monkeypatch.setenv("POCKETSIM_OUT", str(tmp_path / "kept"))
    assert ps.Study("rate_by_transport").out == tmp_path / "kept"
    assert ps.Study("rate_by_transport", out=tmp_path).out == tmp_path


def test_who_wants_quiet_sees_no_bar(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert progress.is_watched()
    monkeypatch.setenv("POCKETSIM_QUIET", "1")
    assert not progress.is_watched()


@pytest.mark.parametrize(
    ("name", "value", "ask"),
    [
        ("POCKETSIM_JOBS", "0", defaults.jobs),
        ("POCKETSIM_JOBS", "two", defaults.jobs),
        ("POCKETSIM_JOBS", "1.5", defaults.jobs),
        ("POCKETSIM_QUIET", "maybe", defaults.is_quiet),
        ("POCKETSIM_OUT", __file__, defaults.out),
    ],
)
def test_a_bad_value_is_told_with_its_variable(monkeypatch, fake_cli, scenario, name, value, ask):
    monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=name):
        ask()
    done = fake_cli("run", scenario, **{name: value})
    assert done.returncode == 2
    assert name in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_takes_what_variables_say_and_options_stand_above(cli, tmp_path):
    here = {"POCKETSIM_OUT": "kept", "POCKETSIM_JOBS": "1"}
    arguments = ("run", "udp_100b", "--set", "workload.rate=4/s", "--dry-run")
    assert cli(*arguments, **here).stdout.startswith("kept/udp_100b/")
    assert cli(*arguments, "--out", "other", **here).stdout.startswith("other/udp_100b/")


@pytest.mark.parametrize(
    ("variable", "before", "after", "is_told"),
    [("", (), (), True), ("1", (), (), False), ("1", ("-v",), (), True), ("1", (), ("-v",), True)],
)
def test_quiet_is_as_q_and_gives_way_to_v(cli, variable, before, after, is_told):
    done = cli(*before, "check", "udp_100b", *after, POCKETSIM_QUIET=variable)
    assert ("udp_100b: ok" in done.stderr) == is_told
