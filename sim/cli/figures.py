"""The main metrics of finished runs as a small table for people: what `run` prints beside paths.

Means over repetitions only; everything else, intervals among it, is in each run's metrics.json.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sim.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def show(directories: Sequence[Path], overrides: Sequence[str]) -> None:
    """Say the main metrics of the runs in `directories`, made with `overrides`, a row each."""
    found = [json.loads((of / "metrics.json").read_text(encoding="utf-8")) for of in directories]
    columns = {
        metric: head
        for metric, head in MAIN.items()
        if any(of["metrics"].get(metric, _NONE)["mean"] is not None for of in found)
    }
    rows = [
        (directory.name.rpartition("-")[0], *(_mean(of, metric) for metric in columns))
        for directory, of in zip(directories, found, strict=True)
    ]
    repetitions = found[0]["repetitions"]
    title = f"means over {repetitions} repetitions" if repetitions > 1 else "one repetition"
    console.table("; ".join([title, *overrides]), ("run", *columns.values()), rows, console.say)


def _mean(found: dict[str, Any], metric: str) -> str:
    mean = found["metrics"].get(metric, _NONE)["mean"]
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
_NONE: dict[str, Any] = {"mean": None}
_WHOLE_FROM = 1000
