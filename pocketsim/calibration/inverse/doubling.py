"""What each number of the documents moves: it is doubled, alone, and published rows answer again.

One number at a time, with common random numbers. Where a rung's plan is the same as before nothing
is simulated: the engine would do the same. A run in overload goes another way after the slightest
change, so a change counts only beyond what its repetitions scatter, and the row that changes most
is chosen with one seed and measured with another.
"""

from __future__ import annotations

import hashlib
import math
import pickle
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scipy import stats

from pocketsim.calibration.inverse import key_paths
from pocketsim.calibration.inverse.document import Place
from pocketsim.calibration.inverse.patched_scenarios import Scenarios
from pocketsim.calibration.validate import published
from pocketsim.calibration.validate.answers import Comparison, matching
from pocketsim.calibration.validate.comparison import answered
from pocketsim.calibration.validate.sensitivity import (
    MOVES,
    MOVES_VALIDATED,
    NOT_VALIDATED,
    REFUSED,
    ZERO,
    Change,
    Entry,
)
from pocketsim.calibration.validate.summaries import has_bar
from pocketsim.calibration.validate.validation import judge, scenarios
from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices.profile import PROFILES
from pocketsim.sim.plan.build_plan import build_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pocketsim.calibration.validate.answers import RungKey, Rungs
    from pocketsim.sim.run.forks import Forks
    from pocketsim.sim.scenario.resolved import Resolved

Key = TypeVar("Key")


@dataclass(frozen=True)
class Number:
    """A number where it stands: in a profile, or under one key of scenarios that share it."""

    documents: tuple[str, ...]
    key: str
    written: Any

    @property
    def name(self) -> str:
        """What patterns are matched with: the first document's stem and the key."""
        return f"{Path(self.documents[0]).stem}:{self.key}"

    @property
    def is_zero(self) -> bool:
        """Whether twice the number is the same."""
        return key_paths.unit_of(self.written).number(self.written) == 0

    def times(self, factor: float) -> Any:
        """Return the number, so many times as large, as documents write it; counts are rounded."""
        if isinstance(self.written, int):
            return max(1, round(self.written * factor)) if self.written else 0
        unit = key_paths.unit_of(self.written)
        return unit.write(unit.number(self.written) * factor)

    def at(self, factor: float) -> list[tuple[Place, Any]]:
        """Return what stands where if the number is so many times as large."""
        value = self.times(factor)
        return [(Place(document=name, key=self.key), value) for name in self.documents]


def numbers(names: Iterable[str]) -> list[Number]:
    """Return every number of the shipped profiles, and of networks and lengths of some scenarios.

    Standard errors, errors of the model, counts of samples and how executions scatter tell of a
    number, and are none.
    """
    root = key_paths.ROOT
    found = [
        Number((str(path.relative_to(root)),), key, value)
        for folder in ("devices", "implementations")
        for path in sorted((PROFILES / folder).glob("*.toml"))
        for key, value in _numeric(path)
    ]
    shared: dict[tuple[Any, ...], list[str]] = {}
    for name in names:
        program = read_toml(root / name)[1].get("implementation")
        for key, value in _numeric(root / name):
            if key == "run.duration" or key.startswith("network.") or ".cost_factors." in key:
                shared.setdefault((program, key, str(value)), []).append(name)
    for (_, key, _), several in shared.items():
        (value,) = {value for at, value in _numeric(root / several[0]) if at == key}
        found.append(Number(tuple(several), key, value))
    return found


def _numeric(path: Path) -> list[tuple[str, Any]]:
    return [
        (key, value)
        for key, value in key_paths.leaves(read_toml(path)[1])
        if key_paths.is_number(value) and _OF_A_NUMBER.isdisjoint(key.split("."))
    ]


class Played:
    """The rungs that some rows point to, simulated as they are and changed, from one seed.

    Each is repeated equally often, but for those whose ends are counted: these so many times more.
    """

    def __init__(
        self,
        rows: Sequence[published.Row],
        repetitions: int,
        other_seed: int,
        forks: Forks,
        more_often: int = 5,
    ) -> None:
        self.rows, self._repetitions, self._forks = tuple(rows), repetitions, forks
        self._more_often = more_often
        names = scenarios(rows)
        overrides = {
            name: [f"run.seed={read_toml(key_paths.ROOT / name)[1]['run']['seed'] + other_seed}"]
            for name in names
        }
        self._scenarios = Scenarios.of(names, overrides, "calibrate sensitivity", self._is_asked)
        self.as_resolved = self._repeated(self._scenarios.resolved({}, Path()))
        """What the rungs resolve to, as they are."""
        self._plans: dict[tuple[RungKey, int], bytes] = {}
        self._measured: Rungs = {}

    def _is_asked(self, key: RungKey) -> bool:
        return any(is_part(key, row) for row in self.rows)

    def _repeated(self, rungs: Mapping[RungKey, Resolved]) -> dict[RungKey, Resolved]:
        counted = {
            key
            for row in self.rows
            if (how := published.groups()[row.group].outcomes)
            for key in rungs
            if key.rate_per_s >= how.from_rate_per_s and matching(row.target, {key: {}})
        }
        return {
            key: _times(at, self._repetitions * (self._more_often if key in counted else 1))
            for key, at in rungs.items()
        }

    def changed(
        self,
        placed: Sequence[tuple[Place, Any]],
        rows: Sequence[published.Row] | None = None,
    ) -> dict[RungKey, Resolved]:
        """Return the rungs whose plan is another with some values in place: of all, or of `rows`.

        Raises ScenarioError where a document refuses a value.
        """
        documents = key_paths.Documents(
            {place.document: read_toml(key_paths.ROOT / place.document)[1] for place, _ in placed}
        )
        patched = documents.patched(placed)
        asked = self.rows if rows is None else rows
        names = scenarios(asked)
        touched = [name for name in self._scenarios.touched_by(patched) if name in names]
        with tempfile.TemporaryDirectory(prefix="pocketsim-") as folder:
            every = self._repeated(self._scenarios.resolved(patched, Path(folder), touched))
        found = {key: at for key, at in every.items() if any(is_part(key, row) for row in asked)}
        return {key: at for key, at in found.items() if self._has_another_plan(key, at)}

    def measure(self, rungs: Mapping[RungKey, Resolved]) -> Rungs:
        """Return the metrics of some changed rungs, but of those where nothing comes of it.

        Most costs are never paid over most transports. Where no answer changes in the first
        repetition by a tenth of what counts, it will not by what counts in the others; connections
        that only sometimes fail have more that are first.
        """
        first = {key: _times(at, self._first(at)) for key, at in rungs.items()}
        tried = self.simulated(first)
        base = self.as_is(rungs)
        other = {
            key: at
            for key, at in rungs.items()
            if not _begins_as(tried[key], base[key], self._asked_of(key))
        }
        whole = {key: tried[key] for key, at in other.items() if first[key] == at}
        rest = {key: at for key, at in other.items() if key not in whole}
        return whole | self.simulated(rest)

    def as_is(self, keys: Iterable[RungKey]) -> Rungs:
        """Return the metrics of some rungs as they are; each is simulated once."""
        wanted = list(keys)
        missing = {key: self.as_resolved[key] for key in wanted if key not in self._measured}
        self._measured |= self.simulated(missing)
        return {key: self._measured[key] for key in wanted}

    def _asked_of(self, key: RungKey) -> set[str]:
        """Return the metrics of a rung that rows ask for."""
        asked = [row for row in self.rows if matching(row.target, {key: {}})]
        counted = any(published.groups()[row.group].outcomes for row in asked)
        return {row.target.metric for row in asked} | (_ENDS if counted else set())

    def _first(self, rung: Resolved) -> int:
        return self._repetitions if rung["transport"]["app_faults"] else 1

    def simulated(self, rungs: Mapping[Key, Resolved]) -> dict[Key, Mapping[str, Any]]:
        """Return the metrics of rungs, all of whose repetitions are simulated."""
        files = self._scenarios.files
        measured = self._forks.measure(list(rungs.values()), files) if rungs else []
        return dict(zip(rungs, measured, strict=True))

    def _has_another_plan(self, key: RungKey, changed: Resolved) -> bool:
        return any(
            _plan(changed, number, self._scenarios.files) != self._plan_of(key, number)
            for number in range(changed["run"]["repetitions"])
        )

    def _plan_of(self, key: RungKey, number: int) -> bytes:
        if (key, number) not in self._plans:
            self._plans[key, number] = _plan(self.as_resolved[key], number, self._scenarios.files)
        return self._plans[key, number]


def _times(rung: Resolved, repetitions: int) -> Resolved:
    return {**rung, "run": {**rung["run"], "repetitions": repetitions}}


def _begins_as(tried: Mapping[str, Any], base: Mapping[str, Any], names: set[str]) -> bool:
    """Return whether repetitions come to what the first of others did, in some metrics."""
    return all(
        _is_same(one, other)
        for name, metric in _metrics(tried)
        if name in names
        for one, other in zip(metric["values"], base["metrics"][name]["values"], strict=False)
    )


def _is_same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=LEAST_RATIO / 10)


def _metrics(rung: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        (name, metric)
        for name, metric in rung["metrics"].items()
        if isinstance(metric, dict) and "values" in metric
    ]


def _plan(resolved: Resolved, number: int, files: Mapping[str, str]) -> bytes:
    """Return what tells the plan of a repetition from others."""
    return hashlib.sha256(pickle.dumps(build_plan(resolved, number, files=files))).digest()


class Doubling:
    """Doubles numbers, one at a time, and says what each moves."""

    def __init__(self, rows: Sequence[published.Row], repetitions: int, forks: Forks) -> None:
        judged = [row for row in rows if has_bar(row.group)]
        self._seen = Played(judged, repetitions, 0, forks)
        self._fresh = Played(judged, 2 * repetitions, 1, forks)
        base = self._seen.as_is(self._seen.as_resolved)
        found = judge(judged, base, None, self._seen.as_resolved)
        self.validated = tuple(
            summary.group for summary in found.summaries if summary.standing == "validated"
        )
        """The groups that stand validated, at so many repetitions."""

    def entry(self, number: Number) -> Entry:
        """Return what becomes of the published rows when a number is doubled."""
        told = Entry(list(number.documents), number.key, number.written, ZERO)
        if number.is_zero:
            return told
        try:
            placed, changed = self._changed(number)
        except ScenarioError as error:
            return told._replace(verdict=REFUSED, reason=error.reason)
        now = self._seen.measure(changed)
        told = told._replace(doubled=placed[0][1], rungs=len(now), verdict=NOT_VALIDATED)
        if not now:
            return told
        every = effects(self._seen, now, _LIKELY)
        moved = sorted(filter(_counts, every), key=_surely, reverse=True)
        best = self._confirmed(moved, placed)
        if best is None:
            return told
        also: Change | None = best
        if best.group not in self.validated:
            also = self._confirmed([one for one in moved if one.group in self.validated], placed)
        verdict = MOVES if also is None else MOVES_VALIDATED
        return told._replace(verdict=verdict, change=best, validated_change=also)

    def _changed(self, number: Number) -> tuple[list[tuple[Place, Any]], dict[RungKey, Resolved]]:
        """Double a number, or take a share to 1 where twice as much is none."""
        factors = [2.0]
        if isinstance(number.written, float) and 1 / 2 < number.written < 1:
            factors.append(1 / number.written)
        for factor in factors:
            placed = number.at(factor)
            try:
                return placed, self._seen.changed(placed)
            except ScenarioError:
                if factor == factors[-1]:
                    raise
        raise AssertionError("the last factor returns or raises")

    def _confirmed(
        self, moved: Sequence[Change], placed: Sequence[tuple[Place, Any]]
    ) -> Change | None:
        """Return the change of one of the surest rows with fresh seeds, if it counts there, too."""
        for one in moved[:_TRIES]:
            rows = behind(one, self._fresh.rows)
            now = self._fresh.measure(self._fresh.changed(placed, rows))
            for again in effects(self._fresh, now, _SURE, rows):
                if again.row == one.row and _counts(again) and again.ratio * one.ratio > 0:
                    return again
        return None


def behind(change: Change, rows: Sequence[published.Row]) -> list[published.Row]:
    """Return the rows of which a comparison was made: one, the runs of a table, or a group's."""
    own = [row for row in rows if row.group == change.group]
    found = [row for row in own if any(one.id == change.row for one in answered([row], {}))]
    return found or own


def effects(
    played: Played, now: Rungs, level: float, rows: Sequence[published.Row] | None = None
) -> list[Change]:
    """Return by how much each row's answer changes where the rungs of `now` stand for the others.

    With the half width of an interval at `level` (Student's t over differences of repetitions with
    the same random numbers). An answer that is gone changes by -1, one that is new by 1. Of a row
    without two repetitions that answer at all, nothing.
    """
    asked = played.rows if rows is None else rows
    touched = {row.group for row in asked if any(is_part(key, row) for key in now)}
    asked = [row for row in asked if row.group in touched]
    keys = [key for key in played.as_resolved if any(is_part(key, row) for row in asked)]
    if not keys:
        return []
    base = played.as_is(keys)
    before, after = by_repetition(asked, base), by_repetition(asked, {**base, **now})
    found = []
    for name, (said, values) in before.items():
        known = [value for value in values if value is not None]
        scale = abs(statistics.fmean(known)) if known else 0.0
        scale = scale or abs(said.published or 0.0)
        pairs = zip(values, after[name][1], strict=True)
        ratios = [ratio for x, y in pairs if (ratio := _ratio(x, y, scale)) is not None]
        if len(ratios) >= _TWO:
            found.append(_change(name, said.group, ratios, level))
    return found


def _ratio(before: float | None, after: float | None, scale: float) -> float | None:
    if before is None or after is None:
        return None if before is after else 1.0 if before is None else -1.0
    return (after - before) / scale if scale else None


def is_part(key: RungKey, row: published.Row) -> bool:
    """Return whether a rung has a part in the answer to a row."""
    target = row.target
    if target.statistic.startswith("versus_"):  # the other transport
        target = replace(target, transport="")
    if target.statistic == "share_percent":  # of the sum over the axes
        target = replace(target, axes=())
    return bool(matching(target, {key: {}}))


def _change(row: str, group: str, ratios: Sequence[float], level: float) -> Change:
    half = stats.t.ppf((1 + level) / 2, len(ratios) - 1) * statistics.stdev(ratios)
    return Change(row, group, statistics.fmean(ratios), float(half) / math.sqrt(len(ratios)))


def by_repetition(
    rows: Sequence[published.Row], rungs: Rungs
) -> dict[str, tuple[Comparison, list[float | None]]]:
    """Return each comparison and its simulated value in each repetition alone.

    How runs end is a share that one run does not have: those of a group are taken together.
    """
    found: dict[str, tuple[Comparison, list[float | None]]] = {}
    most = max(len(_metrics(rung)[0][1]["values"]) for rung in rungs.values())
    for number in range(most):
        alone: Rungs = {
            key: one for key, rung in rungs.items() if (one := _alone(rung, number)) is not None
        }
        ends: dict[str, list[Comparison]] = {}
        for row in answered(rows, alone):
            if row.outcomes is not None:
                ends.setdefault(row.group, []).append(row)
            else:
                found.setdefault(row.id, (row, []))[1].append(row.simulated)
        for group, several in ends.items():
            share = statistics.fmean(row.simulated or 0.0 for row in several)
            found.setdefault(f"{group}: complete runs", (several[0], []))[1].append(share)
    return found


def _alone(rung: Mapping[str, Any], number: int) -> dict[str, Any] | None:
    """Return metrics.json as if one repetition were all; None where there are not so many."""
    metrics = _metrics(rung)
    if number >= len(metrics[0][1]["values"]):
        return None
    return {
        "metrics": {
            name: {"mean": (value := metric["values"][number]), "normal_ci95": None}
            | {"values": [value]}
            for name, metric in metrics
        }
    }


def _counts(change: Change) -> bool:
    return abs(change.ratio) >= max(LEAST_RATIO, change.half_ratio)


def _surely(change: Change) -> float:
    """Return how many half intervals a change is away from none."""
    return abs(change.ratio) / change.half_ratio if change.half_ratio else math.inf


LEAST_RATIO = 0.01  # by which a row has to change to depend on a number
# Of intervals: to choose rows, and to measure up to so many of them with other seeds.
_LIKELY, _SURE, _TRIES = 0.95, 0.99, 3
_ENDS = {"store_count", "send_count"}  # which tell how a run over a kept connection ends
_TWO = 2
_OF_A_NUMBER = {
    *("standard_error", "samples", "per_byte_standard_error", "correlation", "scatter"),
    *("model_error", "degrees_of_freedom", "common_ratio"),
    *("spread_sigma_standard_error", "repetition_sigma_standard_error"),
}
