"""A law of contacts fitted to a trace: what a run draws from the law is as the trace.

Three numbers say who meets whom; they have closed forms. Quantiles of contacts, gaps and durations
come from the trace. A drawn day ends, so long gaps and many contacts are cut: the tables are
corrected by simulation, with the code that a run uses, until what is drawn has the trace's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.fit.people.trace import DAY_S, Trace, drawn
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.base.streams import Streams

if TYPE_CHECKING:
    from pocketsim.calibration.fit.people.trace import Floats, Indices
    from pocketsim.sim.scenario.resolved import ContactLaw, Meets


def fit(trace: Trace, resolution_s: float) -> ContactLaw:
    """Return the law of a trace whose times are multiples of a resolution.

    Raises UserError for a trace that says too little.
    """
    _check(trace)
    people = np.unique(np.r_[trace.one, trace.other])
    is_there = _there(trace)
    there = _share_there(trace, is_there, people.size)
    law: ContactLaw = {
        "people": people.size,
        "resolution_s": resolution_s,
        "there": there,
        "hours": [],
        "leaves_s": _table(_leave_s(trace), _quantiles(_leave_s(trace))),
        "meets": _meets(trace, people, is_there),
        "contacts": {},
        "duration_s": _table(trace.durations_s(), _quantiles(trace.durations_s())),
        "gap_s": {},
        "activity_correlation": 0.0,
    }
    return _corrected(law, trace)


def _check(trace: Trace) -> None:
    if np.unique(np.r_[trace.one, trace.other]).size < _FEWEST:
        raise UserError(f"a law takes contacts of {_FEWEST} people or more")
    if trace.gaps_s(within_days=True).size < _FEWEST:
        reason = "a law of gaps takes pairs that meet several times on a day, and next to none does"
        raise UserError(reason)


# Who is there, and who meets whom


def _there(trace: Trace) -> Indices:
    """Return rows of day and person, of people who meet anybody on that day."""
    both = np.r_[trace.day, trace.day], np.r_[trace.one, trace.other]
    return np.unique(np.stack(both, axis=1), axis=0)


def _share_there(trace: Trace, is_there: Indices, people: int) -> list[float]:
    """Return the share of people who are there on a day of the week on which anybody is.

    It is the same on all of these: a trace is of too few weeks to tell them apart.
    """
    days = np.unique(trace.day)
    share = len(is_there) / (people * days.size)
    return [_short(share) if day in set(days % 7) else 0.0 for day in range(7)]


def _meets(trace: Trace, people: Indices, is_there: Indices) -> Meets:
    """Return what makes pairs meet, from how often that is, twice with a person, twice of a pair.

    Each share is among those who are there; correlations are tetrachoric.
    """
    day_pair = np.unique(np.stack([trace.day, trace.one, trace.other], axis=1), axis=0)
    present = np.bincount(np.unique(is_there[:, 0], return_inverse=True)[1])
    probability = len(day_pair) / (present * (present - 1) / 2).sum()
    ends = np.r_[day_pair[:, [0, 1]], day_pair[:, [0, 2]]]
    partners = np.unique(ends, axis=0, return_counts=True)[1]
    shared = (partners * (partners - 1)).sum() / np.sum(present * (present - 1.0) * (present - 2.0))
    of_person = min(_tetrachoric(probability, float(shared)), _MOST_OF_A_PERSON)
    of_pair = max(_again(day_pair, is_there, people, probability), 2 * of_person)
    return {
        "probability": _short(probability),
        "same_person_correlation": math.floor(of_person * 1e4) / 1e4,
        "same_pair_correlation": math.ceil(of_pair * 1e4) / 1e4,
    }


def _again(
    day_pair: Indices,
    is_there: Indices,
    people: Indices,
    probability: float,
) -> float:
    """Return the correlation of a pair's scores on two days; 0 where there is one day alone."""
    days = np.unique(day_pair[:, 0])
    there = np.zeros((people.size, days.size))
    there[np.searchsorted(people, is_there[:, 1]), np.searchsorted(days, is_there[:, 0])] = 1
    together = there @ there.T
    could = np.triu(together * (together - 1), 1).sum()
    met = np.unique(day_pair[:, 1:], axis=0, return_counts=True)[1]
    return _tetrachoric(probability, float((met * (met - 1)).sum() / could)) if could else 0.0


def _tetrachoric(probability: float, both: float) -> float:
    """Return the correlation of two normal scores that are both above a threshold so often.

    Each is with `probability`; 0 where both are less often than if they were independent.
    """
    from scipy import optimize, special

    node, weight = np.polynomial.hermite_e.hermegauss(_NODES)
    weight /= weight.sum()
    least = -special.ndtri(probability)

    def excess(correlation: float) -> float:
        above = special.ndtr((math.sqrt(correlation) * node - least) / math.sqrt(1 - correlation))
        return float(weight @ above**2) - both

    if excess(0.0) >= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, _MOST)) if excess(_MOST) > 0 else _MOST


# When people leave


def _leave_s(trace: Trace) -> Floats:
    """Return for each pair and day when the first of the two has had its last contact, s."""
    until = np.zeros((int(trace.day.max()) + 1) * trace.people)
    ends = np.minimum(trace.end_s - DAY_S * trace.day, DAY_S)
    for who in (trace.one, trace.other):
        np.maximum.at(until, trace.day * trace.people + who, ends)
    first = trace.is_first
    mine, others = (
        until[trace.day[first] * trace.people + who[first]] for who in (trace.one, trace.other)
    )
    found: Floats = np.minimum(mine, others)
    return found


# Tables, and their correction


@dataclass(frozen=True)
class _Seen:
    """What is compared: normal scores of two tables' values, shares of hours, a correlation."""

    contacts: Floats
    gaps: Floats
    hours: Floats
    activity: float

    @classmethod
    def of(cls, trace: Trace, contacts: Floats, gaps_s: Floats) -> _Seen:
        """Return what a trace has at these values."""
        first_s = trace.begin_s[trace.is_first] % DAY_S
        hours = np.bincount((first_s // 3600).astype(np.int64), minlength=24)
        return cls(
            _scores(trace.contacts_of_pair_days(), contacts),
            _scores(trace.gaps_s(within_days=True), gaps_s),
            hours / hours.sum(),
            _activity(trace),
        )


def _corrected(law: ContactLaw, trace: Trace) -> ContactLaw:
    """Return a law with tables of contacts and gaps, and hours, by which it draws the trace's."""
    contacts = _quantiles(trace.contacts_of_pair_days())
    gaps_s = _quantiles(trace.gaps_s(within_days=True))
    wanted = _Seen.of(trace, contacts, gaps_s)
    of_contacts, of_gaps = wanted.contacts, wanted.gaps
    hours, activity = wanted.hours, max(wanted.activity, 0.0)
    most = float(trace.contacts_of_pair_days().max())
    for trial in range(_TRIALS + 1):
        law = {
            **law,
            "contacts": _of_scores(of_contacts, contacts, most),
            "gap_s": _of_scores(of_gaps, gaps_s, float(gaps_s[-1])),
            "hours": [_short(24 * part) for part in hours / hours.sum()],
            "activity_correlation": _short(activity),
        }
        if trial == _TRIALS:
            break
        seen = _Seen.of(drawn(law, Streams(_SEED, "trial"), _DAYS), contacts, gaps_s)
        of_contacts = _moved(of_contacts, wanted.contacts - seen.contacts)
        of_gaps = _moved(of_gaps, wanted.gaps - seen.gaps)
        ratio = wanted.hours / np.maximum(seen.hours, _RARE)
        hours = np.minimum(hours * ratio**_STEP, _HOUR_MOST * wanted.hours)
        activity = min(max(activity + _STEP * (wanted.activity - seen.activity), 0.0), _MOST)
    return law


def _activity(trace: Trace) -> float:
    """Return the rank correlation of a gap's shortness and how many contacts its pair and day has.

    0 where all are equal.
    """
    from scipy import stats

    is_first = trace.is_first
    contacts = trace.contacts_of_pair_days()[np.cumsum(is_first) - 1]
    gaps_s = (trace.begin_s[1:] - trace.end_s[:-1])[~is_first[1:]]
    contacts = contacts[1:][~is_first[1:]]
    if np.ptp(gaps_s) == 0 or np.ptp(contacts) == 0:
        return 0.0
    return -float(stats.spearmanr(gaps_s, contacts).statistic)


def _moved(scores: Floats, by: Floats) -> Floats:
    """Return the scores of a table after a step, increasing and within what a table holds."""
    moved = scores + _STEP * np.clip(by, -_FAR, _FAR)
    least = _CLOSE * np.arange(scores.size)
    rising: Floats = np.maximum.accumulate(moved - least) + least
    return np.clip(rising, -_SCORE_MOST, _SCORE_MOST + least)


def _quantiles(values: Floats | Indices) -> Floats:
    """Return the values at which a table has knots: each once, increasing."""
    ordered = np.sort(values.astype(np.float64))
    place = np.ceil(np.array(_SHARES) * ordered.size).astype(np.int64) - 1
    return np.unique(ordered[np.maximum(place, 0)])


def _scores(values: Floats | Indices, at: Floats) -> Floats:
    """Return the normal scores of the shares of values that are at most those `at`."""
    from scipy import special

    share = np.searchsorted(np.sort(values), at, side="right") / values.size
    score: Floats = np.clip(special.ndtri(share), -_SCORE_MOST, _SCORE_MOST)
    return score


def _table(values: Floats, at: Floats) -> dict[str, float]:
    return _of_scores(_scores(values, at), at, float(values.max()))


def _of_scores(scores: Floats, values: Floats, most: float) -> dict[str, float]:
    """Return a table by percent whose largest value is `most`."""
    from scipy import special

    percents = [_percent(float(share)) for share in special.ndtr(scores)]
    found = dict(zip(percents, map(_short, values), strict=True))
    found.pop(_LAST, None)
    return {**found, _LAST: _short(most)} if found else {"p50": _short(most), _LAST: most}


def _percent(share: float) -> str:
    return f"p{min(max(100 * share, 0.001), 99.999):.3f}".rstrip("0").rstrip(".")


def _short(number: float) -> float:
    return float(f"{number:.5g}")


_SHARES = (
    *(0.001, 0.01, 0.02, 0.05),
    *(number / 20 for number in range(2, 19)),
    *(0.92, 0.94, 0.96, 0.97, 0.98, 0.985, 0.99, 0.995, 0.998, 0.999),
)
_LAST = "p99.999"
_SCORE_MOST = 4.2  # that of p99.999 is 4.26
_CLOSE = 1e-4  # between the scores of two knots, so that their percents differ
_FEWEST = 3
_MOST = 0.95
_MOST_OF_A_PERSON = 0.47  # a pair's is twice that at least
_NODES = 101
_SEED = 1
_TRIALS = 12
_DAYS = 140  # twenty weeks: of a place with 200 people, 400 000 contacts
_STEP = 0.7
_FAR = 0.5
_RARE = 1e-5
_HOUR_MOST = 3.0  # times its share: few who are there in the evening meet first then
