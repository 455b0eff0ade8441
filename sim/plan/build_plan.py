"""The plan: a resolved scenario and the draws of one repetition, as the engine takes them.

The dictionary has the fields of `Plan` in sim/engine/src/plan.rs, with plain Python numbers and
lists, so it can be written as JSON and compared. Everything random in the front half happens
here, from streams named "repetition/<r>/...".
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sim.base.streams import Floats, Lanes, Streams, engine_seed
from sim.devices import draws
from sim.plan import town
from sim.plan.arrivals import poisson_arrivals, sender_loop
from sim.plan.churn import Transitions, transitions
from sim.plan.population import ROLES, Population, populate, profile_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def build_plan(
    resolved: Mapping[str, Any], repetition: int, first_index: Sequence[int] | None = None
) -> dict[str, Any]:
    """Return the plan of one repetition of a resolved scenario.

    `first_index` gives each phone's first block index when its chain is continued; 1 otherwise.
    """
    seed = resolved["run"]["seed"]
    name = f"repetition/{repetition}"
    people = populate(resolved, name)
    drawn = _profiles(resolved, seed, name)
    phones = int(people.lane.size)
    indices = list(first_index) if first_index is not None else [1] * phones
    if len(indices) != phones:
        raise ValueError(f"first_index has {len(indices)} entries for {phones} phones")
    return {
        "seed": engine_seed(seed, repetition),
        "duration_s": resolved["run"]["duration_s"],
        "profiles": [profile_columns(of) for of in drawn],
        **_network(resolved, people),
        "phones": {
            "profile": people.profile.tolist(),
            "access": people.access.tolist(),
            "site": people.site.tolist(),
            "first_index": indices,
            "role": people.role.tolist(),
        },
        **_happenings(resolved, people, drawn, name),
        "protocol": {
            **_protocol(resolved["protocol"]),
            "compute": _compute(resolved["workload"]),
        },
        "transport": {
            **resolved["transport"],
            **_kept_connections(resolved, people, drawn, name),
        },
        "trace": {
            "mode": resolved["output"]["trace"],
            "sample_ratio": resolved["output"]["sample_ratio"],
            "log_capacity": resolved["protocol"]["benchmark_log_entries"] or _UNLIMITED,
            "tokens": resolved["output"].get("tokens", False),
        },
        "energy": _energy(resolved),
    }


def _profiles(resolved: Mapping[str, Any], seed: int, name: str) -> list[Mapping[str, Any]]:
    """Return the profiles of one repetition, in order of their names.

    Streams are called by the device profile as it is shipped, whatever a group's factors make of
    it: what is not known of a phone model, and the day on which it is measured, are common to all
    phones of that model. So neither a factor nor another group moves a draw. What differs from
    phone to phone has streams of its own, by group and place in it (`sim.plan.population`).
    """
    found = [of for _, of in sorted(resolved["profiles"].items())]
    if resolved["run"]["draw"] == "posterior":
        found = [draws.draw(of, seed, f"{name}/profile/{of['drawn_as']}") for of in found]
    session = _session(resolved, name)
    return [draws.vary(of, seed, f"{session}/{of['drawn_as']}") for of in found]


def _session(resolved: Mapping[str, Any], name: str) -> str:
    """Return the stream name of what differs between two starts of the app.

    Every rung starts it anew, so rungs do not share these draws as they share all others.
    Transports do: they are compared on the same day, so to speak.
    """
    rung = resolved["rung"]
    return f"{name}/session/{rung['rate_per_s']:g}/{rung['payload_bytes']}"


def _network(resolved: Mapping[str, Any], people: Population) -> dict[str, Any]:
    network = resolved["network"]
    networks = [of for _, of in sorted(network["access"].items())]
    of_phone = ("site_bytes_per_s", "phones_per_site")
    return {
        "access": [
            {key: value for key, value in of.items() if key not in of_phone} for of in networks
        ],
        "sites": [{"bytes_per_s": networks[of]["site_bytes_per_s"]} for of in people.site_access],
        "backbone": {
            "latency_s": network["backbone_latency_s"],
            "relay_latency_s": network["relay_latency_s"],
        },
        "outages": _outages(resolved.get("outages", []), sorted(network["access"])),
    }


def _outages(outages: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"access": number, "start_s": of["start_s"], "end_s": of["end_s"]}
        for of in outages
        for number, name in enumerate(names)
        if of["access"] in (None, name)
    ]


def _energy(resolved: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return powers by the numbers that access networks and kinds of contact have in the plan.

    A network without powers is one that only the tokens' authority is on: it has no account.
    """
    if "energy" not in resolved:
        return None
    energy = resolved["energy"]
    links = sorted(resolved.get("contacts", {}).get("links", {}))
    return {
        "core_w": energy["core_w"],
        "access": [
            energy["access"].get(name, _NO_RADIO) for name in sorted(resolved["network"]["access"])
        ],
        "contact_w": [energy["contacts"][name]["active_w"] for name in links],
    }


def _protocol(protocol: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: protocol[key] for key in ("kind", "crypto", "duplicate_window_s")}
    return {**kept, "tokens": protocol.get("tokens")}


def _happenings(
    resolved: Mapping[str, Any],
    people: Population,
    drawn: Sequence[Mapping[str, Any]],
    name: str,
) -> dict[str, Any]:
    """Return what befalls the phones and what they do: churn, workload and contacts."""
    seed, duration_s = resolved["run"]["seed"], resolved["run"]["duration_s"]
    workload = resolved["workload"]
    lanes = Lanes(seed, f"{name}/churn")
    changes = _churn(resolved["churn"], lanes, people, duration_s)
    columns: dict[str, list[Any]] = {key: [] for key in _WORKLOAD}
    proximity: dict[str, list[Any]] = {key: [] for key in _PROXIMITY}
    if workload["kind"] == "compute":
        every = list(range(int(people.lane.size)))
        columns |= {"time_s": [workload["start_s"]] * len(every), "payload_bytes": [0] * len(every)}
        columns |= {"from_phone": every, "to_phone": every}
    elif workload["kind"] == "paced":
        overshoot = drawn[people.profile[0]]["app"]["sleep_overshoot"]
        columns["loops"] = [sender_loop(workload, overshoot, duration_s)]
    elif workload["kind"] == "town":
        paid = town.payments(workload, Streams(seed, name), people, changes, duration_s)
        columns |= town.payment_columns(paid)
        if "contacts" in resolved:
            proximity |= town.contacts(resolved["contacts"], Streams(seed, name), people, paid)
    else:
        streams = (Lanes(seed, f"{name}/arrivals"), Lanes(seed, f"{name}/peers"))
        arrivals = poisson_arrivals(workload, streams, people.lane, changes, duration_s)
        columns["time_s"] = arrivals.time_s.tolist()
        columns["from_phone"] = arrivals.from_phone.tolist()
        columns["to_phone"] = arrivals.to_phone.tolist()
        columns["payload_bytes"] = [workload["payload_bytes"]] * len(columns["time_s"])
    churn = {
        "time_s": changes.time_s.tolist(),
        "phone": changes.phone.tolist(),
        "on": changes.on.tolist(),
    }
    return {"churn": churn, "workload": columns, "proximity": proximity}


def _churn(
    churn: Mapping[str, Any] | None, lanes: Lanes, people: Population, duration_s: float
) -> Transitions:
    """Return the transitions of all phones but the tokens' authority, which is a server."""
    phones = np.flatnonzero(people.role != ROLES.index("authority"))
    changes = transitions(churn, lanes, people.lane[phones], duration_s)
    return replace(changes, phone=phones[changes.phone])


def _compute(workload: Mapping[str, Any]) -> dict[str, Any] | None:
    if workload["kind"] != "compute":
        return None
    keys = ("task", "threads", "count", "tokens", "recipients")
    return {**{key: workload[key] for key in keys}, "bytes": workload["payload_bytes"]}


def _kept_connections(
    resolved: Mapping[str, Any],
    people: Population,
    drawn: Sequence[Mapping[str, Any]],
    name: str,
) -> dict[str, list[float]]:
    """Draw for each phone whether and when its kept connection is replaced or breaks."""
    if not resolved.get("app_faults", True):
        never_s = [math.inf] * int(people.lane.size)
        return {"duplicate_dial_s": never_s, "connection_break_s": never_s}
    lanes = Lanes(resolved["run"]["seed"], f"{_session(resolved, name)}/kept")
    laws = [of["app"]["kept_connection"] for of in drawn]

    def of_phone(key: str, part: str) -> Floats:
        return np.array([law[key][part] for law in laws])[people.profile]

    chance, place, wait = (lanes.uniform(people.lane, draw) for draw in range(3))
    start_s, end_s = (of_phone("duplicate_dial_window", part) for part in ("from", "to"))
    dial_s = np.where(
        chance < of_phone("duplicate_dial_probability", "value"),
        start_s + place * (end_s - start_s),
        math.inf,
    )
    rate_per_s = of_phone("break_rate", "value")
    with np.errstate(divide="ignore"):
        break_s = -np.log(wait) / rate_per_s
    return {"duplicate_dial_s": dial_s.tolist(), "connection_break_s": break_s.tolist()}


_UNLIMITED = 2**64 - 1
_NO_RADIO = dict.fromkeys(
    ("active_w", "up_j_per_byte", "down_j_per_byte", "tail_s", "tail_w", "promotion_j"), 0.0
)
_WORKLOAD = (
    "time_s",
    "from_phone",
    "to_phone",
    "payload_bytes",
    "amount_cents",
    "conduct",
    "loops",
)
_PROXIMITY = ("links", "time_s", "duration_s", "phone_a", "phone_b", "link")
