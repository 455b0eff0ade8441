"""The grid of a scenario: the product of its lists, and what tells one rung from its neighbours.

What a value means for a run is in `sim.scenario.resolve`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base import axes
from pocketsim.sim.devices.options import EVA_LISTS, LISTS
from pocketsim.sim.scenario import family_rules, tasks
from pocketsim.sim.scenario.compute import Compute
from pocketsim.sim.scenario.town import Town

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.resolved import Rung


def combinations(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """Yield the values of every rung by their keys in the document, the last key fastest.

    What changes nothing in a rung is left out of it, so that equal rungs have equal values.
    """
    lists = _lists(scenario)
    for values in itertools.product(*lists.values()):
        at = dict(zip(lists, values, strict=True))
        yield _of_task(at) if isinstance(scenario.workload, Compute) else at


def rung(scenario: Scenario, at: Mapping[str, Any]) -> Rung:
    """Return what tells the rung that has the values `at` from its neighbours.

    Transport, payload and rate always; of the other lists, under `axes`, those of several values.
    What another transport or task has no use for is no axis of it: its rungs fall together.
    """
    several = {key: at[key] for key in named(scenario, at) if key not in _ALWAYS}
    found: Rung = {
        "rate_per_s": at["workload.rate"],
        "payload_bytes": at["workload.payload"],
        "transport": at["transport.mode"],
    }
    return {**found, "axes": several} if several else found


def named(scenario: Scenario, at: Mapping[str, Any]) -> list[str]:
    """Return the keys of the values that `rung` names, in order of the lists."""
    return [
        key
        for key, values in _lists(scenario).items()
        if key in _ALWAYS or (len(set(values)) > 1 and has_use(key, at))
    ]


def has_use(key: str, at: Mapping[str, Any]) -> bool:
    """Tell whether the value of a key changes anything for the transport or task of a rung."""
    if key.startswith("transport.eva."):
        return bool(at["transport.mode"] == "eva")
    return key != "workload.recipients" or bool(at[key])


def document_key(scenario: Scenario, key: str) -> str:
    """Return how the document spells the key of a value of a rung: a town's rate is payments."""
    town = isinstance(scenario.workload, Town)
    return "workload.payments" if town and key == "workload.rate" else key


def slug(rung: Rung) -> str:
    """Return a rung as it stands in the name of its run directory."""
    name = f"{rung['transport']}-{rung['payload_bytes']}B-{rung['rate_per_s']:.6g}ps"
    if not rung["rate_per_s"]:
        name = f"{rung['transport']}-trace"
    if rung["transport"] == "none":
        name = f"compute-{rung['payload_bytes']}B"
    return f"{name}-{axes.slug(rung['axes'])}" if "axes" in rung else name


def _lists(scenario: Scenario) -> dict[str, Sequence[Any]]:
    """Return every field that takes a list; one value is a list of one.

    The last varies fastest: mostly a rate, which is the horizontal axis of figures.
    """
    transport, workload = scenario.transport, scenario.workload
    lists: dict[str, Sequence[Any]] = {
        "transport.mode": transport.mode,
        **{f"transport.{key}": getattr(transport, key) or [None] for key in LISTS},
        **{f"transport.eva.{key}": getattr(transport.eva, key) or [None] for key in EVA_LISTS},
    }
    lists |= family_rules.of(scenario).lists(scenario)
    if isinstance(workload, Compute):
        return lists
    return {**lists, "workload.payload": workload.payload, "workload.rate": workload.rate}


def _of_task(at: dict[str, Any]) -> dict[str, Any]:
    task, recipients = at["workload.task"], at["workload.recipients"]
    payload_bytes = tasks.payload_bytes(task, at["workload.payload"], recipients)
    at = {**at, "workload.payload": payload_bytes}
    return at if tasks.has_recipients(task) else {**at, "workload.recipients": 0}


_ALWAYS = ("transport.mode", "workload.payload", "workload.rate")  # named in every rung
