"""The access networks of one repetition, as the engine takes them, in order of their names.

With `run.draw = "posterior"` numbers that have a standard error are drawn. What lies between sites,
and which phone is on which network, does not live here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.base import streams
from pocketsim.sim.plan import radio_states, varying_links, wifi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.plan import plan
    from pocketsim.sim.scenario import resolved as given


def access(resolved: given.Resolved, name: str, files: Mapping[str, str]) -> list[plan.Access]:
    """Return the columns of each network; streams begin with "name/access/<network>/".

    `files` are paths of the files that the scenario names, by their digests.
    """
    found = sorted(resolved["network"]["access"].items())
    if resolved["run"]["draw"] == "posterior":
        seed = resolved["run"]["seed"]
        found = [(key, drawn(network, seed, f"{name}/access/{key}")) for key, network in found]
    return [_access(network, files) for _, network in found]


def drawn(network: given.Access, seed: int, name: str) -> given.Access:
    """Return a network with each number that has an error drawn, from the stream "name/<key>".

    Lognormal, and Beta where it is a probability, as the numbers of a profile are.
    """
    errors: given.AccessErrors = network.get("standard_error", {})

    def positive(key: str, mean: float, error: float) -> float:
        return streams.positive(seed, f"{name}/{key}", mean, error)

    latency_s, median_s = network["latency_s"], network["jitter_median_s"]
    sigma, loss = network["jitter_sigma"], network["loss_ratio"]
    found: given.Access = {
        **network,
        "latency_s": positive("latency", latency_s, errors.get("latency_s", 0.0)),
        "jitter_median_s": positive("jitter_median", median_s, errors.get("jitter_median_s", 0.0)),
        "jitter_sigma": positive("jitter_sigma", sigma, errors.get("jitter_sigma", 0.0)),
        "loss_ratio": streams.probability(
            seed, f"{name}/loss_ratio", loss, errors.get("loss_ratio", 0.0)
        ),
    }
    if "wifi" not in network:
        up, down = network["up_bytes_per_s"], network["down_bytes_per_s"]
        found["up_bytes_per_s"] = positive("up", up, errors.get("up_bytes_per_s", 0.0))
        found["down_bytes_per_s"] = positive("down", down, errors.get("down_bytes_per_s", 0.0))
    return found


def _bursts(bursts: given.Bursts | None) -> plan.Bursts | None:
    if bursts is None:
        return None
    return {
        "share": bursts["share"],
        "mean_packets": bursts.get("mean_packets"),
        "mean_duration_s": bursts.get("mean_duration_s"),
        "loss_ratio": bursts["loss_ratio"],
    }


def _access(network: given.Access, files: Mapping[str, str]) -> plan.Access:
    return {
        "up_bytes_per_s": network.get("up_bytes_per_s", 0.0),
        "down_bytes_per_s": network.get("down_bytes_per_s", 0.0),
        "up_queue_bytes": network["up_queue_bytes"],
        "down_queue_bytes": network["down_queue_bytes"],
        "blocks": network["when_full"] == "block",
        "latency_s": network["latency_s"],
        "jitter_median_s": network["jitter_median_s"],
        "jitter_sigma": network["jitter_sigma"],
        "loss_ratio": network["loss_ratio"],
        "bursts": _bursts(network["bursts"]),
        "states": radio_states.states(network),
        **varying_links.columns(network, files),
        "reorders": network["reorders"],
        "forwarding_cpu_s": network["forwarding_cpu_s"],
        "wifi": wifi.columns(network["wifi"]) if "wifi" in network else None,
    }
