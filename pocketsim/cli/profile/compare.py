"""`profile compare`: how far devices differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import AsJson, document

if TYPE_CHECKING:
    from pocketsim.api.profile_stats import DeviceComparison

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


def compare(
    devices: Annotated[
        list[str],
        document(
            "Devices, files or names; the others are compared with the first.", "A B...", "device"
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
    found = compare_devices(*devices, size_bytes=size_bytes(payload))
    figure = _figure(found, form) if form else b""
    if as_json:
        said = {"first": found.first, "size_bytes": found.size_bytes, "rows": found.rows()}
        console.json_data(said)
    else:
        _print(found)
    if plot:
        output_paths.put(plot, figure)
        console.say(f"figure: {plot}")


def size_bytes(payload: int | None) -> float:
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
        from pocketsim.report import chart_page

        title = f"Costs of {' and '.join(found.ratios)} compared with {found.first}"
        caption = f"ratios, with 95 % intervals; costs per byte at {found.size_bytes:g} B"
        return chart_page(title, chart, caption).encode()
    from pocketsim.report.paper import print_figures

    return print_figures.picture(chart, form)


_FIGURES = {".svg": "svg", ".pdf": "pdf", ".html": "html"}
