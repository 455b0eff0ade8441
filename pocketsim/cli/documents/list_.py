"""`list`: what comes with the package, by name."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pocketsim.api.documents import catalog
from pocketsim.cli.ui import console, options
from pocketsim.cli.ui.options import AsJson
from pocketsim.sim.base.errors import printable

Listed = Literal[
    "scenarios",
    "sweeps",
    "devices",
    "implementations",
    "fits",
    "presence",
    "laws",
    "metrics",
    "subsets",
]


def names(
    kind: Annotated[
        Listed,
        typer.Argument(
            help="What to list.",
            metavar="KIND",
            parser=options.one_of(Listed, "KIND"),
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """List scenarios, profiles, metrics and other names that commands take, with their titles."""
    rows = _rows(kind)
    if as_json:
        console.json_data(rows)
        return
    for line in _aligned([[row[key] for key in _SHOWN if key in row] for row in rows]):
        console.data(line)


def _rows(kind: Listed) -> list[dict[str, str]]:
    """Return what is listed: names and titles, and of metrics their units and formulas."""
    if kind == "metrics":
        from pocketsim.sim.metrics.reference import METRICS

        return [
            {"name": name, "unit": metric.unit, "title": metric.meaning, "formula": metric.formula}
            for name, metric in METRICS.items()
        ]
    if kind == "subsets":
        from pocketsim.calibration.validate import published

        titles = {group.name: group.title for group in published.groups().values()}
    else:
        titles = catalog.titles(kind.removesuffix("s"))
    return [{"name": name, "title": title} for name, title in titles.items()]


def _aligned(rows: list[list[str]]) -> list[str]:
    """Return lines whose columns, but for the last, are as wide as they need to be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return [
        printable("  ".join([*map(str.ljust, row, widths), row[-1]]))  # as many as have a width
        for row in rows
    ]


_SHOWN = ("name", "unit", "title")
