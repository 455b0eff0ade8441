"""The first screen of a validation: predicted against published as a picture, a dot a figure."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from pocketsim.calibration.validate import table as text
from pocketsim.report.answer import limits
from pocketsim.report.answer.numbers import KeyNumber
from pocketsim.report.charts import theme
from pocketsim.report.html.page import rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.calibration.validate.answers import Comparison
    from pocketsim.calibration.validate.validation import ValidationResult
    from pocketsim.report.html.page import Page
    from pocketsim.report.runs.run import Run

TITLE = "Does the simulation give the published figures?"


def add(page: Page, result: ValidationResult, runs: Sequence[Run]) -> None:
    """Append question, finding, key numbers, the picture and its limits."""
    answer = rendered(
        "answer.html",
        question=page.title,
        findings=text.findings(result),
        numbers=_numbers(result),
    )
    page.add(answer)
    dots = [row for row in result.comparisons if _is_drawn(row)]
    if dots:
        page.section("answer", "The answer as a chart")
        page.figures([("Simulated against published", _CAPTION, chart(dots))], wide=True)
    page.add(rendered("limits.html", limits=limits.sentences(None, runs)))


def chart(rows: Sequence[Comparison]) -> go.Figure:
    """Return a dot for each figure on logarithmic axes, those of the largest errors named."""
    found = theme.figure("published, in its own unit", "simulated, in the same unit", _HEIGHT_PX)
    ends = [pick(value for row in rows for value in _pair(row)) for pick in (min, max)]
    line = {"color": theme.FAINT, "width": 1, "dash": "dot"}
    found.add_scatter(x=ends, y=ends, mode="lines", name="equal", line=line)
    worst = {row.id for row in text.worst(rows)}
    for basis, symbol, colour in _LOOKS:
        own = [row for row in rows if row.basis == basis]
        if not own:
            continue
        found.add_scatter(
            x=[_pair(row)[0] for row in own],
            y=[_pair(row)[1] for row in own],
            text=[row.id if row.id in worst else "" for row in own],
            customdata=[f"{row.id}: {row.what}, {row.unit}" for row in own],
            hovertemplate="%{customdata}<br>published %{x:.4g}, simulated %{y:.4g}<extra></extra>",
            textposition=[_beside(_pair(row)[0], ends) for row in own],
            cliponaxis=False,
            textfont={"size": 11},
            mode="markers+text",
            name=f"{basis} ({len(own)})",
            marker={"symbol": symbol, "size": 9, "color": colour, "opacity": 0.75},
        )
    found.update_xaxes(type="log")
    found.update_yaxes(type="log")
    return found


def _beside(value: float, ends: Sequence[float]) -> str:
    """Return where a name has room: to the left in the right half of the chart."""
    return f"bottom {'left' if value > math.sqrt(ends[0] * ends[1]) else 'right'}"


def _numbers(result: ValidationResult) -> list[KeyNumber]:
    judged = [summary for summary in result.summaries if summary.met is not None]
    met = sum(bool(summary.met) for summary in judged)
    found = [KeyNumber(f"{met} of {len(judged)}", "groups meet their bar")] if judged else []
    for basis, note in (
        ("predicted", "figures that no fit has seen"),
        ("fitted", "figures that a fit has seen: no evidence"),
    ):
        errors = [abs(row.error_ratio) for row in _of(result, basis) if row.error_ratio is not None]
        if errors:
            middle = f"{100 * median(errors):.2g} %"
            found.append(KeyNumber(middle, f"median error of {len(errors)} {basis} figures", note))
    worst = next(iter(text.worst(_of(result, "predicted"))), None)
    if worst is not None and worst.error_ratio is not None:
        error = f"{100 * worst.error_ratio:+.0f} %"
        found.append(KeyNumber(error, "largest error of a predicted figure", worst.id))
    return found


def _of(result: ValidationResult, basis: str) -> list[Comparison]:
    return [row for row in result.comparisons if row.basis == basis and row.simulated is not None]


def _pair(row: Comparison) -> tuple[float, float]:
    return row.published or 0.0, row.simulated or 0.0


def _is_drawn(row: Comparison) -> bool:
    return all(math.isfinite(value) and value > 0 for value in _pair(row))


_CAPTION = (
    "on the dotted line both are equal; a fitted figure was seen when the profile was made, a "
    "predicted one was not; the largest errors are named"
)
_HEIGHT_PX = 460
_LOOKS = (("predicted", "circle", "#0072b2"), ("fitted", "square-open", "#d55e00"))
