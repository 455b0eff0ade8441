"""Finished runs as small tables for people, and as arrays over the axes of their points.

Means over repetitions only: intervals are in each run's metrics.json. What a metric is, and its
unit, the collected table says (`sim.run.collect`).
"""

from __future__ import annotations

import html
import importlib.util
import math
from typing import TYPE_CHECKING, Any

from pocketsim.sim import __version__
from pocketsim.sim.base import axes
from pocketsim.sim.base.errors import EnvironmentMissingError, UserError
from pocketsim.sim.scenario import point_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import xarray as xr

    from pocketsim.api.results import Run
    from pocketsim.sim.run.results import Metrics
    from pocketsim.sim.scenario.point_values import Value
    from pocketsim.sim.scenario.resolved import Resolved

# In the order of the columns; a run has those of its protocol family.
MAIN = {
    "send_rate_per_s": "sent/s",
    "store_rate_per_s": "stored/s",
    "success_ratio": "success",
    "in_flight_ratio": "in flight",
    "rtt_ms_p50": "RTT p50 ms",
    "rtt_ms_p95": "p95 ms",
    "goodput_mb_per_s": "MB/s",
    "datagram_loss_ratio": "datagrams lost",
    "task_rate_per_s": "tasks/s",
    "task_us_mean": "us each",
    "data_rate_mb_per_s": "data MB/s",
    "payments_asked": "payments",
    "completed_ratio": "completed",
    "payment_ms_p50": "p50 ms",
    "payment_ms_p95": "p95 ms",
    "double_spends": "double spends",
    "wrongly_accused": "wrongly accused",
}


def summary(found: Sequence[Metrics]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the rows of a table of the main metrics of runs, a row for each."""
    columns = {
        metric: head
        for metric, head in MAIN.items()
        if any(_known(run, metric) is not None for run in found)
    }
    rows = [
        [name, *(_mean(run, metric) for metric in columns)]
        for name, run in zip(_names(found), found, strict=True)
    ]
    return ["run", *columns.values()], rows


def warnings(runs: Iterable[tuple[Metrics, Resolved]]) -> list[str]:
    """Return what to know of runs: prices, not measured, that make most of their energy."""
    from pocketsim.sim.metrics import energy_shares  # loads numpy

    return energy_shares.warnings(energy_shares.shares(*run) for run in runs)


def counted(found: Sequence[Metrics]) -> str:
    """Return what the numbers of `summary` are of, by the repetitions of the runs."""
    numbers = sorted({run["repetitions"] for run in found})
    if numbers == [1]:
        return "one repetition"
    ends = " to ".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1])))
    return f"means over {ends} repetitions"


def as_html(runs: Sequence[Run]) -> str:
    """Return the main metrics of runs as a table of HTML, of many the first ones."""
    if not runs:
        return "<p>no runs</p>"
    found = [run.metrics for run in runs[:_ROWS_MAX]]
    head, rows = summary(found)
    more = len(runs) - len(found)
    said = counted(found) + (f"; {more} more run{'' if more == 1 else 's'}" if more else "")
    body = [_row("td", row) for row in rows]
    return "\n".join(
        [
            "<table>",
            f"<caption>{html.escape(said)}</caption>",
            f"<thead>{_row('th', head)}</thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
        ]
    )


def dataset(found: pa.Table, places: Iterable[Mapping[str, Value]]) -> xr.Dataset:
    """Return a collected table of runs at `places` as arrays; see `Runs.to_xarray`."""
    import numpy as np

    if importlib.util.find_spec("xarray") is None:
        raise EnvironmentMissingError(_MISSING)
    import xarray as xr

    keys = dict.fromkeys(
        point_values.column(key, value["unit"]) for place in places for key, value in place.items()
    )
    columns = {
        name: _axis(found[name].to_pylist())
        for name in ("scenario", *keys, "repetition")
        if name in found.column_names
    }
    said = {field.name: _said(field) for field in found.schema}
    dims = {
        name: (values, at)
        for name, (values, at) in columns.items()
        if len(values) > 1 or name == "repetition"
    }
    shape = tuple(len(values) for values, _ in dims.values())
    cells = _cells(shape, [at for _, at in dims.values()], found["directory"].to_pylist())
    variables = {
        name: (tuple(dims), _filled(shape, cells, found[name]), said[name])
        for name in found.column_names
        if name not in {*columns, *_OF_RUNG} and _is_number(found.schema.field(name))
    }
    directories = np.full(math.prod(shape), "", object)
    directories[cells] = found["directory"].to_pylist()
    coordinates: dict[str, Any] = {
        name: (name, values, said[name]) for name, (values, _) in dims.items()
    }
    alone = columns.keys() - dims.keys()
    coordinates |= {
        name: ((), values[0], said[name]) for name, (values, _) in columns.items() if name in alone
    }
    coordinates["directory"] = (tuple(dims), directories.reshape(shape), said["directory"])
    return xr.Dataset(variables, coordinates, {"pocketsim_version": __version__})


def _names(found: Sequence[Metrics]) -> list[str]:
    """Return for each run its transport, and those values of its point that tell it from others."""
    points = [run["point"] for run in found]
    keys = dict.fromkeys(key for point in points for key in point if key != _TRANSPORT)
    several = [key for key in keys if any(point.get(key) != points[0].get(key) for point in points)]
    return [
        " ".join(
            [run["rung"]["transport"], *(_value(key, run["point"].get(key)) for key in several)]
        )
        for run in found
    ]


def _value(key: str, value: Value | None) -> str:
    if value is None:
        return ""
    return f"{axes.leaf(key)} {axes.text(value['value'])}{value['unit']}"


def _known(found: Metrics, metric: str) -> float | None:
    return found["metrics"][metric]["value"] if metric in found["metrics"] else None


def _mean(found: Metrics, metric: str) -> str:
    mean = _known(found, metric)
    if mean is None:
        return "-"
    if metric.endswith("_ratio"):
        return f"{100 * mean:.1f} %"
    return f"{mean:.0f}" if abs(mean) >= _WHOLE_FROM else f"{mean:.3g}"


def _row(tag: str, cells: Iterable[str]) -> str:
    inside = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"


def _axis(values: Sequence[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the different values of a column, and for each row which of them it has.

    Numbers are in order, what is missing last, as NaN; of other values those that come first, and
    what is missing is "".
    """
    import numpy as np

    if all(value is None or type(value) in {int, float} for value in values):
        numbers = np.array([math.nan if value is None else value for value in values])
        return np.unique(numbers, return_inverse=True)
    words = ["" if value is None else axes.text(value) for value in values]
    found = {word: number for number, word in enumerate(dict.fromkeys(words))}
    return np.array(list(found), object), np.array([found[word] for word in words])


def _cells(
    shape: Sequence[int], at: Sequence[npt.NDArray[np.int64]], directories: Sequence[str]
) -> npt.NDArray[np.int64]:
    """Return for each row its place among all cells; raise UserError for two in one, or too many.

    Designs draw each of their points anew: a grid of them is nearly empty.
    """
    import numpy as np

    if math.prod(shape) > _CELLS_MAX:
        reason = f"{len(directories)} rows are no grid, which would have {math.prod(shape)} cells"
        raise UserError(f"{reason}; use to_frame()")
    cells = np.ravel_multi_index(tuple(at), tuple(shape))
    first: dict[int, int] = {}
    for row, cell in enumerate(cells.tolist()):
        other = first.setdefault(cell, row)
        if other != row:
            reason = "are at the same point; what they differ in is in none"
            raise UserError(f"{directories[other]} and {directories[row]} {reason}")
    return cells


def _filled(
    shape: Sequence[int], cells: npt.NDArray[np.int64], column: pa.ChunkedArray
) -> npt.NDArray[np.float64]:
    import numpy as np

    values = np.full(math.prod(shape), math.nan)
    values[cells] = [math.nan if value is None else value for value in column.to_pylist()]
    return values.reshape(shape)


def _is_number(field: pa.Field) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(field.type) or pa.types.is_floating(field.type))


def _said(field: pa.Field) -> dict[str, str]:
    """Return what a field says, by the names that xarray and the CF conventions have for it."""
    told = {key.decode(): text.decode() for key, text in (field.metadata or {}).items()}
    units = {"units": told["unit"]} if told.get("unit") else {}
    return {"long_name": told.get("description", field.name), **units}


_ROWS_MAX = 20
_CELLS_MAX = 1_000_000  # 8 MB for each metric
_WHOLE_FROM = 1000
_TRANSPORT = "transport.mode"  # named in every row
_OF_RUNG = ("transport", "payload_bytes", "rate_per_s")  # the point has them, if they vary
_MISSING = "xarray, which to_xarray needs, is missing: pip install 'pocketsim[xarray]'"
