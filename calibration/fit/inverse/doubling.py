"""What each number of the documents moves: it is doubled, alone, and published rows answer again.

One number at a time, with common random numbers. Where a rung's plan is the same as before nothing
is simulated: the engine would do the same. A run in overload goes another way after the slightest
change, so a change counts only beyond what its repetitions scatter, and the row that changes most
is chosen with one seed and measured with another.
"""

from __future__ import annotations

import math
import pickle
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import stats

from calibration.fit.inverse import places
from calibration.fit.inverse.document import Place
from calibration.fit.inverse.patched import Scenarios
from calibration.validate import published
from calibration.validate.answers import Comparison, matching
from calibration.validate.comparison import answered
from calibration.validate.sensitivity import (
    MOVES,
    MOVES_VALIDATED,
    NOT_VALIDATED,
    REFUSED,
    ZERO,
    Change,
    Entry,
)
from calibration.validate.summaries import has_bar
from calibration.validate.validation import judge, scenarios
from sim.base.documents import read_toml
from sim.base.errors import ScenarioError
from sim.devices.profile import PROFILES
from sim.plan.build_plan import build_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from calibration.validate.answers import RungKey, Rungs
    from sim.run.forks import Forks
    from sim.scenario.resolved import Resolved


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
        return places.unit_of(self.written).number(self.written) == 0

    def times(self, factor: float) -> Any:
        """Return the number, so many times as large, as documents write it; counts are rounded."""
        if isinstance(self.written, int):
            return max(1, round(self.written * factor)) if self.written else 0
        unit = places.unit_of(self.written)
        return unit.write(unit.number(self.written) * factor)

    def at(self, factor: float) -> list[tuple[Place, Any]]:
        """Return what stands where if the number is so many times as large."""
        value = self.times(factor)
        return [(Place(document=name, key=self.key), value) for name in self.documents]


def numbers(names: Iterable[str]) -> list[Number]:
    """Return every number of the shipped profiles, and of networks and lengths of some scenarios.

    Standard errors and counts of samples tell of a number, and are none.
    """
    root = places.ROOT
    found = [
        Number((str(path.relative_to(root)),), key, value)
        for path in sorted(PROFILES.glob("*/*.toml"))
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
        for key, value in places.leaves(read_toml(path)[1])
        if places.is_number(value) and key.rpartition(".")[2] not in _OF_A_NUMBER
    ]


class Played:
    """The rungs that some rows point to, simulated as they are and changed, from one seed.

    Each is repeated equally often, but for those whose ends are counted: these `MORE_OFTEN`.
    """

    def __init__(
        self, rows: Sequence[published.Row], repetitions: int, other_seed: int, forks: Forks
    ) -> None:
        self.rows, self._repetitions, self._forks = tuple(rows), repetitions, forks
        names = scenarios(rows)
        overrides = {
            name: [f"run.seed={read_toml(places.ROOT / name)[1]['run']['seed'] + other_seed}"]
            for name in names
        }
        self._scenarios = Scenarios.of(names, overrides, "calibrate sensitivity", self._is_asked)
        self.as_resolved = self._repeated(self._scenarios.resolved({}, Path()))
        """What the rungs resolve to, as they are."""
        self._plans: dict[RungKey, bytes] = {}
        self._measured: Rungs = {}

    def _is_asked(self, key: RungKey) -> bool:
        return any(matching(row.target, {key: {}}) for row in self.rows)

    def _repeated(self, rungs: Mapping[RungKey, Resolved]) -> dict[RungKey, Resolved]:
        counted = {
            key
            for row in self.rows
            if (how := published.groups()[row.group].outcomes)
            for key in rungs
            if key.rate_per_s >= how.from_rate_per_s and matching(row.target, {key: {}})
        }
        return {
            key: _times(at, self._repetitions * (MORE_OFTEN if key in counted else 1))
            for key, at in rungs.items()
        }

    def changed(
        self, placed: Sequence[tuple[Place, Any]], names: Sequence[str] | None = None
    ) -> dict[RungKey, Resolved]:
        """Return the rungs whose plan is another with some values in place; of all, or of `names`.

        Raises ScenarioError where a document refuses a value.
        """
        documents = places.Documents(
            {place.document: read_toml(places.ROOT / place.document)[1] for place, _ in placed}
        )
        patched = documents.patched(placed)
        touched = [
            name for name in self._scenarios.touched_by(patched) if names is None or name in names
        ]
        with tempfile.TemporaryDirectory(prefix="pocketsim-") as folder:
            found = self._repeated(self._scenarios.resolved(patched, Path(folder), touched))
        return {key: at for key, at in found.items() if _plan(at) != self._plan_of(key)}

    def measure(self, rungs: Mapping[RungKey, Resolved]) -> Rungs:
        """Return the metrics of some changed rungs, but of those where nothing comes of it.

        Most costs are never paid over most transports. Where no answer changes in the first
        repetition by a tenth of what counts, it will not by what counts in the others; connections
        that only sometimes fail have more that are first.
        """
        first = {key: _times(at, self._first(at)) for key, at in rungs.items()}
        tried = self._simulated(first)
        base = self.as_is(rungs)
        other = {
            key: at
            for key, at in rungs.items()
            if not _begins_as(tried[key], base[key], self._asked_of(key))
        }
        whole = {key: tried[key] for key, at in other.items() if first[key] == at}
        return whole | self._simulated({key: other[key] for key in other.keys() - whole.keys()})

    def as_is(self, keys: Iterable[RungKey]) -> Rungs:
        """Return the metrics of some rungs as they are; each is simulated once."""
        wanted = list(keys)
        missing = {key: self.as_resolved[key] for key in wanted if key not in self._measured}
        self._measured |= self._simulated(missing)
        return {key: self._measured[key] for key in wanted}

    def _asked_of(self, key: RungKey) -> set[str]:
        """Return the metrics of a rung that rows ask for."""
        asked = [row for row in self.rows if matching(row.target, {key: {}})]
        counted = any(published.groups()[row.group].outcomes for row in asked)
        return {row.target.metric for row in asked} | (_ENDS if counted else set())

    def _first(self, rung: Resolved) -> int:
        return self._repetitions if rung["transport"]["app_faults"] else 1

    def _simulated(self, rungs: Mapping[RungKey, Resolved]) -> Rungs:
        measured = self._forks.measure(list(rungs.values())) if rungs else []
        return dict(zip(rungs, measured, strict=True))

    def _plan_of(self, key: RungKey) -> bytes:
        if key not in self._plans:
            self._plans[key] = _plan(self.as_resolved[key])
        return self._plans[key]


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


def _plan(resolved: Resolved) -> bytes:
    return pickle.dumps(build_plan(resolved, 0))


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
        best = self._confirmed(moved[:1], placed)
        of_validated = [one for one in moved if one.group in self.validated]
        also = best if best and of_validated[:1] == moved[:1] else None
        also = also or self._confirmed(of_validated[:1], placed)
        if best is None and also is None:
            return told
        verdict = MOVES if also is None else MOVES_VALIDATED
        return told._replace(verdict=verdict, change=best or also, validated_change=also)

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
        self, chosen: Sequence[Change], placed: Sequence[tuple[Place, Any]]
    ) -> Change | None:
        """Return the change of a chosen row with fresh seeds, if it counts there, too."""
        if not chosen:
            return None
        (one,) = chosen
        names = scenarios([row for row in self._fresh.rows if row.group == one.group])
        now = self._fresh.measure(self._fresh.changed(placed, names))
        found = {again.row: again for again in effects(self._fresh, now, _SURE, one.group)}
        again = found.get(one.row)
        return again if again is not None and _counts(again) else None


def effects(played: Played, now: Rungs, level: float, group: str | None = None) -> list[Change]:
    """Return by how much each row's answer changes where the rungs of `now` stand for the others.

    With the half width of an interval at `level` (Student's t over differences of repetitions with
    the same random numbers). Of a row without two repetitions that answer both times, nothing.
    """
    touched = {row.group for row in played.rows if matching(row.target, now)}
    rows = [row for row in played.rows if row.group in touched and group in {None, row.group}]
    keys = [
        key for key in played.as_resolved if any(matching(row.target, {key: {}}) for row in rows)
    ]
    base = played.as_is(keys)
    if not keys:
        return []
    before, after = _by_repetition(rows, base), _by_repetition(rows, {**base, **now})
    found = []
    for name, (said, values) in before.items():
        pairs = [
            (x, y)
            for x, y in zip(values, after[name][1], strict=True)
            if x is not None and y is not None
        ]
        scale = abs(statistics.fmean(x for x, _ in pairs)) if pairs else 0.0
        scale = scale or abs(said.published or 0.0)
        if len(pairs) >= _TWO and scale:
            found.append(_change(name, said.group, [(y - x) / scale for x, y in pairs], level))
    return found


def _change(row: str, group: str, ratios: Sequence[float], level: float) -> Change:
    half = stats.t.ppf((1 + level) / 2, len(ratios) - 1) * statistics.stdev(ratios)
    return Change(row, group, statistics.fmean(ratios), float(half) / math.sqrt(len(ratios)))


def _by_repetition(
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
    return abs(change.ratio) - change.half_ratio


LEAST_RATIO = 0.01  # by which a row has to change to depend on a number
MORE_OFTEN = 5  # times as many repetitions where one in three or four runs ends another way
_LIKELY, _SURE = 0.95, 0.99  # of intervals: to choose a row, and to measure it with other seeds
_ENDS = {"store_count", "send_count"}  # which tell how a run over a kept connection ends
_TWO = 2
_OF_A_NUMBER = {"standard_error", "samples"}
