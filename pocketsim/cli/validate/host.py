"""`validate host`: this computer against its own simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.ui import console
from pocketsim.cli.ui import output_paths as targets
from pocketsim.cli.ui.options import AsJson, Jobs, output
from pocketsim.cli.validate import second_device
from pocketsim.sim.base import defaults

if TYPE_CHECKING:
    from pocketsim.api.host.host_validation import HostValidation


def host(  # noqa: PLR0913 - each is an option
    *,
    out: Annotated[Path, output("Folder of what is written.", "DIR")] = Path("runs/host"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Four points in three minutes; no bar is applied.")
    ] = False,
    probe: Annotated[
        Path | None, typer.Option("--probe", help="Instead of build/bin/probe.", metavar="PATH")
    ] = None,
    other: second_device.Other = None,
    profile: second_device.Earlier = None,
    no_bar: second_device.NoBar = False,
    as_json: AsJson = False,
    jobs: Jobs = None,
) -> None:
    """Trade for real on this computer, simulate the same, and compare: exit 3 if a bar is missed.

    The probe measures the computer before and after, `calibrate` makes its profile, `probe trade`
    and `probe link` trade at 24 points, most of which no fit sees: some 45 minutes on a machine of
    two cores. `probe tokens` mints, transfers, verifies and redeems batches of tokens, between
    reports of their own, which are compared with their simulation as well. Whatever else runs
    meanwhile is measured, too. DIR gets host.json, host.html, the profile and the probe's reports;
    what an interruption leaves there is gone on from.

    With --other, another build of the probe is another device, with both ends on one core: its own
    profile has to predict what it trades, and this computer's has to miss it. With --profile that
    alone is done, and DIR gets other.json and other.html instead.
    """
    targets.check_outside_runs(out)
    from pocketsim.api.host import host_validation
    from pocketsim.api.host.probe import probe_file
    from pocketsim.calibration.host import design

    several = jobs or defaults.jobs()
    device = second_device.device(other, profile, quick=quick, no_bar=no_bar)
    if device is not None and profile is not None:
        second_device.alone(device, out, profile, several, json=as_json)
        return
    found = probe_file(probe)
    effort = design.QUICK if quick else design.FULL
    _tell_design(effort)
    result = host_validation.validate_host(out, found, effort, several, console.say)
    if device is not None:
        result = second_device.beside(result, device, out, several)
    _write(result, out)
    if as_json:
        console.data(result.as_json().rstrip())
    else:
        _print(result)
        targets.tell(out / "host.json")
        targets.tell(out / "host.html")
    if result.verdict == host_validation.MISSED:
        raise typer.Exit(_EXIT_MISSED)


def _tell_design(effort: object) -> None:
    """Say which points fit and which are held out, before anything is measured."""
    from pocketsim.calibration.host import design, tables

    assert isinstance(effort, design.Effort)
    rows = tables.design_rows(design.design(effort))
    console.table("points", tables.DESIGN_HEAD, rows, write=console.say)


def _write(result: HostValidation, out: Path) -> None:
    from pocketsim.report.host import page

    targets.put(out / "host.json", result.as_json())
    other = result.other.comparison if result.other else None
    found = page.page(result.comparison, _TITLE, _sentences(result), result.tokens, other)
    targets.put(out / "host.html", found)


def _print(result: HostValidation) -> None:
    from pocketsim.calibration.host import tables
    from pocketsim.calibration.host.tokens import tables as token_tables

    judgement = result.comparison.judgement
    console.table("points", tables.POINT_HEAD, tables.point_rows(judgement.rows))
    console.data(f"  {tables.NOTE}")
    tokens = result.tokens.judgement
    console.table("tokens", token_tables.HEAD, token_tables.rows_of(tokens.rows))
    for text in (token_tables.NOTE, *result.tokens.left_out):
        console.data(f"  {text}")
    if result.other:
        second_device.print_rows(result.other)
    bars = (*judgement.bars, *tokens.bars, *(result.other.comparison.bars if result.other else ()))
    if bars:
        console.table("bars", tables.BAR_HEAD, tables.bar_rows(bars))
    for text in _sentences(result):
        console.data(f"  {text}")


def _sentences(result: HostValidation) -> list[str]:
    from pocketsim.calibration.host import tables

    told = result.data["host"]
    cores = told["cores_of"]
    where = "the dialler's" if told["relay_shares_core"] else f"{cores['relay']}"
    conditions = sorted({text for report in result.data["reports"] for text in report["spoiled"]})
    on_cores = f"dialler on core {cores['dialler']}, listener on {cores['listener']}"
    return [
        f"{told['processor']}, {told['kernel']}: {on_cores}, relay on {where}.",
        *(_SHARED for _ in range(told["ends_share_core"])),
        tables.discrepancy_sentence(result.comparison.judgement),
        *(second_device.sentences(result.other) if result.other else ()),
        *(f"Spoiled: {text}." for text in conditions),
        *([_no_verdict(result)] if result.cores_apart else []),
        f"Verdict: {result.verdict}.",
    ]


def _no_verdict(result: HostValidation) -> str:
    apart, reports = result.cores_apart, result.data["reports"]
    told = f"{len(apart)} of {len(reports)} reports ({', '.join(apart)})"
    return f"There is no verdict, as the two cores shared no cache in {told}."


_TITLE = "Real trades of this computer, and their simulation"
_SHARED = (
    "Dialler and listener are threads of one core, and take time from each other, which is not "
    "simulated."
)
_EXIT_MISSED = 3
