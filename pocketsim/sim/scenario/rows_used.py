"""How much of a user's file a run uses: rows of how many, and when the file's times are.

A row counts if any of it is between the run's begin, `origin` in the file's time, and its end. What
becomes of rows is the plan's business; what a row may hold is told where files are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.units import FIRST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    from pocketsim.sim.base.tables import Table

    Floats = npt.NDArray[Any]


@dataclass(frozen=True)
class Used:
    """What a run uses of a file: `rows` of `of_rows`, whose times are from `first` to `last`.

    `origin_s` is the time in the file at which the run begins. `rows_if_ms` is how many rows it
    would use if times were milliseconds, `in_thousands` whether all are so many thousands apart.
    `is_far_longer`: the file goes on for days and a hundred times as long as the run;
    `begin_at_once`: no row begins within the run but with the first.
    """

    path: Path
    rows: int
    of_rows: int
    first: str
    last: str
    origin_s: float
    origin: str
    rows_if_ms: int
    in_thousands: bool
    is_far_longer: bool
    begin_at_once: bool

    def told(self) -> dict[str, Any]:
        """Return what the manifest of a run says."""
        return {
            "file": self.path.name,
            "rows": self.of_rows,
            "rows_used": self.rows,
            "first": self.first,
            "last": self.last,
            "origin": self.origin,
        }

    def text(self) -> str:
        """Return the same as a line for people."""
        return (
            f"{self.path.name}: {self.rows} of {self.of_rows} rows are in the run, which begins at "
            f"{self.origin}; its times are from {self.first} to {self.last}"
        )


def of(
    table: Table, begin_s: Floats, end_s: Floats, asked: float | str | None, duration_s: float
) -> Used:
    """Return what a run of `duration_s` uses of a table whose rows are from `begin_s` to `end_s`.

    Those of an event are equal. `asked` is the origin in the document, None for 0.
    """
    first_s, last_s = float(begin_s.min()), float(end_s.max())
    origin_s = origin(asked, first_s)
    rows = _count(begin_s - origin_s, end_s - origin_s, duration_s)
    begun = (begin_s > max(first_s, origin_s)) & (begin_s < origin_s + duration_s)
    return Used(
        table.path,
        rows,
        begin_s.size,
        table.time_text(first_s),
        table.time_text(last_s),
        origin_s,
        table.time_text(origin_s),
        0 if table.is_dated else _rows_if_ms(begin_s, end_s, asked, origin_s, duration_s),
        all(_are_thousands(values - first_s) for values in (begin_s, end_s)),
        last_s - origin_s > max(_DAY_S, _FAR * duration_s),
        not begun.any(),
    )


def check(used: Used, table: Table, duration_s: float) -> None:
    """Raise ScenarioError where no row is in the run: times are mostly of another clock."""
    if not used.rows:
        until = table.time_text(used.origin_s + duration_s)
        raise ScenarioError(used.path, "", _reason(used, until))


def origin(asked: float | str | None, first_s: float) -> float:
    """Return the time in a file, whose earliest is `first_s`, at which a run begins."""
    return first_s if asked == FIRST else float(asked or 0.0)


def warnings(used: Used) -> Iterator[str]:
    """Yield what somebody may not mean who uses so much of a file."""
    if looks_like_ms(used):
        yield f"{used.text()}; they look like milliseconds, and are read as seconds: {as_ms(used)}"
    elif _are_few(used):
        yield f"{used.text()}; `origin` says where in the file the run begins"


def looks_like_ms(used: Used) -> bool:
    """Tell whether times may be milliseconds: so nearly all rows would be in the run."""
    would_fit = used.rows_if_ms >= _MOST * used.of_rows
    is_in_part = used.rows < used.rows_if_ms and (
        _are_few(used) or (used.in_thousands and 2 * used.rows <= used.of_rows)
    )
    is_far_longer = used.is_far_longer and (used.in_thousands or used.begin_at_once)
    return would_fit and (is_in_part or is_far_longer)


def as_ms(used: Used) -> str:
    """Return how much of the file a run would use if its times were milliseconds."""
    return f"as milliseconds {used.rows_if_ms} of {used.of_rows} rows would be in the run"


def _are_few(used: Used) -> bool:
    return used.rows < _FEW * used.of_rows or used.rows == 1 < used.of_rows


def _count(begin_s: Floats, end_s: Floats, duration_s: float) -> int:
    # What is at one time is in the run from its first moment on, what lasts must not be over then.
    import numpy as np

    begun = np.where(end_s > begin_s, end_s > 0, begin_s >= 0)
    return int(np.count_nonzero(begun & (begin_s < duration_s)))


def _are_thousands(since_s: Floats) -> bool:
    # Most are not, and the first few say so: to divide ten million takes half a second.
    return not (since_s[:_FIRST] % _MS).any() and not (since_s % _MS).any()


def _rows_if_ms(
    begin_s: Floats, end_s: Floats, asked: float | str | None, origin_s: float, duration_s: float
) -> int:
    """Return how many rows are in the run if times, and perhaps the origin, are milliseconds."""
    origins_s = [origin_s / _MS] if asked == FIRST else [origin_s, origin_s / _MS]
    return max(_count(begin_s / _MS - one, end_s / _MS - one, duration_s) for one in origins_s)


def _reason(used: Used, until: str) -> str:
    reason = (
        f"has nothing between {used.origin} and {until}, where the run is; its times are from "
        f"{used.first} to {used.last}, and `origin` moves it"
    )
    if used.rows_if_ms:
        return f"{reason}; times are seconds: {as_ms(used)}"
    return f'{reason}: "{FIRST}" to its first row'


_MS = 1000.0
_FEW = 0.05
_FIRST = 1000
_FAR = 100
_DAY_S = 86_400.0
_MOST = 0.9
