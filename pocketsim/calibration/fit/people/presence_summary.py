"""The summary of a trace of phones that come and go, which presence laws are fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.scenario.presence_summary import PresenceSummary

if TYPE_CHECKING:
    import numpy.typing as npt

    from pocketsim.calibration.fit.people.watched_phones import WatchedPhones

PERCENTS = (1.0, 5.0, 10.0, 15.0, 25.0, 35.0, 50.0, 65.0, 75.0, 90.0, 95.0, 99.0, 99.9)


def summary(seen: WatchedPhones) -> PresenceSummary:
    """Return the summary of a trace; raises ValueError for one in which no phone comes on."""
    came_on = seen.came_on()
    if not came_on.any():
        raise ValueError("no phone comes on")
    used = seen.of_phones(came_on)
    availability, per_day = used.availability(), used.sessions_per_day()
    day, phones = np.unique(np.maximum(np.rint(used.days()), 1).astype(int), return_counts=True)
    shares = phones / phones.sum()
    return PresenceSummary(
        never_ratio=float(1 - came_on.mean()),
        watched_days={str(days): float(share) for days, share in zip(day, shares, strict=True)},
        availability=table(availability),
        sessions_per_day=table(per_day),
        rank_correlation=rank_correlation(availability, per_day),
        session_s=table(used.sessions_s()),
        session_within=within(used.phone, used.sessions_s()),
        gap_s=table(used.gaps_s()),
        gap_within=within(used.phone[:-1][used.phone[1:] == used.phone[:-1]], used.gaps_s()),
        begins=_day(used.begins_by_hour()),
        on=_day(used.on_by_hour()),
    )


def table(values: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return the percentiles of some values that laws are fitted to; at least 1e-6 each."""
    found = np.quantile(values, np.array(PERCENTS) / 100) if values.size else np.ones(len(PERCENTS))
    return {
        f"p{at:g}": max(float(value), _LEAST) for at, value in zip(PERCENTS, found, strict=True)
    }


def within(phone: npt.NDArray[np.integer[Any]], values: npt.NDArray[np.float64]) -> float:
    """Return the deviation, within a phone, of the normal scores that values have among all."""
    from scipy import special, stats

    if not values.size:
        return 1.0
    score = special.ndtri((stats.rankdata(values) - 0.5) / values.size)
    count = np.bincount(phone)
    around = score - (np.bincount(phone, score) / np.maximum(count, 1))[phone]
    spare = np.maximum(count - 1, 0).sum()
    found = np.sqrt((around**2).sum() / spare) if spare else 1.0
    return float(np.clip(found, _LEAST_WITHIN, 1.0))


def rank_correlation(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Return Spearman's correlation; 0 where one of them does not vary."""
    from scipy import stats

    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(stats.spearmanr(one, other).statistic)


def _day(hours: npt.NDArray[np.float64]) -> list[float]:
    """Return speeds by hour; an hour in which nothing was seen has a thousandth of the mean."""
    return [float(hour) for hour in np.maximum(hours, _LEAST_SPEED)]


_LEAST, _LEAST_SPEED, _LEAST_WITHIN = 1e-6, 1e-3, 0.1
