"""From a scenario to its rungs: one plain, JSON-able dictionary in SI units for each run.

A resolved dictionary says everything that a run depends on (numbers, contents of profiles,
versions, engine options), so its digest names the run. It holds nothing random: that is `sim.plan`.
"""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

from pocketsim.sim.base import si
from pocketsim.sim.base.build import versions
from pocketsim.sim.base.engine_facts import OPTIONAL, model_options
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import draws
from pocketsim.sim.devices import implementation as implementation_documents
from pocketsim.sim.devices import profile as profiles
from pocketsim.sim.devices.options import LISTS
from pocketsim.sim.devices.prices import speed_factors
from pocketsim.sim.devices.transport_sections import TransportOptions
from pocketsim.sim.scenario import (
    app_faults,
    contact_law,
    core,
    custom_code,
    custom_library,
    data_files,
    family_rules,
    grid,
    implementations,
    limits,
    loops,
    move_files,
    platform_routes,
    presence_files,
    presence_law,
    radio_states,
    rate_files,
    varying_links,
)
from pocketsim.sim.scenario.churn import ChurnLaw
from pocketsim.sim.scenario.resolved import SCHEMA, digest, runs_simgrid
from pocketsim.sim.scenario.workloads import CustomWorkload, Paced, Poisson, WorkloadTrace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.custom_code import CustomClass
    from pocketsim.sim.devices.contents import (
        Number,
        ScaledCost,
        Shipped,
        ShippedImplementation,
    )
    from pocketsim.sim.scenario.churn import AnyChurn as AskedChurn
    from pocketsim.sim.scenario.churn import GroupChurn
    from pocketsim.sim.scenario.contacts import AnyContacts
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.load import Document
    from pocketsim.sim.scenario.moves import Moves
    from pocketsim.sim.scenario.resolved import (
        AnyChurn,
        Battery,
        Contacts,
        ContactsFile,
        ContactsLaw,
        ContactsPlaces,
        Days,
        Foreground,
        Group,
        GroupMoves,
        Mains,
        Network,
        Outage,
        Protocol,
        Resolved,
        Run,
        Transport,
        Walk,
        Workload,
    )
    from pocketsim.sim.scenario.resolved_measures import Energy, Metrics, Output, Storage
    from pocketsim.sim.scenario.workloads import Partners


@dataclass(frozen=True)
class Rung:
    """One combination of the scenario's lists; with all its repetitions it is one run.

    `name` is the run directory's name, unique by the digest of `resolved`. `previous` is the name
    of the rung whose chains this one continues, if any. `at` are the values of the scenario's lists
    by their keys in the document; what of them matters is in `resolved`.
    """

    name: str
    resolved: Resolved
    previous: str | None
    at: Mapping[str, Any]


Profiles = dict["Path", "Shipped"]
"""Device profiles by their files, as a resolved dictionary holds them."""


class _Common(TypedDict):
    """What all rungs of a scenario have in common."""

    schema: int
    scenario: str
    title: str
    question: NotRequired[str]
    versions: dict[str, str]
    run: Run
    devices: list[Group]
    people: NotRequired[list[str]]
    profiles: dict[str, Shipped]
    implementation: ShippedImplementation
    network: Network
    churn: AnyChurn | None
    foreground: NotRequired[Foreground]
    mobility: NotRequired[Days]
    contacts: Contacts | ContactsFile | ContactsLaw | ContactsPlaces | Walk | None
    outages: list[Outage]
    energy: Energy | None
    battery: NotRequired[Battery]
    output: Output
    metrics: NotRequired[Metrics]
    storage: NotRequired[Storage]
    operations: dict[str, ScaledCost]
    engine_options: dict[str, str]


def resolve(document: Document, read: Profiles | None = None) -> list[Rung]:
    """Return the rungs of `document` in order of its lists, the last fastest.

    Device profiles in `read` are not read again, those that are read are added to it. Raises
    ScenarioError when a device profile is missing or invalid, or a loop asks for too much.
    """
    rungs = _rungs(document, _common(document, {} if read is None else read, _versions(document)))
    # A value that a list holds twice is one run.
    return list({rung.name: rung for rung in rungs}.values())


def check(document: Document) -> Resolved:
    """Raise what `resolve` would, without reading the build, which names runs alone.

    Return what `resolve` says first, but for versions.
    """
    return _rungs(document, _common(document, {}, {}))[0].resolved


def _rungs(document: Document, common: _Common) -> list[Rung]:
    scenario = document.scenario
    rungs: list[Rung] = []
    for at in grid.combinations(scenario):
        continues = scenario.run.app == "continued" and rungs
        previous = rungs[-1].name if continues else None
        resolved: Resolved = {
            **common,
            "rung": grid.rung(scenario, at),
            "protocol": _protocol(document, at),
            "workload": _workload(document, at),
            "transport": _transport(document, at),
            "continues": previous,
        }
        loops.check(document, resolved)
        name = f"{grid.slug(resolved['rung'])}-{digest(resolved)[:_DIGEST_DIGITS]}"
        rungs.append(Rung(name, resolved, previous, at))
    return rungs


def _versions(document: Document) -> dict[str, str]:
    has_simgrid = runs_simgrid(_run(document.scenario), _network(document))
    found = versions(*_libraries(document.scenario), simgrid=has_simgrid)
    return {**found, **_python(document)}


def _common(document: Document, read: Profiles, versions_used: dict[str, str]) -> _Common:
    scenario = document.scenario
    devices, contents = _devices(document, read)
    run, network = _run(scenario), _network(document)
    found: _Common = {
        "schema": SCHEMA,
        "scenario": document.path.stem,
        "title": scenario.title or document.path.stem,
        "versions": versions_used,
        "run": run,
        "devices": devices,
        "profiles": contents,
        "implementation": _implementation(document),
        "network": network,
        "churn": _churn(document, scenario.churn, presence_files.CHURN),
        "contacts": _contacts(document),
        "outages": si.plain(scenario.outages),
        "energy": cast("Energy | None", radio_states.energy(scenario)),
        "output": _output(document),
        "operations": si.plain(scenario.operations),
        "engine_options": model_options() if runs_simgrid(run, network) else {},
    }
    if scenario.question:
        found["question"] = scenario.question
    if scenario.foreground is not None:
        found["foreground"] = cast("Foreground", si.section(scenario.foreground))
    if scenario.mobility is not None:
        found["mobility"] = cast("Days", si.section(scenario.mobility))
    if scenario.battery is not None:
        found["battery"] = cast("Battery", si.section(scenario.battery))
    if scenario.metrics is not None:
        found["metrics"] = cast("Metrics", si.section(scenario.metrics))
    if scenario.storage is not None:
        found["storage"] = cast("Storage", si.section(scenario.storage))
    if document.people:
        found["people"] = list(document.people)
    return found


def _network(document: Document) -> Network:
    network, files = document.scenario.network, document.files
    told = {}
    if network.core is not None:
        platform, routes = files[platform_routes.PLATFORM], files[core.ROUTES]
        known = platform_routes.again(routes.path, routes.digest)
        file = (platform.path, platform.digest)
        told["core"] = core.resolved(network.core, file, document.path, known, network.access)
    found = si.section(network, told)
    for name, access in found["access"].items():
        for way in varying_links.WAYS if "rate_file" in access else ():
            rates = files.get(rate_files.key(name, way))
            access["rate_file"][way] = rates.path.name if rates else None
            access["rate_file"][f"{way}_digest"] = rates.digest if rates else None
    return cast("Network", found)


def _run(scenario: Scenario) -> Run:
    found = cast("Run", si.section(scenario.run))
    if not scenario.run.first_repetition:
        del found["first_repetition"]
    if scenario.run.contention:
        del found["contention"]
    return found


def _libraries(scenario: Scenario) -> list[str]:
    """Return the libraries that this scenario's runs depend on beside those that all do."""
    workload = scenario.workload
    if not isinstance(workload, Poisson) or workload.partners is None:
        return []
    has_graph = workload.partners.graph or workload.partners.generator
    return ["networkx"] if has_graph else []


def _python(document: Document) -> dict[str, str]:
    """Return the versions of the language, and of what is installed, where custom code is."""
    found = {"python": platform.python_version()} if document.code else {}
    for code in document.code.values():
        found |= code.versions
    return found


def _output(document: Document) -> Output:
    named = [code for key, code in document.code.items() if key.startswith("output.metrics[")]
    found = [{"function": code.told, "digest": code.digest} for code in named]
    section = si.section(document.scenario.output, {"metrics": found})
    if not section["map"]:
        del section["map"]  # as of runs that were made before there were maps
    return cast("Output", section)


def _devices(document: Document, read: Profiles) -> tuple[list[Group], dict[str, Shipped]]:
    groups: list[Group] = []
    found: dict[str, Shipped] = {}
    for number, group in enumerate(document.scenario.devices):
        name, contents = _profile(document, number, read)
        if found.setdefault(name, contents) != contents:
            place = f"devices[{number}].profile"
            raise ScenarioError(
                document.source_of(place), place, f"another profile is called {name!r} too"
            )
        access = dict(group.access)
        count, role = group.count, group.role
        found_group: Group = {"role": role, "profile": name, "count": count, "access": access}
        if group.rate is not None:
            found_group["rate_per_s"] = group.rate
        if group.churn is not None:
            found_group["churn"] = _churn(document, group.churn, presence_files.churn_of(number))
        if group.battery is not None:
            found_group["battery"] = cast("Battery | Mains", si.section(group.battery))
        if group.computer is not None:
            found_group["computer"] = group.computer
        if group.moves is not None:
            found_group["moves"] = _moves(document, group.moves, move_files.key(number))
        if group.walks is not None:
            found_group["walks"] = group.walks
        groups.append(found_group)
    return groups, found


def _profile(document: Document, number: int, read: Profiles) -> tuple[str, Shipped]:
    """Return the name and the contents of the profile of a group of phones, with its costs."""
    group = document.scenario.devices[number]
    try:
        path = profiles.find(group.profile, document.path.parent)
    except LookupError as error:
        reason, suggestion = error.args
        place = f"devices[{number}].profile"
        raise ScenarioError(document.source_of(place), place, reason, suggestion) from None
    # By path, the stem names the profile: run directories must not depend on where it lies.
    name = path.stem
    if path not in read:
        known = {
            "digest": profiles.digest(path),
            "drawn_as": name,  # factors give a group a profile of its own, but no other draws
            "own_cost_factors": {},
            "speed_factors": {},
        }
        read[path] = cast("Shipped", {**profiles.contents(profiles.load(path)), **known})
    own = implementation_documents.contents(document.implementation)
    operations = si.plain(document.scenario.operations)
    speed = speed_factors(read[path], own, operations)
    shipped: Shipped = {**read[path], "speed_factors": speed}
    if not group.cost_factors and not group.cost:
        return name, shipped
    _check_optional(document, number, shipped)
    factors = {
        key: cast("Number", si.section(factor)) for key, factor in group.cost_factors.items()
    }
    here = f"devices[{number}]"
    scaled = draws.scaled(shipped, factors)
    return f"{name} in {here}", draws.supposed(scaled, own, group.cost, f"{here}.cost")


def _check_optional(document: Document, number: int, shipped: Shipped) -> None:
    """Refuse to change what an operation costs that not every profile has, and this has not."""
    group = document.scenario.devices[number]
    for key, named in (("cost_factors", group.cost_factors), ("cost", group.cost)):
        for name in named:
            if name in OPTIONAL and name not in shipped["operations"]:
                place = f"devices[{number}].{key}.{name}"
                reason = f"{group.profile} has no such operation"
                raise ScenarioError(document.source_of(place), place, reason)


def _moves(document: Document, moves: Moves, place: str) -> GroupMoves:
    found: GroupMoves = si.plain(moves)
    if place in document.files:
        file = document.files[place]
        found |= {"file": file.path.name, "digest": file.digest}
    return found


def _churn(document: Document, section: AskedChurn | GroupChurn | None, place: str) -> Any:
    """Return how phones come and go: a law with its contents, or as `_or_file`."""
    if not isinstance(section, ChurnLaw):
        return _or_file(document, section, place)
    key = place.removesuffix("file") + "law"
    named = document.source_of(key), key
    law = presence_law.load(section.law, document.path.parent, named)
    days = document.scenario.run.duration / _DAY_S
    expected = document.scenario.phone_count() * days * law.transitions_per_day()
    limits.check_count(named, "transitions", expected)
    return {**si.section(section, {"law": si.section(law)}), "name": Path(section.law).stem}


def _or_file(
    document: Document, section: AskedChurn | GroupChurn | AnyContacts | None, place: str
) -> Any:
    """Return a section, which says of a file its name without its folder, and its digest."""
    table = document.tables.get(place)
    if section is None or table is None:
        return si.plain(section)
    told = {"file": table.path.name, "origin": document.used[place].origin_s}
    return {**si.section(section, told), "digest": table.digest}


def _contacts(document: Document) -> Any:
    contacts = document.scenario.contacts
    if isinstance(contacts, contact_law.ContactsLaw):
        return contact_law.resolve(document, contacts)
    return _or_file(document, contacts, presence_files.CONTACTS)


def _protocol(document: Document, at: Mapping[str, Any]) -> Protocol:
    scenario, code = document.scenario, document.code.get(data_files.PROTOCOL)
    said = {"tokens": None, **family_rules.of(scenario).options(scenario, at)}
    said["class"] = code.told if code else None
    library = document.files.get(custom_library.LIBRARY)
    said["library"] = library.path.name if library else None
    adversary = scenario.protocol.adversary
    if adversary is not None:
        own = _custom_class(document, data_files.ADVERSARY, adversary.options)
        said["adversary"] = {**own, "ratio": adversary.ratio}
    found = si.section(scenario.protocol, said)
    file = code or library
    return cast("Protocol", {**found, "digest": file.digest if file else None})


def _custom_class(document: Document, key: str, options: Mapping[str, Any]) -> CustomClass:
    return custom_code.resolved(document.code[key], options)


def _workload(document: Document, at: Mapping[str, Any]) -> Workload:
    workload = document.scenario.workload
    here = _below("workload", at)
    used = document.used.get(data_files.TRADES)
    origin = {} if used is None else {"origin": used.origin_s}
    found = si.section(workload, {**here, "payments": here["rate"], **origin})
    if isinstance(workload, Paced):
        assert workload.pacing is not None, "the implementation says it"
        found["interval_s"] = interval_s(workload.pacing, here["rate"])
    if isinstance(workload, WorkloadTrace):
        file = document.files[data_files.TRADES]
        found |= {"file": file.path.name, "digest": file.digest}
    if isinstance(workload, CustomWorkload):
        found |= _custom_class(document, data_files.WORKLOAD, workload.options)
    if isinstance(workload, Poisson) and workload.partners:
        found["partners"] = _partners(document, workload.partners)
    return cast("Workload", found)


def _partners(document: Document, partners: Partners) -> dict[str, Any]:
    """Return partners, of a graph and of code by name and content.

    Run directories must not depend on where they lie.
    """
    graph, code = document.files.get(data_files.GRAPH), document.code.get(data_files.PARTNERS)
    named = {
        "graph": graph.path.name if graph else None,
        "class": code.told if code else None,
    }
    digests = {
        "digest": graph.digest if graph else None,
        "class_digest": code.digest if code else None,
    }
    return {**si.section(partners, named), **digests}


def _below(place: str, at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the lists of the section at `place`, by key in it."""
    return {
        key.removeprefix(f"{place}."): value
        for key, value in at.items()
        if key.startswith(f"{place}.")
    }


def interval_s(pacing: str, rate_per_s: float) -> float:
    """Return the sleep that the benchmark app asks for between two proposals, in seconds.

    The first version of the app divides 1000 ms by the rate in whole milliseconds; the second
    spreads the rate over 1024 ms (Chirila 2025, section 4.2.5). No sleep is longer than a thousand
    years, which no run is: 1000 ms divided by a rate may be no number.
    """
    rate_per_s = max(rate_per_s, _SLOWEST_PER_S)
    if pacing == "unpaced":
        return _NO_SLEEP_S
    if pacing == "by_clock":
        return 1.0 / rate_per_s
    if pacing == "floored_ms":
        return math.floor(1000 / rate_per_s) / 1000
    return 1.024 / rate_per_s


def _transport(document: Document, at: Mapping[str, Any]) -> Transport:
    scenario, mode = document.scenario, at["transport.mode"]
    transport = implementations.with_transport(scenario.transport, document.implementation, mode)
    eva = si.section(transport.eva, _below("transport.eva", at)) if mode == "eva" else None
    own: dict[str, Any] = {
        "mode": mode,
        "app_faults": mode == app_faults.KEPT and app_faults.act(document),
        "eva": eva,
    }
    names = si.names(TransportOptions)
    for key in LISTS:
        asked = at[f"transport.{key}"]
        said = implementations.option(document.implementation, mode, key, names[key])
        own[key] = said if asked is None else asked
    if transport.policy is not None:
        own["policy"] = _custom_class(document, data_files.POLICY, transport.policy.options)
    return cast("Transport", si.section(transport, own))


def _implementation(document: Document) -> ShippedImplementation:
    path = document.implementation_path
    contents = implementation_documents.contents(document.implementation)
    if document.scenario.run.draw != "posterior":
        contents.pop("model_error", None)  # it widens what is drawn
    return {
        **contents,
        "digest": profiles.digest(path),
        "called": path.stem,
    }


_DAY_S = 86_400.0
_DIGEST_DIGITS = 12
_SLOWEST_PER_S = 1 / (1000 * 365.25 * 86400)
_NO_SLEEP_S = 1e-9  # not 0: where proposals cost nothing, time would stand still
