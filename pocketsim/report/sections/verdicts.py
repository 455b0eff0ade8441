"""The part of a report that holds a validation: verdict, errors by group, every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from pocketsim.calibration.validate import table as text
from pocketsim.calibration.validate import validation
from pocketsim.report.charts import theme
from pocketsim.report.html.page import folded, markup, table, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.calibration.validate.answers import Comparison
    from pocketsim.calibration.validate.summaries import Summary
    from pocketsim.calibration.validate.validation import ValidationResult


def summary(result: ValidationResult) -> Markup:
    """Return the verdict in a sentence, and one line for each group."""
    colour = {validation.MISSED: "bad", validation.KNOWN_MISSES: "", validation.ALL_MET: "good"}
    lines = []
    for group in result.summaries:
        *cells, said = text.summary_cells(group)
        lines.append((*cells, _verdict(group, said)))
    grid = table(text.SUMMARY_HEAD, lines, numeric=tuple(range(1, 10)))
    said = markup('<p class="{}">{}</p>', colour[result.verdict], text.verdict_line(result))
    notes = [markup('<p class="caption">{}</p>', note) for note in text.notes(result)]
    return Markup().join([said, grid, *notes])


def rows(result: ValidationResult) -> Markup:
    """Return every row, group by group, coloured; groups without a miss are folded."""
    parts = []
    for group in result.summaries:
        own = [row for row in result.comparisons if row.group == group.group]
        lines = [_line(row) for row in own]
        grid = table((*text.ROW_HEAD, "note"), lines, numeric=(2, 3, 4))
        parts.append(
            folded(
                f"{group.title}: {len(own)} row{'s' * (len(own) != 1)}",
                grid,
                unfold=group.met is False,
            )
        )
    return Markup().join(parts)


def errors(result: ValidationResult) -> go.Figure:
    """Return every row's error as a dot, one line for each group."""
    groups = [
        group for group in result.summaries if group.worst_error_ratio and group.median_error_ratio
    ]
    names = {group.group: theme.wrapped(group.title) for group in groups}
    lines = max((name.count("<br>") + 1 for name in names.values()), default=1)
    # What the axis shows, the caption says: names need the room.
    chart = theme.figure("", "", 130 + (_ROW_PX + _LINE_PX * lines) * len(groups))
    for basis, symbol in (("predicted", "circle"), ("fitted", "square-open")):
        dots = [
            (row.error_ratio, names[row.group], f"{row.id}: {row.what}", text.verdict(row))
            for group in groups
            for row in result.comparisons
            if row.group == group.group and row.basis == basis and row.error_ratio is not None
        ]
        if dots:
            _dots(chart, basis, symbol, dots)
    chart.add_vline(x=0, line={"color": theme.FAINT, "width": 1})
    chart.update_xaxes(tickformat="+.0%", zeroline=False)
    chart.update_yaxes(autorange="reversed", showgrid=True)
    return chart


def _dots(
    chart: go.Figure,
    basis: str,
    symbol: str,
    dots: Sequence[tuple[float | None, str, str, bool | None]],
) -> None:
    x, y, names, verdicts = (list(part) for part in zip(*dots, strict=True))
    colours = [_COLOURS[verdict] for verdict in verdicts]
    chart.add_scatter(
        x=x,
        y=y,
        text=names,
        mode="markers",
        name=f"{basis} (green: agrees, or holds)",
        marker={"symbol": symbol, "size": 9, "color": colours, "opacity": 0.75},
    )


def _line(row: Comparison) -> tuple[str, ...]:
    name, *cells = text.row_cells(row)
    verdict = text.verdict(row)
    colour = {True: "good", False: "bad", None: ""}[verdict]
    cells[4] = markup('<span class="{}">{}</span>', colour, cells[4])
    return (markup("<code>{}</code>", name), *cells, row.note)


def _verdict(group: Summary, said: str) -> str:
    if group.met is None:
        return ""
    colour = theme.NEUTRAL if group.known_missed else theme.GOOD if group.met else theme.BAD
    return tag(said.lower(), colour)


_COLOURS = {True: theme.GOOD, False: theme.BAD, None: theme.NEUTRAL}
_ROW_PX, _LINE_PX = 4, 17
