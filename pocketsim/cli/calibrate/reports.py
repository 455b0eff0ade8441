"""`calibrate reports`: a device profile of what phones measured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import AsJson, document_option, output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.calibration import Calibration
    from pocketsim.calibration.fit.round_trips import RoundTrip

Name = Annotated[
    str | None, typer.Option("--name", help="Name of the device, instead of the report's.")
]
MeasuredBy = Annotated[str, typer.Option("--measured-by", help="Who ran it.")]
Store = Annotated[
    str, typer.Option("--store", help="Kernel that prices `store`.", metavar="KERNEL")
]


def calibrate(  # noqa: PLR0913, PLR0917 - each is an option
    reports: Annotated[
        list[Path], typer.Argument(help="Reports of the probe (JSON).", metavar="REPORT...")
    ],
    out: Annotated[Path, output("Profile to write (TOML).")],
    base: Annotated[
        str | None,
        document_option(
            "--base",
            "Profile for numbers that no report measured; without it they are an error.",
            "PROFILE",
            "device",
        ),
    ] = None,
    name: Name = None,
    measured_by: MeasuredBy = "not stated",
    store: Store = "file_append",
    allow_spoiled: Annotated[
        bool, typer.Option("--allow-spoiled", help="Accept spoiled reports; the profile says so.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a device profile from reports of one device.

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
        console.json_data(_as_json(out, calibration))
        return
    output_paths.tell(out)


def _tell_round_trips(found: Sequence[RoundTrip]) -> None:
    """Show what costs add up to beside what was timed, and what that tells of them."""
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
            one.verdict,
        )
        for one in found
    ]
    head = (
        "round trip",
        "bytes",
        "after a rest of",
        "costs add up to",
        "measured",
        "ratio",
        "verdict",
    )
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
            {
                **asdict(one),
                "ratio": one.ratio,
                "is_far_off": one.is_far_off,
                "verdict": one.verdict,
            }
            for one in calibration.round_trips_
        ],
    }
