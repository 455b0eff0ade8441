"""A host's judgement as rows of text, for a terminal and a page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.calibration.host.judging import (
    QUANTITIES,
    ROUND_TRIPS,
    RTT_P50,
    RTT_P95,
    STORE_RATE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pocketsim.calibration.host.design import Point
    from pocketsim.calibration.host.judging import Bar, Error, Judgement, Row

POINT_HEAD = (
    *("point", "carrier", "load", "payload", "relay", "use"),
    *("p50 ms real", "simulated", "90 %", "error", "floor"),
    *("p95 error", "floor", "stores error", "floor", "success error", "floor"),
)
DESIGN_HEAD = ("point", "carrier", "load", "payload", "relay", "use")
BAR_HEAD = ("bar", "value", "wanted", "points", "verdict")
NOTE = (
    "Errors are log ratios of medians over repetitions, simulated to real (of success: "
    "differences); a floor is how far real is from real. Round trips are without the relay's own "
    "delay, as it measured it. Nulls and intervals are fitted to points that are marked so, no "
    "simulation is."
)


def design_rows(points: Iterable[Point]) -> list[tuple[str, ...]]:
    """Return a row of `DESIGN_HEAD` for each point."""
    return [_called(point, "nulls" if point.is_fitted else "held out") for point in points]


def point_rows(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Return a row of `POINT_HEAD` for each point."""
    return [_point_row(row) for row in rows]


def bar_rows(bars: Iterable[Bar]) -> list[tuple[str, ...]]:
    """Return a row of `BAR_HEAD` for each bar."""
    verdicts = {True: "met", False: "missed", None: "no point"}
    return [
        (bar.name, _short(bar.value), _wanted(*bar.wanted), str(bar.points), verdicts[bar.is_met])
        for bar in bars
    ]


def discrepancy_sentence(judgement: Judgement) -> str:
    """Return by how much the model is off at fitted points, which intervals have in them."""
    known = [
        f"{one.sigma:.2g} ({name.split('_')[1]})"
        for name in ROUND_TRIPS
        if (one := judgement.discrepancies[name]).degrees_of_freedom
    ]
    if not known:
        told = "No point tells by how much the model is off; no interval has that."
    else:
        told = f"Intervals have what the model is off by at points of nulls: {', '.join(known)}."
    return f"{told} Each has its point's floor, too."


def _wanted(low: float, high: float) -> str:
    if math.isinf(high):
        return f">= {low:g}"
    return f"{low:g} to {high:g}" if low else f"<= {high:g}"


def _point_row(row: Row) -> tuple[str, ...]:
    use = "dropped" if row.is_dropped else "nulls" if row.point.is_fitted else "held out"
    rtt = row.errors[RTT_P50]
    others = [row.errors[name] for name in QUANTITIES if name != RTT_P50]
    assert list(row.errors)[1:3] == [RTT_P95, STORE_RATE], "as in the head"
    return (
        *_called(row.point, use),
        *(_milliseconds(rtt.measured), _milliseconds(rtt.simulated)),
        f"{_milliseconds(rtt.low)} to {_milliseconds(rtt.high)}",
        *_error(rtt),
        *(cell for error in others for cell in _error(error)),
    )


def _called(point: Point, use: str) -> tuple[str, ...]:
    lost = {"none": "", "independent": " 1 % lost", "bursts": " 1 % lost in bursts"}[point.loss]
    relay = f"{1000 * point.delay_s:g} ms{lost}" if point.is_relayed else "none"
    load, payload = f"{point.load_ratio:.3f}", f"{point.payload_bytes} B"
    return point.name, point.carrier, load, payload, relay, use


def _error(error: Error) -> tuple[str, str]:
    return f"{error.error:+.3f}" if math.isfinite(error.error) else "-", _short(error.floor)


def _milliseconds(value_s: float) -> str:
    return _short(1000 * value_s)


def _short(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"
