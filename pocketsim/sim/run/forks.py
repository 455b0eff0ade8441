"""Metrics of many small runs, without run directories: a process that forks for each repetition.

A child of its own (`sim.run.children`) takes half a second to load its libraries, which a search
that simulates thousands of short repetitions pays thousands of times. Here one process loads them
once and forks: SimGrid allows one engine per process, and a fork is one. What a repetition does is
`sim.run.child`'s, as everywhere, so the same run gives the same events. Chains do not go on from
one rung to the next here. What does not live here: anything that is kept.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pocketsim.sim.base.errors import EnvironmentMissingError
from pocketsim.sim.run.child import die_with_parent
from pocketsim.sim.run.children import ENVIRONMENT, engine_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pocketsim.sim.run.job import Job
    from pocketsim.sim.scenario.resolved import Resolved

    Step = Callable[[Job], None]


class Forks:
    """Measures runs, so many repetitions at a time; a context that ends with its process."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._folder = tempfile.TemporaryDirectory(prefix="pocketsim-")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pocketsim.sim.run.forks"],
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches the parent alone
        )

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process and whatever it has under way."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def measure(self, runs: Sequence[Resolved]) -> list[dict[str, Any]]:
        """Return the content of metrics.json of each of `runs`.

        Raises EngineError when a repetition crashed, whose job is kept, and EnvironmentMissingError
        without an engine.
        """
        assert self._process.stdin is not None, "it was asked for"
        assert self._process.stdout is not None, "it was asked for"
        asked = {"runs": runs, "folder": self._folder.name, "jobs": self._jobs}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        told = self._process.stdout.readline()
        if not told:
            raise EnvironmentMissingError("the process that forks for each repetition ended")
        answer = json.loads(told)
        if "missing" in answer:
            raise EnvironmentMissingError(
                f"{answer['missing']}; `pocketsim doctor` tells what to do"
            )
        if "job" in answer:
            kept = Path(tempfile.mkdtemp(prefix="pocketsim-failed-"))
            raise engine_error(answer["code"], answer["stderr"], answer["job"], kept)
        found: list[dict[str, Any]] = answer["metrics"]
        return found


def main() -> int:
    """Answer each line of stdin, which asks for runs, with one of stdout, until there are none."""
    die_with_parent()
    _load()
    for line in sys.stdin:
        asked = json.loads(line)
        sys.stdout.write(json.dumps(_answer(asked)) + "\n")
        sys.stdout.flush()
    return 0


def _load() -> tuple[object, ...]:
    """Load what a fork would else load each time anew."""
    import pandas as pd
    from pyarrow import parquet
    from scipy import special

    from pocketsim.sim import metrics
    from pocketsim.sim.run import child

    return pd, parquet, special, metrics, child


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    try:
        from pocketsim.sim import _engine
    except ImportError as error:
        return {"missing": f"the compiled engine does not load: {error}"}
    from pocketsim.sim.run import child

    with tempfile.TemporaryDirectory(dir=asked["folder"]) as name:
        jobs: list[Job] = [
            {
                "resolved": run,
                "repetition": number,
                "first_index": None,
                "out_dir": str(Path(name) / str(place)),
            }
            for place, run in enumerate(asked["runs"])
            for number in range(run["run"]["repetitions"])
        ]
        ends = [job for job in jobs if job["repetition"] == 0]
        for job in ends:
            Path(job["out_dir"]).mkdir()
        for step, several in ((lambda job: child.run(job, _engine), jobs), (_measure, ends)):
            failed = _forked(step, several, asked["jobs"])
            if failed is not None:
                return failed
        texts = [
            (Path(job["out_dir"]) / "metrics.json").read_text(encoding="utf-8") for job in ends
        ]
        return {"metrics": [json.loads(text) for text in texts]}


def _measure(last: Job) -> None:
    """Put together what the repetitions of a run left, and write what it comes to."""
    from pocketsim.sim import metrics, trace
    from pocketsim.sim.run.job import parquet_path, summary_path

    folder, resolved = Path(last["out_dir"]), last["resolved"]
    numbers = range(resolved["run"]["repetitions"])
    events = folder / "events.parquet"
    trace.join([parquet_path(folder, number) for number in numbers], events)
    told = [json.loads(summary_path(folder, number).read_text()) for number in numbers]
    found = metrics.measure(trace.read(events), resolved, told)
    (folder / "metrics.json").write_text(json.dumps(found), encoding="utf-8")


def _forked(step: Step, jobs: Iterable[Job], at_most: int) -> dict[str, Any] | None:
    """Take a step for each job in a fork, so many at a time; say what failed, if any did."""
    live: dict[int, Job] = {}
    failed: dict[str, Any] | None = None
    for job in jobs:
        if len(live) == at_most:
            failed = _ended(live) or failed
        if failed is not None:
            break
        live[_fork(step, job)] = job
    while live:
        failed = _ended(live) or failed
    return failed


def _ended(live: dict[int, Job]) -> dict[str, Any] | None:
    """Wait for a fork to end; return what there is to say of it if it failed."""
    number, status = os.wait()
    job = live.pop(number)
    if not status:
        return None
    said = _log(job).read_text(encoding="utf-8", errors="replace")
    return {"code": os.waitstatus_to_exitcode(status), "stderr": said, "job": job}


def _log(job: Job) -> Path:
    return Path(job["out_dir"]) / f"{job['repetition']}.log"


def _fork(step: Step, job: Job) -> int:
    number = os.fork()
    if number:
        return number
    # Of the fork nothing may go on: neither what the parent has begun, nor its way out.
    code = 1
    try:
        die_with_parent()
        descriptor = os.open(_log(job), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(descriptor, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        step(job)
        code = 0
    except BaseException:  # noqa: BLE001 - of any kind: it is written down, and the fork ends
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
