"""`import pocketsim`: runs, tables and comparisons from Python, and the names that it has."""

from __future__ import annotations

import ast
import doctest
import importlib
import math
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import pocketsim as ps
from pocketsim.sim.scenario.load import load

ROOT = Path(__file__).resolve().parents[3]
MODULES = [
    "pocketsim",
    "pocketsim.api.documents.catalog",
    "pocketsim.api.documents.scenarios",
    "pocketsim.api.host.probe",
    "pocketsim.api.profiles",
    "pocketsim.api.results",
    "pocketsim.api.run",
    "pocketsim.api.profile_stats",
]
FOUR, SIXTEEN = "4/s", "16/s"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    changes = {"workload.rate": [FOUR, SIXTEEN], "run.duration": "2s", "run.repetitions": 3}
    return ps.run("udp_100b", changes, out=tmp_path_factory.mktemp("library"))


@pytest.mark.engine
def test_a_table_has_a_row_for_each_run_and_repetition(runs):
    frame = runs.to_frame()
    assert len(runs) == 2
    assert list(frame["repetition"]) == [0, 1, 2] * 2
    assert list(frame["rate_per_s"]) == [4.0] * 3 + [16.0] * 3
    assert list(frame["workload.rate_per_s"]) == [4.0] * 3 + [16.0] * 3
    assert list(frame["run.duration_s"]) == [2.0] * 6
    assert (frame["sent"] == frame["stored"] + frame["in_flight"] + frame["lost"]).all()
    for run in runs:
        mine = frame[frame["directory"] == str(run.directory)]
        assert list(mine["store_rate_per_s"]) == run.values("store_rate_per_s")
    assert len(runs[0].to_frame()) == 3


@pytest.mark.engine
def test_a_run_has_events_a_graph_and_what_it_rests_on(runs):
    run = runs[0]
    assert run.events["repetition"].nunique() == 3
    assert {"time_s", "node", "kind", "message_id"} <= set(run.events.columns)
    sends = (run.events["kind"] == "send").sum()
    assert sends == run.to_frame()["sent"].sum()
    assert run.graph().number_of_nodes() == 2
    assert run.graph().edges[0, 1]["count"] == run.values("store_count")[0]
    assert run.manifest["repetitions"][2]["repetition"] == 2
    assert run.resolved["run"]["duration_s"] == 2.0
    with pytest.raises(IndexError):
        run.graph(3)
    with pytest.raises(ps.UserError, match="store_rate_per_s"):
        run.values("store_rate_per_sec")


@pytest.mark.engine
def test_what_is_there_is_found_again_and_not_repeated(runs):
    folder = runs[0].directory.parents[1]
    for pattern in (folder, f"{folder}/**", f"{folder}/udp_100b", f"{folder}/*/*"):
        again = ps.load(pattern)
        assert {run.directory for run in again} == {run.directory for run in runs}, pattern
    assert ps.load(runs[1].directory)[0].point == runs[1].point
    made = [run.directory.stat().st_mtime_ns for run in runs]
    changes = {"workload.rate": [FOUR, SIXTEEN], "run.duration": "2s", "run.repetitions": 3}
    ps.run("udp_100b", changes, out=folder)
    assert [run.directory.stat().st_mtime_ns for run in runs] == made


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["file", "content", "document"])
def test_a_scenario_may_come_in_any_form(runs, kind):
    file = ROOT / "pocketsim/scenarios/throughput/udp_100b.toml"
    changes = {"workload.rate": FOUR, "run.duration": "2s", "run.repetitions": 3}
    folder = runs[0].directory.parents[1]
    if kind == "file":
        found = ps.run(file, changes, out=folder)
    elif kind == "content":
        found = ps.run(tomllib.loads(file.read_text()), changes, out=folder)
    else:
        document = load(file, ["workload.rate=4/s", "run.duration=2s"])
        found = ps.run(document, {"run.repetitions": 3}, out=folder)
    expected = runs[0].values("rtt_ms_p50")
    assert found[0].values("rtt_ms_p50") == expected
    assert (found[0].directory == runs[0].directory) == (kind != "content")


@pytest.mark.engine
def test_runs_with_the_same_random_numbers_are_compared_in_pairs(runs):
    found = ps.compare(*runs, "store_rate_per_s")
    ours, theirs = (np.array(run.values("store_rate_per_s")) for run in runs)
    known = stats.ttest_rel(theirs, ours).confidence_interval(0.95)
    assert found.is_paired
    assert (found.ci95_low, found.ci95_high) == pytest.approx((known.low, known.high))
    assert found.difference == pytest.approx((theirs - ours).mean())
    assert found.ratio == pytest.approx(theirs.mean() / ours.mean() - 1)


@pytest.mark.engine
def test_runs_with_other_seeds_are_not(runs):
    folder = runs[0].directory.parents[1]
    changes = {"workload.rate": FOUR, "run.duration": "2s", "run.repetitions": 3, "run.seed": 9}
    (other,) = ps.run("udp_100b", changes, out=folder)
    found = ps.compare(runs[0], other, "rtt_ms_p50")
    known = stats.ttest_ind(
        other.values("rtt_ms_p50"), runs[0].values("rtt_ms_p50"), equal_var=False
    ).confidence_interval(0.95)
    assert not found.is_paired
    assert (found.ci95_low, found.ci95_high) == pytest.approx((known.low, known.high))
    with pytest.raises(ps.UserError, match="eva"):
        ps.compare(runs[0], other, "eva_rounds")


@pytest.mark.parametrize(
    ("scenario", "changes", "reason"),
    [
        ("udp_10b", {}, "udp_100b"),
        ("udp_100b", {"workload.rat": FOUR}, "did you mean rate?"),
        ("udp_100b", {"workload.rate": []}, "without a value"),
        ("udp_100b", {"workload.rate": [FOUR, "-1/s"]}, "changes: workload.rate"),
        ("udp_100b", {"workload.rate": object()}, "changes: workload.rate"),
        ({"run": {"seed": 1}}, {}, "scenario.toml"),
        ({"run": {"seed": object()}}, {}, "no TOML"),
        ("none/such.toml", {}, "no such file"),
    ],
)
def test_a_mistake_is_said_before_anything_is_written(tmp_path, scenario, changes, reason):
    with pytest.raises(ps.UserError) as caught:
        ps.run(scenario, changes, out=tmp_path / "runs")
    assert reason in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_names_are_those_of_files():
    assert (
        ps.scenarios()["udp_100b"]
        == load(ROOT / "pocketsim/scenarios/throughput/udp_100b.toml").scenario.title
    )
    assert {"moto_g04s", "pocophone_f1", "thinkpad_l13"} == set(ps.devices())
    assert "trustchain_latency_2025" in ps.implementations()
    sweeps = {path.stem for path in (ROOT / "pocketsim/scenarios").rglob("*.toml")} - set(
        ps.scenarios()
    )
    assert sweeps
    for name in sweeps:
        (path,) = (ROOT / "pocketsim/scenarios").rglob(f"{name}.toml")
        assert "sweep" in tomllib.loads(path.read_text()), "a scenario that has no name"


def test_the_command_takes_names_too(cli):
    assert cli("run", "udp_100b", "--dry-run").returncode == 0
    assert cli("show", "udp_100b").returncode == 0
    done = cli("show", "udp_10b")
    assert done.returncode == 2
    assert "udp_100b" in done.stderr


def test_importing_loads_nothing_else():
    known = [
        "numpy",
        "pandas",
        "pydantic",
        "pyarrow",
        "scipy",
        "plotly",
        "networkx",
        "rich",
        "typer",
    ]
    script = f"import sys, pocketsim; print([name for name in {known} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    for name in ps.__all__:
        assert getattr(ps, name) is not None
        assert name in dir(ps)
    with pytest.raises(AttributeError, match="nothing"):
        _ = ps.nothing


def test_names_are_loaded_from_where_types_say_they_are():
    tree = ast.parse((ROOT / "pocketsim/__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    homes = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert homes == ps._HOMES
    assert {*homes, "__version__"} == set(ps.__all__)


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", [name for name in ps.__all__ if not name.startswith("__")])
def test_public_names_are_documented(name):
    found = getattr(ps, name)
    assert found.__doc__
    members = [
        member
        for key, member in vars(found).items()
        if isinstance(found, type) and not key.startswith("_") and callable(member)
    ]
    assert all(member.__doc__ for member in members)


def test_every_public_name_is_on_the_page():
    page = (ROOT / "docs/library.md").read_text()
    listed = set(re.findall(r"^\.\. auto\w+:: pocketsim\.(?:api\.)?(\w+)$", page, re.MULTILINE))
    assert listed == set(ps.__all__) - {"__version__"}


@pytest.mark.slow
@pytest.mark.engine
def test_the_example_of_the_page_runs_and_has_every_name(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs/library.md").read_text()
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    for name in ("loopback_report.json", "loopback_trade.jsonl"):
        shutil.copy(ROOT / "pocketsim/notebooks" / name, tmp_path)
    exec(compile(block, "library.md", "exec"), {})  # noqa: S102 - it is ours
    assert "did you mean rate?" in capsys.readouterr().out
    assert {"mine.toml", "runs.csv", "rtt_ms_p50.html"} <= {path.name for path in Path().iterdir()}
    # Those that take a name alone have an example of their own.
    alone = {"device", "devices", "implementation", "implementations", "scenarios"}
    shown = set(re.findall(r"\bps\.(\w+)", block))
    assert set(ps.__all__) - {"__version__", "Profile"} - alone == shown
    named = {f"ps.plot.{name}" for name in ps.plot.__all__}
    assert named <= set(re.findall(r"ps\.plot\.\w+", block))


def test_difference_without_a_base_has_no_ratio():
    found = ps.Difference("metric", 0.0, 1.0, 1.0, 0.5, 1.5, is_paired=True, deviation=0.1)
    assert math.isnan(found.ratio)


@pytest.mark.engine
def test_the_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    text = (ROOT / "README.md").read_text()
    block, *_ = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(block.splitlines()) <= 6
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - it is ours
    # What the page says of them.
    shares = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert shares == pytest.approx([0.14, 0.996], abs=0.001)
    assert "plotly" in Path("done.html").read_text()
