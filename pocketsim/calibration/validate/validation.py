"""How far simulations are from the published measurements, and whether that is close enough.

`validate` runs every scenario that published rows point to and compares;
`calibration.validate.summaries` applies the bars. Rows are never left out: one that no rung answers
is listed without a value, and fails its group.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.validate import published
from pocketsim.calibration.validate.answers import RungKey
from pocketsim.calibration.validate.comparison import compare, needs_simulation
from pocketsim.calibration.validate.summaries import Summary, independent, summarise
from pocketsim.sim.base.errors import EnvironmentMissingError, UserError
from pocketsim.sim.devices.prices import apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from pocketsim.calibration.validate.answers import Comparison, Rungs
    from pocketsim.calibration.validate.baselines import Settings
    from pocketsim.calibration.validate.block_sizes import Replay
    from pocketsim.sim.run.runner import Progress, Task
    from pocketsim.sim.scenario.resolved import Resolved

    ProgressOf = Callable[[int, Mapping[str, str]], AbstractContextManager[Progress]]

ALL_MET, KNOWN_MISSES, MISSED = "all met", "met but for known misses", "missed"
"""What may be said of the bars together."""


@dataclass(frozen=True)
class ValidationResult:
    """Every comparison, every group, whether bars are met, and the runs behind them.

    `run_dirs` are those of the scenarios as they are; rungs that were repeated more often for their
    outcomes are not among them. `apart` are costs that an implementation and its device price
    differently, in words.
    """

    comparisons: tuple[Comparison, ...]
    summaries: tuple[Summary, ...]
    run_dirs: tuple[Path, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """`ALL_MET`, `KNOWN_MISSES` or `MISSED`; the command line exits with 0, 6 or 3."""
        missed = [summary for summary in self.summaries if summary.met is False]
        if any(not summary.known_missed for summary in missed):
            return MISSED
        return KNOWN_MISSES if missed else ALL_MET

    @property
    def independent(self) -> int:
        """How many rows there are if those that are read off the same runs count once."""
        return independent(row for row in self.comparisons if row.simulated is not None)

    def as_json(self) -> str:
        """Return the result as JSON, indented, ending in a newline."""
        parts = dataclasses.asdict(dataclasses.replace(self, run_dirs=()))
        data = {"schema": 2, "verdict": self.verdict, "independent": self.independent, **parts}
        del data["run_dirs"]  # where runs lie is not a result
        return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def validate(
    out_dir: Path,
    jobs: int,
    subset: Sequence[str] | None = None,
    root: Path = Path(),
    progress: ProgressOf | None = None,
) -> ValidationResult:
    """Run what the published rows need under `out_dir`, on `jobs` processes, and compare.

    `subset` names groups or patterns of row ids ("udp", "B1_w*"); None is everything. Scenario
    paths are relative to `root`. Runs that exist already are not repeated. `progress` gets the
    number of repetitions to run and the runs' labels, and gives what `sim.run.runner.run_tasks`
    calls.
    Raises what the runner raises, and UserError when `subset` selects nothing.
    """
    from pocketsim.sim.run import runner
    from pocketsim.sim.scenario.load import load

    rows = select(published.rows(), subset)
    if not rows:
        known = ", ".join(published.groups())
        raise UserError(f"no published row matches {', '.join(subset or ())}; groups: {known}")
    replay = chain_replay()
    documents = {name: load(root / name) for name in scenarios(rows)}
    shipped = {name: runner.tasks_of(read, out_dir) for name, read in documents.items()}
    often = {
        name: runner.tasks_of(load(root / name, overrides), out_dir)
        for name, tasks in shipped.items()
        if (overrides := repeated_often(rows, name, _resolved(name, tasks)))
    }
    every = [task for tasks in (*shipped.values(), *often.values()) for task in tasks]
    with (progress or _silent)(runner.repetition_count(every), runner.labels(every)) as step:
        runner.run_tasks(every, jobs, progress=step)
    rungs: Rungs = {}
    settings: dict[RungKey, Any] = {}
    for tasks_by_name in (shipped, often):  # what is repeated more often stands for the rung
        for name, tasks in tasks_by_name.items():
            rungs |= read_rungs(name, _run_dirs(tasks))
            settings |= _resolved(name, tasks)
    flat = tuple(path for tasks in shipped.values() for path in _run_dirs(tasks))
    found = judge(rows, rungs, replay, settings)
    return dataclasses.replace(found, run_dirs=flat, apart=priced_apart(settings.values()))


def priced_apart(rungs: Iterable[Resolved]) -> tuple[str, ...]:
    """Return a line for each own cost that its device prices more than three errors apart."""
    said = {
        f"{one.own_cost} of {resolved['implementation']['called']} takes {one.own_s:.3g} s on "
        f"{name}, whose own {one.step} takes {one.device_s:.3g} s: {one.standard_errors:.1f} "
        "standard errors apart, so it stands for more than that operation"
        for resolved in rungs
        for name, device in resolved["profiles"].items()
        for one in apart(device, resolved["implementation"])
    }
    return tuple(sorted(said))


def repeated_often(
    rows: Iterable[published.Row], scenario: str, rungs: Iterable[RungKey]
) -> list[str]:
    """Return the overrides of `scenario` for rungs whose outcomes are judged; none for none."""
    groups, known = published.groups(), {key.rate_per_s for key in rungs}
    judged = [
        (row.target.rate_min_per_s, how)
        for row in rows
        if row.target.scenario == scenario and (how := groups[row.group].outcomes)
    ]
    rates = sorted({rate for rate, how in judged if rate >= how.from_rate_per_s} & known)
    if not rates:
        return []
    often = max(how.repetitions for _, how in judged)
    listed = ", ".join(f'"{rate:g}/s"' for rate in rates)
    return [f"run.repetitions={often}", f"workload.rate=[{listed}]"]


def _resolved(scenario: str, tasks: Iterable[Task]) -> dict[RungKey, Any]:
    """Return what the rungs of tasks resolve to."""
    every = [rung.resolved for task in tasks for rung in task.rungs]
    return {rung_key(scenario, resolved["rung"]): resolved for resolved in every}


def _run_dirs(tasks: Iterable[Task]) -> list[Path]:
    return [task.folder / rung.name for task in tasks for rung in task.rungs]


def judge(
    rows: Sequence[published.Row],
    rungs: Rungs,
    replay: Replay | None = None,
    settings: Settings | None = None,
) -> ValidationResult:
    """Compare `rows` with what was simulated; pure. See `comparison.compare`."""
    comparisons = compare(rows, rungs, replay, settings)
    return ValidationResult(tuple(comparisons), tuple(summarise(comparisons)))


def select(
    rows: Iterable[published.Row], subset: Sequence[str] | None
) -> tuple[published.Row, ...]:
    """Return the rows whose group or id matches one of the patterns of `subset`."""
    if subset is None:
        return tuple(rows)

    def wanted(row: published.Row) -> bool:
        return any(fnmatch.fnmatchcase(name, at) for at in subset for name in (row.group, row.id))

    return tuple(row for row in rows if wanted(row))


def scenarios(rows: Iterable[published.Row]) -> list[str]:
    """Return the scenarios that `rows` need, in order of first use."""
    needed = [name for row in rows if needs_simulation(row) for name in row.target.scenarios]
    return list(dict.fromkeys(needed))


def read_rungs(scenario: str, run_dirs: Iterable[Path]) -> Rungs:
    """Return the metrics of the runs of one scenario by rung."""
    found: Rungs = {}
    for run_dir in run_dirs:
        metrics = json.loads((Path(run_dir) / "metrics.json").read_text(encoding="utf-8"))
        found[rung_key(scenario, metrics["rung"])] = metrics
    return found


def rung_key(scenario: str, rung: Mapping[str, Any]) -> RungKey:
    """Return the key of a rung as it stands in metrics.json."""
    axes = tuple(sorted(rung.get("axes", {}).items()))
    return RungKey(scenario, rung["transport"], rung["rate_per_s"], rung["payload_bytes"], axes)


@contextlib.contextmanager
def _silent(_total: int, _labels: Mapping[str, str]) -> Iterator[Progress]:
    yield lambda _name, _repetition, _share: None


def chain_replay() -> Replay:
    """Return what replays a chain; raises EnvironmentMissingError without an engine."""
    try:
        from pocketsim.sim._engine import replay_chain
    except ImportError as error:
        raise EnvironmentMissingError(
            f"the compiled engine does not load: {error}; `pocketsim doctor` tells what to do"
        ) from None
    return replay_chain
