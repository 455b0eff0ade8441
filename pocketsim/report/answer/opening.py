"""The first screen of a page about runs: question, finding, key numbers, one chart, its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.answer import deadlines, finding, limits, numbers, payments
from pocketsim.report.charts import grids
from pocketsim.report.html.page import rendered
from pocketsim.report.runs import choice
from pocketsim.report.runs import metric_words as words
from pocketsim.report.runs import points as places
from pocketsim.report.runs.asked import Asked
from pocketsim.report.runs.pooled import SCENARIO
from pocketsim.report.runs.run import PAYLOAD, RATE, TRANSPORT, by_scenario, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pocketsim.report.html.page import Page
    from pocketsim.report.runs.choice import Choice
    from pocketsim.report.runs.run import Run


def title(runs: Sequence[Run], drawn: Choice | None, asked: Asked) -> str:
    """Return what a page is called: the question that its author asks, else one made of the runs.

    `drawn` is what the first chart shows, None where there is nothing to show.
    """
    said = asked.question or next(
        (text for run in runs if (text := run.resolved.get("question", ""))), ""
    )
    if said:
        return said
    named = list(dict.fromkeys(run.title for run in runs))
    if len(named) > _MOST:
        named[_MOST - 1 :] = [f"{len(named) - _MOST + 1} scenarios more"]
    what = " and ".join(named)
    keys = _differing(drawn) if drawn and _is_one_answer(drawn) else []
    if drawn is None or not keys:
        return what
    return f"{what}: how does the {words.name(drawn.metric)} depend on {' and '.join(keys)}?"


def finding_of(run_dirs: Iterable[Path], asked: Asked) -> str:
    """Return the finding of complete run directories as text; nothing where they have no metric.

    Raises UserError where what is `asked` for is not there.
    """
    runs = load(run_dirs)
    return " ".join(_findings(runs, choice.chosen(runs, asked), asked)) if runs else ""


def add(page: Page, runs: Sequence[Run], drawn: Choice | None, asked: Asked) -> None:
    """Append the first screen."""
    answer = rendered(
        "answer.html",
        question=page.title,
        findings=_findings(runs, drawn, asked),
        numbers=numbers.of(drawn, runs) if drawn else [],
    )
    page.add(answer)
    if drawn and _is_one_answer(drawn) and len(drawn.points) > 1:
        page.section("answer", "The answer as a chart")
        said = "; ".join(filter(None, (grids.marks(drawn), caption(drawn))))
        page.figures([(words.title(drawn.metric), said, grids.chart(drawn))])
    page.add(rendered("limits.html", limits=limits.sentences(drawn, runs)))


def _findings(runs: Sequence[Run], drawn: Choice | None, asked: Asked) -> list[str]:
    if drawn is None or not _is_one_answer(drawn):
        return _each(runs, asked)
    paid, timely = payments.sentences(drawn), filter(None, [deadlines.sentence(drawn)])
    return [*paid, *timely, *([] if paid else finding.sentences(drawn))]


def _is_one_answer(drawn: Choice) -> bool:
    """Return whether lines are few enough to be told apart, or all of one scenario."""
    scenarios = {point.run.scenario for point in drawn.points}
    return len(drawn.lines) <= _LINES or len(scenarios) == 1


def _each(runs: Sequence[Run], asked: Asked) -> list[str]:
    """Return the first finding of each of some scenarios, a few at most."""
    found: list[str] = []
    for group in by_scenario(runs).values():
        if len(found) < _MOST and (drawn := choice.chosen(group, Asked(axes=asked.axes))):
            found.append(f"{group[0].title}: {finding.sentences(drawn)[0]}")
    return found


def caption(drawn: Choice) -> str:
    """Return what bars of a choice's chart are, and what moves along with its horizontal axis."""
    counts = sorted({point.repetitions for point in drawn.points})
    several = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    bars = (
        f"95 % intervals, of {several} repetitions at each point"
        if counts[-1] > 1
        else "one repetition at each point"
    )
    return "; ".join(filter(None, (bars, grids.along(drawn))))


def _differing(drawn: Choice) -> list[str]:
    """Return what the points differ in, in words, the horizontal axis first."""
    every = [point.place for point in drawn.points]
    axis = [drawn.axis.key] if drawn.axis else []
    along = drawn.axis.along if drawn.axis else ()
    keys = [*axis, *(key for key in places.differing(every) if key not in {*axis, *along})]
    found = [_NAMES.get(key) or next(at[key].name for at in every if key in at) for key in keys]
    if len(found) > _MOST:
        found[_MOST - 1 :] = [f"{len(found) - _MOST + 1} settings more"]
    return [name.replace("_", " ") for name in found]


_NAMES = {
    TRANSPORT: "the transport",
    PAYLOAD: "the payload",
    RATE: "the rate",
    SCENARIO: "the scenario",
}
_MOST = 3
"""Settings or scenarios that a question names."""
_LINES = 8
