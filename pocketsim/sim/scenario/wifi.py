"""Access points of IEEE 802.11: the `wifi` section of an access network.

Phones of one site contend for its air frame by frame; sim/engine/src/resources/wifi says how, and
docs/models.md how near that is to ns-3.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import Count, Section
from pocketsim.sim.base.wifi_channels import DISTANCES, SCHEMES_MAX, width_mhz
from pocketsim.sim.scenario.fields import Ratio


class Distances(Section):
    """Shares of an access point's phones by how far from it they are."""

    near: Ratio = Field(default=0.0, description="Some 5 m away, in sight: scheme 9.")
    room: Ratio = Field(default=0.0, description="In the same room: scheme 7.")
    next_room: Ratio = Field(default=0.0, description="Behind a wall: scheme 4.")
    edge: Ratio = Field(default=0.0, description="Where it still works: scheme 1.")

    @model_validator(mode="after")
    def _they_are_all(self) -> Distances:
        total = sum(self.shares())
        if abs(total - 1) > _ROUNDING:
            raise ValueError(f"the shares add up to {total:g}, not to 1")
        return self

    def shares(self) -> list[float]:
        """Return the shares in the order of `DISTANCES`."""
        return [getattr(self, name) for name in DISTANCES]


class Wifi(Section):
    """The access points of a network: IEEE 802.11n at 2.4 GHz, or 802.11ac at 5 GHz."""

    standard: Literal["802.11n", "802.11ac"] = Field(description="Its PHY and its band.")
    channel_width_mhz: Literal[20, 40, 80] | None = Field(
        default=None, description="Absent for 20 of 802.11n and 80 of 802.11ac."
    )
    streams: int = Field(default=1, ge=1, le=4, description="Spatial streams.")
    mcs: int | None = Field(
        default=None,
        ge=0,
        le=9,
        description="Modulation and coding scheme of all frames, both ways, instead of `distance`.",
    )
    distance: Distances | None = Field(
        default=None,
        description="How far phones are from their access points, which says by what scheme they"
        " send and receive; absent with `mcs`, or for all of them in its room.",
    )
    aggregation: bool = Field(
        default=True,
        description="Whether packets that wait for one receiver go in one frame (A-MPDU), up to 64"
        " of them, 65 535 bytes or 5.484 ms.",
    )
    block_ack_request: bool = Field(
        default=True,
        description="Whether a sender asks for the acknowledgement of such a frame that it missed"
        " before it repeats the frame, as ns-3 does.",
    )
    queue_packets: Count = Field(
        default=500,
        description="IP packets that may wait at each phone, and for all phones of a site at the"
        " access point; more are dropped (queue_full). 500 is ns-3's.",
    )

    @model_validator(mode="after")
    def _it_exists(self) -> Wifi:
        width = width_mhz(self.standard, self.channel_width_mhz)
        highest = SCHEMES_MAX[self.standard].get(width)
        if highest is None:
            raise ValueError("802.11n has channels of 20 and 40 MHz, 802.11ac of 80, too")
        if self.mcs is not None and self.distance is not None:
            raise ValueError("mcs and distance both say by what scheme frames are sent: give one")
        if self.mcs is not None and self.mcs > highest:
            raise ValueError(
                f"mcs {self.mcs} is not in {self.standard} with {width} MHz; the highest is"
                f" {highest}"
            )
        return self


_ROUNDING = 1e-9
