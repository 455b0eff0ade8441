"""Three to five numbers that say most of a set of runs, each with what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.report.runs import metric_words as words
from pocketsim.report.sections.fates import cause_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.report.runs.choice import Choice
    from pocketsim.report.runs.run import Run


@dataclass(frozen=True)
class KeyNumber:
    """A number with its unit, what it is, and where it holds or how sure it is."""

    value: str
    label: str
    note: str = ""


def of(choice: Choice, runs: Sequence[Run]) -> list[KeyNumber]:
    """Return the key numbers of a choice and of all runs that it was made from."""
    return [*_of_metric(choice), *_others(choice), *_lost(runs), _simulated(runs)][:_MOST]


def _of_metric(choice: Choice) -> list[KeyNumber]:
    """Return the metric at its ends, or of the only point."""
    metric, name = choice.metric, words.name(choice.metric)
    known = sorted(choice.points, key=lambda point: point.mean(metric) or 0.0)
    told = {id(point): line.name for line in choice.lines for point in line.points}
    ends = [("lowest ", known[0]), ("highest ", known[-1])] if len(known) > 1 else [("", known[0])]
    found = []
    for end, point in ends:
        where = [] if len(choice.lines) == 1 else [told[id(point)]]
        where += [point.place[choice.axis.key].words] if choice.axis else []
        value, _, interval = words.estimate(metric, point).partition(" (")
        notes = [", ".join(where) if end else "", interval.removesuffix(")")]
        found.append(KeyNumber(value, f"{end}{name}", "; ".join(filter(None, notes))))
    return found


def _others(choice: Choice) -> list[KeyNumber]:
    """Return the first other metric that all points share with the chosen one, as a range."""
    for metric in _BESIDE:
        values = [point.mean(metric) for point in choice.points if point.has(metric)]
        if metric == choice.metric or not values:
            continue
        known = [value for value in values if value is not None]
        return [KeyNumber(words.span(metric, min(known), max(known)), words.name(metric))]
    return []


def _lost(runs: Sequence[Run]) -> list[KeyNumber]:
    """Return the cause of most losses."""
    lost: dict[str, int] = {}
    for run in runs:
        for reason, count in run.metrics["counts"]["lost"].items():
            lost[cause_of(reason)] = lost.get(cause_of(reason), 0) + count
    sent = sum(run.metrics["counts"]["sent"] for run in runs)
    cause = max(lost, key=lambda one: lost[one], default="")
    if not cause or not sent or lost[cause] < _WORTH * sent:
        return []
    share = words.value("lost_ratio", lost[cause] / sent)
    return [KeyNumber(share, f"lost: {cause}", "of all that was sent; the most frequent cause")]


def _simulated(runs: Sequence[Run]) -> KeyNumber:
    sent = sum(run.metrics["counts"]["sent"] for run in runs)
    repetitions = sum(int(run.resolved["run"]["repetitions"]) for run in runs)
    counted = f"{_several(len(runs), 'run')}, {_several(repetitions, 'repetition')}"
    if not sent:
        return KeyNumber(str(repetitions), "repetitions", _several(len(runs), "run"))
    return KeyNumber(f"{sent:,}", "messages sent", counted)


def _several(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


_BESIDE = ("rtt_ms_p50", "payment_ms_p95", "delivery_ms_p95", "success_ratio", "completed_ratio")
_MOST = 5
_WORTH = 0.001
"""The least share of what was sent that a cause of losses is named for."""
