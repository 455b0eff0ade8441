"""The judgement of another device as rows of text, for a terminal and a page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.calibration.host.judging import RTT_P50, RTT_P95

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pocketsim.calibration.host.judging import Row

HEAD = (
    *("point", "carrier", "load", "payload", "p50 ms real", "its own profile", "90 %"),
    *("error", "floor", "p95 error", "floor", "this one's profile", "p50 error", "p95 error"),
)
NOTE = (
    "Both ends run on one core, as real as simulated, without a relay; the same trades are "
    "simulated with the other device's own profile and with this one's. Errors are log ratios of "
    "medians over repetitions, simulated to real; a floor is how far real is from real."
)


def rows_of(rows: Iterable[tuple[Row, Row]]) -> list[tuple[str, ...]]:
    """Return a row of `HEAD` for each point: by its own profile and by this computer's."""
    return [_row(own, foreign) for own, foreign in rows]


def _row(own: Row, foreign: Row) -> tuple[str, ...]:
    point, middle, late = own.point, own.errors[RTT_P50], own.errors[RTT_P95]
    others = foreign.errors[RTT_P50], foreign.errors[RTT_P95]
    return (
        *(point.name, point.carrier, f"{point.load_ratio:.3f}", f"{point.payload_bytes} B"),
        *(_milliseconds(middle.measured), _milliseconds(middle.simulated)),
        f"{_milliseconds(middle.low)} to {_milliseconds(middle.high)}",
        *(_signed(middle.error), _short(middle.floor), _signed(late.error), _short(late.floor)),
        _milliseconds(others[0].simulated),
        *(_signed(each.error) for each in others),
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}" if math.isfinite(value) else "-"


def _milliseconds(value_s: float) -> str:
    return _short(1000 * value_s)


def _short(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"
