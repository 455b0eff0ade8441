"""Backends: an order for a run becomes the files of its run directory.

`sim.run.runner` knows where the folder lies, what becomes of it, and whether the run exists
already. `LocalBackend` makes runs in child processes; `sim.run.dask_backend` makes them on other
machines.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from pocketsim.sim.run.children import Children, Done
from pocketsim.sim.run.job import read, summary_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pocketsim.sim.run.job import Assembly, Job, Order

    Heard = Callable[[int, float], None]


class Backend(Protocol):
    """Makes runs for any number of threads, of which `jobs` are worth while."""

    jobs: int

    def make(self, order: Order, folder: Path, failed: Path, heard: Heard) -> float:
        """Leave the files of a run directory in a folder that is there; return its core seconds.

        `heard` gets the number of a repetition and its share that is done; 1 is its end. Raises
        EngineError for a repetition that crashed, whose job is kept in the folder `failed`,
        StoppedError after `stop`, and other errors where no run can be made.
        """

    def stop(self) -> None:
        """End what is under way and make nothing more; may be called again."""


class LocalBackend:
    """Makes runs in child processes, `jobs` repetitions at a time."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._children = Children(jobs)

    def begin(self) -> None:
        """Load what makes runs, and do not wait for it; whoever calls this calls `stop`, too."""
        self._children.begin()

    def make(self, order: Order, folder: Path, failed: Path, heard: Heard) -> float:
        """Do as `Backend.make` says; its seconds are those of its children, each on one core."""
        count = order["resolved"]["run"]["repetitions"]
        whole: Assembly = {
            "resolved": order["resolved"],
            "folder": str(folder.absolute()),
            "target": order["target"],
            "logs": [],
            "scenario": order["scenario"],
            "manifest": order["manifest"],
            "only_metrics": order["only_metrics"],
        }

        def one(repetition: int, first_index: list[int] | None) -> Done:
            job: Job = {
                "resolved": order["resolved"],
                "repetition": repetition,
                "first_index": first_index,
                "out_dir": str(folder.absolute()),
                "files": order["files"],
            }

            def told(share: float) -> None:
                if share < 1:  # the end is for whoever waits for it to tell
                    heard(repetition, share)

            try:
                return self._children.run(job, failed, told, whole if count == 1 else None)
            finally:
                heard(repetition, 1.0)

        if count == 1:
            return one(0, order["first_index"]).core_s
        if order["resolved"]["run"]["app"] == "continued":
            ended, first_index = [], order["first_index"]
            for repetition in range(count):
                ended.append(one(repetition, first_index))
                first_index = read(summary_path(folder, repetition))["final_index"]
        else:
            with ThreadPoolExecutor(min(self.jobs, count)) as pool:
                ended = list(pool.map(one, range(count), [None] * count))
        assembled_s = self._children.assemble({**whole, "logs": [each.said for each in ended]})
        return assembled_s + sum(each.core_s for each in ended)

    def stop(self) -> None:
        """Kill every child and start no more."""
        self._children.stop()
