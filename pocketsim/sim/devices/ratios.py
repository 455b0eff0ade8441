"""How sure the numbers of a profile are, and by how much those of two devices differ.

The law is that of draws (`sim.base.streams`): a number is lognormal, with its best estimate for its
mean and its standard error for its deviation; around 0 it is half a normal. An error with degrees
of freedom is itself drawn, and the number is as far below its best estimate as above it: of small
errors Student's t. So an interval here holds 95 of 100 draws. Nothing is drawn here, and nothing is
judged.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from pocketsim.sim.devices.joint import wider
from pocketsim.sim.devices.numbers import numbers
from pocketsim.sim.devices.prices import REFERENCE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pocketsim.sim.devices.contents import Contents, Cost


@dataclass(frozen=True)
class Estimate:
    """A number that is not negative, and its standard error in the same unit.

    The error is as good as known, unless it has `degrees_of_freedom`.
    """

    value: float
    standard_error: float
    degrees_of_freedom: float = math.inf

    @property
    def sigma(self) -> float:
        """The standard deviation of the logarithm; nan around 0, which has none."""
        if not self.value:
            return _NAN
        return _sigma(self._relative)

    @property
    def median(self) -> float:
        """What half of the draws are below; lower than the mean, if the error is known."""
        return self.value * math.exp(self.laws[0][0]) if self.value else _NAN

    @property
    def ci95(self) -> tuple[float, float]:
        """The bounds of 95 % of the draws; of a number around 0 the lower one is 0."""
        if not self.value:
            return 0.0, _Z * self.standard_error
        if self._is_known:
            low, high = _bounds(self.laws)
            return self.value * math.exp(low), self.value * math.exp(high)
        from pocketsim.sim.base import streams

        low, high = _bounds([(0.0, error) for error in self._errors])
        below, above = (streams.even_at(1.0, 1.0, bound) for bound in (low, high))
        return self.value * below, self.value * above

    @property
    def laws(self) -> list[tuple[float, float]]:
        """Middle and deviation of the logarithm, of the value as 1, in draws, all as likely.

        One, if the error is as good as known. Else the deviation is that of a lognormal with the
        error: for small ones the same.
        """
        sigmas = [_sigma(error) for error in self._errors]
        return [(-(sigma**2) / 2 if self._is_known else 0.0, sigma) for sigma in sigmas]

    @property
    def _is_known(self) -> bool:
        return math.isinf(self.degrees_of_freedom)

    @property
    def _errors(self) -> list[float]:
        return [wider(self._relative, by) for by in _widenings(self.degrees_of_freedom)]

    @property
    def _relative(self) -> float:
        return min(self.standard_error / self.value, _ANYTHING)


@dataclass(frozen=True)
class Ratio:
    """A number of two devices, and the second's as a ratio of the first's, with a 95 % interval.

    `path` is where the number stands in a profile; a cost is that of so many bytes, core time and
    waiting together. The errors count as independent. Ratio and bounds are nan where one of the two
    is 0, or as good as 0.
    """

    path: str
    first: Estimate
    second: Estimate
    ratio: float
    ci95_low: float
    ci95_high: float

    @property
    def differs(self) -> bool:
        """Whether the two differ by more than their errors explain: the interval is without 1."""
        return self.ci95_low > 1 or self.ci95_high < 1


def ratio(path: str, first: Estimate, second: Estimate) -> Ratio:
    """Return the ratio of two estimates.

    The logarithm of the ratio of two lognormal numbers is normal: its middle is the difference of
    theirs, its variance the sum; of two mixtures it is one of all pairs, as nearly as each is one
    of lognormals. The ratio itself is that of the best estimates.
    """
    if not first.value or not second.value or not first.median:
        return Ratio(path, first, second, _NAN, _NAN, _NAN)
    low, high = _bounds(
        [
            (theirs[0] - ours[0], math.hypot(ours[1], theirs[1]))
            for ours, theirs in itertools.product(first.laws, second.laws)
        ]
    )
    found = second.value / first.value
    return Ratio(path, first, second, found, found * math.exp(low), found * math.exp(high))


def ratios(first: Contents, second: Contents, size_bytes: float = REFERENCE_BYTES) -> list[Ratio]:
    """Return the ratio of every number that both devices have, in the first one's order."""
    theirs = dict(_estimates(second, size_bytes))
    return [
        ratio(path, ours, theirs[path])
        for path, ours in _estimates(first, size_bytes)
        if path in theirs
    ]


def cost_estimate(cost: Cost, size_bytes: float) -> Estimate:
    """Return what a cost comes to for so many bytes, in seconds: core time and waiting together.

    Where the cost per byte has an error of its own, it is added, as the two go together; the sum is
    taken as lognormal, too. Else a draw scales the whole cost by one factor, so the error grows
    with it. Of a cost that is all per byte it is then a fixed part, as its draws add one.
    """
    fixed_s = cost["cpu_s"] + cost["wait_s"]
    total_s = fixed_s + cost["per_byte_s"] * size_bytes
    error_s = cost["standard_error_s"]
    if "per_byte_standard_error_s" in cost:
        more_s = cost["per_byte_standard_error_s"] * size_bytes
        together = 2 * cost.get("correlation", 0.0) * error_s * more_s
        error_s = math.sqrt(max(0.0, error_s**2 + together + more_s**2))
    elif fixed_s:
        error_s *= total_s / fixed_s
    return Estimate(total_s, error_s, cost.get("degrees_of_freedom", math.inf))


def _estimates(contents: Contents, size_bytes: float) -> Iterator[tuple[str, Estimate]]:
    for path, number in numbers(contents):
        if "cpu_s" in number or "standard_error" in number:  # a choice, such as a policy, has none
            yield path, _estimate(number, size_bytes)


def _estimate(number: Mapping[str, Any], size_bytes: float) -> Estimate:
    if "cpu_s" in number:
        return cost_estimate(number, size_bytes)  # type: ignore[arg-type]  # it is one
    return Estimate(number["value"], number["standard_error"])


def _sigma(relative: float) -> float:
    """Return the standard deviation of the logarithm of a lognormal with this relative error."""
    from pocketsim.sim.base.streams import lognormal_variance

    return math.sqrt(lognormal_variance(1.0, relative))


@functools.cache
def _widenings(degrees_of_freedom: float) -> tuple[float, ...]:
    """Return by how much draws widen an error, in the midst of classes that are as likely."""
    if math.isinf(degrees_of_freedom):
        return (1.0,)
    from pocketsim.sim.base import streams

    middles = ((number + 0.5) / _CLASSES for number in range(_CLASSES))
    normals = (NormalDist().inv_cdf(share) for share in middles)
    return tuple(streams.widening(normal, degrees_of_freedom) for normal in normals)


def _bounds(normals: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return between what 95 % of a mixture of normals are, given by middle and deviation."""
    if len(normals) == 1 or not any(deviation for _, deviation in normals):
        middle, deviation = normals[0]
        return middle - _Z * deviation, middle + _Z * deviation
    import numpy as np
    from scipy import optimize, special

    middles, deviations = np.array(normals).T
    reach = 2 * deviations  # beyond the bounds of each
    ends = float((middles - reach).min()), float((middles + reach).max())

    def missed(at: float, share: float) -> float:
        return float(special.ndtr((at - middles) / deviations).mean()) - share

    low, high = (optimize.brentq(missed, *ends, args=(share,)) for share in (0.025, 0.975))
    return low, high


_NAN = math.nan
_ANYTHING = 1e6  # times the number: whoever errs by more knows nothing, and squares stay finite
_CLASSES = 100  # of widenings: the interval of one degree of freedom is right to 1 %
_Z = 1.959963984540054  # 97.5 % of a normal distribution are below
