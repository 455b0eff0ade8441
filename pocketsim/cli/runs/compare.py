"""`compare`: what differs between runs, and how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.runs import comparison
from pocketsim.cli.runs.comparison import sides
from pocketsim.cli.ui import completion
from pocketsim.cli.ui.options import AsJson
from pocketsim.sim.base.errors import UserError, shown

if TYPE_CHECKING:
    from pocketsim.api.results import Run

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="Metric of docs/metrics.md; may be repeated. The main ones, if left out.",
        metavar="NAME",
        autocompletion=completion.metrics,
    ),
]


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Run directories of A, then of B, or a folder or quoted pattern for each; several "
            "of one scenario are taken together.",
            metavar="A B",
        ),
    ],
    metrics: Metrics = None,
    detect: Annotated[
        str,
        typer.Option(
            help="A difference, as a share of A's mean: how many repetitions would show it?",
            metavar="PERCENT",
        ),
    ] = "5%",
    as_json: AsJson = False,
) -> None:
    """Compare the metrics of B with those of A, with 95 % intervals, and their scenarios.

    Runs of one seed have random numbers in common, so they are compared repetition by repetition.
    Of several metrics, it is told which differ when Holm's adjustment allows for their number.
    """
    from pocketsim.api.compare import compare as compared
    from pocketsim.api.compare import differing
    from pocketsim.api.run_tables import MAIN

    share = _share(detect)
    one, other = sides(runs)
    asked = metrics or [name for name in MAIN if all(_has(run, name) for run in (*one, *other))]
    if not asked:
        names = f"{one[0].name} and {other[0].name}"
        raise UserError(f"{names} have no main metric in common; --metric NAME")
    found = [compared(one, other, name) for name in asked]
    comparison.show(one, other, found, differing(one[0], other[0]), detect, share, as_json=as_json)


def _has(run: Run, metric: str) -> bool:
    found = run.metrics["metrics"].get(metric)
    return found is not None and any(value is not None for value in found["values"])


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = math.nan
    if not text.endswith("%") or not 0 < share < math.inf:
        reason = f"{shown(repr(text))} is no share, such as 5%"
        raise typer.BadParameter(reason, param_hint="--detect")
    return share
