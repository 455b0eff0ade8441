"""Works are timed in rounds over all of them, so that a slow second shows between rounds.

The estimate is the median of the rounds. Its standard error is from their scatter, by Student's t:
1.96 of it are as wide as the 95 % interval of so few rounds. Where costs are made of rounds, these
scatter as their median errs, and the cost says how many there were. What is timed does not live
here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.samples import Estimate
from pocketsim.sim.metrics.intervals import student_t

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pocketsim.calibration.fit.this_machine.clock import Clock

    Array = np.ndarray[Any, Any]

ROUNDS = 15
"""Of which the median is taken, after one to warm up: an interval of so many is 9 % wider than of
infinitely many (Student's t), and one that something else disturbed moves little."""


@dataclass(frozen=True)
class Spent:
    """What one execution took, in seconds: on the clock, and of core time."""

    wall_s: float
    cpu_s: float


@dataclass
class Batch:
    """Something that is executed as many times as fit into a slice of time, up to `most`.

    `kernel` is what it is called, as the probe calls it if the probe has it, and `size_bytes` what
    it is given, 0 if nothing. `prepare` is called before each batch with how many come, untimed.
    """

    kernel: str
    size_bytes: int
    run: Callable[[], object]
    most: int = 1_000_000
    prepare: Callable[[int], object] = field(default=lambda _: None)
    _count: int = 0

    def __call__(self, clock: Clock, slice_s: float) -> Spent:
        """Return what one execution took, the mean over a batch."""
        if not self._count:
            self._count = self._fitting(clock, slice_s)
        return self._timed(clock, self._count)

    def _fitting(self, clock: Clock, slice_s: float) -> int:
        count = 1
        while count < self.most and 2 * count * self._timed(clock, count).wall_s <= slice_s:
            count *= 2
        return min(count, self.most)

    def _timed(self, clock: Clock, count: int) -> Spent:
        self.prepare(count)
        run = self.run
        wall_s, cpu_s = clock.wall_s(), clock.cpu_s()
        for _ in range(count):
            run()
        cpu_s = clock.cpu_s() - cpu_s
        return Spent((clock.wall_s() - wall_s) / count, cpu_s / count)


@dataclass
class Once:
    """Something that says itself how long it took, as a sleep or a wake-up, in s."""

    kernel: str
    take_s: Callable[[Clock], float]
    size_bytes: int = 0

    def __call__(self, clock: Clock, slice_s: float) -> Spent:
        """Return what it says; it takes as long as it takes."""
        del slice_s
        return Spent(self.take_s(clock), 0.0)


Work = Batch | Once


@dataclass(frozen=True)
class Timed:
    """What the rounds of a work took."""

    kernel: str
    size_bytes: int
    rounds: tuple[Spent, ...]

    def wall(self) -> Estimate:
        """Return what an execution takes on the clock."""
        return estimate([one.wall_s for one in self.rounds])

    def cpu(self) -> Estimate:
        """Return what an execution takes of core time."""
        return estimate([one.cpu_s for one in self.rounds])


def measure(works: Iterable[Work], clock: Clock, seconds: float) -> list[Timed]:
    """Return what each work takes, all of them in about so many seconds."""
    every = list(works)
    slice_s = seconds / ((ROUNDS + 1) * len(every))
    passes = [[work(clock, slice_s) for work in every] for _ in range(ROUNDS + 1)]
    return [
        Timed(work.kernel, work.size_bytes, tuple(one[number] for one in passes[1:]))
        for number, work in enumerate(every)
    ]


def estimate(rounds: Sequence[float]) -> Estimate:
    """Return the median of rounds, which are all positive or not, with its standard error.

    The sigma is that of the rounds' logarithm: of means over a batch, not of single executions.
    The rounds of the estimate are further apart than those given, so that the error of their mean
    is that of the median; there are none where something took no time.
    """
    values = np.asarray(rounds, float)
    interval = student_t(values)
    error = _MEDIAN * (interval.high - interval.low) / 2 / _Z
    positive = values[values > 0]
    sigma = float(np.std(np.log(positive), ddof=1)) if positive.size > 1 else 0.0
    median = float(np.median(values))
    return Estimate(
        mean=median,
        standard_error=float(error),
        sample_sigma=sigma,
        samples=values.size,
        rounds=_as_sure_as(median, positive) if positive.size == values.size else (),
        independent=values.size,
    )


def _as_sure_as(median: float, rounds: Array) -> tuple[float, ...]:
    logs = np.log(rounds)
    return tuple((median * np.exp(_MEDIAN * (logs - logs.mean()))).tolist())


_Z = 1.959963984540054  # 97.5 % of a normal distribution are below
_MEDIAN = math.sqrt(math.pi / 2)  # by which a median of normal values is less sure than their mean
