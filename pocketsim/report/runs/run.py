"""The runs of a report as they lie on disk, told apart and grouped the way that charts show them.

What a report can say of a run at all is here; how its values are put in words is in `points`, and
which published figures belong to it in `shipped_scenarios`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pocketsim.calibration.validate import published
from pocketsim.report.runs import points
from pocketsim.report.runs.points import Setting
from pocketsim.report.runs.shipped_scenarios import ShippedScenarios
from pocketsim.sim.run import results

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pocketsim.sim.run.results import Manifest, Metrics
    from pocketsim.sim.scenario.resolved import Resolved

    Bounds = tuple[float, float]
    Key = tuple[str, str, int, str]

AnyRuns = TypeVar("AnyRuns", "Run", "Series")


@dataclass(frozen=True)
class Run:
    """One run directory: a rung of a scenario, with all its repetitions.

    `axes` are what tells it from the other runs of its scenario beside transport, payload and rate,
    by key of the scenario; `rung_axes` those of its grid, as published rows name them. `point` is
    what was asked for differently than the document says, or varies in it. Published figures belong
    to the run only if it `is_shipped`: made of the scenario as it comes with the project.
    """

    path: Path
    scenario: str
    title: str
    transport: str
    rate_per_s: float
    payload_bytes: int
    axes: dict[str, Setting]
    rung_axes: dict[str, Any]
    settings: dict[str, Setting]
    point: tuple[str, ...]
    is_shipped: bool
    metrics: Metrics
    resolved: Resolved

    @property
    def place(self) -> dict[str, Setting]:
        """All that may tell the run from others of its scenario."""
        return {
            TRANSPORT: Setting(transport_name(self.transport)),
            PAYLOAD: Setting(self.payload_bytes, "B"),
            RATE: Setting(self.rate_per_s, "/s"),
            **self.axes,
        }

    @property
    def phones(self) -> int:
        """Phones over all groups."""
        return int(sum(group["count"] for group in self.resolved["devices"]))

    @property
    def senders(self) -> int:
        """Phones of which each is asked for the rate: all of them, or the first of the theses."""
        return self.phones if self.resolved["workload"]["kind"] == "poisson" else 1

    @property
    def asked_per_s(self) -> float:
        """What is asked for over all phones, as sends and stores are counted; 1/s."""
        if self.senders == 1:
            return self.rate_per_s
        groups = self.resolved["devices"]
        return sum(group["count"] * group.get("rate_per_s", self.rate_per_s) for group in groups)

    def mean(self, metric: str) -> float | None:
        """Return a metric over all repetitions, of quantiles pooled; None where it is undefined."""
        value: float | None = self.metrics["metrics"][metric]["value"]
        return value

    def has(self, metric: str) -> bool:
        """Return whether a metric is there and defined."""
        return metric in self.metrics["metrics"] and self.mean(metric) is not None

    def bounds(self, metric: str) -> Bounds | None:
        """Return the 95 % interval of that value; None where it is undefined."""
        summary = self.metrics["metrics"][metric]
        low, high = summary["ci95_low"], summary["ci95_high"]
        return None if low is None or high is None else (low, high)

    def values(self, metric: str) -> list[float]:
        """Return one value for each repetition; 0 where it is undefined."""
        return [value or 0.0 for value in self.metrics["metrics"][metric]["values"]]


@dataclass(frozen=True)
class Series:
    """Runs of one scenario, transport, payload and axes, in order of rate, and their rows."""

    scenario: str
    title: str
    transport: str
    payload_bytes: int
    axes: dict[str, Setting]
    runs: tuple[Run, ...]
    rows: tuple[published.Row, ...]

    @property
    def name(self) -> str:
        """Transport, payload and axes in words."""
        parts = [transport_name(self.transport), f"{self.payload_bytes} B"]
        return ", ".join([*parts, *(setting.words for setting in self.axes.values())])

    def published(self, metric: str, statistic: str = "") -> list[published.Row]:
        """Return the rows that a metric of this series answers, in order of rate."""
        found = [row for row in self.rows if row.target.metric == metric]
        found = [row for row in found if not statistic or row.target.statistic == statistic]
        return sorted(found, key=lambda row: (row.target.rate_min_per_s, row.run or 0))


def load(run_dirs: Iterable[Path], known_shipped: Collection[Path] = ()) -> list[Run]:
    """Return the runs by scenario, transport, payload, axes and rate, whatever the order given.

    `known_shipped` are run directories known to be of scenarios as they come with the project, such
    as those of a validation; of others it is found out. Raises ScenarioError for a run whose files
    do not say what they would have to: damaged, or of another version.
    """
    shipped = ShippedScenarios()
    # A copy of a run in another folder is the same run: its directory's name says what it is.
    paths = {(path.parent.name, path.name): path for path in map(Path, run_dirs)}
    return told_apart([_run(path, shipped, known_shipped) for path in paths.values()])


def told_apart(runs: Iterable[Run]) -> list[Run]:
    """Return the runs in the order of `load`, each with what tells it from others."""
    found = [run for group in by_scenario(runs).values() for run in _told_apart(group)]
    return sorted(found, key=_order)


def by_scenario(runs: Iterable[AnyRuns]) -> dict[str, list[AnyRuns]]:
    """Return the runs, or series of them, of each scenario."""
    grouped: dict[str, list[AnyRuns]] = {}
    for run in runs:
        grouped.setdefault(run.scenario, []).append(run)
    return grouped


class Placed(Protocol):
    """What settings tell from others: a run, or several that differ in their seeds alone."""

    @property
    def place(self) -> dict[str, Setting]:
        """All that may tell it from others."""


def labels(runs: Sequence[Placed], without: Collection[str] = ()) -> list[str]:
    """Return for each of some runs or points what tells it from the others, in words.

    Keys in `without` are left out. The label is empty where there is nothing to tell.
    """
    places = [run.place for run in runs]
    several = set(points.differing(places))
    keys = dict.fromkeys(key for place in places for key in place)
    told = [key for key in keys if key in several or key not in _ALWAYS]
    return points.labels(places, [key for key in told if key not in without])


def run_names(runs: Sequence[Run]) -> list[str]:
    """Return what to call each of some runs of one scenario, in words."""
    return [label or "simulated" for label in labels(runs)]


def as_series(runs: Sequence[Run]) -> list[Series]:
    """Return `runs`, which are in order, as series."""
    rows = published.rows()
    found: dict[Key, list[Run]] = {}
    for run in runs:
        found.setdefault(_key(run), []).append(run)
    return [_series(group, rows) for group in found.values()]


def answers(run: Run, target: published.Target) -> bool:
    """Return whether a run is among those that answer a published row, at whatever rate."""
    return (
        run.is_shipped
        and Path(target.scenario).stem == run.scenario
        and target.transport == run.transport
        and target.payload_bytes in {None, run.payload_bytes}
        and target.covers(run.rung_axes)
    )


def is_of_trades(run: Run) -> bool:
    """Return whether what was run are trades, which have rates asked for and round trips."""
    return run.resolved["protocol"]["kind"] == "trustchain"


def is_of_payments(run: Run) -> bool:
    """Return whether what was run is a town that pays with tokens."""
    return run.resolved["protocol"]["kind"] == "tokens"


def transport_name(transport: str) -> str:
    """Return a transport in words."""
    return published.TRANSPORTS.get(transport, transport)


def _told_apart(runs: Sequence[Run]) -> list[Run]:
    """Return runs of one scenario with what differs among them, and the axes of their grid."""
    every = [run.settings for run in runs]
    differing = {key for key in points.differing(every) if _tells(key, every)} - _SAID
    axes = [differing | {key for key in run.rung_axes if key not in _SAID} for run in runs]
    return [
        dataclasses.replace(run, axes={key: run.settings[key] for key in _ordered(own, run)})
        for run, own in zip(runs, axes, strict=True)
    ]


def _ordered(keys: Collection[str], run: Run) -> list[str]:
    """Return those of `keys` that a run has, all phones before those of its groups."""
    return sorted((key for key in keys if key in run.settings), key=lambda key: (key != ALL, key))


def _tells(key: str, every: Sequence[Mapping[str, Setting]]) -> bool:
    """Return whether a key that differs tells runs apart; a profile not used does not."""
    if not key.startswith(_DIGEST):
        return True
    return len({settings[key].value for settings in every if key in settings}) > 1


def _key(run: Run) -> Key:
    axes = json.dumps({key: setting.value for key, setting in run.axes.items()}, sort_keys=True)
    return run.scenario, run.transport, run.payload_bytes, axes


def _order(run: Run) -> tuple[Any, ...]:
    """Return what sorts runs: numbers by size, text by letters."""
    axes = [
        (
            key,
            setting.value if setting.is_number else math.inf,
            "" if setting.is_number else setting.text,
        )
        for key, setting in run.axes.items()
    ]
    return run.scenario, run.transport, run.payload_bytes, axes, run.rate_per_s, run.path.name


def _series(runs: Sequence[Run], rows: Iterable[published.Row]) -> Series:
    first = runs[0]
    own = tuple(row for row in rows if any(answers(run, row.target) for run in runs))
    return Series(
        scenario=first.scenario,
        title=first.title,
        transport=first.transport,
        payload_bytes=first.payload_bytes,
        axes=first.axes,
        runs=tuple(runs),
        rows=own,
    )


def _run(path: Path, shipped: ShippedScenarios, known_shipped: Collection[Path]) -> Run:
    resolved = results.read_resolved(path)
    metrics, manifest = results.read_metrics(path), results.read_manifest(path)
    is_shipped = path in known_shipped or shipped.hold(resolved)
    return of_files(path, resolved, metrics, manifest, is_shipped=is_shipped)


def of_files(
    path: Path,
    resolved: Resolved,
    metrics: Metrics,
    manifest: Manifest,
    *,
    is_shipped: bool = False,
) -> Run:
    """Return a run by the content of its files; `told_apart` says what tells it from others."""
    rung = metrics["rung"]
    return Run(
        path=path,
        scenario=resolved["scenario"],
        title=resolved["title"],
        transport=rung["transport"],
        rate_per_s=float(rung["rate_per_s"]),
        payload_bytes=int(rung["payload_bytes"]),
        axes={},
        rung_axes=rung.get("axes", {}),
        settings=_settings(manifest, resolved),
        point=tuple(manifest["point"]),
        is_shipped=is_shipped,
        metrics=metrics,
        resolved=resolved,
    )


def _settings(manifest: Manifest, resolved: Resolved) -> dict[str, Setting]:
    """Return what was in effect, with names: the scenario, the content of profiles, the build.

    Where phones are in several groups, they are summed up: that is what a mix of them is called.
    """
    digests = {
        f"{_DIGEST}{kind}/{name}": Setting(digest[:_DIGITS], "", f"content of {name}")
        for kind, named in (
            ("device", manifest["profiles"]),
            ("implementation", manifest["implementation"]),
        )
        for name, digest in named.items()
    }
    build = Setting(resolved["versions"]["build"][:_DIGITS], "", "build")
    found = {**points.named(manifest["scenario"]), **digests, "build": build}
    counts = [group["count"] for group in resolved["devices"]]
    if len(counts) > 1:
        found[ALL] = Setting(sum(counts), "", "phones")
    shares = _shares(resolved)
    if shares:
        found = {key: one for key, one in found.items() if not _OF_GROUP.fullmatch(key)}
    return {**found, **shares}


def _shares(resolved: Resolved) -> dict[str, Setting]:
    """Return the share of phones on each access network, if it is the same in all groups.

    A network that no phone is on has the share 0, so that shares are quantities in all runs.
    """
    networks = list(resolved["network"]["access"])
    groups = [
        [group["access"].get(name, 0.0) for name in networks] for group in resolved["devices"]
    ]
    if not networks or any(shares != groups[0] for shares in groups):
        return {}
    return {
        f"{ACCESS}{name}": Setting(share, "", f"share on {name}")
        for name, share in zip(networks, groups[0], strict=True)
    }


def short_key(key: str) -> str:
    """Return the key by which runs have a setting that a scenario's key path names."""
    return _OF_GROUP.sub(rf"{ACCESS}\1", key)


def long_key(key: str) -> str:
    """Return a key path of the scenario that `short_key` makes a key of; "" where there is none."""
    found = re.sub(rf"^{ACCESS}", "devices[0].access.", key)
    return "" if "/" in found else found


TRANSPORT, PAYLOAD, RATE = "transport.mode", "workload.payload", "workload.rate"
_ALWAYS = (TRANSPORT, PAYLOAD, RATE)
_SAID = {*_ALWAYS, "workload.payments"}  # a run has these in fields of its own
ALL = "devices/count"  # no key of a scenario has a slash
ACCESS = "devices/access/"
_OF_GROUP = re.compile(r"devices\[\d+\]\.access\.(.+)")
_DIGEST = "profiles/"
_DIGITS = 12
