"""What a study costs beside its simulations, and what a second core gains.

`python bench/studies.py --runs 100`. A study of short runs, one at a time: its wall time less that
of the engine in the same runs, for each run. Then one of longer runs, one at a time and two at a
time: how many times as fast that is. All in one turn, since a shared machine is never the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forks import forked

from pocketsim.api.study import Study
from pocketsim.sim.run import children, forkserver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.scenario.resolved import Resolved

SCENARIO = Path(__file__).parents[1] / "tests/support/1k_churn.toml"
SHORT = {"run.duration": ["10s"], "devices[0].count": [2], "devices[1].count": [2]}
LONG = {"run.duration": ["30h"], "devices[0].count": [150], "devices[1].count": [50]}


def study(axes: dict[str, list[Any]], runs: int, folder: Path, name: str) -> Study:
    """Return a study of as many runs, each of another seed."""
    lists = {**axes, "run.repetitions": [1], "run.seed": list(range(1, runs + 1))}
    lines = [f'"{key}" = {json.dumps(values)}' for key, values in lists.items()]
    file = folder / f"{name}.toml"
    scenario = json.dumps(str(SCENARIO))
    file.write_text("\n".join(["[sweep]", f"scenario = {scenario}", "[axes]", *lines, ""]))
    return Study(file, folder / name)


def wall_s(asked: Study, jobs: int) -> float:
    """Return how long the study takes, so many repetitions at a time."""
    started_s = time.perf_counter()
    outcomes = asked.run(jobs, keep="metrics")
    taken_s = time.perf_counter() - started_s
    failed = [outcome for outcome in outcomes.values() if outcome.status != "ran"]
    assert not failed, failed
    return taken_s


def engine_s(several: Sequence[Resolved]) -> float:
    """Return how long the engine takes for these runs: plans and replay, each in a fork."""
    command = [sys.executable, __file__, "--engine"]
    environment, text = children.environment(), json.dumps(list(several))
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=True, env=environment
    )
    return float(done.stdout)


def simulate(several: Sequence[Resolved]) -> float:
    """Return the sum of what the engine takes in a fork for each of these runs."""
    forkserver.load()  # as what forks does, so that no fork loads anything
    from pocketsim.sim import _engine
    from pocketsim.sim.plan.build_plan import build_plan

    def taken_s(resolved: Resolved) -> float:
        started_s = time.perf_counter()
        _engine.run(build_plan(resolved, 0), lambda _share, _events: None)
        return time.perf_counter() - started_s

    return sum(forked(partial(taken_s, resolved)) for resolved in several)


def resolved_of(asked: Study) -> list[Resolved]:
    """Return what determines each run of a study."""
    return [run.rung.resolved for run in asked.sweep.runs()]


def main() -> int:
    """Measure and print; or, with --engine, do the engine's part of what stdin has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="short ones")
    parser.add_argument("--long-runs", type=int, default=24)
    parser.add_argument("--engine", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        print(simulate(json.load(sys.stdin)))
        return 0
    with tempfile.TemporaryDirectory(prefix="pocketsim-") as name:
        folder = Path(name)
        short = study(SHORT, options.runs, folder, "short")
        resolved = resolved_of(short)
        simulated_s, whole_s = engine_s(resolved), wall_s(short, 1)
        beside_ms = 1e3 * (whole_s - simulated_s) / options.runs
        print(
            f"{options.runs} short runs: {1e3 * whole_s / options.runs:.1f} ms each, "
            f"{1e3 * simulated_s / options.runs:.1f} of it the engine, {beside_ms:.1f} beside it"
        )
        one, two = (
            wall_s(study(LONG, options.long_runs, folder, f"long-{jobs}"), jobs) for jobs in (1, 2)
        )
        print(
            f"{options.long_runs} long runs: {one / options.long_runs:.2f} s each alone, "
            f"two at a time {one / two:.2f} times as fast"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
