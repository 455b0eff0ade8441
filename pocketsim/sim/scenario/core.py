"""What joins sites: a platform that SimGrid reads, and which netpoints sites are at.

A rule says it for each access network: all hosts in turn, netpoints in turn, or netpoints by their
weights. Which site is where is drawn in `sim.plan.core`; routes are `platform_routes`'.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import AfterValidator, Field, WithJsonSchema

from pocketsim.sim.base import tables
from pocketsim.sim.base.build import simgrid_file
from pocketsim.sim.base.documents import Section
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.scenario import platform_routes
from pocketsim.sim.scenario.platform_routes import PLATFORM, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.platform_routes import Routes

ROUTES, ATTACH, RELAY = "network.core.routes", "network.core.attach", "network.core.relay"
IN_TURN, WEIGHTED = "round_robin", "weighted"
_RULES = f"{IN_TURN!r}, {WEIGHTED!r}, a list of netpoints or a table of their weights"


def _is_weight(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(cast("float", value)) and cast("float", value) >= 0


def _rule(value: Any, where: str, *, of_network: bool) -> Any:
    """Return a rule, or raise ValueError that says what one is."""
    if isinstance(value, str):
        if value not in (IN_TURN, WEIGHTED):
            raise ValueError(f"{where}must be one of {_RULES}, not {value!r}")
    elif isinstance(value, list):
        if not value or not all(isinstance(name, str) for name in value):
            raise ValueError(f"{where}a list names netpoints, at least one")
        if len(set(value)) < len(value):
            raise ValueError(f"{where}a netpoint comes once; a table of weights may prefer it")
    elif isinstance(value, dict) and of_network:
        if not all(map(_is_weight, value.values())) or not sum(value.values()) > 0:
            raise ValueError(f"{where}weights are 0 or more, and not all of them 0")
    else:
        raise ValueError(f"{where}must be one of {_RULES}")
    return value


def _attach(value: Any) -> Any:
    if value is None:  # the document says nothing
        return None
    if not isinstance(value, dict):
        return _rule(value, "", of_network=False)
    return {name: _rule(rule, f"{name}: ", of_network=True) for name, rule in value.items()}


_RULE_SCHEMAS: list[dict[str, Any]] = [
    {"enum": [IN_TURN, WEIGHTED]},
    {"type": "array", "items": {"type": "string"}, "minItems": 1},
]
_WEIGHTS = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}
_BY_NETWORK = {"anyOf": [*_RULE_SCHEMAS, _WEIGHTS]}
AnyAttach = Annotated[
    Any,
    AfterValidator(_attach),
    WithJsonSchema(
        {"anyOf": [*_RULE_SCHEMAS, {"type": "object", "additionalProperties": _BY_NETWORK}]}
    ),
]


class Core(Section):
    """What joins sites in place of one latency: a platform that SimGrid reads.

    A datagram takes the route from the netpoint of one site to that of the other. Over fat pipes
    that is the route's latency and its bytes over the slowest link; links that flows share (SHARED,
    SPLITDUPLEX) are divided by SimGrid, and such a run loads it.
    """

    platform: str = Field(
        min_length=1,
        description="Name of a shipped platform, or path of a .xml file relative to the scenario.",
    )
    attach: AnyAttach = Field(
        default=None,
        description="Which netpoint each site is at. round_robin: hosts of the platform in turn,"
        " by name; weighted: drawn by the weights in the table beside the platform (its name with"
        ' .csv, columns "netpoint" and "weight"); a list: these netpoints in turn. A table says it'
        " by access network, where a rule may also be a table of weights by netpoint. Absent:"
        " weighted if there is such a table, else round_robin.",
    )
    relay: str | None = Field(
        default=None,
        description="The netpoint that the relay server is at; absent: it is `relay_latency` away"
        " from each site.",
    )

    absent_when_none = frozenset({"relay"})


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where the section does not fit the others."""
    core = scenario.network.core
    if core is None:
        return
    said = scenario.network.model_fields_set
    if "backbone_latency" in said:
        reason = "network.core says what lies between sites; leave one of the two out"
        raise ScenarioError(path, "network.backbone_latency", reason)
    if core.relay is not None and "relay_latency" in said:
        reason = f"{RELAY} says where the relay is; leave one of the two out"
        raise ScenarioError(path, "network.relay_latency", reason)
    if isinstance(core.attach, dict):
        for name in core.attach:
            if name not in scenario.network.access:
                known = scenario.network.access
                reason = f"no access network {name!r}; there is {', '.join(known)}"
                raise ScenarioError(path, f"{ATTACH}.{name}", reason, nearest(name, known))


def platform(scenario: Scenario, path: Path) -> tuple[Path, Routes] | None:
    """Return the platform that the scenario at `path` names, and the routes that it takes.

    Raises ScenarioError where there is no such netpoint or no route, and where SimGrid is needed
    and is not built.
    """
    core, networks = scenario.network.core, scenario.network.access
    if core is None:
        return None
    file = platform_routes.find(core.platform, path)
    rules = _rules(core, file, networks)
    routes = platform_routes.known(file, _wanted(core, rules, file, path), path)
    attach = {name: _of_rule(rule, file, path, routes) for name, rule in rules.items()}
    used = _used(attach, core.relay)
    for name in used:
        if name not in routes.netpoints:
            reason = f"the platform has no host or router {name!r}"
            place = RELAY if name == core.relay else ATTACH
            raise ScenarioError(path, place, reason, nearest(name, routes.netpoints))
    _check_routes(used, routes, path)
    if scenario.network.relay is not None and routes.shares(used):
        reason = "a relay with limits is modelled between links that are not shared"
        raise ScenarioError(path, "network.relay", reason)
    if not scenario.run.contention and routes.shares(used):
        reason = "links of the platform are shared, whatever this says"
        raise ScenarioError(path, "run.contention", reason)
    return file, routes


def resolved(
    core: Core,
    file: tuple[Path, str],
    path: Path,
    routes: Routes,
    networks: Mapping[str, Any],
) -> given.Core:
    """Return the section of the scenario at `path`; `file` is the platform's, with its digest."""
    platform, digest = file
    rules = _rules(core, platform, networks)
    attach = {name: _of_rule(rule, platform, path, routes) for name, rule in rules.items()}
    found: given.Core = {
        "platform": platform.name,
        "attach": attach,
        "digest": digest,
        "routes_digest": routes.digest,
        "shared": routes.shares(_used(attach, core.relay)),
    }
    if core.relay is not None:
        found["relay"] = core.relay
    return found


def _used(attach: Mapping[str, given.Attach], relay: str | None) -> list[str]:
    """Return the netpoints that are used, sorted."""
    used = {name for one in attach.values() for name in one["netpoints"]}
    return sorted(used | ({relay} if relay else set()))


def _rules(core: Core, file: Path, networks: Mapping[str, Any]) -> dict[str, Any]:
    usual = WEIGHTED if _table(file).is_file() else IN_TURN
    is_table = isinstance(core.attach, dict)
    by_network = core.attach if is_table else {}
    for_all = usual if core.attach is None or is_table else core.attach
    return {name: by_network.get(name, for_all) for name in networks}


def _wanted(core: Core, rules: Mapping[str, Any], file: Path, path: Path) -> Wanted:
    """Return the netpoints that routes are needed between."""
    names = {core.relay} if core.relay else set()
    for rule in rules.values():
        if rule != IN_TURN:
            names |= set(_weights(file, path) if rule == WEIGHTED else rule)
    return Wanted(tuple(sorted(names)), IN_TURN in rules.values())


def _of_rule(rule: Any, file: Path, path: Path, routes: Routes) -> given.Attach:
    if rule == WEIGHTED:
        rule = _weights(file, path)
    if rule == IN_TURN:
        return {"netpoints": list(routes.hosts)}
    if isinstance(rule, dict):
        return {"netpoints": list(rule), "weights": [float(weight) for weight in rule.values()]}
    return {"netpoints": list(rule)}


def _table(file: Path) -> Path:
    return file.with_suffix(".csv")


def _weights(file: Path, path: Path) -> dict[str, float]:
    """Return the weights in the table beside a platform, by netpoint."""
    table = _table(file)
    if not table.is_file():
        reason = f"{WEIGHTED!r} takes a table {table.name} beside {file.name}; there is none"
        raise ScenarioError(path, ATTACH, reason, IN_TURN)
    most = 1e18
    column = tables.Column("weight", 0, most, f"a weight is from 0 to {most:g}")
    found = tables.read(table, (tables.Names("netpoint"), column))
    names = [found.names[number] for number in found.columns["netpoint"]]
    if len(set(names)) < len(names) or not found.columns["weight"].sum() > 0:
        raise ScenarioError(table, "", "names each netpoint once, and not all weights are 0")
    return dict(zip(names, map(float, found.columns["weight"]), strict=True))


def _check_routes(names: list[str], routes: Routes, path: Path) -> None:
    for one, place in zip(names, routes.places(names), strict=True):
        for other, there in zip(names, routes.places(names), strict=True):
            if routes.latency_s[place][there] is None:
                raise ScenarioError(path, PLATFORM, f"has no route from {one} to {other}")
            if routes.wifi[place][there]:
                reason = f"has a link of Wi-Fi from {one} to {other}; [network.access] has these"
                raise ScenarioError(path, PLATFORM, reason)
    if routes.shares(names) and not simgrid_file().exists():
        reason = (
            "has links that flows share, which SimGrid divides, and that is not built: run"
            " `make simgrid`, or take a platform of fat pipes"
        )
        raise ScenarioError(path, PLATFORM, reason, platform_routes.shipped()[0])
