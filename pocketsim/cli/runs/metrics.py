"""`metrics`: what the log of a real trade says, as figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import AsJson
from pocketsim.sim.base.errors import shown


def metrics(
    events: Annotated[
        Path, typer.Argument(help="Log of a trade (CSV or JSON Lines).", metavar="EVENTS")
    ],
    as_json: AsJson = False,
) -> None:
    """Show rates, latencies and fates of a real trade, defined as for simulations.

    The log is the benchmark app's or the probe's; of two phones, that of the one that proposes.
    One that contradicts itself is refused.
    """
    from pocketsim.sim.base.errors import ScenarioError
    from pocketsim.sim.export import phone_logs
    from pocketsim.sim.metrics import of_log

    found = of_log(phone_logs.read(events), events.name)
    if not found["counts"]["sent"]:
        reason = "nothing is sent in it; of two phones it takes the log of the one that proposes"
        raise ScenarioError(events, "", reason)
    if as_json:
        console.json_data(found)
        return
    rows = [
        (
            name,
            _short(summary["value"]),
            _interval(summary),
            " ".join(map(_short, summary["values"])),
        )
        for name, summary in found["metrics"].items()
    ]
    console.table(shown(events.name), ("metric", "value", "95 % interval", "by repetition"), rows)
    counts = found["counts"]
    fates = [(key, counts[key]) for key in ("sent", "stored", "in_flight")]
    lost = [(f"lost: {reason}", count) for reason, count in counts["lost"].items()]
    console.table("fate of the transactions", ("fate", "count"), [*fates, *lost])


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def _interval(summary: dict[str, Any]) -> str:
    """Return the bounds of a value, and how they were found where that is not Student's t."""
    if summary["ci95_low"] is None:
        return "-"
    how = "" if summary["ci95_method"] == "t" else f" ({summary['ci95_method']})"
    return f"{_short(summary['ci95_low'])} to {_short(summary['ci95_high'])}{how}"
