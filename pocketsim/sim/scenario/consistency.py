"""What no single section of a scenario can see: names that lead nowhere, sections that disagree.

Mistakes are `ScenarioError`s with the place of the mistake; what one section can tell by itself is
checked in its model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.base import families
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.scenario import (
    android,
    battery,
    contacts,
    core,
    custom_protocol,
    duration_laws,
    family_rules,
    foreground,
    mobility,
    moves,
    nats,
    radio_states,
    storage,
    varying_links,
)
from pocketsim.sim.scenario.document import FEWEST_PHONES
from pocketsim.sim.scenario.town import Town
from pocketsim.sim.scenario.workloads import Poisson

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for the first thing that does not fit together in `scenario`."""
    _check_run(scenario, path)
    _check_contention(scenario, path)
    radio_states.check(scenario, path)
    _check_queues(scenario, path)
    _check_devices(scenario, path)
    _check_family(scenario, path)
    _check_groups(scenario, path)
    moves.check(scenario, path)
    mobility.check(scenario, path)
    contacts.check(scenario, path)
    foreground.check(scenario, path)
    android.check(scenario, path)
    battery.check(scenario, path)
    nats.check(scenario, path)
    core.check(scenario, path)
    if scenario.workload.start >= scenario.run.duration:
        raise ScenarioError(path, "workload.start", "is not before the end of the run")
    _check_partners(scenario, path)
    _check_outages(scenario, path)
    _check_output(scenario, path)
    _check_energy(scenario, path)
    storage.check(scenario, path)
    varying_links.check(scenario, path)
    duration_laws.check(scenario, path)


def _check_run(scenario: Scenario, path: Path) -> None:
    if scenario.run.app == "continued" and scenario.run.first_repetition:
        reason = 'chains of app = "continued" begin with repetition 0, which this run leaves out'
        raise ScenarioError(path, "run.first_repetition", reason)


def _check_contention(scenario: Scenario, path: Path) -> None:
    if scenario.run.contention:
        return
    if scenario.run.fidelity == "flow":
        reason = 'flows of run.fidelity = "flow" share all their links'
        raise ScenarioError(path, "run.contention", reason, 'run.fidelity = "hybrid"')


def _check_queues(scenario: Scenario, path: Path) -> None:
    if scenario.run.fidelity != "flow":
        return
    for name, access in scenario.network.access.items():
        if access.wifi is not None:
            reason = 'run.fidelity = "flow" has no frames that could contend'
            place = f"network.access.{name}.wifi"
            raise ScenarioError(path, place, reason, 'run.fidelity = "hybrid"')
        if access.when_full == "block":
            place = f"network.access.{name}.when_full"
            reason = 'run.fidelity = "flow" has no queue that could be full'
            raise ScenarioError(path, place, reason, 'run.fidelity = "hybrid"')


def _check_devices(scenario: Scenario, path: Path) -> None:
    for number, group in enumerate(scenario.devices):
        for name in group.access:
            _check_access(scenario, path, f"devices[{number}].access", name)
        if group.computer is not None:
            _check_computer(scenario, path, number, group.computer)


def _check_computer(scenario: Scenario, path: Path, number: int, name: str) -> None:
    """Refuse to share cores where SimGrid has a host for each phone, or of two kinds of device."""
    place = f"devices[{number}].computer"
    if scenario.run.fidelity == "flow":
        reason = 'run.fidelity = "flow" gives each phone cores of its own'
        raise ScenarioError(path, place, reason, 'run.fidelity = "hybrid"')
    first = next(group.profile for group in scenario.devices if group.computer == name)
    if scenario.devices[number].profile != first:
        reason = f"{name} is a {first} already, and a computer is one device"
        raise ScenarioError(path, f"devices[{number}].profile", reason, first)


def _check_family(scenario: Scenario, path: Path) -> None:
    """Refuse a workload or a transport that the protocol family does not take."""
    kind, workload = scenario.protocol.kind, scenario.workload.kind
    if kind not in families.taking(workload):
        _refuse_workload(path, kind, workload)
    sends = kind != "compute"
    for mode in scenario.transport.mode:
        if sends == (mode == "none"):
            reason = "a trade takes a transport" if sends else "phones that compute send nothing"
            raise ScenarioError(path, "transport.mode", reason, "udp" if sends else "none")
    if sends and scenario.phone_count() < FEWEST_PHONES:
        raise ScenarioError(path, "devices", f"a trade takes at least {FEWEST_PHONES} phones")
    custom_protocol.refuse(scenario, path)
    family_rules.of(scenario).check(scenario, path)


def _check_groups(scenario: Scenario, path: Path) -> None:
    """Refuse a rate or a churn of its own where a group of phones has none."""
    workload = scenario.workload
    for number, group in enumerate(scenario.devices):
        if group.churn is not None and group.role == "authority":
            reason = "the tokens' authority is a server and always on"
            raise ScenarioError(path, f"devices[{number}].churn", reason)
        if group.rate is None:
            continue
        if workload.kind not in _OF_EACH_PHONE:
            kinds = " or ".join(f'"{kind}"' for kind in _OF_EACH_PHONE)
            reason = f'workload "{workload.kind}" has no rate of each phone, as {kinds} has'
            raise ScenarioError(path, f"devices[{number}].rate", reason)
        if workload.kind == "town" and group.role != "person":
            reason = f"persons pay; of role {group.role} none does"
            raise ScenarioError(path, f"devices[{number}].rate", reason)
    asked = [group for group in scenario.devices if group.role == "person"]
    has_several = isinstance(workload, Poisson | Town) and len(set(workload.rate)) > 1
    if has_several and all(group.rate is not None for group in asked):
        place = f"workload.{_OF_EACH_PHONE[workload.kind]}"
        reason = "is a list, and every group that is asked has a rate of its own"
        raise ScenarioError(path, place, reason)


def _refuse_workload(path: Path, kind: str, workload: str) -> None:
    """Blame the protocol for a workload that one family alone takes, else the workload."""
    taking = families.taking(workload)
    if len(taking) == 1:
        reason = f'workload "{workload}" takes protocol "{taking[0]}", not "{kind}"'
        raise ScenarioError(path, "protocol.kind", reason, taking[0])
    taken = " or ".join(f'"{name}"' for name in families.family(kind).workloads)
    reason = f'protocol "{kind}" takes workload {taken}, not "{workload}"'
    raise ScenarioError(path, "workload.kind", reason)


def _check_access(scenario: Scenario, path: Path, place: str, name: str) -> None:
    if name not in scenario.network.access:
        guess = nearest(name, scenario.network.access)
        raise ScenarioError(path, place, f"no [network.access.{name}]", guess)


def _check_partners(scenario: Scenario, path: Path) -> None:
    """Refuse a drawn graph that so many phones do not make."""
    workload, phones = scenario.workload, scenario.phone_count()
    partners = workload.partners if isinstance(workload, Poisson) else None
    if partners is None or partners.neighbours is None:
        return
    regular, reason = partners.generator == "random_regular", None
    if partners.neighbours >= phones:
        reason = f"of {phones} phones each has at most {phones - 1} neighbours"
    elif regular and 2 * partners.neighbours > phones:
        # Beyond, pairs that are drawn at random hardly ever come out even.
        reason = f"a random_regular of {phones} phones takes at most {phones // 2}"
    elif regular and phones * partners.neighbours % 2:
        reason = f"{phones} phones cannot have {partners.neighbours} neighbours each: one is left"
    if reason:
        raise ScenarioError(path, "workload.partners.neighbours", reason)


def _check_outages(scenario: Scenario, path: Path) -> None:
    for number, outage in enumerate(scenario.outages):
        if outage.access is not None:
            _check_access(scenario, path, f"outages[{number}].access", outage.access)
        if outage.start >= scenario.run.duration:
            place = f"outages[{number}].start"
            raise ScenarioError(path, place, "is not before the end of the run")


def _check_output(scenario: Scenario, path: Path) -> None:
    """Refuse to keep what a protocol does not have, and what nobody else could verify."""
    protocol, output = scenario.protocol, scenario.output
    for key, is_wanted, kind in (
        ("output.tokens", output.tokens, "tokens"),
        ("output.blocks", output.blocks, "trustchain"),
    ):
        if not is_wanted:
            continue
        if protocol.kind != kind:
            raise ScenarioError(path, key, f'is for protocol "{kind}", not "{protocol.kind}"')
        if protocol.crypto != "real":
            signed = "proofs" if kind == "tokens" else "signatures"
            reason = f'{key} is for others to verify; {signed} of "{protocol.crypto}" are tags'
            raise ScenarioError(path, "protocol.crypto", reason, "real")
    if output.trace == "metrics":
        _check_ledger(scenario, path)
    walk = scenario.contacts is not None and scenario.contacts.kind == "walk"
    if output.map and not walk and scenario.mobility is None:
        reason = "phones have no places; those of people with days, and those that walk, do"
        raise ScenarioError(path, "output.map", reason, '[contacts] kind = "walk"')


def _check_ledger(scenario: Scenario, path: Path) -> None:
    """Refuse to keep no events where something needs them."""
    kind, output = scenario.protocol.kind, scenario.output
    reason = None
    if not families.family(kind).has_ledger:
        reason = f'metrics of protocol "{kind}" are made of events, of which "metrics" keeps none'
    elif output.metrics:
        reason = 'output.metrics are made of events, of which "metrics" keeps none'
    elif output.blocks:
        reason = 'output.blocks keeps the blocks of every transaction, and "metrics" nothing of any'
    if reason:
        raise ScenarioError(path, "output.trace", reason, "full")


def _check_energy(scenario: Scenario, path: Path) -> None:
    """Refuse powers of what is not there, and silence on what is: it would count as nothing."""
    if scenario.energy is None:
        return
    phones = [group for group in scenario.devices if group.role != "authority"]
    used = {name for group in phones for name, share in group.access.items() if share}
    used |= {name for _, _, name in moves.destinations(scenario)}
    used |= {name for _, name in mobility.networks(scenario)}
    if any(group.moves and group.moves.file for group in phones):
        used |= set(scenario.network.access)
    links = scenario.contacts.links if scenario.contacts else {}
    _check_powers(path, "access", scenario.energy.access, scenario.network.access, used)
    met = [name for name, link in links.items() if link.share]
    _check_powers(path, "contacts", scenario.energy.contacts, links, met)


def _check_powers(
    path: Path, key: str, found: Iterable[str], known: Iterable[str], needed: Iterable[str]
) -> None:
    section = {"access": "network.access", "contacts": "contacts.links"}[key]
    for name in found:
        if name not in known:
            reason = f"no [{section}.{name}]"
            raise ScenarioError(path, f"energy.{key}.{name}", reason, nearest(name, known))
    for name in sorted(needed):
        if name not in found:
            raise ScenarioError(path, f"energy.{key}", f"says nothing about [{section}.{name}]")


_OF_EACH_PHONE = {"poisson": "rate", "town": "payments"}
"""Workloads whose rate is that of each phone, or person, and what they call it."""
