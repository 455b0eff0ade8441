"""A validation as text for a terminal, no wider than 80 columns, and as cells of tables.

Groups with their bars; and the rows, of which the many exact ones are only counted. On a terminal
rows come on request. Names that `--subset` takes are never cut: lines are filled here, not there.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from pocketsim.calibration.validate.summaries import misses_bar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.text import Text

    from pocketsim.calibration.validate.answers import Comparison
    from pocketsim.calibration.validate.summaries import Errors, Summary
    from pocketsim.calibration.validate.validation import ValidationResult

SUMMARY_HEAD = (
    "group",
    "rows",
    "independent",
    "median error",
    "worst",
    "predicted alone",
    "fitted alone",
    "best baseline",
    "agree",
    "claims held",
    "bar",
    "counts as",
    "verdict",
)
SUMMARY_NOTE = (
    "The bar is applied to all rows of a group. Predicted and fitted alone: rows, then their "
    "median and worst error or how many hold. A figure agrees when it is off by no more than the "
    "scatter of both over their runs, and the printed rounding, explain (Welch's test, 95 %); "
    "counts of outcomes, when those that are no likelier have a chance of 5 % or more. Independent "
    "are rows that are not read off the same runs."
)
BASELINE_NOTE = (
    "A baseline knows nothing of the mechanism: nominal is what the configured numbers alone give, "
    "sleep the sender loop's sleeps, session one constant for each published session. The best is "
    "that with the smallest median error over the predicted rows, or the fewest claims that fail. "
    "A group counts as validation if its bar is met and its predicted rows are off by at most half "
    "of that; if all its rows are fitted or made the format, it is a description."
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
    head = ("group", "rows", "indep", "median", "worst", "baseline", "agree", "bar")
    yield _GROUP.format(*head), "bold"
    for summary in summaries:
        style = "yellow" if summary.known_missed else _STYLES[summary.met]
        _, rows, alone, median, worst, _, _, _, agree, hold, *_, said = summary_cells(summary)
        cells = (rows, alone, median, worst, _baseline(summary), agree or hold, said or "-")
        yield _GROUP.format(summary.group, *cells).rstrip(), style
        yield _aside("; ".join(_more(summary))), "dim"


def _more(summary: Summary) -> Iterator[str]:
    yield summary.title
    if summary.met is None:
        return
    yield f"bar: {summary.bar}"
    if summary.p_value is not None:
        yield f"counts p = {summary.p_value:.2g}"
    yield f"predicted {_predicted(summary)}"
    yield f"fitted {_alone(summary.by_basis.get('fitted'))}"
    if summary.best_null:
        yield f"best baseline {summary.best_null} {_baseline(summary)}"
    yield summary.standing


def _baseline(summary: Summary) -> str:
    """Return the best baseline in a cell: its median error, or how many claims it fulfils."""
    baseline = summary.nulls.get(summary.best_null)
    if baseline is None:
        return ""
    if baseline.claims:
        return f"{baseline.held} of {baseline.claims}"
    return _percent(baseline.median_error_ratio)


def _row_lines(rows: Sequence[Comparison]) -> Iterator[tuple[str, str]]:
    yield _ROW.format("id", *ROW_HEAD[2:6]), "bold"
    for row in rows:
        name, what, said, had, error, agree, basis = row_cells(row)
        style = _STYLES[verdict(row)] or ("yellow" if _is_off(row) else "")
        yield _ROW.format(name, said, had, error, agree).rstrip(), style
        yield _aside(f"{basis}: {what}"), "dim"


def _aside(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def brief(result: ValidationResult) -> list[str]:
    """Return the outcome in a few lines: what was compared, how many agree, which are worst."""
    answered = [row for row in result.comparisons if row.simulated is not None]
    groups = len(result.summaries)
    said = f"{groups} group{'s' * (groups != 1)}"
    lines = [f"compared: {len(answered)} published figures of {said} with simulations"]
    for basis in ("predicted", "fitted"):
        own = [row for row in answered if row.basis == basis]
        errors = [abs(row.error_ratio) for row in own if row.error_ratio is not None]
        errors_said = f"; median error {_percent(median(errors))}" if errors else ""
        told = [row for row in own if row.agrees is not None or row.holds is not None]
        good = sum(bool(row.agrees or row.holds) for row in told)
        if told:
            errors_said = f"{good} of {len(told)} agree or hold{errors_said}"
        if own:
            lines.append(f"{basis}: {len(own)} figures; {errors_said.removeprefix('; ')}")
    furthest = worst([row for row in answered if row.basis == "predicted"])[:_WORST_SAID]
    lines += [
        f"largest error: {row.id} {_percent(row.error_ratio)}, {row.what}" for row in furthest
    ]
    return [*lines, *findings(result)]


def findings(result: ValidationResult) -> list[str]:
    """Return how many groups meet their bar, and which do not, as sentences."""
    judged = [summary for summary in result.summaries if summary.met is not None]
    if not judged:
        return ["No bar applies to these figures."]
    met = sum(bool(summary.met) for summary in judged)
    missed = [summary.title for summary in judged if not summary.met and not summary.known_missed]
    known = [summary.title for summary in judged if summary.known_missed]
    said = [f"{met} of {len(judged)} groups of published figures meet their bar."]
    if len(judged) == 1:
        said = [f"The published figures {'meet' if met else 'miss'} their bar."]
    if missed:
        said.append(f"Missed: {'; '.join(missed)}.")
    if known:
        said.append(f"Missed, as is known: {'; '.join(known)}.")
    return said


def worst(rows: Sequence[Comparison]) -> list[Comparison]:
    """Return the rows of the largest errors, a few, the largest first."""
    known = [row for row in rows if row.error_ratio is not None]
    return sorted(known, key=lambda row: -abs(row.error_ratio or 0.0))[:_WORST]


def verdict_line(result: ValidationResult) -> str:
    """Return the verdict, which bars are missed, and what all of it is worth."""
    judged = [summary for summary in result.summaries if summary.met is not None]
    missed = [summary.title for summary in judged if not summary.met and not summary.known_missed]
    known = [summary.title for summary in judged if summary.known_missed]
    said = [f"{result.verdict[0].upper()}{result.verdict[1:]}." if judged else "No bar applies."]
    if missed:
        said.append(f"Missed: {'; '.join(missed)}.")
    if known:
        said.append(f"Known to be missed: {'; '.join(known)}.")
    return " ".join([*said, *worth(result)])


def worth(result: ValidationResult) -> Iterator[str]:
    """Yield how many bars are met, what their groups count as, and on how many rows that rests."""
    judged = [summary for summary in result.summaries if summary.met is not None]
    met = sum(bool(summary.met) for summary in judged)
    if judged:
        counted = Counter(summary.standing for summary in judged)
        standings = ", ".join(
            f"{counted[word]} {word}" for word in ("validated", "described", "not validated")
        )
        yield f"{met} of {len(judged)} bars met; {standings}."
    rows = sum(row.simulated is not None for row in result.comparisons)
    yield f"{rows} rows, {result.independent} independent."


def notes(result: ValidationResult) -> list[str]:
    """Return how to read the table of groups, and which prices contradict each other."""
    sizes = any(summary.group == "block_sizes" for summary in result.summaries)
    return [SUMMARY_NOTE, BASELINE_NOTE, *([FORMAT_NOTE] if sizes else []), *result.apart]


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
        str(summary.independent),
        _percent(summary.median_error_ratio),
        _percent(summary.worst_error_ratio),
        _predicted(summary),
        _alone(summary.by_basis.get("fitted")),
        f"{_baseline(summary)} ({summary.best_null})" if summary.best_null else "",
        f"{summary.agreeing} of {summary.with_ci}" if summary.with_ci else "",
        f"{summary.held} of {summary.claims}" if summary.claims else "",
        summary.bar or "none",
        summary.standing,
        "known miss" if summary.known_missed else _VERDICTS[summary.met],
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


WIDTH = 80  # columns of the narrowest terminal that is in use, and of what is piped
_GROUP = "{:<19}{:>7}{:>7}{:>8}{:>8}{:>9}{:>10}  {}"
_ROW = "{:<26}{:>18}{:>18}{:>9}  {}"
_VERDICTS = {True: "met", False: "MISSED", None: ""}
_STYLES = {True: "green", False: "red", None: ""}
_LONG, _WHOLE = 1e4, 100.0  # from here on in whole numbers, not in powers of ten
_WORST, _WORST_SAID = 5, 2
