"""Moments in a table: dates and times as seconds since 1970-01-01T00:00:00Z, and back as text.

A text is RFC 3339 or ISO 8601 ("2013-12-02T11:00:00+01:00"); one without a time zone is in UTC.
"""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.arrow import numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


def kinds(
    line: str, names: Sequence[str], delimiter: str, columns: Collection[str]
) -> dict[str, pa.DataType]:
    """Return the types of those `columns` whose value in a line, of columns `names`, is a date."""
    try:
        values = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:  # of a field of thousands of characters
        return {}
    found = {}
    for name, value in zip(names, values, strict=False):
        if name in columns and (match := _DATE.match(value.strip())):
            found[name] = _type("UTC" if match["zone"] else None)
    return found


def is_moment(kind: pa.DataType) -> bool:
    """Tell whether values of this type are dates and times."""
    import pyarrow as pa

    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def seconds(values: pa.Array) -> npt.NDArray[np.float64]:
    """Return dates and times as seconds since 1970-01-01T00:00:00Z, NaN where there is none."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date(values.type):
        values = pc.cast(values, pa.timestamp("ms"))
    per_s = _PER_S[values.type.unit]
    whole = numbers(pc.cast(values, pa.int64()), absent=_ABSENT)
    # A double has no room for nanoseconds of today: what is below a second is added to the rest.
    rest = whole % per_s
    found: npt.NDArray[np.float64] = (whole - rest) // per_s + rest / per_s
    found[whole == _ABSENT] = np.nan
    return found


def text(seconds_: float) -> str:
    """Return a moment as RFC 3339 in UTC, to the microsecond."""
    try:
        moment = _EPOCH + timedelta(seconds=seconds_)
    except OverflowError:
        return f"{seconds_:.12g} s"
    return moment.isoformat().replace("+00:00", "Z")


def _type(zone: str | None) -> Any:
    import pyarrow as pa

    return pa.timestamp("ns", zone)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*?)?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?$")
_PER_S = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_ABSENT = -(2**63)  # numpy's NaT
