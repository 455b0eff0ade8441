"""Baselines: models without the mechanism, which a simulation must beat to count as validation.

* `nominal`: what the configured numbers alone give. Sends and stores at the configured rate, every
  proposal stored, no datagram lost, equal shares of time, growth in proportion to the axis.
* `sleep`: the sender loop with its sleeps too long by the device's law, and its own arithmetic:
  rates and counts of paced proposals.
* `session`: one constant for each published session, the mean of its other figures of that kind
  (of both where there are two); of rates and counts, of their ratio to `nominal`; no growth.

docs/validation.md has a table of what each answers.
The first two answer as simulations do, with metrics by rung. The third is made of those published
figures that a group compares by their size. Of rows that a baseline cannot know it says nothing.
Pure.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pocketsim.calibration.validate.answers import Comparison, RungKey, Rungs
    from pocketsim.sim.scenario.resolved import Resolved

    Settings = Mapping[RungKey, Resolved]
    """resolved.json by rung."""


def rungs(settings: Settings) -> dict[str, Rungs]:
    """Return the metrics that `nominal` and `sleep` give for each rung."""
    return {
        "nominal": {key: _as_rung(nominal(key, of_rung)) for key, of_rung in settings.items()},
        "sleep": {key: _as_rung(sleep(of_rung)) for key, of_rung in settings.items()},
    }


def nominal(key: RungKey, resolved: Resolved) -> dict[str, float]:
    """Return what the configured numbers of a rung give, in the units of the metrics' names."""
    count = key.rate_per_s * resolved["run"]["duration_s"]
    grown = math.prod(_grows(axis, value) for axis, value in key.axes)
    return {
        **_paced(count, key.rate_per_s),
        "stored_mb_per_s": key.rate_per_s * key.payload_bytes / 1e6,
        "success_ratio": 1.0,
        "settled_success_ratio": 1.0,
        "unmatched_count": 0.0,
        "datagram_loss_ratio": 0.0,
        "task_us_mean": 1.0,  # equal shares of whatever is summed
        **dict.fromkeys(GROWTH_ONLY, grown),
    }


def sleep(resolved: Resolved) -> dict[str, float]:
    """Return what a sender loop gives whose proposals cost no time; of other workloads nothing."""
    workload = resolved["workload"]
    if workload["kind"] != "paced":
        return {}
    step_s = workload["interval_s"] + sleep_overshoot_s(resolved, workload["interval_s"])
    count = math.ceil((resolved["run"]["duration_s"] - workload["start_s"]) / step_s)
    # From the first to the last proposal, as rates are measured.
    return _paced(count, count / ((count - 1) * step_s)) if count > 1 else {}


def sleep_overshoot_s(resolved: Resolved, interval_s: float) -> float:
    """Return by how much the first phone's sender loop sleeps too long at an interval."""
    profile = resolved["profiles"][resolved["devices"][0]["profile"]]
    law = profile["scheduler"]["sleep_overshoot"]
    over_s = law["base_s"]["value"] + law["slope_s"]["value"] * math.log(1e3 * interval_s)
    return float(max(0.0, over_s))


def session(found: Comparison, peers: Iterable[Comparison]) -> float | None:
    """Return what the constant of its session says of a row; None where there is none.

    `peers` are the published figures that are compared by their size, beside their `nominal` ones.
    """
    if found.statistic == "growth":
        return 1.0
    alike = [peer for peer in peers if _kind(peer) == _kind(found) and peer.statistic != "classes"]
    own = next((peer for peer in alike if peer.id == found.id), None)
    scales = {peer.id: _scale(peer) for peer in alike}
    ratios = {
        peer.id: peer.published / scale
        for peer in alike
        if peer.published is not None and (scale := scales[peer.id])
    }
    others = {name: ratio for name, ratio in ratios.items() if name != found.id}
    chosen = others if len(ratios) >= _FEWEST else ratios
    if len(ratios) < _TWO:
        return None
    return statistics.fmean(chosen.values()) * (_scale(own) if own else 1.0)


def _kind(row: Comparison) -> tuple[str, str]:
    """Return what has one constant: a metric that has nominal values, or else a unit."""
    return row.session, row.metric if row.metric in PACED else row.unit


def _scale(row: Comparison) -> float:
    """Return the nominal value that a constant multiplies; of what has none, 1."""
    return (row.simulated or 0.0) if row.metric in PACED else 1.0


def _paced(count: float, rate_per_s: float) -> dict[str, float]:
    return {
        "send_count": count,
        "store_count": count,
        "send_rate_per_s": rate_per_s,
        "store_rate_per_s": rate_per_s,
    }


def _grows(axis: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 1.0
    return 1 / value if axis in _SHRINKS_WITH else float(value)


def _as_rung(known: Mapping[str, float]) -> dict[str, Any]:
    """Return metrics of one repetition, as metrics.json has them; of what is not known, no mean."""
    found: defaultdict[str, Any] = defaultdict(
        lambda: {"mean": None, "normal_ci95": None, "values": []}
    )
    for name, value in known.items():
        found[name] = {"mean": value, "normal_ci95": None, "values": [value]}
    return {"metrics": found}


PACED = frozenset({"send_count", "store_count", "send_rate_per_s", "store_rate_per_s"})
GROWTH_ONLY = frozenset({"task_rate_per_s", "goodput_mb_per_s"})
"""Of these `nominal` knows in proportion to what, not how many."""
_SHRINKS_WITH = {"workload.recipients"}  # each is one more signature to verify
_TWO = 2  # one figure alone says nothing of itself
_FEWEST = 3  # of two figures, the other one alone is no constant
