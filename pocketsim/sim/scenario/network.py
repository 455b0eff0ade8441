"""Access networks and what lies between their sites: sections of the scenario document.

Links between phones near each other are in `sim.scenario.town`, whose payments make them meet.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import (
    Bandwidth,
    Count,
    Duration,
    PositiveDuration,
    Section,
    Size,
    written,
)
from pocketsim.sim.scenario.core import Core
from pocketsim.sim.scenario.fields import Ratio, Sigma
from pocketsim.sim.scenario.nats import HolePunching, Nat, Relay, with_punching
from pocketsim.sim.scenario.radio_states import PowerSave, States
from pocketsim.sim.scenario.varying_links import Interruption, RateFile
from pocketsim.sim.scenario.wifi import Wifi


class Bursts(Section):
    """Losses that cluster (Gilbert 1960, Elliott 1963): a network is in a burst or not.

    For each phone and direction it may change between any two IP packets, into a burst with
    probability share / (mean_packets (1 - share)), out of it with 1 / mean_packets: p and r of
    tc-netem(8)'s `loss gemodel`, whose 1-h is `loss_ratio` here and whose 1-k is the network's.
    With `mean_duration` it may change at any time instead, at rates of the same form. Closed forms
    of what comes of it are in docs/scenarios.md.
    """

    share: float = Field(
        ge=0, lt=1, allow_inf_nan=False, description="Share of all packets that meet a burst."
    )
    mean_packets: Annotated[float, Field(ge=1, le=1e6, allow_inf_nan=False)] | None = Field(
        default=None,
        description="Mean length of a burst in packets; at least 1 / (1 - share), that of chance.",
    )
    mean_duration: PositiveDuration | None = Field(
        default=None,
        description="Mean length of a burst in time, in place of `mean_packets`: how many packets"
        " it meets depends on how often they come.",
    )
    loss_ratio: Ratio = Field(
        default=1.0, description="Probability that a packet in a burst is lost."
    )

    absent_when_none = frozenset({"mean_packets", "mean_duration"})

    @model_validator(mode="after")
    def _they_have_one_length(self) -> Bursts:
        if (self.mean_packets is None) == (self.mean_duration is None):
            raise ValueError("have one length: mean_packets or mean_duration")
        return self

    @model_validator(mode="after")
    def _they_are_no_shorter_than_chance(self) -> Bursts:
        least = 1 / (1 - self.share)
        if self.mean_packets is not None and self.mean_packets < least * (1 - _ROUNDING):
            raise ValueError(
                f"mean_packets {self.mean_packets:g} is less than {least:.8g}, as long as runs of"
                f" chance are with a share of {self.share:g}"
            )
        return self


class AccessErrors(Section):
    """How sure the numbers of an access network are; what is absent is not drawn."""

    up: Bandwidth | None = Field(default=None, description="Of the number of its name.")
    down: Bandwidth | None = Field(default=None, description="The same.")
    latency: Duration | None = Field(default=None, description="The same.")
    jitter_median: Duration | None = Field(default=None, description="The same.")
    jitter_sigma: Sigma | None = Field(default=None, description="The same.")
    loss_ratio: Ratio | None = Field(default=None, description="The same.")


AccessErrors.absent_when_none = AccessErrors.optional()


class Access(Section):
    """One kind of access network: the hop between a phone and its access point or cell."""

    up: Bandwidth | None = Field(
        default=None, description="From the phone; needed, but with `wifi`, whose PHY has a rate."
    )
    down: Bandwidth | None = Field(default=None, description="To the phone, the same way.")
    up_queue: Size | None = Field(
        default=None,
        description="What may wait at the phone to be sent, of more `when_full` says; absent for as"
        " much as `up` carries in 250 ms, the buffer that routers have by rule of thumb"
        " (Appenzeller et al., SIGCOMM 2004), or the phone's share of `site_capacity` if that is"
        " less: the capacity over the queues of the site, up and down, that have something to send"
        " then, all of which together let no more wait than the site carries in 250 ms. An empty"
        " queue always takes a datagram. Of fidelity hybrid alone, as `down_queue` is.",
    )
    down_queue: Size | None = Field(
        default=None,
        description="What may wait at the access point or cell for a phone; absent for as much as"
        " `down`, or the same share of the site, carries in 250 ms.",
    )
    when_full: Literal["drop", "block"] = Field(
        default="drop",
        description="What becomes of what a phone sends while `up_queue` has no room: it is dropped"
        " (queue_full), or the thread or task that sends it waits, as in sendto(2) on a socket with"
        " a full send buffer, and what it would do next waits with it. Fidelity hybrid alone has"
        " `block`. `down_queue` always drops.",
    )
    latency: Duration = Field(description="One way between phone and access point.")
    jitter_median: Duration = Field(
        default=written("0s"), description="Median of the lognormal extra delay of each datagram."
    )
    jitter_sigma: Sigma = Field(default=0.0, description="Sigma of that delay.")
    loss_ratio: Ratio = Field(
        default=0.0,
        description="Probability that an IP packet is lost here outside bursts; a datagram is lost"
        " with any of its packets.",
    )
    bursts: Bursts | None = Field(default=None, description="Losses that cluster; absent for none.")
    states: States | None = Field(
        default=None,
        description="How radios of LTE or 5G sleep, and what datagrams wait for that; absent: they"
        " are always awake, but for energy. Of fidelity hybrid alone.",
    )
    power_save: PowerSave | None = Field(
        default=None, description="The same of Wi-Fi, in place of `states`."
    )
    rate_file: RateFile | None = Field(
        default=None,
        description="Files of its rate over time, as each phone has it; absent: `up` and `down` at"
        " all times. Of fidelity hybrid alone, without `site_capacity`.",
    )
    handover: Interruption | None = Field(
        default=None,
        description="Handovers between cells, drawn for each phone; absent: none. Of fidelity"
        " hybrid alone, without `site_capacity`.",
    )
    rat_change: Interruption | None = Field(
        default=None, description="Changes of radio technology, the same way."
    )
    reorders: bool = Field(
        default=False, description="Whether jitter may overtake earlier datagrams of a pair."
    )
    forwarding_cpu: Duration = Field(
        default=written("0s"),
        description="Core time of the phone that each of its datagrams takes a process beside it,"
        " with one thread, which forwards them all, sent and received: the emulator of a link on"
        " the same computer. It begins when the datagram is sent, and that arrives when both this"
        " and its way are over: `latency` has the work in it, and what that ordinarily waits for.",
    )
    site_capacity: Bandwidth | None = Field(
        default=None, description="Capacity that the phones of one site share; absent for none."
    )
    phones_per_site: Count | None = Field(
        default=None, description="Phones on one access point or cell; absent for all on one."
    )
    nat: Nat | None = Field(
        default=None,
        description="What lies between its phones and the Internet; absent: every phone can be"
        " reached.",
    )
    wifi: Wifi | None = Field(
        default=None,
        description="Access points of IEEE 802.11, whose phones contend for the air; absent for the"
        " rates `up` and `down` and a plain `site_capacity`. Fidelity hybrid alone has it.",
    )
    standard_error: AccessErrors | None = Field(
        default=None,
        description='Standard errors of its numbers, which `run.draw = "posterior"` then draws once'
        " for each repetition; absent: they are taken as they stand.",
    )

    absent_when_none = frozenset(
        {"up", "down", "nat", "wifi", "standard_error", "states", "power_save"}
        | {"rate_file", "handover", "rat_change"}
    )

    @model_validator(mode="after")
    def _it_has_rates(self) -> Access:
        for key in ("up", "down") if self.wifi is None else ():
            if getattr(self, key) is None:
                raise ValueError(f"{key} is required, but in a network with wifi")
        for key in _NOT_WITH_WIFI if self.wifi is not None else ():
            if getattr(self, key) is not None:
                raise ValueError(
                    f"{key} is of a network without wifi, whose air has limits of its own"
                )
        return self

    @model_validator(mode="after")
    def _radios_sleep_in_one_way(self) -> Access:
        if self.states is not None and self.power_save is not None:
            raise ValueError("has states and power_save: a radio is one of LTE or 5G, or of Wi-Fi")
        return self

    @model_validator(mode="after")
    def _losses_may_err_so(self) -> Access:
        error = self.standard_error.loss_ratio if self.standard_error else None
        # Else no distribution has both (`sim.base.streams.probability`).
        limit = math.sqrt(self.loss_ratio * (1 - self.loss_ratio)) or 1.0
        if error is not None and error >= limit:
            raise ValueError(
                f"standard_error.loss_ratio is {error:g}: that of a probability of"
                f" {self.loss_ratio:g} is below {limit:.3g}"
            )
        return self


class Network(Section):
    """Access networks, and what lies between their sites."""

    backbone_latency: Duration = Field(
        default=written("5ms"), description="One way between two sites; added when sites differ."
    )
    relay_latency: Duration = Field(
        default=written("6ms"), description="One way between a site and the relay server."
    )
    core: Core | None = Field(
        default=None,
        description="A platform in place of `backbone_latency`: netpoints, routes, shared links.",
    )
    relay: Relay | None = Field(
        default=None, description="What the relay can carry; absent: it is a delay alone."
    )
    hole_punching: HolePunching | None = Field(
        default=None,
        description="How often and how fast pairs of phones behind NATs open a direct path;"
        " absent: as its defaults say where a network has NATs.",
    )
    access: dict[str, Access] = Field(min_length=1, description="Access networks by name.")

    absent_when_none = frozenset({"core", "hole_punching", "relay"})

    @model_validator(mode="before")
    @classmethod
    def _punches_where_it_has_to(cls, data: Any) -> Any:
        return with_punching(data)


class Outage(Section):
    """A time in which what comes to an access network, from a radio or for one, is lost."""

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


_NOT_WITH_WIFI = (
    *("up", "down", "up_queue", "down_queue", "site_capacity"),
    *("rate_file", "states", "handover", "rat_change"),
)
_ROUNDING = 1e-6  # of 1 / (1 - share), which people write in decimals
