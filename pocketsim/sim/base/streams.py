"""Named random streams from one root seed: the only source of chance in the front half.

Every consumer asks for its own stream by name, so adding a consumer or a phone leaves the others'
draws as they were. Two kinds: `stream` is an ordinary generator for one consumer; `Lanes` holds
one stream per phone and draws from a hundred thousand of them at once.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from random import Random
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


def stream(seed: int, name: str) -> np.random.Generator:
    """Return the generator called `name`: Philox keyed by SHA-256 of "seed/name"."""
    key = np.frombuffer(_digest(seed, name)[:16], dtype="<u8")
    return np.random.Generator(np.random.Philox(key=key))


def scalar(seed: int, name: str) -> Random:
    """Return a generator of Python's own called `name`, seeded as `stream` is by its own name.

    One number of it takes 50 ns, one of numpy's a microsecond: for who draws one at a time.
    """
    return Random(int.from_bytes(_digest(seed, name), "little"))  # noqa: S311 - simulates


def engine_seed(seed: int, repetition: int) -> int:
    """Return the engine's 64-bit root seed for one repetition."""
    return int.from_bytes(_digest(seed, f"repetition/{repetition}")[:8], "little")


def positive(seed: int, name: str, mean: float, standard_error: float) -> float:
    """Return one draw of a number that is not negative: lognormal with this mean and deviation.

    A normal cut at 0 would not keep the mean: where the error is as large as the mean, it adds
    29 %. Only 0 itself has mean 0, so around a mean of 0 it is the half of a normal whose root
    mean square distance from 0 is `standard_error`. One uniform number of the stream, through the
    inverse distribution: a larger one gives a larger draw, whatever mean and error are.
    """
    if standard_error <= 0:
        return mean
    share = _share(seed, name)
    if mean == 0:
        return -standard_error * NormalDist().inv_cdf((1 - share) / 2)
    return positive_at(mean, standard_error, NormalDist().inv_cdf(share))


def positive_at(mean: float, standard_error: float, deviation: float) -> float:
    """Return what `positive` draws of a number above 0 where its normal is `deviation`."""
    variance = lognormal_variance(mean, standard_error)
    return mean * math.exp(math.sqrt(variance) * deviation - variance / 2)


def lognormal_variance(mean: float, standard_error: float) -> float:
    """Return the variance of the logarithm of a lognormal with this mean and standard error.

    It is log(1 + (standard_error / mean)^2), also where that square is beyond what a float holds.
    """
    relative = standard_error / mean
    if relative < _SQUARED_MAX:
        return math.log1p(relative**2)
    return 2 * (math.log(standard_error) - math.log(mean))


def even_at(mean: float, standard_error: float, deviation: float) -> float:
    """Return a draw of a number above 0 whose normal is `deviation`: for small errors normal, too.

    As far below the mean as above it, so that half of the draws are below. A lognormal that keeps
    its mean has more than half of them there, which tells once its error is widened, now and then,
    to the size of the number.
    """
    relative = standard_error / mean * deviation
    return mean * (1 + relative / math.hypot(1.0, relative))


def normal(seed: int, name: str) -> float:
    """Return one draw of a standard normal: the one that `positive` takes from that stream."""
    return NormalDist().inv_cdf(_share(seed, name))


def widening(deviation: float, degrees_of_freedom: float) -> float:
    """Return by how much a standard error may be too small that so few measurements tell.

    A normal times it is Student's t: it is the root of the degrees of freedom over a chi-square,
    the smaller the larger `deviation`, another draw of a normal, is.
    """
    from scipy import special

    share = NormalDist().cdf(deviation)
    return math.sqrt(degrees_of_freedom / float(special.chdtri(degrees_of_freedom, share)))


def probability(seed: int, name: str, mean: float, standard_error: float) -> float:
    """Return one draw of a probability: Beta with this mean and deviation, as `positive` does.

    Only 0 has mean 0, and only 1 has mean 1: around these it is Beta(1, b), or its mirror image,
    whose root mean square distance from the mean is `standard_error`. Raises ValueError where
    there is no such distribution: for an error of sqrt(mean (1 - mean)) or more, of 1 around 0
    and 1.
    """
    if standard_error <= 0:
        return mean
    certain = mean in {0, 1}
    # Of Beta(a, b): a + b; of Beta(1, b): b, from E[x^2] = 2 / ((1 + b) (2 + b)).
    weight = (
        (math.sqrt(1 + 8 / standard_error**2) - 3) / 2
        if certain
        else mean * (1 - mean) / standard_error**2 - 1
    )
    if weight <= 0:
        raise ValueError(f"no probability of {mean:g} has a standard error of {standard_error:g}")
    share = _share(seed, name)
    if certain:
        return -math.expm1(math.log1p(-share) / weight) if mean == 0 else share ** (1 / weight)
    from scipy import special

    return float(special.betaincinv(mean * weight, (1 - mean) * weight, share))


def lognormal_factor(seed: int, name: str, sigma: float) -> float:
    """Return one draw of a lognormal factor with mean 1 and the given sigma of its logarithm."""
    if sigma == 0:
        return 1.0
    return float(np.exp(sigma * stream(seed, name).standard_normal() - sigma**2 / 2))


class Lanes:
    """Streams "name/lane" for many lanes, as a function of (lane, number of the draw).

    A Philox generator per phone costs 20 us to set up, 8 s for four streams of 100 000 phones.
    Here lane `i` is a SplitMix64 sequence (Steele, Lea and Flood, OOPSLA 2014, figure 12) whose
    start is itself a hash of lane and key, so any set of draws is one vectorised expression and no
    lane depends on which others exist.
    """

    def __init__(self, seed: int, name: str) -> None:
        self._keys = np.frombuffer(_digest(seed, name)[:16], dtype="<u8")

    def bits(self, lane: npt.ArrayLike, draw: npt.ArrayLike) -> Integers:
        """Return 64 random bits for each pair of `lane` and `draw` (broadcast together)."""
        start = _mix(self._keys[0] + _GOLDEN * (_unsigned(lane) + np.uint64(1))) ^ self._keys[1]
        bits: Integers = _mix(start + _GOLDEN * (_unsigned(draw) + np.uint64(1)))
        return bits

    def uniform(self, lane: npt.ArrayLike, draw: npt.ArrayLike) -> Floats:
        """Return numbers in the open interval (0, 1) for each pair of `lane` and `draw`."""
        high = (self.bits(lane, draw) >> np.uint64(11)).astype(np.float64)
        return (high + 0.5) * 2.0**-53


@dataclass(frozen=True)
class Streams:
    """The lanes under one name: `of("amount")` are those of "name/amount"."""

    seed: int
    name: str

    def of(self, what: str) -> Lanes:
        """Return the lanes of one kind of draw."""
        return Lanes(self.seed, f"{self.name}/{what}")


def pick_bucket(bits: Integers, buckets: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Map random bits to 0..buckets-1 uniformly, moving as few as possible when one is added.

    `buckets` is one number, or one for each of `bits`.
    Jump consistent hash (Lamping and Veach, arXiv 1406.2294): from n to n+1 buckets, a value
    either stays or moves to the new bucket.
    """
    key, buckets = bits.copy(), np.broadcast_to(buckets, bits.shape)
    chosen = np.full(key.shape, -1, dtype=np.int64)
    following = np.zeros(key.shape, dtype=np.float64)
    active = np.arange(key.size)
    while active.size:
        chosen[active] = following[active].astype(np.int64)
        key[active] = key[active] * np.uint64(2862933555777941757) + np.uint64(1)
        divisor = ((key[active] >> np.uint64(33)) + np.uint64(1)).astype(np.float64)
        following[active] = np.floor((chosen[active] + 1) * (2.0**31 / divisor))
        active = active[following[active] < buckets[active]]
    return chosen


def _share(seed: int, name: str) -> float:
    """Return a number between 0 and 1, neither of them, from the stream called `name`."""
    # The generator's may be 0; the largest double below 1 is 8.2 sigma of a normal.
    return min(1 - float(stream(seed, name).random()), 1 - 2**-53)


def _digest(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()


def _unsigned(values: npt.ArrayLike) -> Any:
    return np.atleast_1d(np.asarray(values)).astype(np.uint64)


def _mix(z: Any) -> Any:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: SplitMix64's increment
_SQUARED_MAX = 1e150  # its square is a float
