"""The main metrics of finished runs as a small table for people: what `run` prints beside paths.

Means over repetitions only; everything else, intervals among it, is in each run's metrics.json.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.cli.ui import console
from pocketsim.sim.base import axes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pocketsim.sim.run.results import Metrics
    from pocketsim.sim.scenario.point_values import Value


def show(directories: Sequence[Path], overrides: Sequence[str]) -> None:
    """Say the main metrics of the runs in `directories`, made with `overrides`, a row each."""
    from pocketsim.sim.run.results import read_metrics

    found = [read_metrics(directory) for directory in directories]
    columns = {
        metric: head
        for metric, head in MAIN.items()
        if any(_known(run, metric) is not None for run in found)
    }
    rows = [
        (name, *(_mean(run, metric) for metric in columns))
        for name, run in zip(_names(found), found, strict=True)
    ]
    repetitions = found[0]["repetitions"]
    title = f"means over {repetitions} repetitions" if repetitions > 1 else "one repetition"
    console.table("; ".join([title, *overrides]), ("run", *columns.values()), rows, console.say)


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
_WHOLE_FROM = 1000
_TRANSPORT = "transport.mode"  # named in every row
