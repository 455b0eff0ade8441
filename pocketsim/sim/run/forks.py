"""Metrics of many small runs, without run directories: what fits and sensitivities ask for.

What a repetition does is `sim.run.child`'s, as everywhere, so the same run gives the same events.
Chains do not go on from one rung to the next here. What does not live here: anything that is kept.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pocketsim.sim.run.children import Children
from pocketsim.sim.run.job import read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.run.job import Job
    from pocketsim.sim.scenario.resolved import Resolved


class Forks:
    """Measures runs, so many repetitions at a time; a context that ends with its processes."""

    def __init__(self, jobs: int) -> None:
        self._children = Children(jobs)
        self._folder = tempfile.TemporaryDirectory(prefix="pocketsim-")

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes and whatever they have under way."""
        self._children.stop()
        self._folder.cleanup()

    def measure(
        self, runs: Sequence[Resolved], files: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Return the content of metrics.json of each of `runs`, but for the point.

        `files` are paths of the files of data that they name, by digest. Raises EngineError when a
        repetition crashed, whose job is kept, and EnvironmentMissingError without an engine.
        """
        with tempfile.TemporaryDirectory(dir=self._folder.name) as name:
            jobs: list[Job] = [
                {
                    "resolved": run,
                    "repetition": number,
                    "first_index": None,
                    "out_dir": str(Path(name) / str(place)),
                    "files": dict(files or {}),
                }
                for place, run in enumerate(runs)
                for number in range(run["run"]["repetitions"])
            ]
            firsts = [job for job in jobs if job["repetition"] == 0]
            with ThreadPoolExecutor(self._children.jobs) as pool:
                try:
                    for step, several in ((self._simulate, jobs), (self._measure, firsts)):
                        list(pool.map(step, several))
                except KeyboardInterrupt:  # the rest is not waited for
                    self._children.stop()
                    raise
            return [read(Path(job["out_dir"]) / "metrics.json") for job in firsts]

    def _simulate(self, job: Job) -> None:
        # Beside what is removed at the end: who reads of a crash replays it.
        self._children.run(job, Path(f"{self._folder.name}-failed"))

    def _measure(self, job: Job) -> None:
        self._children.measure(job["resolved"], Path(job["out_dir"]))
