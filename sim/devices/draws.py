"""From a profile's contents to the numbers of one repetition: uncertainty, sessions, factors.

Works on the plain values that `sim.devices.profile.contents` returns and resolved.json holds, so
that a child process needs neither the document's model nor its library. What draws imports the
streams itself, so that checking a scenario with factors does not load numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def draw(plain: Mapping[str, Any], seed: int, name: str) -> dict[str, Any]:
    """Return `contents` with every number drawn from its uncertainty.

    Each number has `value` for its mean and `standard_error` for its deviation: lognormal, and
    Beta if it is a probability (`sim.base.streams` says what becomes of 0). Each is from its own
    stream "name/<key>", so that a new number leaves the others' draws alone.
    """
    from sim.base import streams

    def drawn(key: str, mean: float, standard_error: float) -> float:
        law = streams.probability if key in _PROBABILITIES else streams.positive
        return law(seed, f"{name}/{key}", mean, standard_error)

    def number(key: str, of: Mapping[str, Any]) -> dict[str, Any]:
        if "from" in of:
            return {**of, **_shifted(of, drawn(key, of["from"], of["standard_error"]))}
        return {**of, "value": drawn(key, of["value"], of["standard_error"])}

    costs = {
        key: {**of, **_scaled(of, drawn(key, of["cpu"] + of["wait"], of["standard_error"]))}
        for key, of in plain["operations"].items()
    }
    app = {
        part: {key: number(f"{part}.{key}", of) for key, of in numbers.items()}
        for part, numbers in plain["app"].items()
    }
    return {**plain, "operations": costs, "app": app}


def vary(plain: Mapping[str, Any], seed: int, name: str) -> dict[str, Any]:
    """Return `contents` with the factors that one repetition shares, from streams "name/<key>".

    A factor is lognormal with mean 1 and the number's own `repetition_sigma`.
    """
    from sim.base.streams import lognormal_factor

    def factor(key: str, sigma: float) -> float:
        return lognormal_factor(seed, f"{name}/{key}", sigma)

    costs = {
        key: {**of, **_times(of, factor(key, of["repetition_sigma"]))}
        for key, of in plain["operations"].items()
    }
    law = plain["app"]["sleep_overshoot"]
    common = factor("sleep_overshoot", law["repetition_sigma"]["value"])
    paced = {key: {**law[key], "value": law[key]["value"] * common} for key in ("base", "slope")}
    return {
        **plain,
        "operations": costs,
        "app": {**plain["app"], "sleep_overshoot": {**law, **paced}},
    }


def scaled(plain: Mapping[str, Any], factors: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return `contents` with the costs of some operations multiplied, and each factor kept.

    A cost's standard error grows with it, so a draw of the product is the product of the draw. The
    factor's own error is kept beside it and not drawn.
    """

    def times(of: Mapping[str, Any], factor: Mapping[str, Any]) -> dict[str, Any]:
        error = of["standard_error"] * factor["value"]
        scaled = _times(of, factor["value"])
        return {**of, **scaled, "standard_error": error, "cost_factor": factor}

    costs = {
        key: times(of, factors[key]) if key in factors else of
        for key, of in plain["operations"].items()
    }
    return {**plain, "operations": costs}


def _times(cost: Mapping[str, Any], factor: float) -> dict[str, float]:
    return {key: cost[key] * factor for key in ("cpu", "per_byte", "wait")}


def _scaled(cost: Mapping[str, Any], total: float) -> dict[str, float]:
    """Share a drawn total among cpu and wait as they stood; per-byte cost goes along."""
    mean = cost["cpu"] + cost["wait"]
    if mean == 0:
        return {"cpu": total}
    return _times(cost, total / mean)


def _shifted(window: Mapping[str, Any], start: float) -> dict[str, float]:
    return {"from": start, "to": start + window["to"] - window["from"]}


_PROBABILITIES = ("kept_connection.duplicate_dial_probability",)
