"""A law of contacts, fitted to the first days of a trace, against the days after.

The table has the median and the 90th percentile of durations and gaps on the later days; what the
law predicts, drawn by the code that a run's plan uses; and the null, the earlier days' own. A gap
is from the end of a pair's contact to the beginning of its next, within a day or over nights, too;
the latter depend on how many days there are, so as many are drawn. Contacts are recorded in steps,
so a quantile is also told as of grouped data: linear within its step. The sampling error is a
standard error by bootstrap, over pairs of people and over days. Exit code 3 when a prediction is
off by more than the bar.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.api.calibrate import calibrate_contacts
from pocketsim.calibration.fit.people import trace as traces
from pocketsim.calibration.fit.people.trace import Trace
from pocketsim.sim.base import streams
from pocketsim.sim.base.documents import origin_s
from pocketsim.sim.scenario import contact_law

if TYPE_CHECKING:
    from collections.abc import Callable

    from pocketsim.calibration.fit.people.trace import Floats
    from pocketsim.sim.scenario.resolved import ContactLaw

BAR = 0.1
"""How far a prediction may be off, relative to what is there."""
LEVELS = (0.5, 0.9)
WEEKS = 40
RESAMPLES = 200
EXIT_CHECK_FAILED = 3
WHAT: dict[str, Callable[[Trace], Floats]] = {
    "duration": Trace.durations_s,
    "gap within a day": lambda trace: trace.gaps_s(within_days=True),
    "gap, nights too": lambda trace: trace.gaps_s(within_days=False),
}


@dataclass(frozen=True)
class Row:
    """A quantile in seconds: on the later days, predicted, of the null, and standard errors."""

    name: str
    there_s: float
    predicted_s: float
    null_s: float
    of_pairs_s: float
    of_days_s: float

    @property
    def error(self) -> float:
        """How far the prediction is off, relative to what is there."""
        return self.predicted_s / self.there_s - 1

    @property
    def null_error(self) -> float:
        """How far the null is off."""
        return self.null_s / self.there_s - 1


def quantile(values: Floats, level: float, step_s: float = 0.0) -> float:
    """Return a quantile; as of data grouped in steps, which end at the values, where a step is."""
    ordered = np.sort(values)
    found = float(ordered[max(int(np.ceil(level * ordered.size)) - 1, 0)])
    if not step_s:
        return found
    below, until = (np.searchsorted(ordered, found, side) / ordered.size for side in SIDES)
    return found - step_s + step_s * float((level - below) / (until - below))


def predictions(law: ContactLaw, days: int, weeks: int) -> list[Trace]:
    """Return as many draws of so many days from a Monday on, each of a place of its own."""
    return [traces.drawn(law, streams.Streams(week, "bench"), days) for week in range(weeks)]


def pooled(drawn: list[Trace], name: str) -> Floats:
    """Return the values of all draws: those of many samples of the same length."""
    return np.concatenate([WHAT[name](one) for one in drawn])


def resampled(trace: Trace, *, by_day: bool) -> list[Trace]:
    """Return samples of pairs, or of days, drawn with replacement; copies are pairs of their own.

    Of days, all gaps over nights go: only what is within days has this error.
    """
    pair = trace.day if by_day else trace.one * trace.people + trace.other
    known, number = np.unique(pair, return_inverse=True)
    order = np.argsort(number, kind="stable")
    begins = np.searchsorted(number[order], np.arange(known.size + 1))
    found = []
    for sample in range(RESAMPLES):
        stream = streams.stream(sample, f"bench/{'days' if by_day else 'pairs'}")
        chosen = stream.integers(known.size, size=known.size)
        rows = [order[begins[one] : begins[one + 1]] for one in chosen]
        copy = np.repeat(np.arange(known.size), [part.size for part in rows])
        row = np.concatenate(rows)
        # Copies are told apart as other people, and keep the order of their contacts.
        one = copy * trace.people + trace.one[row]
        found.append(Trace(one, trace.other[row], trace.begin_s[row], trace.end_s[row], one.size))
    return found


def table(first: Trace, later: Trace, drawn: list[Trace], step_s: float) -> list[Row]:
    """Return the rows for all quantiles."""
    samples = {by_day: resampled(later, by_day=by_day) for by_day in (False, True)}
    found = []
    for name, values_of in WHAT.items():
        values = [values_of(later), pooled(drawn, name), values_of(first)]
        told = {by_day: [values_of(one) for one in many] for by_day, many in samples.items()}
        for level in LEVELS:
            errors = [
                float(np.std([quantile(one, level, step_s) for one in told[by_day]]))
                for by_day in (False, True)
            ]
            if name == "gap, nights too":
                errors[1] = float("nan")
            quantiles = [quantile(one, level, step_s) for one in values]
            found.append(Row(f"{name}, p{100 * level:g}", *quantiles, *errors))
    return found


def text(rows: list[Row]) -> str:
    """Return the table as lines."""
    head = f"{'':24}{'later':>10}{'law':>10}{'off':>8}{'null':>10}{'off':>8}{'s.e. pairs':>12}"
    lines = [f"{head}{'s.e. days':>11}   within {BAR:.0%}"]
    for row in rows:
        figures = f"{row.there_s:10.1f}{row.predicted_s:10.1f}{row.error:8.1%}{row.null_s:10.1f}"
        errors = f"{row.null_error:8.1%}{row.of_pairs_s:12.1f}{row.of_days_s:11.1f}"
        verdict = "yes" if abs(row.error) <= BAR else "no"
        lines.append(f"{row.name:24}{figures}{errors}   {verdict}")
    return "\n".join(lines)


def extent(trace: Trace) -> str:
    """Return how much is in a trace: contacts and distinct partners of a person and day."""
    first = trace.is_first
    who = np.r_[trace.one[first], trace.other[first]]
    day = np.r_[trace.day[first], trace.day[first]]
    partners = np.unique(day * trace.people + who, return_counts=True)[1]
    number = trace.contacts_of_pair_days()
    shown = " ".join(f"{quantile(partners, level):g}" for level in (0.1, 0.5, 0.9))
    per_pair = " ".join(f"{quantile(number, level):g}" for level in (0.5, 0.9, 0.99))
    return (
        f"{trace.day.size} contacts; partners of a person and day, p10 p50 p90: {shown}; "
        f"contacts of a pair and day, p50 p90 p99: {per_pair}"
    )


def main() -> int:
    """Print the tables; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--format", default="tij", choices=("tij", "columns"))
    parser.add_argument("--origin", default="0s")
    parser.add_argument("--until", type=int, default=5, help="first day that is predicted")
    parser.add_argument("--law", type=Path, help="law to judge, instead of one fitted here")
    asked = parser.parse_args()
    if asked.law is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "law.toml"
            law = calibrate_contacts(
                asked.trace, path, form=asked.format, origin=asked.origin, until_day=asked.until
            )
    else:
        law = contact_law.contents(contact_law.load(asked.law))
    step_s = law["resolution_s"]
    every = traces.read(asked.trace, asked.format, step_s, origin_s(asked.origin))
    last = int(every.day.max()) + 1
    first, later = every.between(0, asked.until), every.between(asked.until, last)
    days = int(later.day.max() - later.day.min()) + 1
    drawn = predictions(law, days, WEEKS)
    print(f"first: {extent(first)}\nlater: {extent(later)}\nlaw, first of {WEEKS} draws: ", end="")
    print(extent(drawn[0]))
    grouped = table(first, later, drawn, step_s)
    print(f"\nquantiles of data grouped in steps of {step_s:g} s, in seconds")
    print(text(grouped))
    print("\nquantiles as they are recorded, in seconds")
    print(text(table(first, later, drawn, 0.0)))
    return EXIT_CHECK_FAILED if any(abs(row.error) > BAR for row in grouped) else 0


SIDES = ("left", "right")

if __name__ == "__main__":
    sys.exit(main())
