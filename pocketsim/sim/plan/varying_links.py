"""Rates over time and interruptions of an access network, as the engine takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from pocketsim.sim.plan import plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.rate_files import Steps


class Columns(TypedDict):
    """What of an access network varies, as in `sim.plan.plan.Access`."""

    up_rate: plan.RateSteps | None
    down_rate: plan.RateSteps | None
    handover: given.Interruption | None
    rat_change: given.Interruption | None


def columns(network: given.Access, files: Mapping[str, str]) -> Columns:
    """Return what varies of a network, whose files lie at paths by their digests.

    Raises ScenarioError for a file that has changed.
    """
    up_rate = down_rate = None
    asked = network.get("rate_file")
    if asked is not None:
        # Here, as it loads what reads tables: children of other runs start faster without.
        from pocketsim.sim.scenario import rate_files

        up_rate, down_rate = map(_steps, rate_files.again(asked, files))
    return {
        "up_rate": up_rate,
        "down_rate": down_rate,
        "handover": network.get("handover"),
        "rat_change": network.get("rat_change"),
    }


def _steps(steps: Steps | None) -> plan.RateSteps | None:
    if steps is None:
        return None
    return {
        "start_s": plan.floats(steps.start_s),
        "bytes_per_s": plan.floats(steps.bytes_per_s),
        "period_s": steps.period_s,
    }
