"""From what the repetitions of a run left to the files of its run directory.

Reads their events and summaries, measures, and writes; runs nothing. It is a step of its own, in a
fork: metrics of many short runs would else queue for the one interpreter of who asked for them.
"""

from __future__ import annotations

import csv
import json
import platform
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim import trace
from pocketsim.sim.base.errors import NoRoomError, room_for
from pocketsim.sim.run.children import EXIT_NO_ROOM, EXIT_NOT_TOGETHER
from pocketsim.sim.run.job import (
    keepers,
    keeps_events,
    kept,
    kept_path,
    parquet_path,
    read,
    summary_path,
)
from pocketsim.sim.run.rundir import EVENTS, HISTOGRAMS, PHONES
from pocketsim.sim.scenario.resolved import identity, streams_number
from pocketsim.sim.trace import fields, histograms, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from pocketsim.sim.run.job import Assembly, Summary
    from pocketsim.sim.scenario.resolved import Resolved


def attempt(work: Callable[[], object], target: Path) -> int:
    """Do some work for `target` and return the exit code; stderr says what went wrong."""
    try:
        with room_for(target):
            work()
    except NoRoomError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_NO_ROOM
    except Exception:  # noqa: BLE001 - of any kind, it is ours, and not the engine's
        traceback.print_exc()
        return EXIT_NOT_TOGETHER
    return 0


def assemble(work: Assembly) -> None:
    """Turn what repetitions left in the folder into the files of a run directory."""
    aside, resolved = Path(work["folder"]), work["resolved"]
    found, summaries = measure(aside, resolved)
    write(aside / "metrics.json", {**found, "point": work["manifest"]["point"]})
    if work["only_metrics"]:
        return
    for name in kept(resolved["output"]):
        numbers = keepers(name, len(summaries))
        parts = [kept_path(aside, number, name) for number in numbers]
        tables.join(parts, aside / f"{name}.parquet")
        for path in parts:
            path.unlink()
    (aside / "scenario.toml").write_text(work["scenario"], encoding="utf-8")
    write(aside / "resolved.json", resolved)
    write(aside / "manifest.json", _manifest(work, summaries))
    if "people" in resolved:
        _write_phones(aside / PHONES, resolved)
    log = [
        f"[repetition {number}] {line}\n"
        for number, said in enumerate(work["logs"])
        for line in said.splitlines()
    ]
    (aside / "log.txt").write_text("".join(log), encoding="utf-8")


def measured(folder: Path, resolved: Resolved) -> None:
    """Write what the repetitions in a folder come to as its metrics.json."""
    write(folder / "metrics.json", measure(folder, resolved)[0])


def measure(folder: Path, resolved: Resolved) -> tuple[dict[str, Any], list[Summary]]:
    """Return the content of metrics.json, but for the point, and what each repetition came to.

    Puts their events together as `events.parquet`, or their histograms as `histograms.parquet`
    where no events are kept, and removes what they are of.
    """
    from pocketsim.sim import metrics

    numbers = range(resolved["run"]["repetitions"])
    told = [summary_path(folder, number) for number in numbers]
    summaries: list[Summary] = [read(path) for path in told]
    events = None
    if keeps_events(resolved["output"]):
        events = _events(folder, [parquet_path(folder, number) for number in numbers])
    else:
        ledgers = [summary["ledger"] for summary in summaries]
        found = histograms.from_statements(ledgers)
        tables.write(fields.with_about(found, identity(resolved)), folder / HISTOGRAMS)
    for path in told:
        path.unlink()
    return metrics.measure(events, resolved, summaries), summaries


def _events(folder: Path, parts: list[Path]) -> pa.Table:
    """Put the events of repetitions together and return them."""
    events = folder / EVENTS
    if len(parts) == 1:
        parts.pop().rename(events)  # as it is: to read and write it again takes milliseconds
    else:
        trace.join(parts, events)
    for path in parts:
        path.unlink()
    return trace.read(events)


def _manifest(work: Assembly, summaries: Sequence[Summary]) -> dict[str, Any]:
    import pyarrow as pa

    resolved = work["resolved"]
    continued = resolved["run"]["app"] == "continued"
    return {
        "schema": 1,
        **work["manifest"],
        "seed": resolved["run"]["seed"],
        "first_repetition": streams_number(resolved["run"], 0),
        "versions": {
            **resolved["versions"],
            "python": platform.python_version(),
            "pyarrow": pa.__version__,
        },
        "profiles": {name: profile["digest"] for name, profile in resolved["profiles"].items()},
        "implementation": {
            resolved["implementation"]["called"]: resolved["implementation"]["digest"]
        },
        "engine_options": resolved["engine_options"],
        "repetitions": [_repetition(summary) for summary in summaries],
        "final_index": summaries[-1]["final_index"] if continued else None,
    }


def _write_phones(path: Path, resolved: Resolved) -> None:
    """Write each phone's number, the id in files of who has it, if any, and its group's number."""
    groups = [
        number for number, group in enumerate(resolved["devices"]) for _ in range(group["count"])
    ]
    ids = [*resolved["people"], *[""] * (len(groups) - len(resolved["people"]))]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("number", "id", "group"))
        rows.writerows(zip(range(len(groups)), ids, groups, strict=True))


def _repetition(summary: Summary) -> dict[str, Any]:
    """Return what a manifest has of a repetition: of a ledger, what it held and forgot."""
    found = {key: value for key, value in summary.items() if key in _REPETITION}
    if "ledger" in summary:
        held = {key: value for key, value in summary["ledger"].items() if key in _HELD}
        return {**found, "ledger": held}
    return found


def write(path: Path, value: Any) -> None:
    """Write a JSON file, the same bytes for the same content; a number that is none is refused."""
    text = json.dumps(value, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


_HELD = ("held_max", "forgotten", "stores_unheld")
# The last where the run keeps tokens: what their first proofs verify with.
_REPETITION = ("repetition", "engine_seed", "clock_s", "counters", "authority_key")
