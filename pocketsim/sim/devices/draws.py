"""From profiles' contents to the numbers of one repetition: uncertainty, sessions, what-ifs.

Works on the plain values that resolved.json holds, so that a child process needs neither the
documents' models nor their library. What draws imports the streams itself, so that checking a
scenario with factors does not load numpy. Of an implementation its own costs and its faults are
drawn; what its code says is as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from pocketsim.sim.devices.joint import drawn, scaled_to, times

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pocketsim.sim.base.units import Quantity
    from pocketsim.sim.devices.contents import (
        Cost,
        ImplementationContents,
        KeptConnection,
        Number,
        OwnCost,
        Provenance,
        ScaledCost,
        Scheduler,
        Shipped,
        ShippedImplementation,
        SleepOvershoot,
    )

    Drawn = Callable[[str, float, float], float]
    """Takes the end of a stream's name, a mean and a standard error."""

AnyCost = TypeVar("AnyCost", "Cost", "OwnCost", "ScaledCost")

TICK_MAX_S = 0.2e-3
"""Of a kernel's tick: a twentieth of the time between two. What takes longer is somebody else."""


def draw(contents: Shipped, seed: int, name: str) -> Shipped:
    """Return a device profile with every number drawn from its uncertainty.

    Each number has `value` for its mean and `standard_error` for its deviation: lognormal, and
    Beta if it is a probability (`sim.base.streams` says what becomes of 0). Each is from its own
    stream "name/<key>", so that a new number leaves the others' draws alone. Of cores there is one
    at least. Costs may err together, and by more than they say (`sim.devices.joint`).
    """
    positive = _positive(seed, name)
    cores = contents["device"]["cores"]
    drawn_cores = max(1.0, positive("cores", cores["value"], cores["standard_error"]))
    return {
        **contents,
        "device": {**contents["device"], "cores": {**cores, "value": drawn_cores}},
        "operations": draw_costs(contents["operations"], seed, name),
        "scheduler": _scheduler(contents["scheduler"], positive),
    }


def draw_implementation(
    implementation: ShippedImplementation, seed: int, name: str
) -> ShippedImplementation:
    """Return an implementation with its own costs and faults drawn as `draw` draws a device's."""
    from pocketsim.sim.base import streams

    positive = _positive(seed, name)

    def probability(key: str, mean: float, standard_error: float) -> float:
        return streams.probability(seed, f"{name}/{key}", mean, standard_error)

    found: ShippedImplementation = {
        **implementation,
        "own_costs": {
            key: _drawn_after_rest(key, cost, positive)
            for key, cost in draw_costs(implementation["own_costs"], seed, name).items()
        },
    }
    keep = implementation["quic_keep"]
    if keep is not None and keep["kept_connection"] is not None:
        faults = _faults(keep["kept_connection"], positive, probability)
        found["quic_keep"] = {**keep, "kept_connection": faults}
    return found


def vary(contents: Shipped, seed: int, name: str) -> Shipped:
    """Return a device profile with the factors that one repetition shares, streams "name/<key>".

    A factor is lognormal with mean 1 and the number's own `repetition_sigma`.
    """
    factor = _factor(seed, name)
    law = contents["scheduler"]["sleep_overshoot"]
    common = factor("sleep_overshoot", law["repetition_sigma"]["value"])
    paced: SleepOvershoot = {
        **law,
        "base_s": {**law["base_s"], "value": law["base_s"]["value"] * common},
        "slope_s": {**law["slope_s"], "value": law["slope_s"]["value"] * common},
    }
    operations = {
        key: times(cost, factor(key, cost["repetition_sigma"]))
        for key, cost in contents["operations"].items()
    }
    scheduler: Scheduler = {**contents["scheduler"], "sleep_overshoot": paced}
    return {**contents, "operations": operations, "scheduler": scheduler}


def vary_implementation(
    implementation: ShippedImplementation, seed: int, name: str
) -> ShippedImplementation:
    """Return an implementation with its own costs varied as `vary` varies a device's."""
    return {**implementation, "own_costs": vary_costs(implementation["own_costs"], seed, name)}


def draw_costs(costs: Mapping[str, AnyCost], seed: int, name: str) -> dict[str, AnyCost]:
    """Return costs drawn from their uncertainty, as `draw` draws those of a device."""
    return drawn(costs, seed, name)


def vary_costs(costs: Mapping[str, AnyCost], seed: int, name: str) -> dict[str, AnyCost]:
    """Return costs with the factors that one repetition shares, as `vary` varies a device's."""
    factor = _factor(seed, name)
    return {key: times(cost, factor(key, cost["repetition_sigma"])) for key, cost in costs.items()}


def scaled(contents: Shipped, factors: Mapping[str, Number]) -> Shipped:
    """Return a device profile with some costs multiplied, and each factor kept.

    A cost's standard error grows with it, so a draw of the product is the product of the draw. The
    factor's own error is kept beside it and not drawn. Factors of no operation of the device are of
    costs of the implementation's own.
    """

    def enlarged(cost: Cost, factor: Number) -> Cost:
        return {**_enlarged(cost, factor["value"]), "cost_factor": factor}

    operations = {
        key: enlarged(cost, factors[key]) if key in factors else cost
        for key, cost in contents["operations"].items()
    }
    own = {key: factor for key, factor in factors.items() if key not in operations}
    return {**contents, "operations": operations, "own_cost_factors": own}


def supposed(
    contents: Shipped,
    implementation: ImplementationContents,
    costs: Mapping[str, Quantity],
    place: str,
) -> Shipped:
    """Return a device profile in which some costs are what a scenario supposes, by their names.

    A number multiplies a cost, a length of time is what its core time and wait come to on this
    device; shares of these and the cost per byte go along, and so does the standard error: draws
    are those of the cost as it was, times the same. What took nothing takes core time. The costs
    name as their source `place`, the key of all of them in the scenario.
    """
    operations, factors = dict(contents["operations"]), dict(contents["own_cost_factors"])
    own: dict[str, OwnCost] = {}
    for name, asked in costs.items():
        is_own = name not in operations
        cost = implementation["own_costs"][name] if is_own else operations[name]
        said = _assumed(f"{place}.{name} = {asked}; of the profile: {cost['source']}")
        speed = contents["speed_factors"][name] if is_own else 1.0
        factor = _factor_to(asked, cost["cpu_s"] * speed + cost["wait_s"])
        if not is_own:
            now = scaled_to(cost, asked.value) if factor is None else _enlarged(cost, factor)
            operations[name] = {**now, **said}
        elif factor is None:
            own[name] = _taking(implementation["own_costs"][name], asked.value, said)
        else:
            factors[name] = {**said, "value": factor, "standard_error": 0.0}
    found: Shipped = {**contents, "operations": operations, "own_cost_factors": factors}
    return {**found, "own_costs": own} if own else found


def _factor_to(asked: Quantity, total_s: float) -> float | None:
    """Return by what a cost is multiplied; None where times nothing is still nothing."""
    if asked.dimension is None:
        return asked.value
    return asked.value / total_s if total_s else None


def _taking(cost: OwnCost, total_s: float, said: Provenance) -> OwnCost:
    """Return a cost that took nothing with exactly so much core time."""
    now: OwnCost = {**cost, **said}
    return {**now, "cpu_s": total_s, "standard_error_s": 0.0, "repetition_sigma": 0.0}


def _assumed(source: str) -> Provenance:
    return {"samples": 0, "basis": "assumed", "source": source, "fitted_to": []}


def _positive(seed: int, name: str) -> Drawn:
    from pocketsim.sim.base import streams

    def positive(key: str, mean: float, standard_error: float) -> float:
        return streams.positive(seed, f"{name}/{key}", mean, standard_error)

    return positive


def _factor(seed: int, name: str) -> Callable[[str, float], float]:
    from pocketsim.sim.base.streams import lognormal_factor

    def factor(key: str, sigma: float) -> float:
        return lognormal_factor(seed, f"{name}/{key}", sigma)

    return factor


def _number(law: Drawn, place: str, number: Number) -> Number:
    return {**number, "value": law(place, number["value"], number["standard_error"])}


def _scheduler(scheduler: Scheduler, positive: Drawn) -> Scheduler:
    found: Any = {key: _part(key, part, positive) for key, part in scheduler.items()}
    if "tick_s" in found:
        found["tick_s"]["value"] = min(found["tick_s"]["value"], TICK_MAX_S)
    return cast("Scheduler", found)


def _part(key: str, part: Any, law: Drawn) -> Any:
    """Return a part with its numbers drawn; streams are called as the document calls them.

    Ratios of one table are all of one price, so they err by one deviation.
    """
    place = key.removesuffix("_s")
    if isinstance(part, list):
        return [
            {**each, "ratio": law(place, each["ratio"], each["standard_error"])} for each in part
        ]
    if "standard_error" in part:
        return _number(law, place, part)
    if "basis" in part:  # a choice
        return part
    return {inner: _part(f"{place}.{inner}", value, law) for inner, value in part.items()}


def _drawn_after_rest(key: str, cost: OwnCost, positive: Drawn) -> OwnCost:
    if "after_rest" not in cost:
        return cost
    return {**cost, "after_rest": _part(f"{key}.after_rest", cost["after_rest"], positive)}


def _faults(kept: KeptConnection, positive: Drawn, probability: Drawn) -> KeptConnection:
    """Return the faults' numbers, drawn; streams are called as the document calls them."""
    chance, window = kept["duplicate_dial_probability"], kept["duplicate_dial_window_s"]
    place = "kept_connection.duplicate_dial_window"
    start_s = positive(place, window["from"], window["standard_error"])
    return {
        "duplicate_dial_probability": _number(
            probability, "kept_connection.duplicate_dial_probability", chance
        ),
        "duplicate_dial_window_s": {
            **window,
            "from": start_s,
            "to": start_s + window["to"] - window["from"],
        },
        "break_rate_per_s": _number(
            positive, "kept_connection.break_rate", kept["break_rate_per_s"]
        ),
    }


def _enlarged(cost: Cost, factor: float) -> Cost:
    """Return a cost whose standard errors grow with it."""
    found: Cost = {**times(cost, factor), "standard_error_s": cost["standard_error_s"] * factor}
    if "per_byte_standard_error_s" in cost:
        found["per_byte_standard_error_s"] = cost["per_byte_standard_error_s"] * factor
    return found
