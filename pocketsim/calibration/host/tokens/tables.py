"""Batches of tokens as rows of text, for a terminal and a page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.calibration.host.tokens.judging import NULLS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pocketsim.calibration.host.tokens.judging import Row

HEAD = (
    *("operation", "tokens", "folder", "ms real", "predicted", "machine", "idle commands"),
    *("tokens/s real", "predicted", "90 %", "error", "floor"),
    *(*(f"null {name}" for name in NULLS), "use"),
)
NOTE = (
    "Errors are log ratios of rates, predicted to real; a floor is how far real is from real. "
    "Predicted is the simulator's machine, idle commands as measured, and what memory and files "
    "take by the probe's reports. Null signatures: idle commands, and signatures by those reports. "
    "Null line: through what batches of other sizes took."
)


def rows_of(rows: Iterable[Row]) -> list[tuple[str, ...]]:
    """Return a row of `HEAD` for each operation of each batch."""
    return [_cells(row) for row in rows]


def _cells(row: Row) -> tuple[str, ...]:
    times_s = (row.measured_s, row.predicted_s, row.machine_s, row.empty_s)
    return (
        *(row.operation, str(row.batch.tokens), row.batch.place),
        *(f"{1000 * time_s:.3g}" for time_s in times_s),
        *(f"{row.rate_per_s:.4g}", f"{row.predicted_per_s:.4g}"),
        f"{row.low_per_s:.4g} to {row.high_per_s:.4g}",
        *(f"{row.error:+.3f}", f"{row.floor:.3g}"),
        *("-" if math.isnan(row.nulls[name]) else f"{row.nulls[name]:+.3f}" for name in NULLS),
        "dropped" if row.is_dropped else "compared",
    )
