"""What no single section of a scenario can see: names that lead nowhere, sections that disagree.

Mistakes are `ScenarioError`s with the place of the mistake; what one section can tell by itself is
checked in its model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.base.errors import ScenarioError, nearest
from sim.scenario import lengths
from sim.scenario.town import Town

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sim.scenario.document import Scenario


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for the first thing that does not fit together in `scenario`."""
    _check_devices(scenario, path)
    _check_family(scenario, path)
    if scenario.workload.start >= scenario.run.duration:
        raise ScenarioError(path, "workload.start", "is not before the end of the run")
    _check_outages(scenario, path)
    _check_tokens(scenario, path)
    _check_output(scenario, path)
    if isinstance(scenario.workload, Town):
        _check_town(scenario, scenario.workload, path)
    _check_energy(scenario, path)
    lengths.check(scenario, path)


def _check_devices(scenario: Scenario, path: Path) -> None:
    for number, group in enumerate(scenario.devices):
        for name in group.access:
            _check_access(scenario, path, f"devices[{number}].access", name)


def _check_family(scenario: Scenario, path: Path) -> None:
    """Refuse a mixture of what trades and what only computes."""
    computes = scenario.workload.kind == "compute"
    if computes != (scenario.protocol.kind == "compute"):
        said = "takes" if computes else "is only for"
        reason = f'kind = "compute" {said} a workload of that kind'
        if computes:
            reason = 'a workload of kind "compute" takes this protocol family'
        raise ScenarioError(path, "protocol.kind", reason, "compute" if computes else None)
    for mode in scenario.transport.mode:
        if computes != (mode == "none"):
            reason = "phones that compute send nothing" if computes else "a trade takes a transport"
            raise ScenarioError(path, "transport.mode", reason, "none" if computes else "udp")
    if not computes and scenario.phone_count() < _FEWEST_PHONES:
        raise ScenarioError(path, "devices", "a trade takes at least 2 phones")


def _check_access(scenario: Scenario, path: Path, place: str, name: str) -> None:
    if name not in scenario.network.access:
        guess = nearest(name, scenario.network.access)
        raise ScenarioError(path, place, f"no [network.access.{name}]", guess)


def _check_outages(scenario: Scenario, path: Path) -> None:
    for number, outage in enumerate(scenario.outages):
        if outage.access is not None:
            _check_access(scenario, path, f"outages[{number}].access", outage.access)
        if outage.start >= scenario.run.duration:
            place = f"outages[{number}].start"
            raise ScenarioError(path, place, "is not before the end of the run")


def _check_tokens(scenario: Scenario, path: Path) -> None:
    """Tokens are what a town pays with, and a town pays with nothing else."""
    kind = scenario.protocol.kind
    town = isinstance(scenario.workload, Town)
    if kind == "tokens" and not town:
        reason = f'protocol "tokens" takes workload "town", not "{scenario.workload.kind}"'
        raise ScenarioError(path, "workload.kind", reason)
    if kind != "tokens":
        if town:
            reason = f'workload "town" takes protocol "tokens", not "{kind}"'
            raise ScenarioError(path, "protocol.kind", reason)
        _check_no_town(scenario, path)


def _check_output(scenario: Scenario, path: Path) -> None:
    protocol = scenario.protocol
    if not scenario.output.tokens:
        return
    if protocol.kind != "tokens":
        reason = f'is for protocol "tokens", not "{protocol.kind}"'
        raise ScenarioError(path, "output.tokens", reason)
    if protocol.crypto != "real":
        reason = f'output.tokens is for others to verify; proofs of "{protocol.crypto}" are tags'
        raise ScenarioError(path, "protocol.crypto", reason, "real")


def _check_energy(scenario: Scenario, path: Path) -> None:
    """Refuse powers of what is not there, and silence on what is: it would count as nothing."""
    if scenario.energy is None:
        return
    phones = [group for group in scenario.devices if group.role != "authority"]
    used = {name for group in phones for name in group.access}
    links = scenario.contacts.links if scenario.contacts else {}
    _check_powers(path, "access", scenario.energy.access, scenario.network.access, used)
    _check_powers(path, "contacts", scenario.energy.contacts, links, links)


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


def _check_no_town(scenario: Scenario, path: Path) -> None:
    kind = scenario.protocol.kind
    if scenario.protocol.tokens is not None:
        raise ScenarioError(path, "protocol.tokens", f'is for protocol "tokens", not "{kind}"')
    if scenario.contacts is not None:
        raise ScenarioError(path, "contacts", 'is for workload "town": its payments make contacts')
    for number, group in enumerate(scenario.devices):
        if group.role != "person":
            reason = f'protocol "{kind}" has no {group.role}; every phone is a person'
            raise ScenarioError(path, f"devices[{number}].role", reason)


def _check_layout(scenario: Scenario, path: Path) -> None:
    """Refuse what the prototype cannot read, in any combination of the lists."""
    tokens = scenario.protocol.tokens
    if tokens is not None and "prototype" in tokens.rules and "challenge" in tokens.handshake:
        reason = 'rules = "prototype" reads no tokens with challenges'
        raise ScenarioError(path, "protocol.tokens.handshake", reason, "none")


def _check_town(scenario: Scenario, town: Town, path: Path) -> None:
    _check_layout(scenario, path)
    count = dict.fromkeys(("person", "shop", "authority"), 0)
    for group in scenario.devices:
        count[group.role] += group.count
    if count["authority"] != 1:
        reason = f"tokens have one phone of role authority, not {count['authority']}"
        raise ScenarioError(path, "devices", reason)
    if count["shop"] == 0 and town.to_shop_ratio > 0:
        raise ScenarioError(path, "workload.to_shop_ratio", "there are no phones of role shop")
    if count["person"] < (1 if town.to_shop_ratio == 1 else _FEWEST_PHONES):
        raise ScenarioError(path, "devices", "there are too few phones of role person to pay")


_FEWEST_PHONES = 2
