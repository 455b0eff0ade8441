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

from calibration.validate import published
from calibration.validate.answers import RungKey
from calibration.validate.comparison import compare, needs_simulation
from calibration.validate.summaries import Summary, summarise
from sim.base.errors import EnvironmentMissingError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from calibration.validate.answers import Comparison, Rungs
    from calibration.validate.block_sizes import Replay
    from sim.run.runner import Progress

    ProgressOf = Callable[[int, Mapping[str, str]], AbstractContextManager[Progress]]


# Drawn without numbers: figures 4 and 6 of the latency thesis, round trips by payload.
FIGURES_ONLY = ("scenarios/latency/payload.toml",)


@dataclass(frozen=True)
class ValidationResult:
    """Every comparison, every group, whether bars are met, and the runs behind them."""

    comparisons: tuple[Comparison, ...]
    summaries: tuple[Summary, ...]
    run_dirs: tuple[Path, ...] = ()

    @property
    def passed(self) -> bool:
        """False when a bar is missed that is not known to be; the command line exits with 3."""
        return all(summary.met is not False or summary.known_missed for summary in self.summaries)

    def as_json(self) -> str:
        """Return the result as JSON, indented, ending in a newline."""
        parts = dataclasses.asdict(dataclasses.replace(self, run_dirs=()))
        data = {"schema": 1, "passed": self.passed, **parts}
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

    Without a `subset` this includes the scenarios of figures that print no numbers, so that a
    report can show them.

    `subset` names groups or patterns of row ids ("udp", "B1_w*"); None is everything. Scenario
    paths are relative to `root`. Runs that exist already are not repeated. `progress` gets the
    number of repetitions to run and the runs' labels, and gives what `sim.run.runner.run_tasks`
    calls.
    Raises what the runner raises, and UserError when `subset` selects nothing.
    """
    from sim.run import runner
    from sim.scenario import load

    rows = select(published.rows(), subset)
    if not rows:
        known = ", ".join(published.groups())
        raise UserError(f"no published row matches {', '.join(subset or ())}; groups: {known}")
    replay = chain_replay()
    needed = scenarios(rows) + (list(FIGURES_ONLY) if subset is None else [])
    tasks = {scenario: runner.tasks_of(load(root / scenario), out_dir) for scenario in needed}
    every = [task for of_scenario in tasks.values() for task in of_scenario]
    with (progress or _silent)(runner.repetition_count(every), runner.labels(every)) as step:
        runner.run_tasks(every, jobs, progress=step)
    run_dirs = {
        scenario: [task.folder / rung.name for task in of_scenario for rung in task.rungs]
        for scenario, of_scenario in tasks.items()
    }
    rungs: Rungs = {}
    for scenario, paths in run_dirs.items():
        rungs |= read_rungs(scenario, paths)
    flat = tuple(path for paths in run_dirs.values() for path in paths)
    return dataclasses.replace(judge(rows, rungs, replay), run_dirs=flat)


def judge(
    rows: Sequence[published.Row], rungs: Rungs, replay: Replay | None = None
) -> ValidationResult:
    """Compare `rows` with what was simulated; pure. See `comparison.compare`."""
    comparisons = compare(rows, rungs, replay)
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
    return list(dict.fromkeys(row.target.scenario for row in rows if needs_simulation(row)))


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
        from sim._engine import replay_chain
    except ImportError as error:
        raise EnvironmentMissingError(
            f"the compiled engine does not load: {error}; run `make setup`"
        ) from None
    return replay_chain
