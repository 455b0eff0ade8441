"""`profile list`, `compare`, `lint` and `export`: profiles weighed, each and against each other."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli.runs.run import AsJson
from pocketsim.cli.ui import completion, console, options, output_paths

if TYPE_CHECKING:
    from pocketsim.api.profile_stats import DeviceComparison
    from pocketsim.sim.devices.lint import Finding

Bytes = Annotated[
    int | None,
    typer.Option(
        "--payload",
        min=0,
        max=2**30,  # more than any message
        help="Bytes that each operation is given; the block of a 100-byte transaction, 668.",
        metavar="BYTES",
    ),
]


class Format(enum.StrEnum):
    """What to export a device to."""

    rates = "rates"


def names(as_json: AsJson = False) -> None:
    """List shipped profiles: on what their numbers rest, and who says so."""
    from pocketsim.api.profile_stats import BASES, shipped_profiles

    rows = shipped_profiles()
    if as_json:
        console.data(json.dumps({"profiles": rows}, indent=1, ensure_ascii=False))
        return
    head = ("profile", "kind", *BASES, "costs alone", "on", "by")
    cells = [
        [
            *(row[key] for key in ("profile", "kind")),
            *(row[basis] or "-" for basis in BASES),
            ", ".join(f"{count} {basis}" for basis, count in row["costs"].items()) or "-",
            *(row[key] for key in ("on", "by")),
        ]
        for row in rows
    ]
    console.table("numbers of each profile, by what they rest on", head, cells)


def compare(
    devices: Annotated[
        list[str],
        typer.Argument(
            help="Devices, files or names; the others are compared with the first.",
            metavar="A B...",
            autocompletion=completion.documents("device"),
        ),
    ],
    payload: Bytes = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Figure to write (.svg, .pdf or .html).", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare devices: every number's ratio, with its 95 % interval.

    Errors count as independent and numbers as lognormal, as they are drawn. A star marks what
    differs by more than they explain; of equal numbers one in twenty does by chance.
    """
    from pocketsim.api.profile_stats import compare_devices

    form = output_paths.by_suffix(plot, _FIGURES) if plot else ""
    if plot:
        output_paths.check_outside_runs(plot)
    found = compare_devices(*devices, size_bytes=_size_bytes(payload))
    figure = _figure(found, form) if form else b""
    if as_json:
        said = {"first": found.first, "size_bytes": found.size_bytes, "rows": found.rows()}
        console.data(json.dumps(said, indent=1, ensure_ascii=False))
    else:
        _print(found)
    if plot:
        with output_paths.replacing(plot) as aside:
            aside.write_bytes(figure)
        console.say(f"figure: {plot}")


def lint(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Profiles, files or names.",
            metavar="FILE...",
            autocompletion=completion.documents("device", "implementation"),
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Say what is allowed in profiles and still suspicious; exit 3 if something is.

    What `check` refuses is refused here, too. Findings of shipped profiles are explained.
    """
    from pocketsim.api.profile_stats import lint_profile

    found = {str(file): lint_profile(file) for file in files}
    if as_json:
        console.data(json.dumps(_told(found), indent=1, ensure_ascii=False))
    for file, findings in found.items():
        if not as_json:
            _say(file, findings)
    if any(not one.explained for findings in found.values() for one in findings):
        raise typer.Exit(_EXIT_CHECK_FAILED)


def export(
    device: Annotated[
        str,
        typer.Argument(
            help="Device, a file or a name.",
            metavar="PROFILE",
            autocompletion=completion.documents("device"),
        ),
    ],
    to: Annotated[
        Format,
        typer.Option(
            "--to",
            help="rates: operations per second and seconds per operation, for other simulators.",
            metavar="FORMAT",
            parser=options.one_of(Format, "--to"),
        ),
    ] = Format.rates,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="File to write (.json or .csv); JSON to stdout without.",
            metavar="FILE",
        ),
    ] = None,
    payload: Bytes = None,
) -> None:
    """Write a device for users of other simulators: rates with 95 % intervals, and its sockets.

    `pocketsim schema rates` describes the JSON, which says what Shadow can be told of it; CSV has
    the operations alone.
    """
    del to  # there is one
    from pocketsim.api.profile_stats import device_rates
    from pocketsim.sim.export import rates

    form = output_paths.by_suffix(out, _RATES) if out else "json"
    if out:
        output_paths.check_outside_runs(out)
    found = rates.Rates(**device_rates(device, _size_bytes(payload)))
    text = rates.as_csv(found) if form == "csv" else rates.as_json(found)
    if out is None:
        console.data(text.rstrip("\n"))
        return
    with output_paths.replacing(out) as aside:
        aside.write_text(text, encoding="utf-8")
    output_paths.tell(out)


def _size_bytes(payload: int | None) -> float:
    """Return how many bytes operations are given: the usual number where the user does not say."""
    from pocketsim.sim.devices.prices import REFERENCE_BYTES

    return REFERENCE_BYTES if payload is None else float(payload)


def _print(found: DeviceComparison) -> None:
    from pocketsim.sim.devices.numbers import number_text, numbers

    known = {name: dict(numbers(contents)) for name, contents in found.devices.items()}
    rows: dict[str, list[str]] = {}
    for row in found.rows():
        number = known[row["device"]][row["number"]]
        cells = rows.setdefault(row["number"], [row["number"]])
        cells.append(f"{number_text(row['number'], number)} ({row['basis']})")
        if row["device"] != found.first:
            cells += [_interval(row), "*" if row["differs"] else ""]
    head = ["number", found.first]
    for name in found.ratios:
        head += [name, f"of {found.first}, 95 %", ""]
    console.table(f"costs per byte at {found.size_bytes:g} B", head, rows.values())
    console.data("\n* differs by more than the standard errors explain")


def _interval(row: dict[str, Any]) -> str:
    if row["ratio"] is None:
        return "-"
    return f"{row['ratio']:.3g} ({row['ci95_low']:.2g} to {row['ci95_high']:.2g})"


def _figure(found: DeviceComparison, form: str) -> bytes:
    from pocketsim.api import plot

    chart = plot.devices(found)
    if form == "html":
        page: str = chart.to_html(div_id="devices")
        return page.encode()
    from pocketsim.report.paper import printed

    return printed.picture(chart, form)


def _say(file: str, findings: list[Finding]) -> None:
    """Write what is suspicious as data; what is explained, and that there is nothing, to people."""
    for one in findings:
        line = f"{file}: {one.path}: {one.reason} [{one.rule}]"
        if one.explained:
            console.say(f"{line}; explained: {one.explained}")
        else:
            console.data(line)
    if all(one.explained for one in findings):
        console.say(f"{file}: ok")


def _told(found: dict[str, list[Finding]]) -> dict[str, Any]:
    from dataclasses import asdict

    findings = [{"profile": file, **asdict(one)} for file in found for one in found[file]]
    return {"findings": findings, "open": sum(not one["explained"] for one in findings)}


_FIGURES = {".svg": "svg", ".pdf": "pdf", ".html": "html"}
_RATES = {".json": "json", ".csv": "csv"}
_EXIT_CHECK_FAILED = 3
