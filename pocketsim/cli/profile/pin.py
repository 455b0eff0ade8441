"""`profile pin`: a device's profile as that of a process on a core of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pocketsim.cli.ui import output_paths
from pocketsim.cli.ui.options import document, output


def pin(
    device: Annotated[str, document("Device, a file or a name.", "PROFILE", "device")],
    out: Annotated[Path, output("Profile to write (TOML).")],
    reports: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            help="Report that the profile was made of: how long sending takes that wakes the "
            "receiver. Once for each report.",
            metavar="REPORT",
        ),
    ] = None,
) -> None:
    """Write a device's profile as that of one process that is pinned to one core.

    Two such devices are the two ends of a trade on one computer, each on a core of its own.
    """
    from pocketsim.api.calibrate import pinned
    from pocketsim.sim.devices.profile import load

    text = pinned(device, out, reports or [])
    with output_paths.replacing(out) as aside:
        aside.write_text(text, encoding="utf-8")
        load(aside)
    output_paths.tell(out)
