"""Which charts of trades a report has: none that has one point, all where there is more to see.

And what holds of charts on a phone's screen, where names are long and axes short. The runs are
invented, but for the numbers of a scenario that published figures belong to.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pocketsim import testing
from pocketsim.calibration.validate import published, validation
from pocketsim.report import write_report
from pocketsim.report.charts import latency, theme
from pocketsim.report.runs import round_trips
from pocketsim.report.runs.run import as_series, load
from pocketsim.report.sections import fates, verdicts
from pocketsim.sim.scenario.load import load as load_scenario
from pocketsim.sim.scenario.resolve import resolve

UDP = "pocketsim/scenarios/throughput/udp_128b.toml"
ALL = ("rates", "success", "round-trips", "distributions", "outcomes", "block-sizes")
DEAD = testing.Shape(breaks_s=(0.0,) * 5)


def made(folder: Path, shape: testing.Shape | None = None, **numbers: Any) -> Path:
    """Make an invented run, by default of two repetitions."""
    numbers = {"repetitions": 2, **numbers}
    return testing.run_dir(
        folder, testing.resolved("grid", **numbers), shape or testing.Shape(lost_ratio=0.1)
    )


def page(folder: Path, runs: list[Path]) -> str:
    write_report(runs, folder / "report.html", plotly_js="plotly.js")
    return (folder / "report.html").read_text(encoding="utf-8")


def charts(html: str) -> dict[str, int]:
    """Return how many charts each section on trades has."""
    _, *parts = re.split(r'<h2 id="([\w-]+)"', html)
    counts = dict(zip(parts[::2], map(drawn, parts[1::2]), strict=True))
    return {name: count for name, count in counts.items() if name in ALL}


def drawn(html: str) -> int:
    return html.count('class="plotly-graph-div"')


def test_of_one_run_only_what_has_a_distribution_is_drawn(tmp_path: Path):
    html = page(tmp_path, [made(tmp_path)])
    assert charts(html) == {"distributions": 2}
    assert "by repetition; box: quartiles" in html
    assert "from the proposal leaving the app" in html.lower()
    assert "1 run, 2 repetitions" in html


def test_one_repetition_is_no_row_of_boxes(tmp_path: Path):
    html = page(tmp_path, [made(tmp_path, repetitions=1)])
    assert charts(html) == {"distributions": 1}
    assert "box: quartiles" not in html


def test_losses_keep_the_completion_curve_below_1(tmp_path: Path):
    losing = made(tmp_path / "losing", testing.Shape(lost_ratio=0.1))
    assert 'id="completion"' in page(tmp_path, [losing])
    (series,) = as_series(load([losing]))
    (line,) = latency.completion([series]).data
    assert np.all(np.diff(line.y) >= 0)
    success = series.runs[0].mean("success_ratio")
    assert success < 0.95
    assert line.y[-1] == pytest.approx(100 * success, abs=1)
    assert line.x[-1] == pytest.approx(series.runs[0].resolved["run"]["duration_s"], rel=0.05)


def test_a_transport_has_its_colour_where_it_has_one_line(tmp_path: Path):
    names = ("quic_keep", "udp")
    runs = [made(tmp_path / name, transport=name) for name in names]
    series = as_series(load(runs))
    looks = [line.line.color for line in latency.completion(series).data]
    assert looks == [theme.colour(one.transport) for one in series]
    again = [*runs, made(tmp_path / "again", transport="udp", rate_per_s=3.0)]
    lines = latency.completion(as_series(load(again))).data
    assert len({line.line.color for line in lines}) == 3


def test_a_repetition_that_stores_nothing_counts_in_the_curve_of_what_is_done(tmp_path: Path):
    half = made(tmp_path, testing.Shape(breaks_s=(0.0, 99.0)), transport="quic_keep")
    (series,) = as_series(load([half]))
    assert series.runs[0].mean("success_ratio") == pytest.approx(0.5, abs=0.02)
    (line,) = latency.completion([series]).data
    assert line.y[-1] == pytest.approx(50, abs=2)


def test_where_all_is_done_round_trips_say_when(tmp_path: Path):
    assert 'id="completion"' not in page(tmp_path, [made(tmp_path, testing.Shape())])


def test_of_a_run_without_stores_nothing_is_drawn(tmp_path: Path):
    assert charts(page(tmp_path, [made(tmp_path, DEAD)])) == {}


@pytest.mark.parametrize(("repetitions", "there"), [(1, False), (3, True)])
def test_a_kept_connection_needs_more_than_one_outcome(
    tmp_path: Path,
    repetitions: int,
    there: bool,  # noqa: FBT001 - a parameter of a test
):
    run = made(tmp_path, transport="quic_keep", repetitions=repetitions)
    assert ("outcomes" in charts(page(tmp_path, [run]))) == there


def test_several_rates_have_every_chart(tmp_path: Path):
    runs = [made(tmp_path, transport="quic_keep", rate_per_s=rate) for rate in (4.0, 8.0)]
    html = page(tmp_path, runs)
    assert charts(html) == {**dict.fromkeys(ALL, 1), "distributions": 2}
    assert html.lower().count("from the proposal leaving the app") == 1


def test_transports_at_one_rate_are_drawn_together(tmp_path: Path):
    runs = [made(tmp_path, transport=transport) for transport in ("udp", "quic_reconnect")]
    assert charts(page(tmp_path, runs)) == {"success": 1, "round-trips": 1, "distributions": 2}


def test_payloads_at_one_rate_are_drawn_along_payloads(tmp_path: Path):
    runs = [made(tmp_path, payload_bytes=size) for size in (10, 100, 1000)]
    html = page(tmp_path, runs)
    assert charts(html) == {"round-trips": 1}
    assert "16/s, by payload" in html


def test_payloads_that_share_no_rate_are_not(tmp_path: Path):
    runs = [made(tmp_path, payload_bytes=size, rate_per_s=size) for size in (10, 20)]
    assert charts(page(tmp_path, runs)) == {}


def test_single_runs_of_several_scenarios_are_each_one_point(tmp_path: Path):
    runs = [
        testing.run_dir(tmp_path, testing.resolved(name, repetitions=2), testing.Shape())
        for name in ("one", "other")
    ]
    assert charts(page(tmp_path, runs)) == {"distributions": 4}


def test_one_run_stands_beside_what_was_published(tmp_path: Path, root: Path):
    changes = ["run.repetitions=2", "workload.rate=16/s"]
    (rung,) = resolve(load_scenario(root / UDP, changes))
    run = testing.run_dir(tmp_path, rung.resolved, testing.Shape())
    assert charts(page(tmp_path, [run])) == {"rates": 1, "distributions": 2, "block-sizes": 1}


def test_a_box_is_of_one_repetition(tmp_path: Path):
    (run,) = load([made(tmp_path, repetitions=3)])
    (boxes,) = latency.repetitions(run).data
    assert boxes.x == ("1", "2", "3")
    assert len(set(boxes.median)) == 3
    assert boxes.median == pytest.approx(run.values("rtt_ms_p50"))
    # Those of all repetitions lie between those of each.
    low, *_, high = latency.quantiles(run) or ()
    assert min(boxes.lowerfence) <= low <= max(boxes.lowerfence)
    assert min(boxes.upperfence) <= high <= max(boxes.upperfence)
    assert round_trips.of_run(run).count == np.sum(run.values("store_count"))


def test_a_repetition_without_stores_has_no_box(tmp_path: Path):
    shape = testing.Shape(breaks_s=(25.1, 0.0, 25.1))
    (run,) = load([made(tmp_path, shape, repetitions=3)])
    chart = latency.repetitions(run)
    assert chart.data[0].x == ("1", "3")
    assert chart.layout.xaxis.categoryarray == ("1", "2", "3")


def test_the_only_fate_is_named(tmp_path: Path):
    chart = fates.chart(load([made(tmp_path, testing.Shape())]))
    assert [bar.name for bar in chart.data] == ["stored"]
    assert chart.layout.showlegend


def test_the_last_number_of_an_axis_has_room():
    """`100 %` is five letters, of which half lie beyond the plot."""
    half_px = 5 * 13 * 0.6 / 2
    assert theme.figure("", "").layout.margin.r >= half_px


def test_a_legend_is_below_whatever_an_axis_needs(tmp_path: Path):
    """Where labels stand upright, a legend hung from the plot would lie on the axis's title."""
    (run,) = runs = load([made(tmp_path)])
    for chart in (fates.chart(runs), latency.repetitions(run)):
        legend = chart.layout.legend
        assert (legend.yref, legend.yanchor, legend.y) == ("container", "bottom", 0)
        assert chart.layout.xaxis.automargin


def test_names_of_groups_are_no_wider_than_a_screen_has_room_for():
    judged = validation.judge(published.rows(), {})
    summaries = tuple(
        replace(group, worst_error_ratio=0.5, median_error_ratio=0.1) for group in judged.summaries
    )
    rows = tuple(replace(row, error_ratio=0.1) for row in judged.comparisons)
    chart = verdicts.errors(validation.ValidationResult(rows, summaries, ()))
    names = {name for dots in chart.data for name in dots.y}
    lines = [name.split("<br>") for name in names]
    assert {" ".join(parts) for parts in lines} == {group.title for group in summaries}
    assert max(len(part) for parts in lines for part in parts) <= 24
    most = max(map(len, lines))
    assert most > 2
    assert chart.layout.height / len(names) > 13 * most


def test_an_axis_of_round_trips_spans_what_was_published(tmp_path: Path):
    """Ticks as fine as simulated round trips need would lie on each other."""
    made = [
        testing.run_dir(
            tmp_path, testing.resolved("rate", rate, 512, "quic_keep"), testing.Shape(rtt_s=0.2)
        )
        for rate in (5.0, 50.0)
    ]
    chart = latency.against_rate(as_series(load(made, made)))
    median_ms = next(line.y[0] for line in chart.data if "published" in line.name)
    assert median_ms == 18.2
    ticks = [tick for tick in chart.layout.yaxis.tickvals if median_ms <= tick <= 400]
    assert len(ticks) < 10
