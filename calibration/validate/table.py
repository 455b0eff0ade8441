"""A validation as text: for a terminal, no wider than 80 columns, or Markdown for a document.

Groups with their bars; and the rows, of which the many exact ones are only counted. On a terminal
rows come on request. Names that `--subset` takes are never cut: lines are filled here, not there.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from calibration.validate.summaries import misses_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from calibration.validate.answers import Comparison
    from calibration.validate.summaries import Errors, Summary
    from calibration.validate.validation import ValidationResult

SUMMARY_HEAD = (
    "group",
    "rows",
    "median error",
    "worst",
    "predicted alone",
    "fitted alone",
    "agree",
    "claims held",
    "bar",
    "met",
)
SUMMARY_NOTE = (
    "The bar is applied to all rows of a group. Predicted and fitted alone: rows, then their "
    "median and worst error or how many hold. A figure agrees when it is off by no more than the "
    "scatter of both over their runs, and the printed rounding, explain (Welch's test, 95 %)."
)
FORMAT_NOTE = (
    "Block sizes involve no simulation: details of the format (key names, hex hashes, a counter "
    "of four digits) were inferred from these very sizes, and start indices after held-out "
    "workloads and the number of outstanding proposals are searched."
)
ROW_HEAD = ("id", "what", "published", "simulated", "error", "agree", "basis")


def render(result: ValidationResult, *, rows: bool = False, every_row: bool = False) -> Text:
    """Return the groups for a terminal, before them the `rows` if wanted.

    `every_row` also lists exact block sizes. Red is what misses a bar that is not known to be
    missed, yellow what is off without that, green what agrees or holds.
    """
    from rich.text import Text

    parts = [_row_lines(shown(result, every_row=every_row))] if rows else []
    parts.append(_group_lines(result.summaries))
    said = Text()
    for part in parts:
        for line, style in part:
            said.append(f"{line}\n", style)
        said.append("\n")
    for line in (*notes(result), verdict_line(result)):
        said.append(f"{textwrap.fill(line, WIDTH)}\n")
    said.rstrip()
    return said


def _group_lines(summaries: Sequence[Summary]) -> Iterator[tuple[str, str]]:
    yield _GROUP.format(*("group", "rows", "median", "worst", "agree", "hold", "bar")), "bold"
    for summary in summaries:
        verdict = (
            "known miss"
            if summary.known_missed
            else {True: "met", False: "MISSED", None: "-"}[summary.met]
        )
        style = "yellow" if summary.known_missed else _STYLES[summary.met]
        _, rows, median, worst, _, _, agree, hold, *_ = summary_cells(summary)
        yield (
            _GROUP.format(summary.group, rows, median, worst, agree, hold, verdict).rstrip(),
            style,
        )
        bar = f"; bar: {summary.bar}" if summary.bar else ""
        alone = (
            f"; predicted {_predicted(summary)}; fitted {_alone(summary.by_basis.get('fitted'))}"
        )
        yield _aside(f"{summary.title}{bar}{alone if summary.met is not None else ''}"), "dim"


def _row_lines(rows: Sequence[Comparison]) -> Iterator[tuple[str, str]]:
    yield _ROW.format("id", *ROW_HEAD[2:6]), "bold"
    for row in rows:
        name, what, said, had, error, agree, basis = row_cells(row)
        style = _STYLES[verdict(row)] or ("yellow" if _is_off(row) else "")
        yield _ROW.format(name, said, had, error, agree).rstrip(), style
        yield _aside(f"{basis}: {what}"), "dim"


def _aside(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def markdown(result: ValidationResult, *, every_row: bool = False) -> str:
    """Return both tables in Markdown, ending in a newline."""
    of_groups = [SUMMARY_HEAD, *(summary_cells(summary) for summary in result.summaries)]
    rows = shown(result, every_row=every_row)
    of_rows = [ROW_HEAD, *(row_cells(row) for row in rows)]
    said = [f"{line}\n" for line in (*notes(result), verdict_line(result))]
    return "\n".join([_markdown_table(of_groups), _markdown_table(of_rows), *said])


def verdict_line(result: ValidationResult) -> str:
    """Return in words whether the bars are met, which are not, and what they rest on."""
    judged = [summary for summary in result.summaries if summary.met is not None]
    missed = [summary.title for summary in judged if not summary.met and not summary.known_missed]
    known = [summary.title for summary in judged if summary.known_missed]
    if missed:
        said = f"Missed: {'; '.join(missed)}."
    elif judged:
        said = _met([summary for summary in judged if summary.met], len(judged))
    else:
        said = "No bar applies."
    return f"{said} Known to be missed: {'; '.join(known)}." if known else said


def _met(met: Sequence[Summary], bars: int) -> str:
    """Return how many of the bars are met, and how many of those rest on fitted rows alone."""
    if bars == 1:
        said = "The bar is met" if met else "The bar is missed"
    else:
        said = (
            f"All {bars} bars are met" if len(met) == bars else f"{len(met)} of {bars} bars are met"
        )
    fitted = sum(summary.all_fitted for summary in met)
    if not fitted:
        return f"{said}."
    if bars == 1:
        return f"{said}; it rests on fitted rows alone."
    return f"{said}; {fitted} of them rest{'s' * (fitted == 1)} on fitted rows alone."


def notes(result: ValidationResult) -> list[str]:
    """Return how to read the table of groups."""
    sizes = any(summary.group == "block_sizes" for summary in result.summaries)
    return [SUMMARY_NOTE, *([FORMAT_NOTE] if sizes else [])]


def shown(result: ValidationResult, *, every_row: bool = False) -> list[Comparison]:
    """Return the rows worth a line: all but block sizes that are exact, unless `every_row`."""
    exact = [row for row in result.comparisons if row.group == "block_sizes" and row.holds]
    hidden = set() if every_row else {row.id for row in exact}
    return [row for row in result.comparisons if row.id not in hidden]


def verdict(row: Comparison) -> bool | None:
    """Return False for a row that misses its group's bar, True for one that agrees or holds."""
    if misses_bar(row):
        return False
    return True if row.holds or row.agrees else None


def _is_off(row: Comparison) -> bool:
    """Return whether a row is off without missing a bar, or misses one that is known to be."""
    return row.holds is False or row.agrees is False or misses_bar(row, known=True)


def summary_cells(summary: Summary) -> tuple[str, ...]:
    """Return one line of the table of groups."""
    answered = f"{summary.rows - summary.unanswered} of {summary.rows}"
    return (
        summary.title,
        answered if summary.unanswered else str(summary.rows),
        _percent(summary.median_error_ratio),
        _percent(summary.worst_error_ratio),
        _predicted(summary),
        _alone(summary.by_basis.get("fitted")),
        f"{summary.agreeing} of {summary.with_ci}" if summary.with_ci else "",
        f"{summary.held} of {summary.claims}" if summary.claims else "",
        summary.bar or "none",
        {True: "yes", False: "NO", None: ""}[summary.met],
    )


def row_cells(row: Comparison) -> tuple[str, ...]:
    """Return one line of the table of rows."""
    agrees = {True: "yes", False: "no", None: ""}[row.agrees]
    if row.holds is not None:
        agrees = "holds" if row.holds else "fails"
    error = "" if row.error_ratio is None else f"{row.error_ratio:+.1%}"
    what = row.what
    if row.in_flight_ratio is not None:
        what += f" ({row.in_flight_ratio:.1%} in flight at the end)"
    said, had = quantity(row.published, row.ci95), quantity(row.simulated, row.simulated_ci95)
    return (row.id, what, said, had, error, agrees, row.basis)


def quantity(value: float | None, half: float | None) -> str:
    """Return a value with its interval, in four significant digits; a dash for none."""
    if value is None:
        return "-"
    text = f"{value:.4g}" if abs(value) < _LONG else f"{value:.0f}"
    if half is None:
        return text
    return f"{text} ± {half:.2g}" if half < _WHOLE else f"{text} ± {half:.0f}"


def _predicted(summary: Summary) -> str:
    """Return the predicted rows in a cell, or why there are none."""
    if summary.all_fitted:
        return "all fitted"
    if "predicted" not in summary.by_basis:
        return "none: from format"
    return _alone(summary.by_basis["predicted"])


def _alone(errors: Errors | None) -> str:
    """Return the rows of one basis in a cell: "12: 0.8%, 3.1%"; "none" without any."""
    if errors is None:
        return "none"
    if errors.median_error_ratio is not None and not errors.claims:
        median, worst = _percent(errors.median_error_ratio), _percent(errors.worst_error_ratio)
        return f"{errors.rows}: {median}, {worst}"
    return f"{errors.rows}: {errors.held} hold" if errors.claims else str(errors.rows)


def _percent(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1%}"


def _markdown_table(lines: Sequence[Sequence[str]]) -> str:
    head, *body = lines
    ruled = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in ruled)


WIDTH = 80  # columns of the narrowest terminal that is in use, and of what is piped
_GROUP = "{:<20}{:>8}{:>8}{:>8}{:>11}{:>11}  {}"
_ROW = "{:<26}{:>18}{:>18}{:>9}  {}"
_STYLES = {True: "green", False: "red", None: ""}
_LONG, _WHOLE = 1e4, 100.0  # from here on in whole numbers, not in powers of ten
