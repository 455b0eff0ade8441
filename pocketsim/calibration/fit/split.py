"""From a profile of version 0.1, with device and app in one, to one of each.

Costs that no device has become the implementation's own and scale with a verification; what version
0.1 left to scenarios (timers, polling, EVA's options) is as the shipped implementations have it. A
number keeps its provenance.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.base.engine_facts import OF_AN_IMPLEMENTATION
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices.profile import IMPLEMENTATIONS

if TYPE_CHECKING:
    from pathlib import Path

    Table = dict[str, Any]


def split(path: Path) -> tuple[Table, Table]:
    """Return the device and the implementation of the old profile in the file at `path`.

    Raises ScenarioError where it is none; what the numbers are is for the loaders to check.
    """
    _, data = read_toml(path)
    for key in ("device", "operations", "app"):
        if not isinstance(data.get(key), dict):
            reason = "is no profile of version 0.1, which has [device], [operations] and [app]"
            raise ScenarioError(path, key, reason)
    for key in ("operations.verify.cpu", "app.sleep_overshoot", "app.kept_connection"):
        if _at(data, key) is None:
            raise ScenarioError(path, key, "is required")
    costs: Table = data["operations"]
    kept = {f"operations.{key}": cost for key, cost in costs.items() if key in OF_AN_IMPLEMENTATION}
    for key, table in {**kept, "app.kept_connection": data["app"]["kept_connection"]}.items():
        if not isinstance(table, dict):
            raise ScenarioError(path, key, f"must be a table, not {table!r}")
    device = {
        "device": data["device"],
        "operations": {key: cost for key, cost in costs.items() if key not in OF_AN_IMPLEMENTATION},
        "scheduler": {"sleep_overshoot": data["app"]["sleep_overshoot"]},
    }
    return device, _implementation(data)


def _implementation(data: Table) -> Table:
    costs, about = data["operations"], data["device"]
    app, prototype, probe = map(_shipped, ("trustchain_latency_2025", "kotlin_ipv8_2023", "probe"))
    own = {
        key: {
            **costs[key],
            "step": key,
            "scales_with": "verify",
            "reference": costs["verify"]["cpu"],
        }
        for key in OF_AN_IMPLEMENTATION
        if key in costs
    }
    keep = {**app["quic_keep"], "kept_connection": data["app"]["kept_connection"]}
    reconnect = {key: value for key, value in keep.items() if key != "kept_connection"}
    never = "in version 0.1 a new connection was made for an answer, too"
    reconnect["answer_on_same_connection"] = {"value": False, "basis": "proxy", "source": never}
    return {
        "implementation": {
            "name": f"app of the profile of {about.get('name', 'a phone')}",
            "described_on": about.get("measured_on"),
            "described_by": about.get("measured_by"),
            "does_not_claim": about.get("does_not_claim"),
        },
        **{key: app[key] for key in ("pacing", "duplicate_window", "threads_first", "udp")},
        "own_costs": own,
        "quic_keep": keep,
        "quic_reconnect": reconnect,
        "tftp": probe["tftp"],
        **{key: prototype[key] for key in ("ipv8", "ipv8_sealed", "eva")},
    }


def _shipped(name: str) -> Table:
    return tomllib.loads((IMPLEMENTATIONS / f"{name}.toml").read_text(encoding="utf-8"))


def _at(data: Table, key: str) -> Any:
    found: Any = data
    for part in key.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found
