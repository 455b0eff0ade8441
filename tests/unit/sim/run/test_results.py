"""Run directories that were damaged: who reads them is told which file, where, and what to do."""

import json

import pytest
from typer.testing import CliRunner

from pocketsim import testing
from pocketsim.cli import app
from pocketsim.cli.ui import run_summary
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import results, rundir, runner
from pocketsim.sim.trace import tables

TOLD = "is damaged or of another version; remove the run directory and run it again"
WHOLE = {"metrics.json", "manifest.json", "resolved.json", "events.parquet"}
READ_BY = {
    ("report", "-o", "report.html"): WHOLE,
    ("export",): WHOLE - {"manifest.json"},
    ("export", "--to", "graphml"): {"resolved.json", "events.parquet"},
}


@pytest.fixture
def made(tmp_path):
    resolved = {**testing.resolved("a", repetitions=2), "churn": None}
    return testing.run_dir(tmp_path / "runs", resolved, testing.Shape())


def call(made, command, *options):
    return CliRunner().invoke(app, [command, str(made), *options]).exception


def changed(path, *keys, value=None):
    """Give a JSON file another value at these keys, or none."""
    found = inner = json.loads(path.read_text())
    for key in keys[:-1]:
        inner = inner[key]
    del inner[keys[-1]]
    if value is not None:
        inner[keys[-1]] = value
    path.write_text(json.dumps(found))


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff", b"PAR1 and no more"])
@pytest.mark.parametrize("command", READ_BY)
def test_a_damaged_file_is_named(made, monkeypatch, tmp_path, command, damage):
    monkeypatch.chdir(tmp_path)
    for name in READ_BY[command]:
        whole = (made / name).read_bytes()
        (made / name).write_bytes(damage)
        error = call(made, *command)
        assert isinstance(error, ScenarioError), (name, error)
        assert error.file == str(made / name)
        assert "run it again" in str(error)
        assert "\n" not in str(error)
        (made / name).write_bytes(whole)
    assert isinstance(call(made, *command), SystemExit | None)


@pytest.mark.parametrize(
    ("name", "keys", "value"),
    [
        ("metrics", ("counts", "lost"), 3),
        ("metrics", ("counts", "sent"), None),
        ("metrics", ("fates",), {}),
        ("metrics", ("metrics", "rtt_ms_p50"), 3),
        ("metrics", ("metrics", "rtt_ms_p50", "ci95_low"), "low"),
        ("metrics", ("rung", "payload_bytes"), 1.5),
        ("metrics", ("repetitions",), True),
        ("manifest", ("point", "workload.rate", "unit"), 1),
        ("manifest", ("final_index",), None),
        ("manifest", ("profiles",), ["a"]),
    ],
)
def test_a_value_that_is_not_what_it_should_be_is_named(made, name, keys, value):
    read = getattr(results, f"read_{name}")
    read(made)
    changed(made / f"{name}.json", *keys, value=value)
    with pytest.raises(ScenarioError) as caught:
        read(made)
    place = ".".join(keys)
    assert str(caught.value) == f"{made / name}.json: {place}: {TOLD}"


def test_a_list_says_which_of_its_items(made):
    found = json.loads((made / "metrics.json").read_text())
    del found["fates"][1]["stored"]
    (made / "metrics.json").write_text(json.dumps(found))
    with pytest.raises(ScenarioError, match=r"metrics\.json: fates\[1\]\.stored: is damaged"):
        results.read_metrics(made)


def test_a_file_that_is_gone_is_named(made):
    (made / "metrics.json").unlink()
    with pytest.raises(ScenarioError, match=r"metrics\.json: no such file"):
        run_summary.show([made], ())


def test_damaged_tokens_are_named(made):
    path = made / rundir.TOKENS
    path.write_bytes(b"PAR1")
    with pytest.raises(ScenarioError, match=r"tokens\.parquet: is damaged"), results.parquet(path):
        tables.read(path, 0)


@pytest.mark.engine
def test_a_run_that_was_just_made_can_be_read(scenario, tmp_path):
    (directory, _) = runner.run(scenario, out=tmp_path / "runs")
    assert results.read_metrics(directory)["repetitions"] == 2
    assert results.read_manifest(directory)["final_index"] is None
    assert results.read_resolved(directory)["run"]["repetitions"] == 2
    assert results.read_events(directory).num_rows > 0
