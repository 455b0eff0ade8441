"""The part of `validate host` that is about another device: `--other`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.ui import console
from pocketsim.cli.ui import output_paths as targets
from pocketsim.sim.base.errors import UserError

if TYPE_CHECKING:
    from pocketsim.api.host.host_validation import HostValidation
    from pocketsim.api.host.second_device import OtherValidation
    from pocketsim.calibration.host.design import Effort

Other = Annotated[
    Path | None,
    typer.Option(
        "--other", help="Another build (build/bin/probe-slow), as another device.", metavar="PATH"
    ),
]
Earlier = Annotated[
    Path | None,
    typer.Option(
        "--profile",
        help="With --other: this computer's, of an earlier run; nothing else is compared then.",
        metavar="FILE",
    ),
]
NoBar = Annotated[
    bool, typer.Option("--no-bar", help="With --other: report its errors, and judge none.")
]


@dataclass(frozen=True)
class Device:
    """A probe that is another device, and how much is measured with it."""

    probe: Path
    effort: Effort


def device(probe: Path | None, profile: Path | None, *, quick: bool, no_bar: bool) -> Device | None:
    """Return the other device, if one is asked for.

    Raises UserError for options that say something of none, EnvironmentMissingError for no probe.
    """
    from pocketsim.api.host.probe import probe_file
    from pocketsim.calibration.host import other

    if probe is None:
        for option, is_asked in (("--profile", profile is not None), ("--no-bar", no_bar)):
            if is_asked:
                raise UserError(f"{option} is about --other, which is not there")
        return None
    effort = other.QUICK if quick else other.FULL
    if no_bar:
        effort = replace(effort, is_judged=False)
    return Device(probe_file(probe), effort)


def beside(result: HostValidation, one: Device, out: Path, jobs: int) -> HostValidation:
    """Return the validation with another device beside it, against the profile that it made."""
    return replace(result, other=_validated(one, out, out / "profile.toml", jobs))


def alone(one: Device, out: Path, profile: Path, jobs: int, *, json: bool) -> None:
    """Compare another device with an earlier profile; exit 3 if a bar is missed."""
    from pocketsim.api.host import host_validation
    from pocketsim.report.host import second_device as page

    result = _validated(one, out, profile, jobs)
    targets.put(out / "other.json", result.as_json())
    told = [*sentences(result), f"Verdict: {result.verdict}."]
    found = page.page(result.comparison, "Another device on this host", told)
    targets.put(out / "other.html", found)
    if json:
        console.data(result.as_json().rstrip())
    else:
        _print(result, told)
        targets.tell(out / "other.json")
        targets.tell(out / "other.html")
    if result.verdict == host_validation.MISSED:
        raise typer.Exit(EXIT_MISSED)


def print_rows(result: OtherValidation) -> None:
    """Print the table of points, and how to read it."""
    from pocketsim.calibration.host import other_tables

    rows = other_tables.rows_of(result.comparison.rows)
    console.table("another device", other_tables.HEAD, rows)
    console.data(f"  {other_tables.NOTE}")


def sentences(result: OtherValidation) -> list[str]:
    """Return what is said of the device: which build it is, and what spoiled its reports."""
    told = result.data
    conditions = sorted({text for report in told["reports"] for text in report["spoiled"]})
    return [
        f"The other device: probe {told['probe_sha256'][:12]}, both ends on core {told['core']}.",
        *(f"Spoiled, of the other device: {text}." for text in conditions),
    ]


def _validated(one: Device, out: Path, profile: Path, jobs: int) -> OtherValidation:
    from pocketsim.api.host import second_device
    from pocketsim.calibration.host import other, tables

    rows = tables.design_rows(other.design(one.effort))
    console.table("points of another device", tables.DESIGN_HEAD, rows, write=console.say)
    return second_device.validate_other(out, one.probe, profile, one.effort, jobs, console.say)


def _print(result: OtherValidation, told: list[str]) -> None:
    from pocketsim.calibration.host import tables

    print_rows(result)
    if result.comparison.bars:
        console.table("bars", tables.BAR_HEAD, tables.bar_rows(result.comparison.bars))
    for text in told:
        console.data(f"  {text}")


EXIT_MISSED = 3
