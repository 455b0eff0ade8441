"""Scenarios that are changed in Python and written back, profiles as tables, figures of runs."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

import pocketsim as ps
from pocketsim.sim.devices.numbers import numbers
from pocketsim.sim.scenario.resolve import resolve

ROOT = Path(__file__).resolve().parents[3]
CHANGES = {"run.repetitions": 3, "run.seed": 77}


def resolved(document):
    """Return what determines the runs of a document, whatever its file is called."""
    return [{**rung.resolved, "scenario": ""} for rung in resolve(document)]


@pytest.mark.parametrize("name", sorted(ps.scenarios()))
def test_written_scenario_is_read_back_unchanged(name, tmp_path):
    document = ps.scenario(name, CHANGES)
    target = ps.write_scenario(document, tmp_path / f"{name}.toml")
    assert resolved(ps.scenario(target)) == resolved(document)
    assert target.read_text().count("#") >= document.text.count("#"), "comments are kept"


def test_changes_go_on_top_of_each_other(tmp_path):
    first = ps.scenario("udp_100b", {"workload.rate": "4/s"})
    second = ps.scenario(
        first,
        {"workload.rate": ["8/s", "16/s"], "title": 'of "mine" \\ and\nyours'},
    )
    assert second.scenario.title == 'of "mine" \\ and\nyours'
    again = ps.scenario(ps.write_scenario(second, tmp_path / "udp_100b.toml"))
    assert [one["rung"]["rate_per_s"] for one in resolved(again)] == [8.0, 16.0]
    assert resolved(again) == resolved(second)


def test_a_profile_of_ones_own_is_found_from_the_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = ROOT / "pocketsim/calibration/profiles/devices/moto_g04s.toml"
    Path("mine.toml").write_text(shipped.read_text())
    document = ps.scenario("udp_100b", {"devices[0].profile": "mine.toml"})
    Path("a/b").mkdir(parents=True)
    target = ps.write_scenario(document, "a/b/udp_100b.toml")
    assert f'"{tmp_path / "mine.toml"}"' in target.read_text()
    assert resolved(ps.scenario(target)) == resolved(document)
    # One that the file itself names by a path from its folder is named from another.
    near = Path("udp_100b.toml")
    near.write_text(ps.scenario("udp_100b").text.replace('"moto_g04s"', '"mine.toml"'))
    document = ps.scenario(near)
    target = ps.write_scenario(document, "a/b/udp_100b.toml")
    assert '"../../mine.toml"' in target.read_text()
    assert resolved(ps.scenario(target)) == resolved(document)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"workload.rat": "4/s"}, "did you mean rate?"),
        ({"workload.rate": object()}, "changes: workload.rate"),
        ({"devices[7].count": 1}, "no such element"),
    ],
)
def test_a_wrong_change_is_said(changes, reason):
    with pytest.raises(ps.ScenarioError) as caught:
        ps.scenario("udp_100b", changes)
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", [*ps.devices(), *ps.implementations()])
def test_a_profile_is_a_table_of_all_its_numbers(name):
    profile = ps.device(name) if name in ps.devices() else ps.implementation(name)
    frame = profile.to_frame()
    every = dict(numbers(profile.contents))
    assert list(frame.index) == list(every)
    assert frame["basis"].notna().all()
    assert frame["source"].str.len().gt(0).all()
    for path, number in every.items():
        row = frame.loc[path]
        if "cpu_s" in number:
            assert row["cpu_s"] == number["cpu_s"]
            assert row["standard_error"] == number["standard_error_s"]
        elif "value" in number:
            assert row["value"] == number["value"]
    assert repr(profile) == f"<profile {name}: {len(every)} numbers>"
    assert set(frame["doubled"].dropna()), "what published rows say"


def test_a_name_of_no_profile_is_said():
    with pytest.raises(ps.ScenarioError, match="moto_g04s"):
        ps.device("moto_g04")
    with pytest.raises(ps.ScenarioError, match="no such file"):
        ps.implementation("none/such.toml")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    changes = {"workload.rate": ["4/s", "16/s"], "run.duration": "2s", "run.repetitions": 2}
    return ps.run("udp_100b", changes, out=tmp_path_factory.mktemp("runs"), progress=False)


@pytest.mark.engine
def test_a_run_has_the_profiles_that_it_was_made_with(runs):
    (name,) = runs[0].devices
    assert name == "moto_g04s"
    both = (
        (runs[0].devices[name], ps.device("moto_g04s")),
        (runs[0].implementation, ps.implementation("trustchain_throughput_2025")),
    )
    for found, shipped in both:
        frames = (one.to_frame().sort_index() for one in (found, shipped))
        pd.testing.assert_frame_equal(*frames)


@pytest.mark.engine
def test_a_figure_has_the_means_of_the_runs(runs):
    figure = ps.plot.metric(runs, "rtt_ms_p50")
    (line,) = (trace for trace in figure.data if trace.name == "simulated")
    assert list(line.x) == [4, 16]
    assert list(line.y) == pytest.approx(
        [run.metrics["metrics"]["rtt_ms_p50"]["value"] for run in runs]
    )
    shares = ps.plot.success(runs)
    assert all(0 <= value <= 1 for trace in shares.data for value in trace.y)
    bars = ps.plot.fates(runs)
    assert sum(trace.x[0] for trace in bars.data) == pytest.approx(100)
    (sent,) = (
        trace for trace in ps.plot.send_and_store(runs).data if trace.name == "sent, simulated"
    )
    assert list(sent.x) == [4, 16]
    assert ps.plot.round_trips(runs).data
    first, second = ps.plot.distribution_functions(runs).data
    for line, run in ((first, runs[0]), (second, runs[1])):
        assert list(line.x) == sorted(line.x)
        middle_ms = dict(zip(line.y, line.x, strict=True))[50]
        medians = [value for value in run.values("rtt_ms_p50") if value is not None]
        assert min(medians) <= middle_ms <= max(medians)
    (box,) = ps.plot.distributions(runs).data
    assert all(math.isfinite(value) for value in box.median)
    # A metric that no report draws has a figure, too.
    (line,) = ps.plot.metric(runs, "processing_ms_p50").data
    assert min(line.y) > 0


@pytest.mark.engine
def test_impossible_plots_are_an_error(runs, tmp_path):
    with pytest.raises(ps.UserError, match="rtt_ms_p50"):
        ps.plot.metric(runs, "rttms_p50")
    with pytest.raises(ps.UserError, match="no run to plot"):
        ps.plot.fates([])
    changes = {"run.duration": "1s", "run.repetitions": 1, "workload.rate": "4/s"}
    other = ps.run("udp_128b", changes, out=tmp_path)
    with pytest.raises(ps.UserError, match=r"udp_100b\.toml.*udp_128b\.toml|udp_100b.*udp_128b"):
        ps.plot.metric([*runs, *other], "rtt_ms_p50")
    tasks = ps.run("sign_and_verify", {"run.duration": "10ms", "run.repetitions": 1}, out=tmp_path)
    with pytest.raises(ps.UserError, match="not of trades"):
        ps.plot.round_trips(tasks)


@pytest.mark.parametrize("name", ["udp_100b", "outage"])
def test_a_scenario_prints_as_one_short_line(name):
    plain = ps.scenario(name)
    run = plain.scenario.run
    size = f"{plain.scenario.phone_count()} phones, {run.repetitions} x {run.duration:g} s"
    assert str(plain) == repr(plain) == f"<scenario {name}: {size}>"
    changed = repr(ps.scenario(name, {"run.seed": 3}))
    assert changed == f"<scenario {name}: {size}; run.seed=3>"


def test_a_scenario_with_long_changes_prints_as_one_short_line():
    said = repr(ps.scenario("udp_100b", {"workload.rate": [f"{rate}/s" for rate in range(1, 999)]}))
    assert len(said) < 400
    assert said.isprintable()
