"""What a scenario leaves to the implementation that it names: pacing, timers, transports' options.

`filled` puts in what holds for all of a scenario, `with_transport` what holds for one transport.
What the implementation's own costs come to is the plan's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pocketsim.sim.base import si
from pocketsim.sim.base.documents import Section
from pocketsim.sim.base.engine_facts import OPTIONAL, device_operations
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.devices import implementation as documents
from pocketsim.sim.devices import profile
from pocketsim.sim.devices.options import EVA_LISTS, LISTS, UNUSED
from pocketsim.sim.devices.transport_sections import TransportOptions
from pocketsim.sim.scenario import retries
from pocketsim.sim.scenario.workloads import Paced

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.devices.implementation import Implementation
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.transports import Eva, Transport


AnySection = TypeVar("AnySection", bound=Section)


def find(name: str, path: Path) -> Path:
    """Return the file of the implementation that the scenario at `path` names."""
    try:
        return profile.find(name, path.parent, profile.IMPLEMENTATIONS)
    except LookupError as error:
        reason, suggestion = error.args
        raise ScenarioError(path, "implementation", reason, suggestion) from None


def filled(scenario: Scenario, implementation: Implementation) -> Scenario:
    """Return the scenario with what it leaves out of its loop, its protocol and EVA."""
    protocol, workload = scenario.protocol, scenario.workload
    entries = implementation.log_entries.value if implementation.log_entries else 0
    protocol = _with(
        protocol,
        duplicate_window=implementation.duplicate_window.value,
        benchmark_log_entries=entries,
    )
    tried = retries.filled(protocol, implementation)
    update: dict[str, Any] = {
        "protocol": protocol.model_copy(update={"retries": tried}),
        "transport": _with_eva(scenario.transport, implementation),
    }
    if isinstance(workload, Paced):
        update["workload"] = _with(workload, pacing=implementation.pacing.value)
    return scenario.model_copy(update=update)


def with_transport(transport: Transport, implementation: Implementation, mode: str) -> Transport:
    """Return the transport with the options of `mode` as `implementation` has them, if left out.

    What a mode has no use for is 0 or false; a list stays as it is.
    """
    said = {
        key: option(implementation, mode, key, name)
        for key, name in si.names(TransportOptions).items()
        if key not in LISTS
    }
    return _with(transport, **said)


def option(implementation: Implementation, mode: str, key: str, name: str) -> Any:
    """Return an option of `mode` by its key and its name in SI units; 0 or false where unsaid."""
    said = getattr(getattr(implementation, mode, None), key, None)
    return said.value if said else UNUSED[name]


def check(scenario: Scenario, implementation: Implementation, path: Path) -> None:
    """Raise ScenarioError for what the implementation of a scenario cannot do."""
    for mode in scenario.transport.mode:
        if mode != "none" and mode not in implementation.modes():
            has = ", ".join(implementation.modes())
            reason = f"{scenario.implementation} has no {mode}; it has {has}"
            raise ScenarioError(
                path, "transport.mode", reason, nearest(mode, implementation.modes())
            )
    _check_costs(scenario, implementation, path)
    workload = scenario.workload
    if not isinstance(workload, Paced) or workload.pacing != "floored_ms":
        return
    if max(workload.rate) > _MS_PER_S:
        reason = "a rate above 1000/s floors to a sleep of 0 ms; use pacing batch_1024ms"
        raise ScenarioError(path, "workload", reason)


def _check_costs(scenario: Scenario, implementation: Implementation, path: Path) -> None:
    """Refuse costs of groups that nothing has, and what is said twice of one."""
    names = [*device_operations(), *OPTIONAL, *implementation.own_costs]
    for number, group in enumerate(scenario.devices):
        place = f"devices[{number}]"
        keys = [("cost_factors", name) for name in group.cost_factors]
        for key, name in [*keys, *(("cost", name) for name in group.cost)]:
            if name not in names:
                reason = f"neither an operation nor a cost of {scenario.implementation}"
                raise ScenarioError(path, f"{place}.{key}.{name}", reason, nearest(name, names))
        for name in group.cost:
            if name in group.cost_factors:
                reason = f"{place}.cost_factors.{name} says it already"
                raise ScenarioError(path, f"{place}.cost.{name}", reason)


def load(
    scenario: Scenario, path: Path, read: dict[Path, Implementation]
) -> tuple[Path, Implementation]:
    """Return the file of the scenario's implementation, and what it says.

    What is in `read` is not read again, what is read is added to it.
    """
    found = find(scenario.implementation, path)
    if found not in read:
        read[found] = documents.load(found)
    return found, read[found]


def _with_eva(transport: Transport, implementation: Implementation) -> Transport:
    if implementation.eva is None:
        return transport
    said = {
        name: number.value
        for name in type(implementation.eva).model_fields
        if (number := getattr(implementation.eva, name)) is not None
    }
    for name in EVA_LISTS:
        said[name] = [said[name]]
    eva: Eva = _with(transport.eva, **said)
    return transport.model_copy(update={"eva": eva})


def _with(section: AnySection, **said: Any) -> AnySection:
    """Return `section` with what is said where it is silent."""
    absent = {key: value for key, value in said.items() if getattr(section, key) is None}
    return section.model_copy(update=absent)


_MS_PER_S = 1000
