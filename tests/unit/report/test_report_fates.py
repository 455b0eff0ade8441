"""What became of what was sent, and how sure a report is: fates, metrics, error bars."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from pocketsim import testing
from pocketsim.report import write_report
from pocketsim.report.charts import grids, latency, rates, theme
from pocketsim.report.runs.run import Run, as_series, load
from pocketsim.report.sections import fates
from tools import reference


@pytest.fixture
def lossy(tmp_path: Path) -> list[Path]:
    """Two runs at two rates of two repetitions each that lose 60 and 160 of 100 and 300 messages.

    Of the others some are in flight at the end.
    """
    counts = (
        {"sent": 100, "stored": 30, "in_flight": 10, "lost": {"link_loss": 50, "timeout": 10}},
        {"sent": 300, "stored": 120, "in_flight": 20, "lost": {"timeout": 160}},
    )
    made = []
    for rate, counted in zip((4.0, 8.0), counts, strict=True):
        run = testing.run_dir(
            tmp_path, testing.resolved("lossy", rate, 100, "udp", 2), testing.Shape()
        )
        found = json.loads((run / "metrics.json").read_text())
        ratio, in_flight = (counted[key] / counted["sent"] for key in ("stored", "in_flight"))
        found["counts"] = counted
        found["metrics"]["success_ratio"] = interval(ratio, 0.0, ratio + 0.25)
        found["metrics"]["in_flight_ratio"] = interval(in_flight, 0.0, in_flight + 0.125)
        found["metrics"]["store_rate_per_s"] = interval(2.0, -1.0, 5.0)
        found["metrics"]["rtt_ms_p50"] = interval(10.0, 9.0, 14.0)
        (run / "metrics.json").write_text(json.dumps(found))
        made.append(run)
    return made


def interval(mean: float, low: float, high: float) -> dict[str, Any]:
    bounds = {"ci95_low": low, "ci95_high": high, "ci95_method": "t", "normal_ci95": 99.0}
    return {"value": mean, "mean": mean, **bounds, "values": [mean, mean]}


def cells(html: str, name: str) -> list[str]:
    (row,) = re.findall(rf"<tr><td>{name}</td>.*?</tr>", html)
    return re.findall(r"<td[^>]*>(.*?)</td>", row)


def small(text: str) -> str:
    return f'<br><span class="interval">{text}</span>'


def test_every_fate_is_a_part_of_a_bar(lossy: list[Path]):
    chart = fates.chart(load(lossy))
    assert [(bar.name, bar.x) for bar in chart.data] == [
        ("stored", (30.0, 40.0)),
        ("in flight at the end", (10.0, pytest.approx(20 / 3))),
        ("lost: timeout", (10.0, pytest.approx(160 / 3))),
        ("lost: on the way", (50.0, 0.0)),
    ]
    assert [sum(parts) for parts in zip(*(bar.x for bar in chart.data), strict=True)] == [100, 100]
    assert chart.data[0].y == ("4/s", "8/s")
    assert chart.layout.barmode == "stack"


def test_a_receiver_that_is_off_is_one_cause_of_one_colour_over_all_transports(lossy: list[Path]):
    """Over UDP a loss is told at once, over QUIC the handshake is given up."""
    bars = []
    for path, lost in zip(lossy, ({"receiver_off": 60}, {"connect_timeout": 160}), strict=True):
        found = json.loads((path / "metrics.json").read_text())
        found["counts"]["lost"] = lost
        (path / "metrics.json").write_text(json.dumps(found))
        (run,) = load([path])
        bars += [bar for bar in fates.chart([run]).data if bar.name.startswith("lost")]
    assert [bar.name for bar in bars] == ["lost: receiver off or unreachable"] * 2
    assert len({bar.marker.color for bar in bars}) == 1


def test_every_reason_of_the_engine_has_a_cause_with_a_colour_of_its_own(root: Path):
    contract = (root / "sim/protocols/src/contract.rs").read_text()
    causes = {fates.cause_of(reason) for reason, _ in reference.named(contract, "Reason")}
    every = ["stored", "in flight", *sorted(causes)]
    assert len({fates.colour(fate) for fate in every}) == len(every)


def test_counts_add_up_in_a_table(lossy: list[Path]):
    html = fates.counts_table(load(lossy))
    assert cells(html, "4/s") == [
        *("4/s", "100", f"30{small('30 %')}", f"10{small('10 %')}"),
        *(f"10{small('10 %')}", f"50{small('50 %')}"),
    ]
    assert cells(html, "8/s")[-1] == "0"


def test_main_metrics_have_intervals_and_what_is_in_flight(lossy: list[Path]):
    html = fates.metrics_table(load(lossy))
    head = re.findall(r"<th[^>]*>(.*?)</th>", html)
    at = dict(zip(head, cells(html, "4/s"), strict=True))
    assert at["stored / sent"] == f"30 %{small('0 % to 55 %')}"
    assert at["in flight at the end / sent"] == f"10 %{small('0 % to 22.5 %')}"
    assert at["round trip, median, ms"] == f"10{small('9 to 14')}"


def test_a_report_of_trades_has_fates_and_metrics(lossy: list[Path], tmp_path: Path):
    write_report(lossy, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<h2 id="fates">What became of what was sent</h2>' in html
    assert "<summary>main metrics of each run</summary>" in html
    assert "<th>lost: timeout</th>" in html.replace(' class="n"', "")


def test_bars_of_ratios_stay_between_their_bounds(lossy: list[Path]):
    found = load(lossy)
    (sweep,) = (chart for _, words, chart in grids.charts(found) if words.startswith("stored ov"))
    for chart in (rates.success(as_series(found)), sweep):
        stored, in_flight = chart.data
        assert not stored.error_y.symmetric
        assert stored.error_y.array == pytest.approx((0.25, 0.25))
        assert stored.error_y.arrayminus == stored.y == (0.3, 0.4)
        assert in_flight.y == (0.1, pytest.approx(20 / 300))
        assert in_flight.error_y.array == (pytest.approx(0.125),) * 2
        assert in_flight.showlegend is False


def test_bars_of_round_trips_are_as_long_as_their_sides(lossy: list[Path]):
    median, _ = latency.against_rate(as_series(load(lossy))).data
    assert (median.error_y.array, median.error_y.arrayminus) == ((4.0, 4.0), (1.0, 1.0))


@pytest.mark.parametrize(("log", "least"), [(False, 2.0), (True, 1.9)])
def test_no_bar_goes_below_zero(log: bool, least: float):  # noqa: FBT001 - a parameter of a test
    found = theme.bars([2.0, 2.0], [(-1.0, 5.0), None], log=log)
    assert (found["array"], found["arrayminus"]) == ([3.0, 0.0], [least, 0.0])


def test_the_page_says_what_its_bars_are(lossy: list[Path], tmp_path: Path):
    write_report(lossy, tmp_path / "report.html")
    html = unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "Student's t, of quantiles a bootstrap over repetitions" in html
    assert "their bars are the theses' own, 1.96 s/√n" in html


def kept(folder: Path, **sections: Any) -> list[Run]:
    resolved = testing.resolved("kept", 16.0, 100, "quic_keep", 2, **sections)
    return load([testing.run_dir(folder, resolved, testing.Shape())])


@pytest.mark.parametrize(("kind", "there"), [("paced", True), ("poisson", False)])
def test_outcomes_are_of_two_phones_with_one_connection(tmp_path: Path, kind: str, there: bool):  # noqa: FBT001 - the same
    (run,) = kept(tmp_path, workload={"kind": kind})
    write_report([run.path], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ('<h2 id="outcomes">' in html) == there
    assert ("in flight at the end: at most" in html) == there
