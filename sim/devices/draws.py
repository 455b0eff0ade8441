"""From a profile's contents to the numbers of one repetition: uncertainty, sessions, factors.

Works on the plain values that `sim.devices.profile.contents` returns and resolved.json holds, so
that a child process needs neither the document's model nor its library. What draws imports the
streams itself, so that checking a scenario with factors does not load numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sim.devices.contents import App, Number, Operation, Shipped, SleepOvershoot

    Drawn = Callable[[str, float, float], float]
    """Takes the end of a stream's name, a mean and a standard error."""


def draw(contents: Shipped, seed: int, name: str) -> Shipped:
    """Return `contents` with every number drawn from its uncertainty.

    Each number has `value` for its mean and `standard_error` for its deviation: lognormal, and
    Beta if it is a probability (`sim.base.streams` says what becomes of 0). Each is from its own
    stream "name/<key>", so that a new number leaves the others' draws alone.
    """
    from sim.base import streams

    def positive(key: str, mean: float, standard_error: float) -> float:
        return streams.positive(seed, f"{name}/{key}", mean, standard_error)

    def probability(key: str, mean: float, standard_error: float) -> float:
        return streams.probability(seed, f"{name}/{key}", mean, standard_error)

    operations = {
        key: _scaled(
            operation,
            positive(key, operation["cpu_s"] + operation["wait_s"], operation["standard_error_s"]),
        )
        for key, operation in contents["operations"].items()
    }
    app = _app(contents["app"], positive, probability)
    return {**contents, "operations": operations, "app": app}


def vary(contents: Shipped, seed: int, name: str) -> Shipped:
    """Return `contents` with the factors that one repetition shares, from streams "name/<key>".

    A factor is lognormal with mean 1 and the number's own `repetition_sigma`.
    """
    from sim.base.streams import lognormal_factor

    def factor(key: str, sigma: float) -> float:
        return lognormal_factor(seed, f"{name}/{key}", sigma)

    operations = {
        key: _times(operation, factor(key, operation["repetition_sigma"]))
        for key, operation in contents["operations"].items()
    }
    law = contents["app"]["sleep_overshoot"]
    common = factor("sleep_overshoot", law["repetition_sigma"]["value"])
    paced: SleepOvershoot = {
        **law,
        "base_s": {**law["base_s"], "value": law["base_s"]["value"] * common},
        "slope_s": {**law["slope_s"], "value": law["slope_s"]["value"] * common},
    }
    app: App = {**contents["app"], "sleep_overshoot": paced}
    return {**contents, "operations": operations, "app": app}


def scaled(contents: Shipped, factors: Mapping[str, Number]) -> Shipped:
    """Return `contents` with the costs of some operations multiplied, and each factor kept.

    A cost's standard error grows with it, so a draw of the product is the product of the draw. The
    factor's own error is kept beside it and not drawn.
    """

    def times(operation: Operation, factor: Number) -> Operation:
        error_s = operation["standard_error_s"] * factor["value"]
        return {
            **_times(operation, factor["value"]),
            "standard_error_s": error_s,
            "cost_factor": factor,
        }

    operations = {
        key: times(operation, factors[key]) if key in factors else operation
        for key, operation in contents["operations"].items()
    }
    return {**contents, "operations": operations}


def _app(app: App, positive: Drawn, probability: Drawn) -> App:
    """Return the numbers of the app, drawn; streams are called as the document calls them."""
    sleeps, kept = app["sleep_overshoot"], app["kept_connection"]
    chance, window = kept["duplicate_dial_probability"], kept["duplicate_dial_window_s"]
    place = "kept_connection.duplicate_dial_window"
    start_s = positive(place, window["from"], window["standard_error"])

    def drawn(law: Drawn, place: str, number: Number) -> Number:
        return {**number, "value": law(place, number["value"], number["standard_error"])}

    return {
        "sleep_overshoot": {
            "base_s": drawn(positive, "sleep_overshoot.base", sleeps["base_s"]),
            "slope_s": drawn(positive, "sleep_overshoot.slope", sleeps["slope_s"]),
            "spread_sigma": drawn(positive, "sleep_overshoot.spread_sigma", sleeps["spread_sigma"]),
            "repetition_sigma": drawn(
                positive, "sleep_overshoot.repetition_sigma", sleeps["repetition_sigma"]
            ),
        },
        "kept_connection": {
            "duplicate_dial_probability": drawn(
                probability, "kept_connection.duplicate_dial_probability", chance
            ),
            "duplicate_dial_window_s": {
                **window,
                "from": start_s,
                "to": start_s + window["to"] - window["from"],
            },
            "break_rate_per_s": drawn(
                positive, "kept_connection.break_rate", kept["break_rate_per_s"]
            ),
        },
    }


def _times(cost: Operation, factor: float) -> Operation:
    return {
        **cost,
        "cpu_s": cost["cpu_s"] * factor,
        "per_byte_s": cost["per_byte_s"] * factor,
        "wait_s": cost["wait_s"] * factor,
    }


def _scaled(cost: Operation, total_s: float) -> Operation:
    """Share a drawn total among cpu and wait as they stood; per-byte cost goes along."""
    mean_s = cost["cpu_s"] + cost["wait_s"]
    if mean_s == 0:
        return {**cost, "cpu_s": total_s}
    return _times(cost, total_s / mean_s)
