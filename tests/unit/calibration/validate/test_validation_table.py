"""A validation as text: bars, verdicts and rows, on 80 columns and in Markdown."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest

from pocketsim.calibration.validate import published, summaries, table, validation
from pocketsim.calibration.validate.answers import Comparison, blank

ROWS = published.rows()


def invented(row: published.Row, number: int) -> Comparison:
    """A comparison whose cells are about as wide as they get."""
    value = row.value or 12345.6
    simulated = value * (1 + (-1) ** number * 0.1234 * (number % 9))
    found = replace(blank(row), published=value, simulated=simulated, simulated_ci95=value / 3)
    return replace(
        found,
        ci95=found.ci95 or value / 7,
        error_ratio=simulated / value - 1,
        agrees=bool(number % 2),
        holds=None if number % 3 else bool(number % 2),
        in_flight_ratio=0.123 if row.target.metric == "settled_success_ratio" else None,
    )


def printed(result: validation.ValidationResult, width: int, **options: bool) -> str:
    from rich.console import Console

    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(table.render(result, **options), soft_wrap=True)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("answered", [True, False])
def test_table_fits_80_columns_without_cutting_names(width: int, *, answered: bool):
    rows = [invented(row, number) for number, row in enumerate(ROWS)]
    result = validation.ValidationResult(tuple(rows), tuple(summaries.summarise(rows)))
    if not answered:
        result = validation.judge(ROWS, {})
    for options in ({}, {"rows": True}, {"rows": True, "every_row": True}):
        text = printed(result, width, **options)
        assert max(map(len, text.splitlines())) <= 80
        first = {line.split()[0] for line in text.splitlines() if line[:1] not in {"", " "}}
        assert {summary.group for summary in result.summaries} <= first
        shown = table.shown(result, every_row="every_row" in options)
        ids = {row.id for row in shown}
        assert ids <= first if options else not ids & first
    assert table.verdict_line(result)[:30] in printed(result, width)


def test_only_what_misses_a_bar_is_red():
    def row(name: str, group: str, ratio: float, **changes: Any) -> Comparison:
        shown = Comparison(name, name, group, "predicted", "1/s", 1.0, 0.001, 1.0 + ratio)
        return replace(shown, error_ratio=ratio, **changes)

    rows = [
        row("tiny", "udp", 0.005, agrees=False),
        row("far", "udp", 0.2, agrees=False),
        row("good", "udp", 0.0, agrees=True),
        row("known", "token_receive", 0.18),
        row("near", "reconnect_store", 0.5, agrees=True),
        row("off", "reconnect_store", 0.9, agrees=False),
        row("said", "latency_claim", 0.5, holds=False),
        row("claimed", "iroh_reliable", 0.5, holds=False),
    ]
    result = validation.ValidationResult(tuple(rows), tuple(summaries.summarise(rows)))
    text = table.render(result, rows=True)
    styles = {text.plain[span.start : span.end].split()[0]: span.style for span in text.spans}
    assert {name: styles[name] for name in ("tiny", "far", "good", "known")} == {
        "tiny": "yellow",
        "far": "red",
        "good": "green",
        "known": "yellow",
    }
    assert {name: styles[name] for name in ("near", "off", "said", "claimed")} == {
        "near": "green",
        "off": "red",
        "said": "yellow",
        "claimed": "red",
    }
    groups = ("udp", "token_receive", "reconnect_store", "latency_claim")
    assert [styles.get(name, "") for name in groups] == ["red", "yellow", "red", ""]
    assert [table.verdict(row) for row in rows[:4]] == [None, False, True, None]
    assert table.verdict(row("beyond its ceiling", "token_receive", 0.2)) is False


def test_predicted_and_fitted_rows_are_also_summed_apart():
    def row(name: str, basis: str, ratio: float) -> Comparison:
        shown = Comparison(name, name, "udp", basis, "1/s", 1.0, None, 1.0 + ratio)
        return replace(shown, error_ratio=ratio)

    mixed = [row("a", "fitted", 0.0), row("b", "fitted", -0.01), row("c", "predicted", 0.08)]
    (summary,) = summaries.summarise(mixed)
    assert summary.met is True
    assert summary.worst_error_ratio == 0.08
    assert summary.by_basis["predicted"].median_error_ratio == 0.08
    assert summary.by_basis["fitted"].worst_error_ratio == 0.01
    assert table.summary_cells(summary)[5:7] == ("1: 8.0%, 8.0%", "2: 0.5%, 1.0%")
    alone = summaries.summarise(mixed[:2])
    assert table.summary_cells(alone[0])[5] == "all fitted"
    latency = replace(summary, group="latency", standing="validated")
    both = validation.ValidationResult((), (latency, *alone))
    line = "All met. 2 of 2 bars met; 1 validated, 1 described, 0 not validated."
    assert table.verdict_line(both) == f"{line} 0 rows, 0 independent."
    data = json.loads(both.as_json())["summaries"][0]
    assert data["by_basis"]["predicted"]["rows"] == 1


def test_a_bar_known_to_be_missed_is_said_and_does_not_fail_the_rest():
    def row(name: str, group: str, ratio: float) -> Comparison:
        shown = Comparison(name, name, group, "predicted", "1/s", 1.0, None, 1.0 + ratio)
        return replace(shown, error_ratio=ratio)

    def verdict(*rows: Comparison) -> tuple[str, str]:
        result = validation.ValidationResult(rows, tuple(summaries.summarise(rows)))
        return result.verdict, table.verdict_line(result).partition(" 0 validated")[0]

    known, title = row("a", "token_receive", 0.06), "Offline tokens end to end: receiving over EVA"
    said = f"Known to be missed: {title}."
    but = "met but for known misses"
    assert verdict(known) == (but, f"Met but for known misses. {said} 0 of 1 bars met;")
    both = verdict(known, row("b", "udp", 0.0))
    assert both == (but, f"Met but for known misses. {said} 1 of 2 bars met;")
    assert verdict(known, row("b", "udp", 0.2)) == (
        "missed",
        f"Missed. Missed: Plain UDP: rates and counts. {said} 0 of 2 bars met;",
    )
    assert verdict(row("a", "token_receive", 0.04)) == ("all met", "All met. 1 of 1 bars met;")
    worse = verdict(row("a", "token_receive", 0.5))
    assert worse == ("missed", f"Missed. Missed: {title}. 0 of 1 bars met;")
