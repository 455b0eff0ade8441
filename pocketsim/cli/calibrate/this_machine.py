"""`calibrate this-machine`: a device profile of the machine at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pocketsim.cli.calibrate.reports import MeasuredBy, Name, Store
from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import document_option, output


def this_machine(
    out: Annotated[Path, output("Profile to write (TOML).")] = Path("this_machine.toml"),
    seconds: Annotated[
        float, typer.Option("--seconds", help="About how long to measure.", metavar="N")
    ] = 10.0,
    base: Annotated[
        str,
        document_option(
            "--base", "Profile for what Python cannot time, such as QUIC.", "PROFILE", "device"
        ),
    ] = "thinkpad_l13",
    name: Name = None,
    measured_by: MeasuredBy = "not stated",
    store: Store = "file_append",
) -> None:
    """Profile this machine with Python alone; the result is of no phone and no probe.

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
