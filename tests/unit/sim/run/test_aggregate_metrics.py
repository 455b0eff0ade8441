"""Runs that keep no events: their metrics are those of events, and who needs events says so."""

import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pocketsim as ps
from pocketsim.cli import app
from pocketsim.report import write_report
from pocketsim.report.charts import latency
from pocketsim.report.runs.run import load as load_runs
from pocketsim.sim.base import engine_output, families
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.metrics import custom_protocol, histograms
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import collect, rundir, runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from tools.campaign import __main__ as campaign
from tools.campaign import checking, drawing

METRICS = 'output.trace="metrics"'


def spread(*buckets):
    """Durations by bucket: where it begins and ends, and how many it has."""
    from_s, to_s, count = (list(column) for column in zip(*buckets, strict=True))
    return {"sum_s": 0.0, "from_s": from_s, "to_s": to_s, "count": count}


NOTHING = {"sum_s": 0.0, "from_s": [], "to_s": [], "count": []}


def test_percentiles_of_buckets_are_numpys_of_their_middles():
    one = spread((0.0, 0.0, 3), (0.25, 0.75, 1), (1.0, 3.0, 4))
    other = spread((0.25, 0.75, 2), (4.0, 8.0, 1))
    middles = [0.0] * 3 + [0.5] * 3 + [2.0] * 4 + [6.0]
    percents = np.linspace(0, 100, 57)
    found = histograms.percentiles_s([one, other], percents)
    assert found == pytest.approx(np.percentile(middles, percents))


def test_empty_histogram_has_no_percentile_and_no_mean():
    assert np.isnan(histograms.percentiles_s([NOTHING, NOTHING], (50, 95))).all()
    assert np.isnan(histograms.mean_s(NOTHING))


def test_a_statement_has_the_fields_that_the_engine_gives_it(root):
    source = (root / "sim/engine/src/record/summary.rs").read_text()
    structs = re.findall(r"pub struct (\w+) \{(.*?)\n\}", source, re.DOTALL)
    assert structs
    for name, body in structs:
        assert list(getattr(engine_output, name).__annotations__) == re.findall(
            r"pub (\w+): ", body
        ), name


@pytest.mark.parametrize(("deliveries", "expected"), [(3, 500.0), (4, None)])
def test_deliveries_are_timed_where_each_transaction_has_one(deliveries, expected):
    statement = {
        "all": {"sent": 4, "stored": 3, "lost": 0},
        "delivery": {**spread((0.25, 0.75, 3)), "sum_s": 1.5},
        "deliveries_sent": deliveries,
    }
    found = custom_protocol.of_ledger(
        {"ledger": statement, "counters": {"deliver": deliveries}}, {}
    )
    assert found["deliveries_per_transaction"] == deliveries / 4
    for name in ("delivery_ms_p50", "delivery_ms_p95", "delivery_ms_mean"):
        assert found[name] == expected or (expected is None and np.isnan(found[name]))


def drawn(tmp_path, seed, count):
    """Yield plans of drawn scenarios whose families have a ledger, and what they are plans of.

    Some are drawn that no document may ask for.
    """
    places = campaign._places(tmp_path)
    for number in range(count):
        content = drawing.scenario(seed, number, places)
        is_flow = content["run"]["fidelity"] == "flow"
        if is_flow or not families.family(content["protocol"]["kind"]).has_ledger:
            continue
        path = tmp_path / f"{number}.toml"
        path.write_text(drawing.toml(content))
        try:
            document = load(path)
            resolved = resolve(document)[0].resolved
        except ScenarioError:
            continue
        yield build_plan(resolved, 0, None, document.paths()), resolved, document.paths()


@pytest.mark.engine
@pytest.mark.parametrize("log_capacity", [None, 7])
def test_drawn_scenarios_come_to_the_same_with_events_and_without(tmp_path, log_capacity):
    compared = 0
    for plan, resolved, files in drawn(tmp_path, 11, 60):
        assert list(checking.ledger(plan, resolved, files, log_capacity)) == [], resolved["title"]
        compared += 1
    assert compared > 25


@pytest.mark.engine
def test_a_ledger_that_is_wrong_is_told(tmp_path, monkeypatch):
    run = checking._run

    def wrong(plan, resolved, files):
        result = run(plan, resolved, files)
        if result["ledger"]:
            result["ledger"]["store_count"] += 1
        return result

    monkeypatch.setattr(checking, "_run", wrong)
    plan, resolved, files = next(drawn(tmp_path, 11, 60))
    assert any("store_count" in said for said in checking.ledger(plan, resolved, files))


@pytest.fixture
def pair(scenario, tmp_path):
    """Two directories of the same rung: with events, and without."""
    full, bare = (
        runner.run(scenario, changes, out=tmp_path / name)[0]
        for name, changes in (("full", []), ("bare", [METRICS]))
    )
    return full, bare


def content(directory):
    return json.loads((directory / "metrics.json").read_text())


@pytest.mark.engine
def test_a_run_without_events_has_the_metrics_of_one_with_them(pair):
    full, bare = map(content, pair)
    error = bare.pop("quantile_error")
    assert 0 < error <= 0.01
    assert {**full, "metrics": 0, "point": 0} == {**bare, "metrics": 0, "point": 0}
    assert full["metrics"].keys() == bare["metrics"].keys()
    for name, found in bare["metrics"].items():
        expected = full["metrics"][name]["values"]
        if None in expected:
            assert found["values"] == expected, name
            continue
        by_bucket = name.endswith(("_p50", "_p95", "_p99")) or name.startswith("done_")
        bound = error if by_bucket else 1e-12
        assert found["values"] == pytest.approx(expected, rel=bound), name


@pytest.mark.engine
def test_run_directory_has_histograms_instead_of_events(pair):
    _, bare = pair
    assert rundir.is_run(bare)
    assert not (bare / rundir.EVENTS).exists()
    found = pq.read_table(bare / rundir.HISTOGRAMS).to_pandas()
    stored = content(bare)["metrics"]["store_count"]["values"]
    trips = found[found.duration == "rtt"].groupby("repetition")["count"].sum()
    assert trips.tolist() == stored
    assert (found.from_s < found.to_s).all()
    manifest = json.loads((bare / "manifest.json").read_text())
    for repetition in manifest["repetitions"]:
        told = repetition["ledger"]
        assert (told["forgotten"], told["stores_unheld"]) == (0, 0)
        assert 0 < told["held_max"] < stored[0]


@pytest.mark.engine
@pytest.mark.parametrize("form", ["csv", "graphml", "json"])
def test_exports_of_a_run_without_events_are_refused(pair, form):
    _, bare = pair
    said = CliRunner().invoke(app, ["export", str(bare), "--to", form]).exception
    assert isinstance(said, ScenarioError)
    assert (said.exit_code, said.key_path, said.suggestion) == (2, "output.trace", "full")
    assert "keeps no events" in str(said)


@pytest.mark.engine
def test_the_library_reads_its_metrics_and_histograms(pair):
    full, bare = map(ps.load, pair)
    with pytest.raises(ScenarioError, match="keeps no events"):
        _ = bare[0].events
    with pytest.raises(ScenarioError, match="keeps events"):
        _ = full[0].histograms
    assert bare[0].histograms["count"].sum() > 0
    rows = collect.rows_of((run.directory, run.point) for run in bare)
    assert rows["store_count"].to_pylist() == full.to_frame()["store_count"].tolist()


@pytest.mark.engine
def test_a_report_draws_its_round_trips(pair, tmp_path):
    full, bare = load_runs(pair)
    error = bare.metrics["quantile_error"]
    assert latency.quantiles(bare) == pytest.approx(latency.quantiles(full), rel=error)
    (lines,) = latency.repetitions(bare).data
    assert len(lines.x) == bare.metrics["repetitions"]
    write_report(pair[1:], tmp_path / "page.html")
    assert "within 0.78 %" in (tmp_path / "page.html").read_text()


REFUSED = [
    ('kind = "token_batch"', "", 'metrics of protocol "token_batch" are made of events'),
    ('crypto = "real"', "blocks = true", "output.blocks keeps the blocks of every transaction"),
    ("", 'metrics = ["mine.py:one"]', "output.metrics are made of events"),
]


@pytest.mark.parametrize(("protocol", "output", "reason"), REFUSED)
def test_outputs_that_need_events_are_refused(scenario, protocol, output, reason):
    (scenario.parent / "mine.py").write_text("def one(part, resolved):\n    return 1.0\n")
    text = scenario.read_text().replace('payload = "100B"', 'payload = "1kB"')
    sections = f'[protocol]\n{protocol}\n[output]\ntrace = "metrics"\n{output}\n'
    scenario.write_text(f"{text}\n{sections}")
    with pytest.raises(ScenarioError) as caught:
        load(scenario)
    assert (caught.value.key_path, caught.value.suggestion) == ("output.trace", "full")
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", ["outage", "sign_and_verify"])
def test_towns_and_phones_that_compute_are_refused(root, name):
    (path,) = (root / "pocketsim/scenarios").glob(f"*/{name}.toml")
    with pytest.raises(ScenarioError) as caught:
        load(path, [METRICS])
    assert (caught.value.key_path, caught.value.suggestion) == ("output.trace", "full")
