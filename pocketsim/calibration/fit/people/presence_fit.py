"""A presence law fitted to a summary by simulation: what it draws is watched as the trace was.

A trace is short: a phone that is seen for four days has another share of time than in the long
run, and sessions of all phones are pooled. So the law's tables are not those of the trace. Each
round draws phones from the law by the code that runs draw from, watches them for as many days, and
corrects each table by the ratio of the trace's percentiles to those seen (indirect inference:
Gourieroux, Monfort and Renault, J. Applied Econometrics 8, 1993; by successive approximation).
The best round counts. All rounds share random numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from pocketsim.calibration.fit.people.presence_summary import summary
from pocketsim.calibration.fit.people.watched_phones import WatchedPhones
from pocketsim.sim.base.streams import Lanes, stream
from pocketsim.sim.plan import presence
from pocketsim.sim.plan.presence import DAY_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pocketsim.sim.base.streams import Floats
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.presence_summary import PresenceSummary


@dataclass(frozen=True)
class Settings:
    """How much is simulated: phones of a round, and rounds."""

    seed: int = 1
    phones: int = 4_000
    rounds: int = 50


@dataclass(frozen=True)
class Agreement:
    """One percentile or hour: what the trace had, and what the law draws."""

    what: str
    wanted: float
    drawn: float

    @property
    def error(self) -> float:
        """The relative error of what is drawn."""
        return self.drawn / self.wanted - 1


@dataclass(frozen=True)
class Fit:
    """A law, and how well what it draws agrees with what it was fitted to."""

    law: given.PresenceLaw
    agreement: list[Agreement]


def fit(wanted: PresenceSummary, title: str, source: str, settings: Settings | None = None) -> Fit:
    """Return the law whose draws, watched as the trace was, have the percentiles of `wanted`."""
    settings = settings or Settings()
    law: given.PresenceLaw = {
        "title": title,
        "source": source,
        "never_ratio": 0.0,
        "availability": _below_one(wanted.availability),
        "sessions_per_day": dict(wanted.sessions_per_day),
        "rank_correlation": wanted.rank_correlation,
        "session_s": dict(wanted.session_s),
        "session_within": wanted.session_within,
        "gap_s": {**wanted.gap_s, _ABSENCE: 2 * max(wanted.gap_s.values())},
        "gap_within": wanted.gap_within,
        "begins": list(wanted.begins),
        "ends": [1 / hour for hour in wanted.on],
    }
    best, seen, least, gain = law, wanted, np.inf, _GAIN
    for _ in range(settings.rounds):
        found = summary(watch(law, wanted, settings))
        if (loss := _loss(wanted, found)) < least:
            best, seen, least = law, found, loss
        law = _corrected(law, wanted, found, gain)
        gain *= _DECAY
    law = best
    # Of phones that do come on, some did not while they were watched.
    never = 1 - (1 - wanted.never_ratio) / (1 - seen.never_ratio)
    law = {**law, "never_ratio": max(0.0, never)}
    return Fit(law, list(_agreement(wanted, summary(watch(law, wanted, settings)))))


def watch(law: given.PresenceLaw, how: PresenceSummary, settings: Settings) -> WatchedPhones:
    """Return phones drawn from a law, each watched for as many days as one of the trace."""
    rng = stream(settings.seed, "presence fit/days")
    days = np.array([float(name) for name in how.watched_days])
    shares = np.array(list(how.watched_days.values()))
    watched_s = rng.choice(days, settings.phones, p=shares / shares.sum()) * DAY_S
    lanes = Lanes(settings.seed, "presence fit")
    lane = np.arange(settings.phones, dtype=np.uint64)
    changes = presence.drawn(law, lanes, lane, float(watched_s.max()))
    return WatchedPhones.of_transitions(changes, watched_s)


def _corrected(
    law: given.PresenceLaw, wanted: PresenceSummary, seen: PresenceSummary, gain: float
) -> given.PresenceLaw:
    """Return a law a part of the way nearer to what was wanted, from what it made seen.

    Phones set the level of lengths, so tables of lengths change in shape alone. Where all gaps are
    too long, more of the time has to lie outside of what the trace shows: in absences.
    """
    ratios = {name: _log_ratio(getattr(wanted, name), getattr(seen, name)) for name in _TABLES}
    gap_level = _level(wanted.gap_s, ratios["gap_s"])
    for name in ("session_s", "gap_s"):
        ratios[name] -= _level(getattr(wanted, name), ratios[name])

    def moved(name: str) -> dict[str, float]:
        return _moved(law[name], getattr(wanted, name), gain * ratios[name])  # type: ignore[literal-required]

    absence_s = law["gap_s"][_ABSENCE] * math.exp(-_ABSENCE_GAIN * gain * gap_level)
    absence_s = min(max(absence_s, *wanted.gap_s.values()), _ABSENCE_MAX_S)
    correlation = law["rank_correlation"] + gain * (wanted.rank_correlation - seen.rank_correlation)
    return {
        **law,
        "availability": _below_one(moved("availability")),
        "sessions_per_day": moved("sessions_per_day"),
        "rank_correlation": float(np.clip(correlation, -_CORRELATION_MAX, _CORRELATION_MAX)),
        "session_s": moved("session_s"),
        "gap_s": {**moved("gap_s"), _ABSENCE: absence_s},
        "begins": _sped(law["begins"], wanted.begins, seen.begins, gain),
        "ends": _sped(law["ends"], seen.on, wanted.on, gain),
    }


def _log_ratio(wanted: Mapping[str, float], seen: Mapping[str, float]) -> Floats:
    ratio: Floats = np.log([wanted[name] / seen[name] for name in wanted])
    return ratio


def _level(table: Mapping[str, float], ratio: Floats) -> float:
    """Return the mean of ratios by percentile; outer ones are known less well."""
    share = np.array([float(name[1:]) / 100 for name in table])
    return float(np.average(ratio, weights=np.exp(-(special.ndtri(share) ** 2) / 4)))


def _moved(
    table: Mapping[str, float], wanted: Mapping[str, float], change: Floats
) -> dict[str, float]:
    """Return a table with the logarithms of its values changed.

    It stays within a factor of what was wanted: what a short trace hardly tells of does not run
    away.
    """
    asked = np.log(list(wanted.values()))
    now = np.log([table[name] for name in wanted])
    value = np.clip(now + change, asked - _FARTHEST, asked + _FARTHEST)
    value = np.maximum.accumulate(value)
    return {name: float(np.exp(one)) for name, one in zip(wanted, value, strict=True)}


def _loss(wanted: PresenceSummary, seen: PresenceSummary) -> float:
    """Return the mean square of the logarithms of ratios, of what the trace tells well."""
    found = [
        np.log(getattr(seen, name)[at] / value)
        for name in _TABLES
        for at, value in getattr(wanted, name).items()
        if _TOLD_WELL[0] <= float(at[1:]) <= _TOLD_WELL[1]
    ]
    found += list(np.log(np.array(seen.on) / np.array(wanted.on)))
    return float(np.mean(np.square(found)))


def _sped(
    speeds: Sequence[float], more: Sequence[float], less: Sequence[float], gain: float
) -> list[float]:
    """Return speeds by hour times ratios, with mean 1."""
    value = np.array(speeds) * (np.array(more) / np.array(less)) ** gain
    value = np.clip(value / value.mean(), _SPEED_MIN, _SPEED_MAX)
    return [float(one) for one in value / value.mean()]


def _below_one(table: Mapping[str, float]) -> dict[str, float]:
    return {name: min(value, _SHARE_MAX) for name, value in table.items()}


def _agreement(wanted: PresenceSummary, seen: PresenceSummary) -> Iterator[Agreement]:
    for name in _TABLES:
        asked, found = getattr(wanted, name), getattr(seen, name)
        for percentile, value in asked.items():
            if percentile in found:
                yield Agreement(f"{name} {percentile}", value, found[percentile])
    for hour, (value, drawn) in enumerate(zip(wanted.on, seen.on, strict=True)):
        yield Agreement(f"on at {hour} h", value, drawn)
    yield Agreement("never on", wanted.never_ratio, seen.never_ratio)


_TABLES = ("availability", "sessions_per_day", "session_s", "gap_s")
_TOLD_WELL = (10, 99)
"""Percentiles that a trace of some hundred phones tells well."""
_GAIN, _DECAY = 0.6, 0.95
_FARTHEST = math.log(4)
_ABSENCE, _ABSENCE_GAIN, _ABSENCE_MAX_S = "p99.99", 8.0, 60 * DAY_S
"""The percentile of gaps that are absences: too long for a trace of some days to show."""
_CORRELATION_MAX, _SHARE_MAX = 0.98, 0.98
_SPEED_MIN, _SPEED_MAX = 0.02, 50.0
