"""`calibrate` and `metrics`: what phones or this machine measured, as a profile and as figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from pocketsim.cli import completion, console, targets
from pocketsim.cli.running import AsJson
from pocketsim.sim.base.errors import shown

Name = Annotated[str | None, typer.Option("--name", help="Of the device, instead of its own.")]
MeasuredBy = Annotated[str, typer.Option("--measured-by", help="Who ran it.")]
Store = Annotated[
    str, typer.Option("--store", help="Kernel that prices `store`.", metavar="KERNEL")
]


def calibrate(
    reports: Annotated[
        list[Path], typer.Argument(help="Reports of the probe (JSON).", metavar="REPORT...")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Profile to write (TOML).", metavar="FILE")
    ],
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            help="Profile for what no report measured; without it, that is refused.",
            metavar="PROFILE",
            autocompletion=completion.documents("device"),
        ),
    ] = None,
    name: Name = None,
    measured_by: MeasuredBy = "not stated",
    store: Store = "file_append",
    allow_spoiled: Annotated[
        bool, typer.Option("--allow-spoiled", help="Take spoiled reports; the profile says so.")
    ] = False,
) -> None:
    """Make a device profile of reports of one device.

    What no report has measured is taken from --base with its provenance, and listed. `calibrate
    published FIT` makes fitted numbers again from published rows.
    """
    from pocketsim.calibrating import fitted
    from pocketsim.calibration.fit.scatter import worded
    from pocketsim.calibration.fit.write import write_profile

    calibration = fitted(
        reports,
        out,
        base,
        name=name,
        measured_by=measured_by,
        store=store,
        allow_spoiled=allow_spoiled,
    )
    with targets.replacing(out) as aside:
        write_profile(calibration.profile_, aside)
    for kept in calibration.kept_:
        console.say(f"taken from {base}: {kept}: {kept.why}")
    if said := worded(calibration.profile_.scatter or {}):
        console.say(said)
    targets.tell(out)


def this_machine(
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Profile to write (TOML).", metavar="FILE")
    ] = Path("this_machine.toml"),
    seconds: Annotated[
        float, typer.Option("--seconds", help="How long to time, about.", metavar="N")
    ] = 10.0,
    base: Annotated[
        str,
        typer.Option(
            "--base",
            help="Profile for what Python cannot time, as QUIC.",
            metavar="PROFILE",
            autocompletion=completion.documents("device"),
        ),
    ] = "thinkpad_l13",
    name: Name = None,
    measured_by: MeasuredBy = "not stated",
    store: Store = "file_append",
) -> None:
    """Make a profile of the machine at hand, from Python alone: no probe's, and no phone's.

    PyNaCl, JSON, UDP over loopback, files and sleeps are timed; the rest is taken from --base with
    its provenance, and listed. What is timed beside and prices nothing is shown.
    """
    from pocketsim.calibrating import MADE_HERE, timed
    from pocketsim.calibration.fit.write import write_profile
    from pocketsim.sim.devices.numbers import seconds as text

    targets.check_outside_runs(out)
    console.say(f"timing this machine for about {seconds:g} s")
    found = timed(out, base, seconds, name=name, measured_by=measured_by, store=store)
    with targets.replacing(out) as aside:
        write_profile(found.profile, aside, MADE_HERE)
    for kept in found.kept:
        console.say(f"taken from {base}: {kept}: {kept.why}")
    rows = [
        (one.kernel, one.size_bytes, text(one.wall().mean), text(one.wall().standard_error))
        for one in found.beside
    ]
    head = ("work", "bytes", "takes", "standard error")
    console.table("timed, and in no profile", head, rows, console.say)
    targets.tell(out)


def metrics(
    events: Annotated[
        Path, typer.Argument(help="Log of a trade (CSV or JSON Lines).", metavar="EVENTS")
    ],
    as_json: AsJson = False,
) -> None:
    """Show rates, latencies and fates of a real trade, defined as for simulations.

    The log is the benchmark app's or the probe's; of two phones, that of the one that proposes.
    """
    from pocketsim.sim.export import phone_logs
    from pocketsim.sim.metrics import of_log

    found = of_log(phone_logs.read(events), events.name)
    if as_json:
        console.data(json.dumps(found, indent=1))
        return
    rows = [
        (
            name,
            _short(summary["mean"]),
            _interval(summary),
            " ".join(map(_short, summary["values"])),
        )
        for name, summary in found["metrics"].items()
    ]
    console.table(shown(events.name), ("metric", "mean", "95 % interval", "by repetition"), rows)
    counts = found["counts"]
    fates = [(key, counts[key]) for key in ("sent", "stored", "in_flight")]
    lost = [(f"lost: {reason}", count) for reason, count in counts["lost"].items()]
    console.table("fate of the transactions", ("fate", "count"), [*fates, *lost])


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.5g}"


def _interval(summary: dict[str, Any]) -> str:
    """Return the bounds of a mean, and how they were found where that is not Student's t."""
    if summary["ci95_low"] is None:
        return "-"
    how = "" if summary["ci95_method"] == "t" else f" ({summary['ci95_method']})"
    return f"{_short(summary['ci95_low'])} to {_short(summary['ci95_high'])}{how}"
