"""Runs one drawn scenario in this process, and tells what is wrong with what came of it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pocketsim.sim import _engine, metrics, trace
from pocketsim.sim.base import families
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.metrics import completion
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import custom_objects
from pocketsim.sim.scenario.load import apply, read
from pocketsim.sim.scenario.resolve import Profiles, resolve
from pocketsim.sim.trace import histograms, timeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.devices.implementation import Implementation
    from pocketsim.sim.plan.plan import Plan
    from pocketsim.sim.scenario.resolved import Resolved


def fate(path: Path, *, twice: bool) -> tuple[str, list[str]]:
    """Return what became of a scenario's first rung, and all that is wrong with it.

    The first names protocol and transport, or the key for which the scenario is refused; a refusal
    without one is wrong, too. `twice` runs it again, for the same bytes.
    """
    try:
        source = replace(read(path), implementations=_IMPLEMENTATIONS)
        document = apply(source, [], "--set")
        resolved = resolve(document, _PROFILES)[0].resolved
    except ScenarioError as error:
        return f"refused for {error.key_path}", [] if error.key_path else [str(error)]
    files = document.paths()
    plan = build_plan(resolved, 0, None, files)
    result = _run(plan, resolved, files)
    wrong = [*_datagrams(result), *_messages(result, plan, resolved)]
    if twice and _content(_run(plan, resolved, files)) != _content(result):
        wrong.append("two runs, two traces")
    if twice and families.family(resolved["protocol"]["kind"]).has_ledger:
        wrong += ledger(plan, resolved, files)
    return f"{resolved['protocol']['kind']} {resolved['transport']['mode']}", wrong


def ledger(
    plan: Plan, resolved: Resolved, files: dict[str, str], log_capacity: int | None = None
) -> Iterator[str]:
    """Yield where a run without events comes to something else than one with them.

    Of hybrid runs only; `log_capacity` is that of the app's logs, if not the plan's.
    """
    every, none = (
        _run(
            {
                **plan,
                "trace": {
                    **plan["trace"],
                    "mode": mode,
                    "log_capacity": log_capacity or plan["trace"]["log_capacity"],
                },
            },
            resolved,
            files,
        )
        for mode in ("full", "metrics")
    )
    if any(none["columns"].values()) or every["counters"] != none["counters"]:
        yield "a run without events keeps some, or counts otherwise"
    told: dict[str, Any] = {name: every[name] for name in NOTHING if name != "own"} | {"own": {}}
    of_ledger = {**told, "ledger": histograms.from_engine(none)}
    events = trace.from_engine(every, 0)
    full = metrics.measure(events, resolved, [cast("EngineOutput", told)])
    bare = metrics.measure(None, resolved, [cast("EngineOutput", of_ledger)])
    for name in ("counts", "fates"):
        if full[name] != bare[name]:
            yield f"{name} are {full[name]}, without events {bare[name]}"
    yield from _observed(full.get("observed", {}), bare.get("observed", {}))
    end_s = resolved["run"]["duration_s"]
    # When a share is done may be far from when next to that share is: where a curve is flat.
    for name in full["metrics"].keys() - completion.SHARES.keys():
        found = full["metrics"][name]
        values = found["values"][0], bare["metrics"][name]["values"][0]
        if not _agree(name, values, bare["quantile_error"], end_s):
            yield f"{name} is {values[0]}, without events {values[1]}"


def _observed(full: dict[str, Any], bare: dict[str, Any]) -> Iterator[str]:
    if full.keys() != bare.keys():
        yield f"observed {sorted(full)}, without events {sorted(bare)}"
        return
    for kind, found in full.items():
        if found != bare[kind]:
            yield f"{kind}: {found}, without events {bare[kind]}"


def _agree(
    name: str, values: tuple[float | None, float | None], error: float, end_s: float
) -> bool:
    """Tell whether a metric with events and without is the same, but for what is documented."""
    full, bare = values
    if bare is None:
        # When it was sent is known until a transaction is first delivered; how long what is not
        # done was watched, unless an app's log was full.
        return full is None or name.startswith(("delivery_ms_", "done_within_"))
    if full is None:
        return False
    if name.startswith("done_within_"):
        # Within the last bucket of the run few are still watched, in an order that is unknown.
        few = _FEW_WATCHED if completion.DEADLINES_S[name] >= end_s * (1 - error) else 1.0
        return abs(bare - full) <= error * few
    if name.endswith(("_p50", "_p95", "_p99")):
        return abs(bare - full) <= error * full + _SHORTEST_MS
    return math.isclose(full, bare, rel_tol=_ROUNDING)


def _run(plan: Plan, resolved: Resolved, files: dict[str, str]) -> dict[str, Any]:
    own = custom_objects.given(resolved, 0, files)
    return _engine.run(plan, _tell) if own is None else _engine.run(plan, _tell, own)


def _tell(_share: float, _events: int) -> None:
    """Tell nobody how far a run is."""


def _content(result: dict[str, Any]) -> tuple[Any, ...]:
    columns = {name: bytes(column) for name, column in result["columns"].items()}
    return columns, result["counters"], result["final_index"], result["cpu_s"]


def _datagrams(result: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the counts of datagrams."""
    counts = Counter(result["counters"])
    sent = counts["datagrams_sent"]
    in_flight = sent - counts["datagrams_delivered"] - counts["datagrams_dropped"]
    if in_flight < 0:
        yield f"{-in_flight} datagrams more ended than were sent"
    # Of a long run the timeline has the beginning.
    if result.get("timeline") is None or counts["timeline_rows_left_out"]:
        return
    rows = timeline.from_engine(result, 0)
    of_datagrams = rows.filter(rows["lane"].is_null())
    if of_datagrams.num_rows != sent:
        yield f"{of_datagrams.num_rows} datagrams in the timeline, {sent} sent"
    if of_datagrams["end_s"].null_count != in_flight:
        under_way = of_datagrams["end_s"].null_count
        yield f"{under_way} datagrams under way at the end, by the counts {in_flight}"


def _messages(result: dict[str, Any], plan: Plan, resolved: Resolved) -> Iterator[str]:
    """Yield what is wrong with what became of proposals, payments and messages."""
    events = trace.from_engine(result, 0)
    found = metrics.measure(events, resolved)["counts"]
    ended = found["stored"] + sum(found["lost"].values())
    if found["sent"] != ended + found["in_flight"]:
        yield f"sent is not stored + lost + in flight: {found}"
    counts = Counter(result["counters"])
    if resolved["protocol"]["kind"] not in _ONE_SEND_EACH:
        return
    yield from _fates(result, found)
    asked = len(plan["workload"]["time_s"])
    unmade = counts["arrivals_while_off"] + counts["arrivals_cut_off"]
    if not plan["workload"]["loops"] and found["sent"] + unmade > asked:
        yield f"{found['sent']} sent and {unmade} unmade of {asked} that were asked for"


def _fates(result: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    """Yield where the rows themselves tell of other fates than the metrics."""
    kinds, reasons = result["event_kinds"], result["reasons"]
    columns = {name: np.frombuffer(result["columns"][name], kind) for name, kind in _DTYPES.items()}
    is_news = columns["reason"] != reasons.index("duplicate")

    def messages(*names: str, news: bool = False) -> list[int]:
        mask = np.isin(columns["kind"], [kinds.index(name) for name in names])
        found: list[int] = columns["message"][mask & is_news if news else mask].tolist()
        return found

    sent, stored = messages("send"), messages("store")
    # Where proposals are sent again, a datagram that is dropped is about no transaction.
    explained = set(messages("lose", "drop", "refuse", news=True))
    explained = {message for message in explained if message % 2**32 != _NO_TRANSACTION}
    for name, rows in (("sent", sent), ("stored", stored)):
        if len(set(rows)) != len(rows):
            yield f"{len(rows) - len(set(rows))} messages {name} twice"
    if strangers := (set(stored) | explained) - set(sent):
        yield f"{len(strangers)} messages ended and were never sent, such as {min(strangers)}"
    in_flight = len(set(sent) - set(stored) - explained)
    if (len(sent), len(stored), in_flight) != tuple(
        found[name] for name in ("sent", "stored", "in_flight")
    ):
        yield f"the rows tell {len(sent)}, {len(stored)}, {in_flight}; the metrics {found}"


# What all scenarios name is read once.
_PROFILES: Profiles = {}
_IMPLEMENTATIONS: dict[Path, Implementation] = {}
_FEW_WATCHED = 4  # times the error
_SHORTEST_MS = 1e-6  # shorter durations are none in a histogram
_ROUNDING = 1e-9  # of sums in another order
_NO_TRANSACTION = 2**32 - 1
_ONE_SEND_EACH = ("trustchain", "transfer")
_DTYPES = {"kind": "u1", "message": "<u8", "reason": "u1"}
