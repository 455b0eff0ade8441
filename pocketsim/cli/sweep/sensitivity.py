"""`sensitivity`: which factor of a design metrics depend on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pocketsim.cli.runs.compare import Metrics
from pocketsim.cli.runs.comparison import short
from pocketsim.cli.sweep.study import SweepFile
from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import OUT, AsJson, Out, output

if TYPE_CHECKING:
    import pandas as pd


def sensitivity(
    file: SweepFile,
    metrics: Metrics = None,
    out: Out = OUT,
    page: Annotated[
        Path | None, output("HTML file to write with a plot.", "PAGE", "--page")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how much metrics depend on each range of a sweep's design, with 95 % intervals.

    The design is of kind saltelli (Sobol' indices) or morris (elementary effects), and all of its
    runs are there.
    """
    import pandas as pd

    from pocketsim.api.run_tables import MAIN
    from pocketsim.api.study import Study

    study = Study(file, out)
    title = study.sweep.document.sweep.title or file.stem
    if doubt := study.doubt:
        console.say(f"warning: {doubt}")
    known = study.to_frame()
    usual = [name for name in MAIN if name in known and known[name].notna().all()]
    asked = metrics or usual or list(MAIN)[:1]  # of which it is said why it has no answer
    frame = pd.concat([study.sensitivity(name) for name in asked], ignore_index=True)
    if page is not None:
        from pocketsim.api import plot
        from pocketsim.report import chart_page

        output_paths.check_outside_runs(page)
        said = [f"Warning: {doubt}."] if doubt else []
        html = chart_page(title, plot.sensitivity(frame), "lines: 95 % intervals", said)
        with output_paths.replacing(page) as aside:
            aside.write_text(html, encoding="utf-8")
    if as_json:
        console.data(frame.to_json(orient="records", indent=1))
    else:
        records: list[dict[str, Any]] = json.loads(_telling(frame).to_json(orient="records"))
        rows = [_indices(record) for record in records]
        console.table(
            title,
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
