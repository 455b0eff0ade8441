"""`calibrate`: from what a phone measured to what a scenario uses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sim.cli import console
from sim.errors import UserError, nearest


def calibrate(
    reports: Annotated[
        list[Path], typer.Argument(help="Reports of the probe (JSON).", metavar="REPORT...")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Profile to write (TOML).", metavar="FILE")
    ],
    base: Annotated[
        str | None,
        typer.Option("--base", help="Profile for what was not measured.", metavar="PROFILE"),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Of the device, instead of the report's.")
    ] = None,
    measured_by: Annotated[
        str, typer.Option("--measured-by", help="Who ran the probe.")
    ] = "not stated",
    store: Annotated[
        str, typer.Option("--store", help="Kernel that prices `store`.", metavar="KERNEL")
    ] = "file_append",
    allow_spoiled: Annotated[
        bool, typer.Option("--allow-spoiled", help="Take spoiled reports; the profile says so.")
    ] = False,
) -> None:
    """Make a device profile of reports of one device.

    What no report has measured is taken from --base with its provenance, or refused.
    """
    from calibration import probe_report, profile, profile_file
    from calibration.from_report import Calibration
    from calibration.kernels import STORES

    if store not in STORES:
        suggestion = nearest(store, STORES)
        hint = f" (did you mean {suggestion}?)" if suggestion else ""
        raise UserError(f"--store: {store!r} is not one of {', '.join(STORES)}{hint}")
    if out.suffix != ".toml":
        raise UserError(f"--out: {out}: a profile's file ends in .toml")
    start = (base, profile.load(_profile(base))) if base else None
    calibration = Calibration(
        start, name=name, measured_by=measured_by, store=store, allow_spoiled=allow_spoiled
    )
    calibration.fit([probe_report.load(path) for path in reports])
    out.parent.mkdir(parents=True, exist_ok=True)
    profile_file.put(calibration.profile_, out)
    console.say(f"taken from {base}: {', '.join(calibration.kept_)}")
    console.data(str(out))


def _profile(base: str) -> Path:
    from calibration import profile

    try:
        return profile.find(base, Path())
    except LookupError as error:
        reason, suggestion = error.args
        hint = f" (did you mean {suggestion}?)" if suggestion else ""
        raise UserError(f"--base: {reason}{hint}") from None
