"""Published sizes of stored blocks against the sizes that the chain gives, to the printed digit.

A block's size depends on its place in the chain and on what was outstanding when it was proposed,
not on time, so no run is simulated: the chain is replayed. Two things are searched: how many
further proposals were out before the first store, which is not printed, and, where the index goes
on from a workload that is held out from this project, where it started. Key names, hex hashes and
the counter of four digits were inferred from the same sizes.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.calibration.validate import published

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Replay = Callable[[int, int, int, int], Sequence[int]]
    """`sim._engine.replay_chain`: payload_bytes, first_index, count, outstanding -> sizes."""

_HALF_DIGIT = 0.05 + 1e-9  # means are printed to 0.1, extremes in whole bytes


@dataclass(frozen=True)
class Run:
    """One published run: what it stored, and smallest, largest and mean block in bytes."""

    section: str
    rate_per_s: float
    run: int
    payload_bytes: int
    count: int
    printed: tuple[float, float, float]


@dataclass(frozen=True)
class Match:
    """A run beside its replay; `replayed` is the nearest found when `exact` is false."""

    run: Run
    replayed: tuple[float, float, float]
    exact: bool
    note: str


def runs(rows: Iterable[published.Row]) -> list[Run]:
    """Return the runs whose count and three sizes are all among `rows`, in order of rows."""
    found: dict[tuple[str, float, int], dict[str, published.Row]] = {}
    for row in rows:
        if row.run is not None:
            key = (row.section, row.target.rate_min_per_s, row.run)
            found.setdefault(key, {})[row.target.metric] = row
    return [
        _run(key, by_metric)
        for key, by_metric in found.items()
        if len(by_metric) == 1 + len(_SIZES)
    ]


def matches(found: Sequence[Run], replay: Replay) -> list[Match]:
    """Return one match for each of `found`, which are all runs of their sections, in order."""
    result = []
    for section in dict.fromkeys(run.section for run in found):
        of_section = [run for run in found if run.section == section]
        about = published.documents()["throughput_thesis"]["sections"][section]
        if about["app"] == "continued":
            result += _continued(of_section, about["rates_per_s"], replay)
        else:
            result += [_match(run, 1, replay, "index from 1") for run in of_section]
    return result


def outstanding_proposals(run: Run, replay: Replay, within: float = _HALF_DIGIT) -> int:
    """Return how many further proposals were out before the first store of a chain from 1.

    It is the smallest number whose mean size is no more than `within` above the run's.
    """
    # Only the first blocks of a chain depend on what was out: each one more lacks a previous
    # hash, so the mean falls and the smallest number that fits is where it comes into range.
    choices = range(min(run.count, _OUTSTANDING_MAX))

    def mean(outstanding: int) -> float:
        return _statistics(replay(run.payload_bytes, 1, run.count, outstanding))[2]

    found = bisect.bisect_left(choices, -(run.printed[2] + within), key=lambda at: -mean(at))
    return min(found, choices[-1])


def _run(key: tuple[str, float, int], by_metric: dict[str, published.Row]) -> Run:
    values = {metric: row.value for metric, row in by_metric.items()}
    sizes = tuple(float(values[metric] or 0) for metric in _SIZES)
    payload_bytes = by_metric["store_count"].target.payload_bytes
    assert payload_bytes is not None, "a table of sizes says its payload"
    count = int(values["store_count"] or 0)
    return Run(*key, payload_bytes, count, (sizes[0], sizes[1], sizes[2]))


def _continued(found: Sequence[Run], rates_per_s: Sequence[float], replay: Replay) -> list[Match]:
    """Match runs of one chain; a held-out workload in between leaves the start to be searched."""
    result: list[Match] = []
    first_index, note = 1, "index from the counts before"
    for rate in rates_per_s:
        stretch = [run for run in found if run.rate_per_s == rate]
        if not stretch:
            most = int(_RUNS * _DURATION_S * rate)
            ahead = _until_gap(found, rates_per_s, rate)
            low, high = _start_range(ahead, first_index, first_index + most, replay)
            note = f"start after a held-out workload: {low}..{high} all reproduce what follows"
            first_index = low
        for run in stretch:
            result.append(_match(run, first_index, replay, note))
            first_index += run.count
    return result


def _until_gap(found: Sequence[Run], rates_per_s: Sequence[float], gap: float) -> list[Run]:
    """Return the runs between the held-out workload `gap` and the next one."""
    ahead: list[Run] = []
    for rate in rates_per_s[list(rates_per_s).index(gap) + 1 :]:
        stretch = [run for run in found if run.rate_per_s == rate]
        if not stretch:
            break
        ahead += stretch
    return ahead


def _start_range(ahead: Sequence[Run], low: int, high: int, replay: Replay) -> tuple[int, int]:
    """Return the first and last start in low..high from which every run of `ahead` is exact.

    Sizes grow with the index, so for each run the starts that fit are one interval.
    """
    offset = 0
    for run in ahead:

        def side(start: int, run: Run = run, offset: int = offset) -> int:
            return _side(run, replay(run.payload_bytes, start + offset, run.count, 0))

        if side(low) or side(high):
            starts = range(low, high + 1)
            left = bisect.bisect_left(starts, 0, key=side)
            right = bisect.bisect_right(starts, 0, key=side)
            if left == right:
                break  # no start fits: the rows that follow will say so
            low, high = starts[left], starts[right - 1]
        offset += run.count
    return low, high


def _match(run: Run, first_index: int, replay: Replay, note: str) -> Match:
    def sizes(outstanding: int) -> tuple[float, float, float]:
        return _statistics(replay(run.payload_bytes, first_index, run.count, outstanding))

    if first_index != 1:
        found = sizes(0)
        return Match(run, found, _fits(run, found), f"{note}; first index {first_index}")
    outstanding = outstanding_proposals(run, replay)
    found = sizes(outstanding)
    note = f"{note}; {outstanding} further proposals before the first store"
    return Match(run, found, _fits(run, found), note)


def _statistics(sizes: Sequence[int]) -> tuple[float, float, float]:
    return float(min(sizes)), float(max(sizes)), sum(sizes) / len(sizes)


def _fits(run: Run, stats: tuple[float, float, float]) -> bool:
    return all(abs(had - said) <= _HALF_DIGIT for had, said in zip(stats, run.printed, strict=True))


def _side(run: Run, sizes: Sequence[int]) -> int:
    """Return -1, 0 or 1: the sizes are below, equal to or above what is printed."""
    for had, said in zip(_statistics(sizes), run.printed, strict=True):
        if abs(had - said) > _HALF_DIGIT:
            return 1 if had > said else -1
    return 0


_SIZES = ("stored_block_bytes_min", "stored_block_bytes_max", "stored_block_bytes_mean")
_OUTSTANDING_MAX = 1000  # at 1024/s about one second of proposals without an answer
_RUNS = 5  # per workload
_DURATION_S = 25.0  # of a run: bounds how far a held-out workload moved the index
