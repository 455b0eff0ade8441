"""A study: a sweep file as something to plan, run, follow, collect and ask which factor matters.

What is where, `sim.run.sweep` and `sim.run.store` know; what the command line prints of it is its
own business.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pocketsim.api import run_tables
from pocketsim.api.documents.catalog import document_file
from pocketsim.api.progress import Meter, bar, is_watched
from pocketsim.api.results import Run, Runs
from pocketsim.api.run import log_warnings
from pocketsim.report.runs.asked import Asked
from pocketsim.sim.base import defaults, designs
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.base.files import at_home
from pocketsim.sim.base.streams import stream
from pocketsim.sim.run import collect, durations, rundir, runner, sweep
from pocketsim.sim.run.dask_backend import DaskBackend
from pocketsim.sim.run.store import Packing, Store
from pocketsim.sim.run.sweep_document import Morris, Saltelli
from pocketsim.sim.scenario import point_values

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    import numpy.typing as npt
    import pandas as pd
    import xarray as xr
    from distributed import Client

    from pocketsim.sim.run.runner import Outcome, Task, Way
    from pocketsim.sim.run.sweep import Sweep

    Start = Callable[[list[Task], Way], Sequence[Outcome]]

Keep = Literal["events", "metrics"]


@dataclass(frozen=True)
class Status:
    """How far a study is: runs and repetitions, in all and by state.

    `expected_s` is how long the missing ones will take on so many cores, from those of the study
    that ran here; None where none did. With `until`, runs that are not known to be needed yet are
    not among them.
    """

    points: int
    runs: dict[str, int]
    repetitions: dict[str, int]
    expected_s: float | None


class Study:
    """A sweep file, or a shard of it, and its runs below a folder.

    >>> study = Study("rate_by_transport")
    >>> study.status().runs["all"]
    24
    """

    def __init__(
        self,
        file: str | Path,
        out: str | Path | None = None,
        shard: tuple[int, int] = (1, 1),
    ) -> None:
        """Read a sweep: a name or a file; `shard` (I, N) is the I-th of N parts of its points.

        `out` is the folder for run directories, as `pocketsim.run` takes it.

        Raises ScenarioError when the file, its scenarios or one of its points is not valid, and
        UserError when no report of the whole study could have what `[report]` asks for. Of a part,
        nobody knows: other parts may have it.
        """
        self.file = document_file(file, "sweep")
        self.out = at_home(out or defaults.out())
        self._shard = shard
        self.packs = self.out / f"{self.file.stem}.packs"
        """Folder of the tables that runs are packed into whose directories are not kept."""
        self.sweep: Sweep = sweep.load_sweep(self.file, self.out, *shard, Store(self.packs))
        if shard == (1, 1) and any(self.sweep.document.report.model_dump().values()):
            from pocketsim.report.runs import planned

            planned.check(sweep.runs(self.sweep.points, self.sweep.store), self.asked)

    def run(
        self,
        jobs: int | None = None,
        keep: Keep = "events",
        start: Start | None = None,
        client: Client | None = None,
        scratch: Path | None = None,
        before: datetime | None = None,
    ) -> dict[Path, Outcome]:
        """Run what is not there yet; return what became of each run, by its directory.

        Args:
            jobs: Repetitions at a time, as `pocketsim.run` takes them. With a client, runs that it
                has at a time.
            keep: "events" leaves a directory for each run, "metrics" packs the metrics of all runs
                of this shard into one Parquet table and keeps nothing else.
            start: What runs tasks instead, in the way that it is given.
            client: Of dask.distributed, whose workers make the runs; they need no folder of ours.
            scratch: Folder to make runs in, such as a disk of this machine's own.
            before: When to be done: runs that would not be, going by how long others took, are
                left.

        A run that fails becomes an outcome; the others go on. Raises NoRoomError on a full disk,
        RunInProgressError where another process packs the same shard, EnvironmentMissingError where
        a worker has not what this process has.
        """
        start = start or (lambda tasks, way: _started(tasks, jobs or defaults.jobs(), way))
        limit = None
        if before is not None:
            limit = durations.Limit(before.timestamp(), self.out, jobs or defaults.jobs())
        backend = None if client is None else DaskBackend(client, keep == "events", jobs)
        if keep == "events":
            building = functools.partial(rundir.building, scratch=scratch)
            way = runner.Way(backend, building, limit=limit)
            kept = dataclasses.replace(self.sweep, store=Store())  # a pack is no directory
            return sweep.perform(kept, lambda tasks: start(tasks, way))
        self._check_that_it_can_be_packed()
        shard = "shard-{}-of-{}".format(*self._shard)
        with Packing(self.packs, shard, self.sweep.store, scratch) as packing:

            def done(outcome: Outcome) -> None:
                if outcome.status == "reused":
                    packing.add(outcome.directory)

            packed = runner.Way(backend, packing.building, done, limit, only_metrics=True)
            return sweep.perform(self.sweep, lambda tasks: start(tasks, packed))

    def status(self, jobs: int | None = None) -> Status:
        """Return how far the study is."""
        self.sweep.store.read_again()
        runs = {run.directory: run for run in self.sweep.runs()}
        states = {directory: run.state for directory, run in runs.items()}
        repetitions = {directory: run.repetitions for directory, run in runs.items()}
        return Status(
            points=len(self.sweep.points),
            runs=_by_state(dict.fromkeys(runs, 1), states),
            repetitions=(by_state := _by_state(repetitions, states)),
            expected_s=self._expected_s(runs, by_state["missing"], jobs or defaults.jobs()),
        )

    @property
    def runs(self) -> Runs:
        """The finished runs whose directories are kept."""
        found = {
            (run.directory, str(run.place)): run
            for run in self.sweep.runs()
            if run.directory.is_dir()
        }
        return Runs([Run(run.directory, run.place) for run in found.values()])

    @property
    def asked(self) -> Asked:
        """What the sweep file says of its report: the question, and what the first chart shows."""
        document = self.sweep.document
        keys = [
            key
            for lists in (document.axes, *document.zipped)
            for name, values in lists.items()
            for key in _key_paths(name, values[0])
        ]
        ranges = document.design.ranges if document.design else ()
        return Asked(
            question=document.sweep.question,
            **document.report.model_dump(),
            axes=(*keys, *ranges),
            file=str(self.file),
        )

    @property
    def finding(self) -> str:
        """What the finished runs whose directories are kept show, in a sentence or two.

        It is the report's: of the metric, axis and colour that `asked` names, others by rule. It is
        empty where no run is there. Raises UserError where no run has what is asked for.
        """
        from pocketsim.report.answer import opening

        return opening.finding_of([run.directory for run in self.runs], self.asked)

    def to_frame(self) -> pd.DataFrame:
        """Return what was found as a tidy table: a row for each run that is there and repetition.

        Columns are those of `Runs.to_frame`.
        """
        frame: pd.DataFrame = collect.table(self.sweep)[0].to_pandas()
        return frame

    def to_xarray(self) -> xr.Dataset:
        """Return what was found as arrays over the axes of the study, as `Runs.to_xarray` does."""
        places = [run.place for run in self.sweep.runs()]
        return run_tables.dataset(collect.table(self.sweep)[0], places)

    @property
    def doubt(self) -> str:
        """What to say of indices of so few samples as the design has; nothing where enough."""
        design = self.sweep.document.design
        return designs.doubt_of_samples(design.samples) if isinstance(design, Saltelli) else ""

    def sensitivity(self, metric: str) -> pd.DataFrame:
        """Return how much a metric depends on each range of the study's design.

        A row for each combination of its axes, rung and range, whose key path is `factor`. Of a
        design `saltelli` columns are `first_order` and `total_order`, of `morris` `mu_star`, `mu`
        and `sigma` in the metric's unit per whole range, each with `_ci95_low` and `_ci95_high`. A
        point's answer is the mean over its repetitions. Of fewer than 64 samples intervals are too
        narrow, which `doubt` says. Raises ScenarioError for another design,
        a run that is missing, a metric that there is not, or that has no value somewhere.
        """
        import pandas as pd

        design = self.sweep.document.design
        if not isinstance(design, Saltelli | Morris):
            reason = "has no design of kind saltelli or morris, which indices are estimated from"
            raise ScenarioError(self.file, "design", reason)
        answers = self._answers(metric)
        factors = list(design.ranges)
        found = _estimates(design, np.array(list(answers.values())).T)
        rows = [
            {**dict(where), "metric": metric, "factor": factor}
            | {
                f"{name}{end}": float(part[row, column])
                for name, estimate in found.items()
                for end, part in zip(
                    ("", "_ci95_low", "_ci95_high"),
                    (estimate.value, estimate.low, estimate.high),
                    strict=True,
                )
            }
            for row, where in enumerate(answers)
            for column, factor in enumerate(factors)
        ]
        return pd.DataFrame(rows)

    def _answers(self, metric: str) -> dict[tuple[tuple[str, Any], ...], list[float]]:
        """Return the metric's means at the points of the design, by what else tells runs apart."""
        assert self.sweep.document.design is not None, "it was asked for"
        keys = self.sweep.document.design.ranges
        sums: dict[Any, dict[tuple[Any, ...], list[float]]] = {}
        for run in self.sweep.runs():
            if run.state != "there":
                raise ScenarioError(self.file, "", f"{run.directory} is not there; run the sweep")
            others = {
                point_values.column(key, found["unit"]): found["value"]
                for key, found in run.place.items()
                if key not in keys
            }
            where = ("scenario", run.task.folder.name), *others.items()
            asked = run.at.values  # noqa: PD011 - of the sweep file
            several = sums.setdefault(where, {}).setdefault(tuple(map(asked.get, keys)), [])
            several += self._values(run, metric)
        ordered = [tuple(step[key] for key in keys) for step in self.sweep.document.design.steps()]
        return {
            where: [float(np.mean(at[place])) for place in ordered] for where, at in sums.items()
        }

    def _values(self, run: sweep.Run, metric: str) -> list[float]:
        metrics = run.metrics()["metrics"]
        if metric not in metrics:
            reason = f"{run.directory.name} has no metric {metric!r}"
            raise ScenarioError(self.file, "", reason, nearest(metric, list(metrics)))
        values = [value for value in metrics[metric]["values"] if value is not None]
        if not values:
            raise ScenarioError(self.file, "", f"{run.directory.name} has no value of {metric}")
        return values

    def _expected_s(self, runs: dict[Path, sweep.Run], missing: int, jobs: int) -> float | None:
        noted = durations.per_repetition_s(self.out)
        known = [
            noted[place]
            for directory in runs
            if (place := (directory.parent.name, directory.name)) in noted
        ]
        return float(np.mean(known)) * missing / jobs if known else None

    def _check_that_it_can_be_packed(self) -> None:
        for at in self.sweep.points:
            for task in at.tasks:
                if len(task.rungs) > 1:
                    reason = "continues chains from rung to rung, whose directories have to be kept"
                    raise ScenarioError(task.document.path, "run.app", reason)


def _key_paths(key: str, value: Any) -> list[str]:
    """Return the key paths of what a value sets: those of its entries, if it is a table."""
    return [f"{key}.{name}" for name in value] if isinstance(value, dict) else [key]


def _estimates(
    design: Saltelli | Morris, answers: npt.NDArray[np.float64]
) -> dict[str, designs.Estimate]:
    draws = stream(design.seed, "design/intervals")
    if isinstance(design, Saltelli):
        first, total = designs.sobol_indices(answers, design.samples, draws)
        return {"first_order": first, "total_order": total}
    found = designs.elementary_effects(design.unit_points(), answers, draws, design.taken_points())
    return dict(zip(("mu_star", "mu", "sigma"), found, strict=True))


def _started(tasks: list[Task], jobs: int, way: Way) -> list[Outcome]:
    log_warnings(tasks)
    count = runner.repetition_count(tasks)
    watched = bar(Meter.of(count, runner.labels(tasks))) if count and is_watched() else None
    with watched or contextlib.nullcontext() as step:
        return runner.run_tasks(tasks, jobs, keep_going=True, progress=step, way=way)


def _by_state(amounts: dict[Path, int], states: dict[Path, str]) -> dict[str, int]:
    """Return the sum of the amounts of runs, in all and of those in each state."""
    of_state = {
        state: sum(amounts[directory] for directory, its in states.items() if its == state)
        for state in ("there", "missing", "busy")
    }
    return {"all": sum(amounts.values()), **of_state}
