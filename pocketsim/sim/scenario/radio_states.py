"""Radios that sleep: what datagrams of an access network wait for, a section of the scenario.

Names are those of 3GPP (TS 36.331, 36.321 and 36.304; 38.331, 38.321 and 38.304), laws those of
sim/engine/src/network/radio_states/rrc.rs. The power save of Wi-Fi is the same with less to say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from pocketsim.sim.base import si
from pocketsim.sim.base.documents import Duration, PositiveDuration, Section, written
from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario
    from pocketsim.sim.scenario.network import Access


class States(Section):
    """RRC states of LTE or 5G: idle, waking up (promotion), connected, connected with DRX."""

    promotion: Duration = Field(
        description="From idle to connected: connection set-up, or resume where the network keeps"
        " phones inactive. A phone that is to send begins it at once."
    )
    inactivity_timer: PositiveDuration = Field(
        description="A phone is idle again when it sent and received nothing for so long: its tail."
    )
    drx_cycle: Duration = Field(
        default=written("0s"),
        description="Long cycle of discontinuous reception: from one on-duration to the next of a"
        " connected phone; 0s: it always listens.",
    )
    on_duration: Duration = Field(
        default=written("0s"), description="drx-onDurationTimer: it listens for so long in each."
    )
    drx_inactivity_timer: Duration = Field(
        default=written("0s"),
        description="drx-InactivityTimer: it always listens until nothing came for so long.",
    )
    paging_cycle: Duration = Field(
        default=written("0s"),
        description="defaultPagingCycle: from one paging occasion of an idle phone to the next."
        " What is for it waits for that, and for a promotion.",
    )
    sr_periodicity: Duration = Field(
        default=written("0s"),
        description="From one scheduling request that a phone may send to the next: a connected"
        " phone that begins to send waits uniformly between 0 and this.",
    )
    grant_delay: Duration = Field(
        default=written("0s"), description="From that request to the first datagram."
    )
    bler: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = Field(
        default=0.0,
        description="Probability that a datagram has to be sent again (HARQ), each time; what comes"
        " behind it waits for it.",
    )
    harq_delay: Duration = Field(
        default=written("0s"), description="How much later it comes each time."
    )

    @model_validator(mode="after")
    def _each_says_something(self) -> States:
        for name, value_s in (
            ("on_duration", self.on_duration),
            ("drx_inactivity_timer", self.drx_inactivity_timer),
        ):
            if value_s > 0 and self.drx_cycle == 0:
                raise ValueError(f"{name} says nothing without drx_cycle")
        if self.on_duration > self.drx_cycle:
            raise ValueError(
                f"on_duration, {self.on_duration:g} s, is longer than drx_cycle,"
                f" {self.drx_cycle:g} s"
            )
        if (self.bler > 0) != (self.harq_delay > 0):
            raise ValueError("bler and harq_delay say something only together")
        return self


class PowerSave(Section):
    """Power save of Wi-Fi: what is for a phone that dozes waits for a beacon."""

    awake: PositiveDuration = Field(
        description="It dozes when it sent and received nothing for so long: its tail."
    )
    dtim_periods: Annotated[int, Field(ge=1, le=255)] = Field(
        default=1, description="It listens to each so many-th beacon."
    )
    beacon_interval: PositiveDuration = Field(
        default=written("102.4ms"), description="From one beacon to the next."
    )


def timer_s(access: Access) -> float | None:
    """Return after how many seconds of silence its radios sleep; None where they do not."""
    if access.states is not None:
        return access.states.inactivity_timer
    return access.power_save.awake if access.power_save is not None else None


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where radios sleep that cannot, or that sleep later for the energy."""
    for name, access in scenario.network.access.items():
        if timer_s(access) is None:
            continue
        key = "states" if access.states is not None else "power_save"
        if scenario.run.fidelity == "flow":
            reason = 'run.fidelity = "flow" has no radio that sleeps'
            place = f"network.access.{name}.{key}"
            raise ScenarioError(path, place, reason, 'run.fidelity = "hybrid"')
        _check_energy(scenario, path, name, key)


def energy(scenario: Scenario) -> dict[str, Any] | None:
    """Return the section `energy` by SI names, with tails as the networks of radios say them."""
    found: dict[str, Any] | None = si.plain(scenario.energy)
    for name, radio in found["access"].items() if found else ():
        tail_s = timer_s(scenario.network.access[name])
        if tail_s is not None:
            radio["tail_s"] = tail_s
    return found


def _check_energy(scenario: Scenario, path: Path, name: str, key: str) -> None:
    radio = scenario.energy.access.get(name) if scenario.energy else None
    access = scenario.network.access[name]
    tail_s = timer_s(access)
    if radio is None:
        return
    if "tail" in radio.model_fields_set and radio.tail != tail_s:
        timer = "states.inactivity_timer" if key == "states" else "power_save.awake"
        reason = (
            f"is {radio.tail:g} s, and network.access.{name}.{timer} {tail_s:g} s: leave it out,"
            " a radio has one tail"
        )
        raise ScenarioError(path, f"energy.access.{name}.tail", reason)
    if radio.promotion > 0 and (access.states is None or access.states.promotion == 0):
        reason = f"takes energy, but no time by network.access.{name}.{key}"
        raise ScenarioError(path, f"energy.access.{name}.promotion", reason)
