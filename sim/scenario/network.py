"""Access networks and what lies between their sites: sections of the scenario document.

Links between phones near each other are in `sim.scenario.town`, whose payments make them meet.
"""

from __future__ import annotations

from pydantic import Field, model_validator

from sim.base.documents import Bandwidth, Count, Duration, Section, written
from sim.scenario.fields import Ratio, Sigma


class Access(Section):
    """One kind of access network: the hop between a phone and its access point or cell."""

    up: Bandwidth = Field(description="From the phone.")
    down: Bandwidth = Field(description="To the phone.")
    latency: Duration = Field(description="One way between phone and access point.")
    jitter_median: Duration = Field(
        default=written("0s"), description="Median of the lognormal extra delay of each datagram."
    )
    jitter_sigma: Sigma = Field(default=0.0, description="Sigma of that delay.")
    loss_ratio: Ratio = Field(default=0.0, description="Probability that a datagram is lost here.")
    reorders: bool = Field(
        default=False, description="Whether jitter may overtake earlier datagrams of a pair."
    )
    site_capacity: Bandwidth | None = Field(
        default=None, description="Capacity that the phones of one site share; absent for none."
    )
    phones_per_site: Count | None = Field(
        default=None, description="Phones on one access point or cell; absent for all on one."
    )


class Network(Section):
    """Access networks, and what lies between their sites."""

    backbone_latency: Duration = Field(
        default=written("5ms"), description="One way between two sites; added when sites differ."
    )
    relay_latency: Duration = Field(
        default=written("6ms"), description="One way between a site and the relay server."
    )
    access: dict[str, Access] = Field(min_length=1, description="Access networks by name.")


class Outage(Section):
    """A time in which an access network carries nothing."""

    access: str | None = Field(
        default=None, description="Name of an access network; absent for all of them."
    )
    start: Duration = Field(description="When it goes.")
    end: Duration = Field(description="When it is back.")

    @model_validator(mode="after")
    def _it_takes_time(self) -> Outage:
        if self.end <= self.start:
            raise ValueError("end is not after start")
        return self
