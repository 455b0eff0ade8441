"""`report`, `export`, `validate` and `doctor`: what they print, write and return."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pocketsim import testing
from pocketsim.calibration.validate import published, summaries, validation
from pocketsim.calibration.validate.answers import Comparison
from pocketsim.cli import app, doctor
from pocketsim.cli.validate import published as command
from pocketsim.sim.base.errors import (
    EngineError,
    EnvironmentMissingError,
    NoRoomError,
    ScenarioError,
    UserError,
)
from pocketsim.sim.export import app_csv


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, list(map(str, arguments)))


@pytest.fixture
def runs(tmp_path):
    """Return a folder with two invented runs of one scenario."""
    for rate in (8.0, 64.0):
        testing.run_dir(tmp_path / "runs", testing.resolved("a", rate), testing.Shape())
    return tmp_path / "runs"


@pytest.fixture
def judged(runs, monkeypatch):
    """Put a result that misses its bars in the place of a validation."""
    rows = validation.select(published.rows(), ["latency"])
    missed = validation.judge(rows, {})
    asked = []

    def validate(*arguments, **named):
        asked.append(arguments)
        paths = tuple(sorted((runs / "a").iterdir()))
        return validation.ValidationResult(missed.comparisons, missed.summaries, paths)

    monkeypatch.setattr(validation, "validate", validate)
    return asked


def test_report_takes_runs_and_folders_of_runs(call, runs, tmp_path):
    one, other = sorted((runs / "a").iterdir())
    pages = []
    for name, given in (("a", [one, other]), ("b", [runs / "a"]), ("c", [runs, one])):
        done = call("report", *given, "-o", f"out/{name}.html")
        assert (done.exit_code, done.stdout) == (0, f"out/{name}.html\n")
        pages.append((tmp_path / "out" / f"{name}.html").read_bytes())
    assert pages[0] == pages[1] == pages[2]


def test_report_of_a_folder_says_that_it_has_several_scenarios(call, runs):
    (runs / "b").mkdir()
    one, _ = sorted((runs / "a").iterdir())
    shutil.copytree(one, runs / "b" / one.name)
    said = call("report", runs).stderr
    assert "2 scenarios or studies" in said
    assert str(runs / "a") in said
    assert "scenarios or studies" not in call("report", runs / "a", runs / "b").stderr


def test_report_leaves_unfinished_runs_out(call, runs):
    (run, *_) = (runs / "a").iterdir()
    run.rename(runs / "a" / ".tmp-1-run")
    (other,) = (path for path in (runs / "a").iterdir() if not path.name.startswith("."))
    other.rename(runs / "a" / ".tmp-2-run")
    assert isinstance(call("report", runs).exception, ScenarioError)


def test_export_writes_to_stdout_or_a_file(call, runs, tmp_path):
    (run, *_) = (runs / "a").iterdir()
    printed = call("export", run)
    assert printed.exit_code == 0
    assert printed.stdout.splitlines()[0].replace('"', "").startswith(",".join(app_csv.COLUMNS))
    done = call("export", run, "--csv", "out/a.csv")
    assert (done.exit_code, done.stdout) == (0, "out/a.csv\n")
    assert (tmp_path / "out/a.csv").read_text() == printed.stdout


def test_export_wants_one_run(call, runs):
    assert isinstance(call("export", runs).exception, ScenarioError)


def test_no_report_is_written_into_a_run_or_where_nothing_can_be(call, runs, judged):
    (run, *_) = (runs / "a").iterdir()
    before = (run / "metrics.json").read_bytes()
    for arguments in (
        ("report", run, "-o", run / "metrics.json"),
        ("validate", "--report", run / "report.html"),
    ):
        error = call(*arguments).exception
        assert isinstance(error, ScenarioError)
        assert "never written to again" in error.reason
    assert not judged, "nothing was run for it"
    assert (run / "metrics.json").read_bytes() == before
    assert not (run / "report.html").exists()
    error = call("report", run, "-o", runs).exception
    assert isinstance(error, ScenarioError)
    assert "cannot be written: is a directory" in error.reason


def test_a_missed_bar_is_exit_3_with_the_table_on_stdout(call, judged, tmp_path):
    done = call("validate", "--report", "out/r.html", "--subset", "latency", "--out", "x")
    assert done.exit_code == 3
    assert "L_udp_median" in done.stdout
    assert "Missed: Median round trips." in done.stdout
    assert done.stderr == "page: out/r.html\n"
    assert (tmp_path / "out/r.html").stat().st_size > 1e6
    assert judged[0][2] == ["latency"]


@pytest.mark.parametrize(
    ("off", "code", "said"),
    [(0.0, 0, "All met."), (0.1, 6, "Met but for known misses."), (0.5, 3, "Missed.")],
)
def test_each_verdict_has_its_words_and_its_exit_code(call, runs, monkeypatch, off, code, said):
    row = Comparison("a", "a", "token_receive", "predicted", "1/s", 1.0, None, 1.0 + off)
    rows = (replace(row, error_ratio=off),)
    result = validation.ValidationResult(
        rows, tuple(summaries.summarise(rows)), tuple((runs / "a").iterdir())
    )
    monkeypatch.setattr(validation, "validate", lambda *_, **__: result)
    done = call("validate", "--report", "r.html")
    assert done.exit_code == code
    assert said in " ".join(done.stdout.split())
    assert f">{said}" in Path("r.html").read_text()
    assert json.loads(call("validate", "--json").stdout)["verdict"] == said.lower().rstrip(".")


def test_in_brief_the_outcome_and_the_page_are_lines_of_stdout(call, judged):
    done = call("validate", "--report", "r.html", "--subset", "latency", "--brief")
    assert done.exit_code == 3
    compared, *more, page = done.stdout.splitlines()
    assert compared.startswith("compared: ")
    assert page == "page: r.html"
    assert len(more) <= 8
    assert "Missed: Median round trips." in more
    assert "<h1>Does the simulation give the published figures?</h1>" in Path("r.html").read_text()


def test_every_verdict_has_an_exit_code():
    words = {validation.ALL_MET, validation.KNOWN_MISSES, validation.MISSED}
    assert set(command._EXIT_CODES) == words
    codes = set(command._EXIT_CODES.values())
    assert len(codes) == 3
    assert not codes & {UserError.exit_code, EngineError.exit_code, NoRoomError.exit_code}


def test_figures_are_printed_on_request(call, judged):
    asked = {
        (): False,
        ("--rows",): True,
        ("--subset", "latency"): True,
    }
    for arguments, shown in asked.items():
        done = call("validate", *arguments)
        assert ("L_udp_median" in done.stdout) is shown
        assert ("--rows" in done.stderr) is not shown
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_validate_as_json(call, judged):
    done = call("validate", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["verdict"] == "missed"
    assert len(judged) == 1


@pytest.mark.slow
def test_block_sizes_take_no_runs(call, tmp_path):
    done = call("validate", "--subset", "block_sizes", "--report", "r.html")
    assert done.exit_code == 0, done.output
    assert "85 of 85" in done.stdout
    assert done.stderr == "no report: nothing was run\n"
    assert list(tmp_path.iterdir()) == []


def test_without_an_engine_nothing_is_run(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pocketsim.sim._engine", None)
    assert isinstance(call("validate").exception, EnvironmentMissingError)
    assert list(tmp_path.iterdir()) == []


def test_doctor_says_what_to_do_about_a_missing_engine(call, monkeypatch):
    def fails(statement):
        raise RuntimeError(f"cannot {statement}")

    assert call("doctor").exit_code == 0
    monkeypatch.setattr(doctor, "_in_child", fails)
    done = call("doctor")
    assert done.exit_code == 5
    assert "MISSING pocketsim.sim._engine: cannot import pocketsim.sim._engine" in done.stdout
    assert (
        "pocketsim.sim._engine: pip install --force-reinstall pocketsim; in a checkout, make setup"
        in done.stderr
    )
