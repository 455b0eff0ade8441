"""From a resolved scenario and the number of a repetition to its plan.

Everything random in the front half happens here and in the rest of this room, from streams named
"repetition/<r>/...", r from the run's first repetition on. What the fields mean is said in
sim/engine/src/plan/mod.rs.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pocketsim.sim.base.build import simgrid_file
from pocketsim.sim.base.streams import Lanes, Streams, engine_seed
from pocketsim.sim.devices import draws
from pocketsim.sim.devices.options import UNUSED
from pocketsim.sim.plan import (
    android,
    arrivals,
    battery,
    compute,
    contact_law,
    contacts,
    core,
    custom_data,
    custom_workload,
    foreground,
    moves,
    nats,
    networks,
    placement,
    plan,
    presence,
    town,
    walks,
    wifi,
)
from pocketsim.sim.plan.churn import Transitions, together, told, transitions
from pocketsim.sim.plan.population import ROLES, Population, profile_columns
from pocketsim.sim.scenario.resolved import runs_simgrid, streams_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from pocketsim.sim.base.tables import Table
    from pocketsim.sim.devices.contents import ScaledCost, Shipped, ShippedImplementation
    from pocketsim.sim.devices.transport_options import MachineOptions
    from pocketsim.sim.plan.placement import Placement
    from pocketsim.sim.plan.plan import Floats, Plan
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.presence_files import PresenceTables
    from pocketsim.sim.scenario.resolved import Resolved
    from pocketsim.sim.scenario.resolved_measures import Radio


def build_plan(
    resolved: Resolved,
    repetition: int,
    first_index: Sequence[int] | None = None,
    files: Mapping[str, str] | None = None,
) -> Plan:
    """Return the plan of one repetition of a resolved scenario, counted from 0.

    `first_index` gives each phone's first block index when its chain is continued; 1 otherwise.
    `files` are paths of the files of data that the scenario names, by their digests. Raises
    ScenarioError for one that has changed.
    """
    number = streams_number(resolved["run"], repetition)
    name = f"repetition/{number}"
    placed = placement.placed(resolved, name, files or {})
    people = placed.people
    drawn = _profiles(resolved, name)
    implementation = _implementation(resolved, name)
    operations = _operations(resolved, name)
    own = _own(resolved, files or {})
    near = _near(resolved, name, placed, own)
    workload, made = _happenings(resolved, name, placed, (drawn, implementation), files or {}, near)
    rows = android.asked(workload, resolved.get("foreground"))
    changes = _churn(resolved, name, people, own, rows)
    if "foreground" in resolved:
        changes = foreground.opened(
            resolved["foreground"],
            changes,
            workload,
            Streams(resolved["run"]["seed"], f"{name}/foreground"),
            people.lane,
            resolved["run"]["duration_s"],
        )
    attached = core.attach(resolved, name, people, files or {})
    schemes, classes = wifi.schemes(resolved, people, name), nats.classes(resolved, name, people)
    phones = people.lane.size
    return {
        "seed": engine_seed(resolved["run"]["seed"], number),
        "duration_s": resolved["run"]["duration_s"],
        "fidelity": resolved["run"]["fidelity"],
        "simgrid_library": _simgrid_library(resolved),
        "profiles": [profile_columns(profile, implementation, operations) for profile in drawn],
        "access": networks.access(resolved, name, files or {}),
        "sites": _sites(resolved, people),
        "contention": resolved["run"].get("contention", True),
        "phones": _phones(resolved, people, schemes[:phones], first_index),
        "backbone": core.backbone(attached, resolved["network"]),
        "core": core.columns(attached, resolved, files or {}) if attached else None,
        "proximity": made if near is None else near,
        "outages": _outages(resolved),
        "churn": {
            "time_s": plan.floats(changes.time_s),
            "phone": plan.numbers(changes.phone),
            "on": plan.flags(changes.on),
        },
        "workload": workload,
        "protocol": _protocol(resolved),
        "transport": _transport(resolved, name, people, implementation),
        "trace": _trace(resolved),
        "energy": _energy(resolved),
        "battery": battery.columns(resolved, name, people),
        "nats": nats.columns(resolved["network"], classes[:phones]),
        "relay": nats.relay(resolved),
        "moves": moves.columns(placed.itinerary, people, schemes, classes),
    }


def _near(
    resolved: Resolved, name: str, placed: Placement, own: PresenceTables
) -> plan.Proximity | None:
    """Return who is near whom whatever phones do; None where nobody is, or payments say it."""
    law, run = resolved["contacts"], resolved["run"]
    streams, people = Streams(run["seed"], name), placed.people
    if law is not None and law["kind"] == "file":
        return contacts.told(law, own["contacts.file"], streams, people, run["duration_s"])
    if law is not None and law["kind"] == "walk":
        return walks.drawn(law, resolved["devices"], streams, people, run["duration_s"])
    if law is not None and law["kind"] == "places":
        assert placed.lived is not None, "a scenario with contacts at places has days"
        return placed.lived.stays.contacts(law["links"], streams, people, run["duration_s"])
    if law is not None and law["kind"] == "law":
        return contact_law.drawn(law, streams, people, run["duration_s"])
    return None


def _simgrid_library(resolved: Resolved) -> str | None:
    return str(simgrid_file()) if runs_simgrid(resolved["run"], resolved["network"]) else None


def _own(resolved: Resolved, files: Mapping[str, str]) -> PresenceTables:
    """Return the tables that the scenario names, by the key path of their file."""
    groups = (group.get("churn") for group in resolved["devices"])
    named = (resolved["churn"], resolved["contacts"], *groups)
    if not any(section is not None and section["kind"] == "file" for section in named):
        return {}
    # Here, as it loads the models of documents: children of other runs start faster without.
    from pocketsim.sim.scenario import presence_files

    return presence_files.again(resolved, files)


def _profiles(resolved: Resolved, name: str) -> list[Shipped]:
    """Return the profiles of one repetition, in order of their names.

    Streams are called by the device profile as it is shipped, whatever a group's factors make of
    it: what is not known of a phone model, and the day on which it is measured, are common to all
    phones of that model. So neither a factor nor another group moves a draw. What differs from
    phone to phone has streams of its own, by group and place in it (`sim.plan.population`).
    """
    seed = resolved["run"]["seed"]
    found = [profile for _, profile in sorted(resolved["profiles"].items())]
    if resolved["run"]["draw"] == "posterior":
        found = [
            draws.draw(profile, seed, f"{name}/profile/{profile['drawn_as']}") for profile in found
        ]
    session = _session(resolved, name)
    return [draws.vary(profile, seed, f"{session}/{profile['drawn_as']}") for profile in found]


def _implementation(resolved: Resolved, name: str) -> ShippedImplementation:
    """Return the implementation in one repetition; all phones run the same, so draws are common."""
    seed, implementation = resolved["run"]["seed"], resolved["implementation"]
    place = f"implementation/{implementation['called']}"
    if resolved["run"]["draw"] == "posterior":
        implementation = draws.draw_implementation(implementation, seed, f"{name}/{place}")
    return draws.vary_implementation(implementation, seed, f"{_session(resolved, name)}/{place}")


def _operations(resolved: Resolved, name: str) -> Mapping[str, ScaledCost]:
    """Return the scenario's own operations in one repetition, drawn as those of devices."""
    seed, operations = resolved["run"]["seed"], resolved["operations"]
    if resolved["run"]["draw"] == "posterior":
        operations = draws.draw_costs(operations, seed, f"{name}/operations")
    return draws.vary_costs(operations, seed, f"{_session(resolved, name)}/operations")


def _session(resolved: Resolved, name: str) -> str:
    """Return the stream name of what differs between two starts of the app.

    Every rung starts it anew, so rungs do not share these draws as they share all others.
    Transports do: they are compared on the same day, so to speak.
    """
    rung = resolved["rung"]
    return f"{name}/session/{rung['rate_per_s']:g}/{rung['payload_bytes']}"


def _sites(resolved: Resolved, people: Population) -> plan.Sites:
    access = [network for _, network in sorted(resolved["network"]["access"].items())]
    shared = plan.floats([network["site_capacity_bytes_per_s"] or 0.0 for network in access])
    return {"capacity_bytes_per_s": shared[people.site_access]}


def _phones(
    resolved: Resolved,
    people: Population,
    schemes: npt.NDArray[np.int64],
    first_index: Sequence[int] | None,
) -> plan.Phones:
    phones = int(people.lane.size)
    indices = list(first_index) if first_index is not None else [1] * phones
    if len(indices) != phones:
        raise ValueError(f"first_index has {len(indices)} entries for {phones} phones")
    return {
        "profile": plan.numbers(people.profile),
        "access": plan.numbers(people.access),
        "site": plan.numbers(people.site),
        "first_index": plan.counts(indices),
        "role": plan.numbers(people.role),
        "mcs": plan.numbers(schemes),
        "cores_of": plan.numbers(_cores_of(resolved, people)),
    }


def _cores_of(resolved: Resolved, people: Population) -> npt.NDArray[np.int64]:
    """Return of each phone the first one of its computer; nothing if each has its own cores."""
    phones = np.arange(people.lane.size)
    named: dict[str, list[int]] = {}
    for number, group in enumerate(resolved["devices"]):
        if "computer" in group:
            named.setdefault(group["computer"], []).append(number)
    for groups in named.values():
        inside = np.isin(people.group, groups)
        phones[inside] = phones[inside][0]
    return phones if named else phones[:0]


def _outages(resolved: Resolved) -> list[plan.Outage]:
    return [
        {"access": number, "start_s": outage["start_s"], "end_s": outage["end_s"]}
        for outage in resolved["outages"]
        for number, name in enumerate(sorted(resolved["network"]["access"]))
        if outage["access"] in (None, name)
    ]


def _churn(
    resolved: Resolved, name: str, people: Population, own: PresenceTables, rows: android.Asked
) -> Transitions:
    """Return the transitions of all phones but the tokens' authority, which is a server."""
    streams = Streams(resolved["run"]["seed"], f"{name}/churn")
    duration_s = resolved["run"]["duration_s"]
    comes = people.role != ROLES.index("authority")
    found = []
    for number, group in enumerate(resolved["devices"]):
        if "churn" in group:
            phones = np.flatnonzero(people.group == number)
            comes[phones] = False
            table = own.get(f"devices[{number}].churn.file")
            lane, asked = people.lane[phones], rows.among(phones)
            changes = _changes(group["churn"], table, (streams, lane), duration_s, asked)
            found.append(replace(changes, phone=phones[changes.phone]))
    table = own.get("churn.file")
    # A scenario's file numbers all phones, and says nothing of those that do not come here.
    phones = np.flatnonzero(comes) if table is None else np.arange(comes.size)
    lane, asked = people.lane[phones], rows.among(phones)
    changes = _changes(resolved["churn"], table, (streams, lane), duration_s, asked)
    return together([*found, replace(changes, phone=phones[changes.phone])])


def _changes(
    law: given.AnyChurn | given.AlwaysOn | None,
    table: Table | None,
    drawn: tuple[Streams, npt.NDArray[np.uint64]],
    duration_s: float,
    asked: android.Asked,
) -> Transitions:
    """Return the transitions of phones by one law, in which they are counted from 0.

    What they draw comes from the streams and the lanes in `drawn`.
    """
    if law is None or law["kind"] == "none":
        return together([])
    streams, lane = drawn
    if law["kind"] == "android":
        return android.drawn(law, streams, lane, duration_s, asked)
    lanes = Lanes(streams.seed, streams.name)
    if law["kind"] == "drawn":
        return transitions(law, lanes, lane, duration_s)
    if law["kind"] == "law":
        return presence.drawn(law["law"], lanes, lane, duration_s, law["time_of_day_s"])
    assert table is not None, "whoever reads a scenario's files reads all"
    return told(law, table, duration_s)


def _happenings(
    resolved: Resolved,
    name: str,
    placed: Placement,
    profiles: tuple[Sequence[Shipped], ShippedImplementation],
    files: Mapping[str, str],
    near: plan.Proximity | None,
) -> tuple[plan.Workload, plan.Proximity]:
    """Return what phones do, and who is near whom for it; `near` is who is so anyway."""
    people, (drawn, implementation) = placed.people, profiles
    workload, run = resolved["workload"], resolved["run"]
    if workload["kind"] == "compute":
        return compute.starts(workload, people), town.nobody_meets()
    if workload["kind"] == "paced":
        device = drawn[people.profile[0]]
        mode = resolved["transport"]["mode"]
        said = _said_of(implementation, mode)
        outstanding_max = int(said.get("outstanding_proposals", 0))
        until_drained = bool(said.get("outstanding_until_drained", False))
        loop = arrivals.sender_loop(
            workload, device, run["duration_s"], outstanding_max, until_drained=until_drained
        )
        return arrivals.none([loop]), town.nobody_meets()
    if resolved["protocol"]["kind"] == "tokens":
        return _paid(resolved, name, placed, files, near)
    if workload["kind"] == "trace":
        return custom_data.trades(resolved, files, people), town.nobody_meets()
    if workload["kind"] == "python":
        return custom_workload.proposals(resolved, name, files), town.nobody_meets()
    assert workload["kind"] == "poisson", "a town pays with tokens"
    streams = (Lanes(run["seed"], f"{name}/arrivals"), Lanes(run["seed"], f"{name}/peers"))
    asked = workload["partners"]
    partners = custom_data.partners(asked, resolved, files, f"{name}/partners")
    rate_per_s = people.rate_per_s(workload["rate_per_s"])
    start_s, duration_s = workload["start_s"], run["duration_s"]
    between_s: arrivals.HoursClock | tuple[float, float] = (start_s, duration_s)
    if "hours" in workload:
        since_s = workload.get("time_of_day_s", 0.0)
        between_s = arrivals.HoursClock.of_run(workload["hours"], start_s, duration_s, since_s)
    at_hand = near if asked is not None and asked.get("near") else None
    found = arrivals.poisson_arrivals(
        rate_per_s, streams, people.lane, between_s, partners, at_hand
    )
    if asked is not None and asked["class"] is not None:
        found = custom_workload.chosen(found, asked, resolved, name, files)
    return arrivals.proposals(found, workload["payload_bytes"]), town.nobody_meets()


def _paid(
    resolved: Resolved,
    name: str,
    placed: Placement,
    files: Mapping[str, str],
    met: plan.Proximity | None,
) -> tuple[plan.Workload, plan.Proximity]:
    """Return what is paid, drawn or as a file says, and the contacts that it makes."""
    workload, near = resolved["workload"], resolved["contacts"]
    streams, people = Streams(resolved["run"]["seed"], name), placed.people
    paid = placed.paid
    if paid is None:
        paid = custom_data.payments(resolved, files, people, streams)
    elif met is not None and workload["kind"] == "town" and workload.get("near"):
        paid = town.to_who_is_near(met, streams, people, paid)
    if near is None or near["kind"] != "payments":
        return town.columns(paid), town.nobody_meets()
    return town.columns(paid), town.contacts(near, streams, people, paid)


def _said_of(implementation: ShippedImplementation, mode: str) -> Mapping[str, Any]:
    """Return the values that an implementation has for the options of a transport, by SI name."""
    sections: Mapping[str, Any] = cast("Mapping[str, Any]", implementation)
    section = sections.get(mode) or {}
    return {name: said["value"] for name, said in section.items() if said and "value" in said}


def _protocol(resolved: Resolved) -> plan.Protocol:
    protocol = resolved["protocol"]
    return {
        "kind": protocol["kind"],
        "crypto": protocol["crypto"],
        "duplicate_window_s": protocol["duplicate_window_s"],
        "retries": protocol.get("retries"),
        "tokens": protocol["tokens"],
        "compute": compute.options(resolved["workload"]),
        "own_operations": sorted(resolved["operations"]),
    }


def _transport(
    resolved: Resolved, name: str, people: Population, implementation: ShippedImplementation
) -> plan.Transport:
    transport = resolved["transport"]
    duplicate_dial_s, connection_break_s = _kept_connections(resolved, name, people, implementation)
    return {
        "mode": transport["mode"],
        "options": _options(resolved, implementation),
        "threads_first": implementation["threads_first"]["value"],
        "duplicate_dial_s": duplicate_dial_s,
        "connection_break_s": connection_break_s,
        "eva": transport["eva"],
    }


def _options(resolved: Resolved, implementation: ShippedImplementation) -> MachineOptions:
    """Return every option: of the scenario, and of the implementation what it alone says."""
    given: Mapping[str, Any] = cast("Mapping[str, Any]", resolved["transport"])
    known = {**_said_of(implementation, given["mode"]), **given}
    return cast("MachineOptions", {name: known.get(name, off) for name, off in UNUSED.items()})


def _kept_connections(
    resolved: Resolved, name: str, people: Population, implementation: ShippedImplementation
) -> tuple[Floats, Floats]:
    """Draw for each phone when its kept connection is replaced and when it breaks, in seconds."""
    keep = implementation["quic_keep"]
    kept = keep["kept_connection"] if keep else None
    if kept is None or not resolved["transport"]["app_faults"]:
        never_s = np.full(people.lane.size, math.inf)
        return never_s, never_s
    lanes = Lanes(resolved["run"]["seed"], f"{_session(resolved, name)}/kept")
    window, rate_per_s = kept["duplicate_dial_window_s"], kept["break_rate_per_s"]["value"]
    start_s, probability = window["from"], kept["duplicate_dial_probability"]["value"]
    chance, place, wait = (lanes.uniform(people.lane, draw) for draw in range(3))
    dial_s = np.where(chance < probability, start_s + place * (window["to"] - start_s), math.inf)
    with np.errstate(divide="ignore"):
        break_s = -np.log(wait) / rate_per_s
    return plan.floats(dial_s), plan.floats(break_s)


def _trace(resolved: Resolved) -> plan.Trace:
    output = resolved["output"]
    return {
        "mode": output["trace"],
        "sample_ratio": output["sample_ratio"],
        "log_capacity": resolved["protocol"]["benchmark_log_entries"] or _UNLIMITED,
        "tokens": output["tokens"],
        "blocks": output["blocks"],
    }


def _energy(resolved: Resolved) -> plan.Energy | None:
    """Return powers by the numbers that access networks and kinds of contact have in the plan.

    A network without powers is one that nobody but the tokens' authority is on: it has no account.
    """
    energy, contacts = resolved["energy"], resolved["contacts"]
    if energy is None:
        return None
    links = sorted(contacts["links"]) if contacts else []
    networks = sorted(resolved["network"]["access"])
    return {
        "core_w": energy["core_w"],
        "access": [_radio(energy["access"].get(name, _NO_RADIO)) for name in networks],
        "contact_w": plan.floats(
            [energy["contacts"].get(name, _NO_RADIO)["active_w"] for name in links]
        ),
    }


def _radio(radio: Radio) -> Radio:
    """Return the powers of a radio, without what they rest on."""
    return {
        "active_w": radio["active_w"],
        "up_per_byte_j": radio["up_per_byte_j"],
        "down_per_byte_j": radio["down_per_byte_j"],
        "tail_power_w": radio["tail_power_w"],
        "tail_s": radio["tail_s"],
        "promotion_j": radio["promotion_j"],
    }


_UNLIMITED = 2**64 - 1
_NO_RADIO: Radio = {
    "active_w": 0.0,
    "up_per_byte_j": 0.0,
    "down_per_byte_j": 0.0,
    "tail_power_w": 0.0,
    "tail_s": 0.0,
    "promotion_j": 0.0,
}
