"""How the radios of an access network sleep, as the engine takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pocketsim.sim.scenario import resolved as given


def states(network: given.Access) -> given.States | None:
    """Return the states of its radios; None where they never sleep.

    A phone that dozes on Wi-Fi is idle until a beacon pages it, and wakes up at once.
    """
    doze = network.get("power_save")
    if doze is None:
        return network.get("states")
    return {
        "promotion_s": 0.0,
        "inactivity_timer_s": doze["awake_s"],
        "drx_cycle_s": 0.0,
        "on_duration_s": 0.0,
        "drx_inactivity_timer_s": 0.0,
        "paging_cycle_s": doze["dtim_periods"] * doze["beacon_interval_s"],
        "sr_periodicity_s": 0.0,
        "grant_delay_s": 0.0,
        "bler": 0.0,
        "harq_delay_s": 0.0,
    }
