"""What the steps of a machine cost: a device's operations, as many as an implementation takes.

A step is what a machine asks for by `Work`; unless the implementation says otherwise it is one
operation of its name on the device. Costs of the implementation's own come on top; where they were
found on one device, another's are scaled by how fast that one is. Nothing is drawn here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from pocketsim.sim.base.engine_facts import OPTIONAL, device_operations, operations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pocketsim.sim.devices.contents import (
        Contents,
        Cost,
        ImplementationContents,
        ScaledCost,
        Shipped,
    )


REFERENCE_BYTES = 668.0
"""Where costs per byte and relative errors are taken: the block of a 100-byte transaction with both
previous hashes (Chirila 2025, appendix B), in the midst of what the protocols ask for."""


class Price(TypedDict):
    """What one step costs."""

    cpu_s: float
    per_byte_s: float
    wait_s: float
    threads: int
    spread_sigma: float


def prices(device: Shipped, implementation: ImplementationContents) -> list[Price]:
    """Return what each step costs on `device`, in the engine's order of steps."""
    return [_sum(list(_parts(name, device, implementation))) for name in operations()]


def own_price(name: str, device: Shipped, implementation: ImplementationContents) -> Price:
    """Return what a cost of the implementation's own comes to on `device`."""
    supposed = device.get("own_costs", {})
    if name in supposed:
        return _price(supposed[name], 1.0, 1.0)
    asked = device["own_cost_factors"].get(name)
    factor = asked["value"] if asked else 1.0
    speed = device["speed_factors"][name]
    return _price(implementation["own_costs"][name], factor * speed, factor)


def own_prices(device: Shipped, operations: Mapping[str, ScaledCost]) -> list[Price]:
    """Return what operations of a scenario's own cost on `device`, in order of their names."""
    return [
        _price(cost, device["speed_factors"][own_operation(name)], 1.0)
        for name, cost in sorted(operations.items())
    ]


def own_operation(name: str) -> str:
    """Return how an operation of a scenario's own is called among costs of all kinds."""
    return f"operations.{name}"


def takes(step: str, implementation: ImplementationContents) -> dict[str, float]:
    """Return how many of which operation of the device a step takes."""
    if step in implementation["steps"]:
        return implementation["steps"][step]["operations"]
    return {step: 1.0} if step in (*device_operations(), *OPTIONAL) else {}


def speed_factors(
    device: Contents,
    implementation: ImplementationContents,
    operations: Mapping[str, ScaledCost],
) -> dict[str, float]:
    """Return how many times as long computing takes on `device` as where a cost was found.

    Costs are the implementation's own, and those of operations of a scenario's own.

    Of a device as it is shipped: what is drawn of it says nothing about where a cost was found.
    """
    costs: dict[str, ScaledCost] = {
        **implementation["own_costs"],
        **{own_operation(name): cost for name, cost in operations.items()},
    }
    return {name: _speed_factor(cost, device) for name, cost in costs.items()}


@dataclass(frozen=True)
class Apart:
    """A step that an own cost and the device's operation of its name price differently.

    Both in seconds of core time and waiting together; `standard_errors` is how many of the two
    numbers' joint ones lie between them.
    """

    own_cost: str
    step: str
    own_s: float
    device_s: float
    standard_errors: float


def apart(device: Shipped, implementation: ImplementationContents) -> list[Apart]:
    """Return own costs that stand in place of an operation and are not what it costs there.

    They are more than three standard errors apart: so they stand for something else, or one of the
    two is wrong.
    """
    found = []
    for name, cost in implementation["own_costs"].items():
        operation = device["operations"].get(cost["step"])
        if operation is None or cost["step"] in takes(cost["step"], implementation):
            continue
        factor = device["speed_factors"][name]
        own_s, device_s = cost["cpu_s"] * factor + cost["wait_s"], _at_once_s(operation)
        errors_s = (cost["standard_error_s"] * factor, operation["standard_error_s"])
        between = abs(own_s - device_s) / math.hypot(*errors_s)
        if between > _APART:
            found.append(Apart(name, cost["step"], own_s, device_s, between))
    return found


def _speed_factor(cost: ScaledCost, device: Contents) -> float:
    if cost["scales_with"] is None or cost["reference_s"] is None:
        return 1.0
    return device["operations"][cost["scales_with"]]["cpu_s"] / cost["reference_s"]


def _parts(step: str, device: Shipped, implementation: ImplementationContents) -> Iterator[Price]:
    for name, count in takes(step, implementation).items():
        if name in device["operations"] or name not in OPTIONAL:
            yield _times(_price(device["operations"][name], 1.0, 1.0), count)
    for name, cost in implementation["own_costs"].items():
        if cost["step"] == step:
            yield own_price(name, device, implementation)


def _price(cost: Cost, cpu_factor: float, wait_factor: float) -> Price:
    return {
        "cpu_s": cost["cpu_s"] * cpu_factor,
        "per_byte_s": cost["per_byte_s"] * cpu_factor,
        "wait_s": cost["wait_s"] * wait_factor,
        "threads": cost["threads"],
        "spread_sigma": cost["spread_sigma"],
    }


def _times(price: Price, count: float) -> Price:
    """Return a price of so many executions, which spread together."""
    return {
        **price,
        "cpu_s": price["cpu_s"] * count,
        "per_byte_s": price["per_byte_s"] * count,
        "wait_s": price["wait_s"] * count,
    }


def _sum(parts: list[Price]) -> Price:
    """Return the sum of independent parts, on as many threads as the longest of them.

    The spread is that of the sum, to first order: parts vary on their own.
    """
    if len(parts) == 1:
        return parts[0]
    total_s = math.fsum(_at_once_s(part) for part in parts) or 1.0
    return {
        "cpu_s": math.fsum(part["cpu_s"] for part in parts),
        "per_byte_s": math.fsum(part["per_byte_s"] for part in parts),
        "wait_s": math.fsum(part["wait_s"] for part in parts),
        "threads": max(parts, key=_at_once_s)["threads"] if parts else 1,
        "spread_sigma": math.hypot(
            *(part["spread_sigma"] * (_at_once_s(part) / total_s) for part in parts)
        ),
    }


def _at_once_s(part: Price | Cost) -> float:
    return part["cpu_s"] + part["wait_s"]


_APART = 3.0  # standard errors: by chance one in 370
