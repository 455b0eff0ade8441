"""One repetition, in a process of its own that ends with it.

SimGrid allows one engine per process, for good, and may abort the process; so a fork does this
(`sim.run.forkserver`), or, to see again why one failed, `python -P -m pocketsim.sim.run.child <
job.json`. The job is {resolved, repetition, first_index, out_dir}; the results are files in
out_dir, `repetition-<r>.parquet`, `repetition-<r>.json` and, where the scenario asks for them,
`repetition-<r>.tokens.parquet` and the like. What the exit codes mean, `sim.run.children` knows.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim import trace
from pocketsim.sim.base.build import build_digest, simgrid_file
from pocketsim.sim.base.custom_protocol import Failure
from pocketsim.sim.base.errors import (
    NO_MEMORY,
    EnvironmentMissingError,
    NoRoomError,
    ProtocolError,
    ScenarioError,
    room_for,
)
from pocketsim.sim.plan import day, nats, whereabouts
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.churn import on_ratio
from pocketsim.sim.run import custom_library, custom_objects, map_table
from pocketsim.sim.run.children import (
    COMMAND,
    EXIT_NO_ROOM,
    EXIT_OTHER_CODE,
    EXIT_OTHER_DATA,
    EXIT_PROTOCOL,
    REASON,
    environment,
)
from pocketsim.sim.run.job import (
    MAP,
    Share,
    keepers,
    keeps_events,
    kept,
    kept_path,
    parquet_path,
    summary_path,
)
from pocketsim.sim.scenario.resolved import comes_and_goes, identity, runs_simgrid
from pocketsim.sim.trace import blocks, fields, final_tokens, histograms, tables, timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from pocketsim.sim.base.engine_output import Day
    from pocketsim.sim.plan.plan import Plan
    from pocketsim.sim.run.job import Job

    Tell = Callable[[Share], None]


def main() -> int:
    """Read the job from stdin and run it, with its share that is done on stdout.

    Python reads a child's environment when it begins, so one that was begun otherwise begins again.
    """
    if sys.flags.hash_randomization:
        os.execve(sys.executable, COMMAND, environment())  # noqa: S606 - no shell is wanted

    def tell(share: Share) -> None:
        print(share.line(), end="", flush=True)  # noqa: T201

    return perform(json.load(sys.stdin), tell)


def perform(job: Job, tell: Tell) -> int:
    """Run one job with the engine that is there; return the exit code."""
    try:
        from pocketsim.sim import _engine
    except ImportError as error:
        sys.stderr.write(f"the compiled engine does not load: {error}\n{_FIX}\n")
        return EnvironmentMissingError.exit_code
    needs_simgrid = runs_simgrid(job["resolved"]["run"], job["resolved"]["network"])
    if needs_simgrid and not simgrid_file().exists():
        sys.stderr.write(f"{_NO_SIMGRID}\n")
        return EnvironmentMissingError.exit_code
    # All is imported: what these files are now is what will run.
    if build_digest() != job["resolved"]["versions"]["build"] and not job.get("is_replay"):
        return EXIT_OTHER_CODE
    return attempt(job, _engine, tell)


def attempt(job: Job, engine: Any, tell: Tell) -> int:
    """Run one job and return the exit code; what the user can mend stderr says after REASON."""
    try:
        run(job, engine, tell)
    except NoRoomError as error:
        return _fail(error, EXIT_NO_ROOM)
    except MemoryError:
        return _fail(NoRoomError(NO_MEMORY), EXIT_NO_ROOM)
    except ScenarioError as error:
        return _fail(error, EXIT_OTHER_DATA)
    except ProtocolError as error:
        return _fail(error, EXIT_PROTOCOL)
    return 0


def _fail(error: Exception, code: int) -> int:
    """Say a reason so that nothing else that is said can hide it; return the exit code."""
    with contextlib.suppress(OSError):  # code of one's own may have closed it
        # Not by sys.stderr, which that may have put something else for.
        os.write(2, f"\n{REASON}{error}\n".encode())
    return code


def run(job: Job, engine: Any, tell: Tell) -> None:
    """Run one job with `engine`, a module with `run(plan, progress)`, and write its files.

    `tell` gets shares of the run that are done.

    Raises NoRoomError, which names the file that there is no room for, ScenarioError for a file
    that is not what it was, and ProtocolError for a protocol of one's own that fails.
    """
    repetition = job["repetition"]
    plan = build_plan(job["resolved"], repetition, job["first_index"], job.get("files"))
    result = _simulated(job, engine, plan, tell)
    directory = Path(job["out_dir"])
    with room_for(directory):
        directory.mkdir(parents=True, exist_ok=True)
    summary = {
        "repetition": repetition,
        "engine_seed": plan["seed"],
        **{key: result[key] for key in _KEPT},
        **_rows(job, result, parquet_path(directory, repetition)),
        **_reach(job, plan, result),
        **_on(job, plan),
        **_day(job, plan),
    }
    for name in kept(job["resolved"]["output"]):
        if repetition in keepers(name, repetition + 1):
            _keep(job, plan, result, name, kept_path(directory, repetition, name))
    if plan["trace"]["tokens"]:
        summary["authority_key"] = result["tokens"]["authority"].hex()
    path = summary_path(directory, repetition)
    with room_for(path):
        path.write_text(json.dumps(summary), encoding="utf-8")


def _simulated(job: Job, engine: Any, plan: Plan, tell: Tell) -> Any:
    """Return what the engine returns for a plan, with the objects of a protocol of one's own."""
    resolved, files = job["resolved"], job.get("files", {})
    own = custom_objects.given(resolved, job["repetition"], files)

    def reached(share: float, events: int) -> None:
        tell(Share.so_far(share, events, share * plan["duration_s"]))

    if own is None:
        return engine.run(plan, reached)
    try:
        if resolved["protocol"]["library"] is not None:
            return custom_library.run(plan, reached, own, resolved["protocol"], files)
        return engine.run(plan, reached, own)
    except Failure as failure:
        raise custom_objects.explained(
            failure, resolved, job["repetition"], files
        ) from failure.__cause__


def _rows(job: Job, result: Any, path: Path) -> dict[str, Any]:
    """Write what happened, or nothing where none of it is kept; return what it comes to."""
    if not keeps_events(job["resolved"]["output"]):
        return {"own": {}, "ledger": histograms.from_engine(result)}
    events = trace.from_engine(result, job["repetition"])
    with room_for(path):
        trace.write(fields.with_about(events, identity(job["resolved"])), path)
    return {"own": _own_metrics(job, events)}


def _reach(job: Job, plan: Plan, result: Any) -> dict[str, Any]:
    """Return by what phones reached each other, where networks or the relay limit it."""
    if plan["nats"] is None and plan["relay"] is None:
        return {}
    pairs = nats.ways(job["resolved"], plan)
    return {"reach": {**result["reach"], "pairs": None if pairs is None else list(pairs)}}


def _on(job: Job, plan: Plan) -> dict[str, float]:
    """Return which share of the time phones are on by the plan, where they come and go."""
    if not comes_and_goes(job["resolved"]):
        return {}
    return {"on_ratio": on_ratio(plan)}


def _day(job: Job, plan: Plan) -> dict[str, Day]:
    """Return the day of the plan, where it is kept."""
    return {"day": day.day(job["resolved"], plan)} if day.has_day(job["resolved"]) else {}


def _keep(job: Job, plan: Plan, result: Any, name: str, path: Path) -> None:
    """Write one of the tables that a run keeps beside its events."""
    resolved, repetition = job["resolved"], job["repetition"]
    about = identity(resolved)
    if name == MAP:
        found = whereabouts.drawn(resolved, plan, repetition, job.get("files", {}))
        made, about = map_table.table(found, repetition), about | map_table.about(found)
    else:
        made = _TABLES[name](result, repetition)
    with room_for(path):
        tables.write(fields.with_about(made, about), path)


def _own_metrics(job: Job, events: pa.Table) -> dict[str, float | None]:
    """Return what functions of one's own make of the events, as JSON."""
    if not job["resolved"]["output"]["metrics"]:
        return {}
    from pocketsim.sim.metrics import custom_metrics

    found = custom_metrics.measure(events, job["resolved"], job.get("files", {}))
    return {name: value if math.isfinite(value) else None for name, value in found.items()}


def die_with_parent(parent: int) -> None:
    """Ask Linux to kill this fork when `parent`, which made it, is gone."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before that
        os._exit(1)


_KEPT = (
    *("counters", "cpu_s", "phone_cpu_s", "energy_j", "energy_by_part_j", "battery", "waits"),
    "kept_cents",
    *("clock_s", "final_index"),
)
_TABLES = {
    "tokens": final_tokens.from_engine,
    "blocks": blocks.from_engine,
    "timeline": timeline.from_engine,
}
_FIX = "install it again, or run `make setup`; `pocketsim doctor` tells what is missing"
_NO_SIMGRID = (
    'run.fidelity = "flow" needs SimGrid, which is not built: run `make simgrid`,'
    ' or set run.fidelity to "hybrid"; so do shared links of a platform'
)
_PR_SET_PDEATHSIG = 1  # linux/prctl.h

if __name__ == "__main__":
    sys.exit(main())
