"""`calibrate implementation`: a program's own costs, made of reports of the probe."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import AsJson, document_option, output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.api.calibrate import TimedSteps
    from pocketsim.sim.devices.implementation import OwnCost


def implementation(
    reports: Annotated[
        list[Path], typer.Argument(help="Reports of the probe (JSON).", metavar="REPORT...")
    ],
    out: Annotated[Path, output("Implementation to write (TOML).")],
    device: Annotated[
        str,
        document_option(
            "--device", "Profile that `calibrate` made of the same reports.", "PROFILE", "device"
        ),
    ],
    base: Annotated[
        str,
        document_option(
            "--base",
            "Implementation for steps that no report timed.",
            "IMPLEMENTATION",
            "implementation",
        ),
    ] = "probe",
    as_json: AsJson = False,
) -> None:
    """Make an implementation from reports that timed the steps of `probe trade`.

    These are costs of the program beyond the operations of the device. What the reports have not
    timed is taken from --base with its provenance, and listed.
    """
    from pocketsim.api.calibrate import timed_steps
    from pocketsim.calibration.fit.write import write_implementation

    found = timed_steps(reports, out, device, base)
    with output_paths.replacing(out) as aside:
        write_implementation(found.described, found.implementation, aside)
    for text in _worded(found, base):
        console.say(text)
    if as_json:
        told = {"measured": _costs(found.measured), "kept": _costs(found.kept)}
        console.json_data({"implementation": str(out), **told})
        return
    output_paths.tell(out)


def _worded(found: TimedSteps, base: str) -> list[str]:
    """Return a line for each own cost: what was measured, and what came from the base."""
    measured = [f"measured: {_told(name, cost)}" for name, cost in found.measured.items()]
    kept = [f"taken from {base}: {_told(name, cost)}" for name, cost in found.kept.items()]
    if measured:
        return measured + kept
    return [*kept, f"warning: no step of the program was timed; all costs are those of {base}"]


def _told(name: str, cost: OwnCost) -> str:
    from pocketsim.sim.devices.numbers import seconds

    return f"{name} ({cost.basis}), {seconds(cost.cpu)} at step {cost.step}"


def _costs(costs: Mapping[str, OwnCost]) -> list[dict[str, Any]]:
    return [
        {"name": name, "step": cost.step, "cpu_s": cost.cpu, "basis": cost.basis}
        for name, cost in costs.items()
    ]
