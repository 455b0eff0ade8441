"""How often a sender loop proposes: what its sleeps leave it, and what a proposal costs its lane.

A loop that does not sleep proposes as often as its costs let it. Where a transport takes messages
for nothing, a queue of any length, that is as often as the clock ticks, which no machine holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.base.engine_facts import MESSAGE_BYTES_MAX, operations
from pocketsim.sim.devices.prices import prices
from pocketsim.sim.scenario import limits

if TYPE_CHECKING:
    from pocketsim.sim.scenario.load import Document
    from pocketsim.sim.scenario.resolved import Paced, Resolved


def check(document: Document, resolved: Resolved) -> None:
    """Raise ScenarioError where the loop of a rung, if it has one, proposes too often."""
    workload = resolved["workload"]
    expected = proposals_at_most(resolved)
    if workload["kind"] != "paced" or expected is None:
        return
    place, because, suggestion = "workload.rate", "", None
    if workload["pacing"] == "unpaced":
        mode = resolved["transport"]["mode"]
        place, suggestion = "workload.pacing", "by_clock"
        because = f", as a loop that never sleeps over {mode} can make them"
    limits.check_count(
        (document.source_of(place), place), "proposals", expected, because, suggestion
    )


def proposals_at_most(resolved: Resolved) -> float | None:
    """Return how many proposals a loop makes, or fewer where it waits for other work or a core.

    None without a loop, and of a custom protocol or transport policy, whose costs only it knows.
    """
    workload, kind = resolved["workload"], resolved["protocol"]["kind"]
    known = kind in _PROPOSING and resolved["transport"]["mode"] in _SENDING
    if workload["kind"] != "paced" or not known:
        return None
    least_s = max(workload["interval_s"], _cost_s(resolved, workload))
    return (resolved["run"]["duration_s"] - workload["start_s"]) / least_s


def _cost_s(resolved: Resolved, workload: Paced) -> float:
    """Return the least time that a proposal keeps the sending lane of phone 0 busy."""
    profile = resolved["profiles"][resolved["devices"][0]["profile"]]
    by_step = dict(zip(operations(), prices(profile, resolved["implementation"]), strict=True))
    kind, mode = resolved["protocol"]["kind"], resolved["transport"]["mode"]
    steps = [*_PROPOSING[kind], *_SENDING[mode]]
    if mode == "udp" and workload["payload_bytes"] > MESSAGE_BYTES_MAX[mode]:
        steps = [*_PROPOSING[kind]]  # what is oversized is lost before it is sent
    costs_s = 0.0
    for step in steps:
        price = by_step[step]
        cpu_s = price["cpu_s"] + price["per_byte_s"] * workload["payload_bytes"]
        costs_s += cpu_s / price["threads"] + price["wait_s"]
    return costs_s


_PROPOSING: dict[str, tuple[str, ...]] = {
    "trustchain": ("command", "sign", "encode"),
    "transfer": (),
    "token_batch": (),
}
"""Steps that each proposal takes on the lane of the loop, at least; sim/protocols has them."""
_SENDING: dict[str, tuple[str, ...]] = {
    "udp": ("udp_send",),
    "quic_reconnect": ("task_spawn",),
    "quic_keep": ("task_spawn",),
    "ipv8": ("overlay_send",),
    "ipv8_sealed": ("overlay_send", "sealed_box_seal"),
    "tftp": (),
    "eva": (),
}
"""Those that a transport adds on that lane when it is given a message; others are another lane's.

EVA works there for a message that it can begin with; one that has to wait costs nothing.
"""
