"""The part of `validate host` that is about another device: `--other`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from pocketsim.cli import console, targets

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.on_host import HostValidation
    from pocketsim.on_other import OtherValidation


def beside(
    result: HostValidation, out: Path, probe: Path, jobs: int, *, quick: bool
) -> HostValidation:
    """Return the validation with another device beside it, against the profile that it made."""
    return replace(result, other=_validated(out, probe, out / "profile.toml", jobs, quick=quick))


def alone(out: Path, probe: Path, profile: Path, jobs: int, *, quick: bool, json: bool) -> None:
    """Compare another device with an earlier profile; exit 3 if a bar is missed."""
    from pocketsim import on_host
    from pocketsim.report import host_other as page

    result = _validated(out, probe, profile, jobs, quick=quick)
    with targets.replacing(out / "other.json") as aside:
        aside.write_text(result.as_json(), encoding="utf-8")
    told = [*sentences(result), f"Verdict: {result.verdict}."]
    with targets.replacing(out / "other.html") as aside:
        found = page.page(result.comparison, "Another device on this host", told)
        aside.write_text(found, encoding="utf-8")
    if json:
        console.data(result.as_json().rstrip())
    else:
        _print(result, told)
        targets.tell(out / "other.json")
        targets.tell(out / "other.html")
    if result.verdict == on_host.MISSED:
        raise typer.Exit(EXIT_MISSED)


def print_rows(result: OtherValidation) -> None:
    """Print the table of points, and how to read it."""
    from pocketsim.calibration.validate.host import other_tables

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


def _validated(out: Path, probe: Path, profile: Path, jobs: int, *, quick: bool) -> OtherValidation:
    from pocketsim import on_other
    from pocketsim.calibration.validate.host import other, tables

    effort = other.QUICK if quick else other.FULL
    rows = tables.design_rows(other.design(effort))
    console.table("points of another device", tables.DESIGN_HEAD, rows, write=console.say)
    return on_other.validate_other(out, probe, profile, effort, jobs, console.say)


def _print(result: OtherValidation, told: list[str]) -> None:
    from pocketsim.calibration.validate.host import tables

    print_rows(result)
    if result.comparison.bars:
        console.table("bars", tables.BAR_HEAD, tables.bar_rows(result.comparison.bars))
    for text in told:
        console.data(f"  {text}")


EXIT_MISSED = 3
