"""How far simulations are from the real trades of a host, and whether that is close enough.

Pure: figures in, a judgement out. Beside every error stands how far real is from real, and what
two models without a mechanism come to. Nothing that was measured is left out of what is returned.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.host import discrepancy
from pocketsim.calibration.host.design import SEED
from pocketsim.sim.base.streams import stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pocketsim.calibration.host.design import Effort, Point
    from pocketsim.calibration.host.discrepancy import Discrepancy
    from pocketsim.calibration.host.figures import Figures

RTT_P50, RTT_P95 = "rtt_p50_s", "rtt_p95_s"
STORE_RATE, SUCCESS = "store_rate_per_s", "success_ratio"
ROUND_TRIPS = (RTT_P50, RTT_P95)
QUANTITIES = (*ROUND_TRIPS, STORE_RATE, SUCCESS)
FLOOR_MAX = 0.05
"""How far real may be from real for a point to judge by, as |log ratio| of medians."""
DROPPED_MAX = 0.1
"""Share of the points that may be dropped for that."""
INTERVAL = (0.05, 0.95)
"""Of simulated medians, for a predictive interval of 90 %."""
P50_MAX, P95_MAX, STORE_RATE_MAX, SUCCESS_MAX = 0.10, 0.25, 0.05, 0.03
COVERED = (0.75, 0.98)
NULLS_WORSE = 2.0


@dataclass(frozen=True)
class Compared:
    """A point with what was measured and simulated there, round trips net of the relay's delay.

    Each of `simulated` is of another draw of the profile; those of `repeated` all have its mean.
    `kernel_rtt_s` are the median and the 95th percentile of a datagram's round trip in the probe's
    report, whose size is nearest to that of the point's blocks.
    """

    point: Point
    measured: tuple[Figures, ...]
    simulated: tuple[Figures, ...]
    repeated: tuple[Figures, ...]
    kernel_rtt_s: tuple[float, float]


@dataclass(frozen=True)
class Error:
    """A quantity of a point: medians over repetitions, and how far they are apart.

    `error` and `floor` are log ratios, of success differences; `floor` is without a sign, that of
    real against real. `low` and `high` are the predictive interval, of round trips with what the
    model is off by at fitted points, `nulls` errors of the nulls.
    """

    measured: float
    simulated: float
    error: float
    floor: float
    low: float
    high: float
    nulls: dict[str, float]

    @property
    def is_covered(self) -> bool:
        """Whether the predictive interval has the measured median in it."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Row:
    """Every quantity of a point; `is_dropped` if real and real are too far apart to judge by."""

    point: Point
    errors: dict[str, Error]
    is_dropped: bool

    @property
    def is_judged(self) -> bool:
        """Whether bars look at it."""
        return not (self.point.is_fitted or self.is_dropped)


@dataclass(frozen=True)
class Bar:
    """What was asked of so many points, the bounds that it has to keep, and what came."""

    name: str
    value: float
    wanted: tuple[float, float]
    points: int

    @property
    def is_met(self) -> bool | None:
        """Whether the value is within what is wanted; None where no point says anything."""
        low, high = self.wanted
        return low <= self.value <= high if self.points else None


@dataclass(frozen=True)
class Judgement:
    """All rows in the order of the design, and all bars, if there are any.

    `discrepancies` say by how much the model is off in a quantity; only round trips have one.
    """

    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    discrepancies: Mapping[str, Discrepancy]

    @property
    def is_met(self) -> bool:
        """Whether every bar is; one that nothing could be asked of is not."""
        return all(bar.is_met for bar in self.bars)


def judge(compared: Sequence[Compared], effort: Effort) -> Judgement:
    """Return how far every point is off, and which bars are met; none for a quick look."""
    medians = _carrier_medians(compared)
    narrow = [_row(one, medians, effort) for one in compared]
    off_by = {name: _discrepancy(narrow, name) for name in ROUND_TRIPS}
    rows = tuple(_widened(row, off_by) for row in narrow)
    if not effort.is_judged:
        return Judgement(rows, (), off_by)
    calm = [row for row in rows if row.is_judged and not row.point.is_overloaded]
    full = [row for row in rows if row.is_judged and row.point.is_overloaded]
    bars = (*_round_trip_bars(calm), *_load_bars(full), _coverage(rows), _dropped(rows))
    return Judgement(rows, bars, off_by)


def floor(figures: Sequence[object], quantity: str) -> float:
    """Return how far one half of the repetitions is from the other; infinite of fewer than two.

    The median over all ways to halve them (the larger half first, of an odd number) of how far
    apart the medians of the halves are: errs on the large side, as halves are smaller than all.
    """
    values = [getattr(one, quantity) for one in figures]
    places, larger = range(len(values)), (len(values) + 1) // 2
    apart = [
        abs(
            _apart(
                quantity,
                _median(values[place] for place in half),
                _median(values[place] for place in places if place not in half),
            )
        )
        for half in itertools.combinations(places, larger)
        if larger < len(values)
    ]
    return _worst_if_unknown(float(np.median(apart)) if apart else math.inf)


def interval(
    simulated: Sequence[float], repeated: Sequence[float], count: int
) -> tuple[float, float]:
    """Return the predictive interval of the median of `count` repetitions of a quantity.

    `simulated` are of one repetition each, every one of another draw: they vary by what is not
    known of the profile, which is the same for all repetitions of a computer, and by what differs
    between repetitions. `repeated` have the latter alone, of which a median has less. So quantiles
    of `simulated` are drawn in towards its median, by the root of the ratio of variances that a
    median and a single repetition have. What is far out (`_within_fences`) counts as at the fence:
    a few repetitions that wait for seconds move no median, but are nearly all of a variance. Holds
    where the noise does not depend on the draw. NaN where either has nothing known.
    """
    single = np.array([value for value in simulated if math.isfinite(value)])
    noise = np.array([value for value in repeated if math.isfinite(value)])
    if not (single.size and noise.size and count):
        return math.nan, math.nan
    single, noise = _within_fences(single), _within_fences(noise)
    chance = stream(SEED, "validate/host/medians")
    medians = np.median(chance.choice(noise, (_RESAMPLED, count)), axis=1)
    whole, within, of_median = single.var(), noise.var(), medians.var()
    share = min(1.0, (max(0.0, whole - within) + of_median) / whole) if whole > 0 else 0.0
    middle = np.median(single)
    low, high = middle + math.sqrt(share) * (np.quantile(single, INTERVAL) - middle)
    return float(low), float(high)


def _within_fences(values: np.ndarray) -> np.ndarray:
    """Return the values, none further than three quartile ranges beyond the quartiles.

    Tukey, "Exploratory Data Analysis", 1977, section 2D: what is "far out".
    """
    early, late = np.quantile(values, (0.25, 0.75))
    apart = _FAR_OUT * (late - early)
    kept: np.ndarray = np.clip(values, early - apart, late + apart)
    return kept


def is_too_noisy(point: Point, figures: Sequence[Figures]) -> bool:
    """Tell whether real is too far from real to judge by: in round trips, or in stores if full."""
    return floor(figures, STORE_RATE if point.is_overloaded else RTT_P50) > FLOOR_MAX


def _row(one: Compared, medians: dict[str, dict[str, float]], effort: Effort) -> Row:
    errors = {name: _error(one, name, medians[one.point.carrier]) for name in QUANTITIES}
    return Row(one.point, errors, effort.is_judged and is_too_noisy(one.point, one.measured))


def _error(one: Compared, quantity: str, carrier_medians: Mapping[str, float]) -> Error:
    simulated = [getattr(figures, quantity) for figures in one.simulated]
    repeated = [getattr(figures, quantity) for figures in one.repeated]
    measured = _median(_with_lost(each, quantity) for each in one.measured)
    middle = _median(_with_lost(each, quantity) for each in one.simulated)
    low, high = interval(simulated, repeated, len(one.measured))
    nulls = {}
    if quantity in ROUND_TRIPS:
        kernel_s = one.kernel_rtt_s[ROUND_TRIPS.index(quantity)]
        nulls["kernel"] = _apart(quantity, kernel_s, measured)
    if quantity in carrier_medians:
        nulls["carrier"] = _apart(quantity, carrier_medians[quantity], measured)
    return Error(
        measured,
        middle,
        _apart(quantity, middle, measured),
        floor(one.measured, quantity),
        low,
        high,
        nulls,
    )


def _with_lost(figures: Figures, quantity: str) -> float:
    """Return a quantity of a repetition, whose round trips are infinite where nothing came back."""
    value: float = getattr(figures, quantity)
    return math.inf if quantity in ROUND_TRIPS and not figures.stored_count else value


def _discrepancy(rows: Sequence[Row], quantity: str) -> Discrepancy:
    """Return that of a quantity, of the points that may fit and whose round trips are judged.

    Dropped ones count, too, by what they are worth.
    """
    fitted = [row for row in rows if row.point.is_fitted and not row.point.is_overloaded]
    errors = [row.errors[quantity] for row in fitted]
    return discrepancy.of_errors((one.error, one.low, one.high, one.floor) for one in errors)


def _widened(row: Row, off_by: Mapping[str, Discrepancy]) -> Row:
    errors = dict(row.errors)
    for quantity, one in off_by.items():
        error = errors[quantity]
        low, high = one.widened(error.low, error.simulated, error.high, error.floor)
        errors[quantity] = replace(error, low=low, high=high)
    return replace(row, errors=errors)


def _carrier_medians(compared: Sequence[Compared]) -> dict[str, dict[str, float]]:
    """Return for each carrier the medians of its fitted points' round trips, s; nothing of none.

    Points whose round trips are not judged do not count, unless there are no others.
    """
    found: dict[str, dict[str, float]] = {one.point.carrier: {} for one in compared}
    for carrier, medians in found.items():
        fitted = [one for one in compared if one.point.carrier == carrier and one.point.is_fitted]
        calm = [one for one in fitted if not one.point.is_overloaded] or fitted
        for name in ROUND_TRIPS if calm else ():
            middles = [_median(_with_lost(each, name) for each in one.measured) for one in calm]
            medians[name] = _median(middles)
    return found


def _round_trip_bars(rows: Sequence[Row]) -> list[Bar]:
    bars = []
    for name, most in zip(ROUND_TRIPS, (P50_MAX, P95_MAX), strict=True):
        error = _median(abs(row.errors[name].error) for row in rows)
        said = f"{name.split('_')[1]} of round trips"
        bars.append(Bar(f"median error, {said}", error, (0.0, most), len(rows)))
        for null in ("kernel", "carrier"):
            off = _median(abs(row.errors[name].nulls.get(null, math.nan)) for row in rows)
            times = off / error if error else math.inf
            called = f"median error of null {null} in those of the simulation, {said}"
            bars.append(Bar(called, times, (NULLS_WORSE, math.inf), len(rows)))
    return bars


def _load_bars(rows: Sequence[Row]) -> list[Bar]:
    """Return the bars of points near or beyond what a carrier can: each of them has to be near."""
    kinds = (("throughput", STORE_RATE, STORE_RATE_MAX), ("success", SUCCESS, SUCCESS_MAX))
    return [
        Bar(
            f"largest error, {said} under load",
            max((_worst_if_unknown(abs(row.errors[name].error)) for row in rows), default=math.nan),
            (0.0, most),
            len(rows),
        )
        for said, name, most in kinds
    ]


def _coverage(rows: Sequence[Row]) -> Bar:
    covered = [row.errors[RTT_P50].is_covered for row in rows if row.is_judged]
    share = sum(covered) / len(covered) if covered else math.nan
    return Bar("medians inside their predictive interval", share, COVERED, len(covered))


def _dropped(rows: Sequence[Row]) -> Bar:
    share = sum(row.is_dropped for row in rows) / len(rows)
    return Bar("points dropped", share, (0.0, DROPPED_MAX), len(rows))


def _apart(quantity: str, one: float, other: float) -> float:
    """Return the log ratio, of success the difference; NaN where there is none."""
    if quantity == SUCCESS:
        return one - other
    # What is left of a round trip without the relay's delay may be nothing.
    if math.isinf(one) and math.isinf(other):
        return 0.0
    if math.isinf(one) or math.isinf(other):
        return math.copysign(math.inf, one - other)
    return math.log(one / other) if one > 0 and other > 0 else math.nan


def _median(values: Iterable[float]) -> float:
    """Return the median; NaN of nothing, or if one is unknown."""
    every = list(values)
    return float(np.median(every)) if every else math.nan


def _worst_if_unknown(value: float) -> float:
    return math.inf if math.isnan(value) else value


_FAR_OUT = 3.0  # quartile ranges
_RESAMPLED = 2000  # medians: their variance is within some 3 %
