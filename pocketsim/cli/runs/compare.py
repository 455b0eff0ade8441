"""`compare` and `sensitivity`: what differs between runs, and which factor it depends on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli.runs import comparison
from pocketsim.cli.runs.comparison import short, sides
from pocketsim.cli.runs.run import AsJson, Out
from pocketsim.cli.sweep.run import SweepFile
from pocketsim.cli.ui import completion, console, output_paths
from pocketsim.cli.ui.run_summary import MAIN
from pocketsim.sim.base.errors import UserError, shown

if TYPE_CHECKING:
    import pandas as pd

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
    """Say by how much B differs from A, with 95 % intervals, and in what their scenarios differ.

    Runs of one seed have random numbers in common, so they are compared repetition by repetition.
    Of several metrics, it is told which differ when Holm's adjustment allows for their number.
    """
    from pocketsim.api.compare import compare as compared
    from pocketsim.api.compare import differing

    share = _share(detect)
    one, other = sides(runs)
    asked = metrics or [name for name in MAIN if all(_has(run, name) for run in (*one, *other))]
    if not asked:
        names = f"{one[0].name} and {other[0].name}"
        raise UserError(f"{names} have no main metric in common; --metric NAME")
    found = [compared(one, other, name) for name in asked]
    comparison.show(one, other, found, differing(one[0], other[0]), detect, share, as_json=as_json)


def sensitivity(
    file: SweepFile,
    metrics: Metrics = None,
    out: Out = Path("runs"),
    page: Annotated[
        Path | None,
        typer.Option("-o", "--page", help="HTML file to write with a plot.", metavar="PAGE"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how much metrics depend on each range of a sweep's design, with 95 % intervals.

    The design is of kind saltelli (Sobol' indices) or morris (elementary effects), and all of its
    runs are there.
    """
    import pandas as pd

    from pocketsim.api.study import Study

    study = Study(file, out)
    if doubt := study.doubt:
        console.say(f"warning: {doubt}")
    known = study.to_frame()
    usual = [name for name in MAIN if name in known and known[name].notna().all()]
    asked = metrics or usual or list(MAIN)[:1]  # of which it is said why it has no answer
    frame = pd.concat([study.sensitivity(name) for name in asked], ignore_index=True)
    if page is not None:
        from pocketsim.api import plot

        output_paths.check_outside_runs(page)
        figure = plot.sensitivity(frame)
        with output_paths.replacing(page) as aside:
            figure.write_html(aside, div_id="sensitivity")
    if as_json:
        console.data(frame.to_json(orient="records", indent=1))
    else:
        records: list[dict[str, Any]] = json.loads(_telling(frame).to_json(orient="records"))
        rows = [_indices(record) for record in records]
        console.table(
            study.sweep.document.sweep.title or file.stem,
            list(rows[0]),
            [list(row.values()) for row in rows],
        )
    if page is not None:
        output_paths.tell(page)


def _telling(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table without what is the same in all of its rows, but for what was found."""
    known = list(frame.columns)
    where = known[: known.index("factor")]
    return frame.drop(columns=[name for name in where if len(set(frame[name])) == 1])


def _indices(row: dict[str, Any]) -> dict[str, str]:
    """Return a row for people, each estimate followed by its interval."""
    found = {}
    for name, value in row.items():
        if name.endswith("_ci95_low"):
            high = row[name.replace("_low", "_high")]
            found[f"{name.removesuffix('_ci95_low')} 95 %"] = f"{short(value)} to {short(high)}"
        elif not name.endswith("_ci95_high"):
            found[name] = short(value)
    return found


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
