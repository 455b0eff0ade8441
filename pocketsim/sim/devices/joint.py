"""How costs are drawn from what is known of them: alone, or together with what errs as they do.

A cost that only states its standard error is lognormal, and its cost per byte goes along. It may
say more: how the cost per byte errs beside the fixed part, that the errors are known from so few
measurements that they are Student's t (even to both sides, as no lognormal is), and that other
costs of the profile err with it, as they were scaled from one device or measured in one session.
What does not live here: what is drawn beside costs, and by which name (`sim.devices.draws`).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pocketsim.sim.devices.contents import Cost, OwnCost, ScaledCost

AnyCost = TypeVar("AnyCost", "Cost", "OwnCost", "ScaledCost")


def drawn(costs: Mapping[str, AnyCost], seed: int, name: str) -> dict[str, AnyCost]:
    """Return costs drawn from their uncertainty, from streams that begin with "name/".

    The fixed part (core time and waiting, which keep their shares) is from "<key>", the cost per
    byte, where it has an error of its own, from that and "<key>/per_byte". A `common_factor` is
    from "common/<its name>". Where the errors have degrees of freedom, one draw from
    ".../degrees_of_freedom" makes both larger or smaller. A sigma that has an error is from
    "<key>/<its name>". Whatever is drawn keeps its mean, but for what is 0 with an error, as
    `repetition_sigma` of reports that agree: it is half a normal, sqrt(2 / pi) errors on average.
    """
    from pocketsim.sim.base import streams

    @functools.cache
    def normal(place: str) -> float:
        return streams.normal(seed, f"{name}/{place}")

    def sigma(place: str, mean: float, error: float) -> float:
        return streams.positive(seed, f"{name}/{place}", mean, error)

    def with_sigmas(key: str, cost: AnyCost) -> AnyCost:
        if not _SIGMAS_ERR & cost.keys():
            return cost
        spread = cost["spread_sigma"], cost.get("spread_sigma_standard_error", 0.0)
        repetition = cost["repetition_sigma"], cost.get("repetition_sigma_standard_error", 0.0)
        return {
            **cost,
            "spread_sigma": sigma(f"{key}/spread_sigma", *spread),
            "repetition_sigma": sigma(f"{key}/repetition_sigma", *repetition),
        }

    def one(key: str, cost: AnyCost) -> AnyCost:
        if _SAYS_MORE & cost.keys():
            return _drawn(cost, key, normal)
        fixed_s, error_s = cost["cpu_s"] + cost["wait_s"], cost["standard_error_s"]
        return scaled_to(cost, streams.positive(seed, f"{name}/{key}", fixed_s, error_s))

    return {key: with_sigmas(key, one(key, cost)) for key, cost in costs.items()}


def times(cost: AnyCost, factor: float) -> AnyCost:
    """Return a cost multiplied, but for its standard error."""
    return {
        **cost,
        "cpu_s": cost["cpu_s"] * factor,
        "per_byte_s": cost["per_byte_s"] * factor,
        "wait_s": cost["wait_s"] * factor,
    }


def scaled_to(cost: AnyCost, total_s: float) -> AnyCost:
    """Share a total among cpu and wait as they stood; per-byte cost goes along."""
    mean_s = cost["cpu_s"] + cost["wait_s"]
    if mean_s == 0:
        return {**cost, "cpu_s": total_s}
    return times(cost, total_s / mean_s)


def wider(relative: float, widening: float) -> float:
    """Return a relative error in a draw that widens it: to the whole of the number, at most."""
    return min(relative * widening, max(relative, _WIDEST))


def _drawn(cost: AnyCost, key: str, normal: Callable[[str], float]) -> AnyCost:
    """Return a cost that says more than its error, drawn; `normal` draws from a place's stream."""
    from pocketsim.sim.base import streams

    errors = _wider(cost, _widening(cost, key, normal))
    is_even = "degrees_of_freedom" in cost
    law = streams.even_at if is_even else streams.positive_at
    deviation = normal(key)
    if "common_factor" in cost:
        common = normal(f"common/{cost['common_factor']}")
        share = cost["common_ratio"]
        deviation = math.sqrt(share) * common + math.sqrt(1 - share) * deviation
    found, fixed_s, per_byte_s = cost, cost["cpu_s"] + cost["wait_s"], cost["per_byte_s"]
    if fixed_s > 0:
        found = scaled_to(cost, law(fixed_s, errors[0] * fixed_s, deviation))
    if "per_byte_standard_error_s" not in cost or per_byte_s == 0:
        return found
    own = normal(f"{key}/per_byte")
    together = cost.get("correlation", 0.0)
    if not is_even:
        together = _together(together, errors)
    beside = together * deviation + math.sqrt(1 - together**2) * own
    per_byte_s = law(per_byte_s, errors[1] * per_byte_s, beside)
    return {**found, "per_byte_s": per_byte_s}


def _widening(cost: AnyCost, key: str, normal: Callable[[str], float]) -> float:
    """Return by how much both errors of a cost are larger in this draw than it says.

    Costs with a common factor have it in common: what told the error of one told that of all.
    """
    if "degrees_of_freedom" not in cost:
        return 1.0
    from pocketsim.sim.base import streams

    place = f"common/{cost['common_factor']}" if "common_factor" in cost else key
    return streams.widening(normal(f"{place}/degrees_of_freedom"), cost["degrees_of_freedom"])


def _wider(cost: AnyCost, widening: float) -> tuple[float, float]:
    """Return the errors of the fixed part and of the cost per byte in this draw, relative."""
    parts = (
        (cost["standard_error_s"], cost["cpu_s"] + cost["wait_s"]),
        (cost.get("per_byte_standard_error_s", 0.0), cost["per_byte_s"]),
    )
    relative = [error_s / mean_s if mean_s else 0.0 for error_s, mean_s in parts]
    fixed, per_byte = (wider(error, widening) for error in relative)
    return fixed, per_byte


def _together(correlation: float, errors: tuple[float, float]) -> float:
    """Return the correlation of the logarithms of two lognormals with relative `errors`."""
    from pocketsim.sim.base import streams

    product = max(correlation * math.prod(errors), -_NEARLY_ALL)
    if product == 0:
        return 0.0
    deviations = [math.sqrt(streams.lognormal_variance(1.0, error)) for error in errors]
    return min(1.0, max(-1.0, math.log1p(product) / math.prod(deviations)))


_SAYS_MORE = {"per_byte_standard_error_s", "degrees_of_freedom", "common_factor"}
_SIGMAS_ERR = {"spread_sigma_standard_error", "repetition_sigma_standard_error"}
# Times the mean. Student's t with few degrees of freedom has no variance. A cost whose error is
# badly known is no less certain than one of which nothing is known.
_WIDEST = 1.0
_NEARLY_ALL = 1 - 1e-9  # the logarithm of what two lognormals can be apart
