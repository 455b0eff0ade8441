"""`compare` and `sensitivity`: what differs between runs, and which factor it depends on."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli import completion, console, present, targets
from pocketsim.cli.figures import MAIN
from pocketsim.cli.running import AsJson, Out
from pocketsim.cli.sweeping import SweepFile
from pocketsim.sim.base.errors import UserError, shown

if TYPE_CHECKING:
    import pandas as pd

    from pocketsim.comparing import Difference
    from pocketsim.results import Run

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
    first: Annotated[Path, typer.Argument(help="Run directory.", metavar="A")],
    second: Annotated[Path, typer.Argument(help="Run directory.", metavar="B")],
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
    """Say by how much B differs from A, with 95 % intervals.

    Runs of one seed have random numbers in common, so they are compared repetition by repetition.
    """
    from pocketsim.comparing import compare as compared

    share = _share(detect)
    one, other = (_run(path) for path in (first, second))
    asked = metrics or [name for name in MAIN if _has(one, name) and _has(other, name)]
    if not asked:
        raise UserError(f"{one.name} and {other.name} have no main metric in common; --metric NAME")
    found = [compared(one, other, name) for name in asked]
    rows = [_row(difference, share) for difference in found]
    if as_json:
        console.data(json.dumps({"differences": rows}, indent=1))
        return
    head = ("metric", "A", "B", "B - A", "95 % interval", "of A", f"to see {detect}")
    paired = "paired by random numbers" if all(one.is_paired for one in found) else "not paired"
    console.table(f"{one.name} and {other.name}, {paired}", head, map(_cells, rows))


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

    from pocketsim.studies import Study

    study = Study(file, out)
    known = study.to_frame()
    usual = [name for name in MAIN if name in known and known[name].notna().all()]
    asked = metrics or usual or list(MAIN)[:1]  # of which it is said why it has no answer
    frame = pd.concat([study.sensitivity(name) for name in asked], ignore_index=True)
    if page is not None:
        from pocketsim import plot

        targets.check_outside_runs(page)
        figure = plot.sensitivity(frame)
        with targets.replacing(page) as aside:
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
        targets.tell(page)


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
            found[f"{name.removesuffix('_ci95_low')} 95 %"] = f"{_short(value)} to {_short(high)}"
        elif not name.endswith("_ci95_high"):
            found[name] = _short(value)
    return found


def _run(path: Path) -> Run:
    from pocketsim.results import load

    directories = present.complete(path)
    if len(directories) > 1:
        names = ", ".join(directory.name for directory in directories[:3])
        raise UserError(f"{path} holds {len(directories)} runs ({names}, ...); name one of them")
    return load(directories[0])[0]


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


def _row(found: Difference, share: float) -> dict[str, Any]:
    asked = abs(found.first_mean) * share
    return {
        "metric": found.metric,
        "a_mean": found.first_mean,
        "b_mean": found.second_mean,
        "difference": found.difference,
        "ci95_low": _finite(found.ci95_low),
        "ci95_high": _finite(found.ci95_high),
        "ratio": _finite(found.ratio),
        "is_paired": found.is_paired,
        "repetitions_to_see": found.repetitions_to_see(asked),
    }


def _cells(row: dict[str, Any]) -> list[str]:
    low, high, ratio = row["ci95_low"], row["ci95_high"], row["ratio"]
    needed = row["repetitions_to_see"]
    return [
        row["metric"],
        *(_short(row[name]) for name in ("a_mean", "b_mean", "difference")),
        "unknown" if low is None else f"{_short(low)} to {_short(high)}",
        "-" if ratio is None else f"{ratio:+.1%}",
        "-" if needed is None else f"{needed} repetitions",
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
