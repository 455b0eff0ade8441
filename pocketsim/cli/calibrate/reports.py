"""`calibrate` and `metrics`: what phones or this machine measured, as a profile and as figures."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli.runs.run import AsJson
from pocketsim.cli.ui import completion, console, output_paths
from pocketsim.sim.base.errors import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.calibration import Calibration
    from pocketsim.calibration.fit.round_trips import RoundTrip

Name = Annotated[str | None, typer.Option("--name", help="Of the device, instead of its own.")]
MeasuredBy = Annotated[str, typer.Option("--measured-by", help="Who ran it.")]
Store = Annotated[
    str, typer.Option("--store", help="Kernel that prices `store`.", metavar="KERNEL")
]


def calibrate(  # noqa: PLR0913, PLR0917 - each is an option
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
    as_json: AsJson = False,
) -> None:
    """Make a device profile of reports of one device.

    What no report has measured is taken from --base with its provenance, and listed. Round trips
    that the reports have timed stand beside what the costs add up to. `calibrate published FIT`
    makes fitted numbers again from published rows.
    """
    from pocketsim.api.calibrate import fitted
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
    with output_paths.replacing(out) as aside:
        write_profile(calibration.profile_, aside)
    for kept in calibration.kept_:
        console.say(f"taken from {base}: {kept}: {kept.why}")
    for said in worded(calibration.profile_.scatter or {}, calibration.untold_):
        console.say(said)
    _tell_round_trips(calibration.round_trips_)
    if as_json:
        console.data(json.dumps(_as_json(out, calibration), indent=1))
        return
    output_paths.tell(out)


def _tell_round_trips(found: Sequence[RoundTrip]) -> None:
    """Show what costs add up to beside what was timed; warn of what is far off."""
    from pocketsim.calibration.fit.round_trips import FACTOR_MAX
    from pocketsim.sim.devices.numbers import seconds

    if not found:
        return
    rows = [
        (
            one.kernel,
            f"{one.size_bytes:g}",
            seconds(one.rest_s),
            seconds(one.added_up_s),
            seconds(one.measured_s),
            f"{one.ratio:.2f}",
        )
        for one in found
    ]
    head = ("round trip", "bytes", "after a rest of", "costs add up to", "measured", "ratio")
    console.table("what costs add up to", head, rows, console.say)
    for one in found:
        if one.is_far_off:
            what = f"{one.kernel} at {one.size_bytes:g} bytes"
            console.say(
                f"warning: {what}: costs add up to {one.ratio:.2f} of what was measured, "
                f"more than a factor of {FACTOR_MAX:g} off"
            )


def _as_json(out: Path, calibration: Calibration) -> dict[str, Any]:
    return {
        "profile": str(out),
        "kept": [{"key": one.key, "basis": one.basis, "why": one.why} for one in calibration.kept_],
        "round_trips": [
            {**asdict(one), "ratio": one.ratio, "is_far_off": one.is_far_off}
            for one in calibration.round_trips_
        ],
    }


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
    from pocketsim.api.calibrate import MADE_HERE, timed
    from pocketsim.calibration.fit.write import write_profile
    from pocketsim.sim.devices.numbers import seconds as text

    output_paths.check_outside_runs(out)
    console.say(f"timing this machine for about {seconds:g} s")
    found = timed(out, base, seconds, name=name, measured_by=measured_by, store=store)
    with output_paths.replacing(out) as aside:
        write_profile(found.profile, aside, MADE_HERE)
    for kept in found.kept:
        console.say(f"taken from {base}: {kept}: {kept.why}")
    rows = [
        (one.kernel, one.size_bytes, text(one.wall().mean), text(one.wall().standard_error))
        for one in found.beside
    ]
    head = ("work", "bytes", "takes", "standard error")
    console.table("timed, and in no profile", head, rows, console.say)
    output_paths.tell(out)


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
        console.data(json.dumps(found, indent=1))
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
