"""The profile of an implementation: what a program does, whatever device it runs on.

A TOML file, one for each program and version. It says what a step of a protocol machine takes: how
many of the device's operations, and costs of the program's own where no such operation exists. And
it says how the program paces its proposals, polls, keeps time and fails. What an operation costs on
a phone is the device's profile (`sim.devices.profile`); what both come to, `sim.devices.prices`.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Annotated, Literal, cast

from pydantic import Field, model_validator

from pocketsim.sim.base import si
from pocketsim.sim.base.documents import PositiveDuration, Section, read_toml, validate, written
from pocketsim.sim.base.engine_facts import OPTIONAL, device_operations, operations
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.devices.profile import BY_REST, Cost, Rests, ascending
from pocketsim.sim.devices.provenance import (
    DurationNumber,
    Flag,
    Limit,
    PlainNumber,
    Provenance,
    RateNumber,
    Window,
)
from pocketsim.sim.devices.transport_sections import EvaProfile, QuicProfile, UdpProfile

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.devices.contents import ImplementationContents

Pacing = Literal["floored_ms", "batch_1024ms", "by_clock", "unpaced"]
Transport = Literal["udp", "quic_keep", "quic_reconnect", "tftp", "ipv8", "ipv8_sealed", "eva"]
Predicted = Literal[
    "send_rate_per_s", "store_rate_per_s", "send_count", "store_count", "rtt_ms_p50", "rtt_ms_p95"
]
"""Metrics above 0 whose ratios to a measurement are told."""


class About(Section):
    """Which program, who describes it, and what the profile does not claim."""

    name: str = Field(min_length=1, description="Implementation and version.")
    described_on: dt.date = Field(description="Date of the program or of its description.")
    described_by: str = Field(min_length=1, description="Who says so.")
    does_not_claim: list[str] = Field(min_length=1, description="What must not be read into it.")


class Step(Section):
    """What one step of a machine takes of the device."""

    operations: dict[str, Annotated[float, Field(gt=0, le=1e6)]] = Field(
        description="How many of which operation of the device; empty: none."
    )


class ScaledCost(Cost):
    """A cost that was found on one device, and how it is carried over to others."""

    scales_with: str | None = Field(
        default=None,
        description="Operation of the device whose cost says how fast another device is; absent: "
        "it takes as long everywhere. A wait never scales.",
    )
    reference: PositiveDuration | None = Field(
        default=None, description="What that operation costs where the number was found."
    )

    @model_validator(mode="after")
    def _scales(self) -> ScaledCost:
        if self.scales_with is not None:
            _known(self.scales_with, device_operations(), "operation")
        if (self.scales_with is None) != (self.reference is None):
            raise ValueError("scales_with and reference go together")
        return self


class OwnCost(ScaledCost):
    """What a step takes beyond operations of the device, as measured or fitted on one device."""

    step: str = Field(description="The step that it is part of.")
    after_rest: Rests | None = Field(
        default=None,
        description=f"{BY_REST}In place of the device's pace of computing after rests.",
    )

    absent_when_none = Cost.absent_when_none | {"after_rest"}

    @model_validator(mode="after")
    def _leads_somewhere(self) -> OwnCost:
        _known(self.step, operations(), "step")
        ascending("after_rest", self.after_rest or [])
        return self


class PacingLaw(Provenance):
    """How the sender loop keeps its rate."""

    value: Pacing = Field(
        description="Sleep between proposals: floor(1000/rate) ms; 1024/rate ms; until the next "
        "multiple of 1/rate; or none, whatever the rate says."
    )


class Places(Provenance):
    """How many of something a program keeps at a time."""

    value: int = Field(ge=1, le=2**32 - 1, description="What the code says.")


_OUTSTANDING = (
    "Its sender loop makes no proposal while so many have no answer; absent: it always makes one."
)


class WhileOff(Provenance):
    """What becomes of open proposals of a phone that goes off."""

    value: Literal["kept", "lost"] = Field(
        description="Whether it keeps them and tries them again when it is on, or loses them."
    )


class Factor(PlainNumber):
    """A number of times, 1 or more."""

    @model_validator(mode="after")
    def _does_not_shrink(self) -> Factor:
        if self.value < 1:
            raise ValueError("value is less than 1")
        return self


class Share(PlainNumber):
    """A share of something."""

    @model_validator(mode="after")
    def _is_a_share(self) -> Share:
        if self.value > 1:
            raise ValueError("value is more than 1")
        return self


class Retries(Section):
    """How the program sends proposals without an answer again."""

    attempts: Places = Field(description="Most sends of one proposal, the first included.")
    first_wait: DurationNumber = Field(
        description="How long an answer is waited for after the first send."
    )
    factor: Factor = Field(description="How many times as long each wait is as the one before.")
    longest_wait: DurationNumber | None = Field(
        default=None, description="No wait is longer; absent: as long as the deadline."
    )
    jitter: Share = Field(description="Share of each wait that is drawn.")
    deadline: DurationNumber = Field(
        description="A proposal is given up so long after it was first sent."
    )
    while_off: WhileOff | None = Field(
        default=None,
        description="What becomes of open proposals of a phone that goes off; absent: kept.",
    )


class KeptConnection(Section):
    """How the program loses the one connection that it keeps."""

    duplicate_dial_probability: PlainNumber = Field(
        description="Chance that a second dial races with the first and replaces it."
    )
    duplicate_dial_window: Window = Field(description="When, after the first dial, that happens.")
    break_rate: RateNumber = Field(description="How often an open connection breaks for good.")

    @model_validator(mode="after")
    def _probability_is_one(self) -> KeptConnection:
        chance = self.duplicate_dial_probability
        if chance.value > 1:
            raise ValueError("duplicate_dial_probability.value is more than 1")
        # Else no distribution has both (`sim.base.streams.probability`, which this must not load).
        certain = chance.value in {0, 1}
        limit = 1.0 if certain else math.sqrt(chance.value * (1 - chance.value))
        if chance.standard_error >= limit:
            raise ValueError(
                f"duplicate_dial_probability.standard_error is {chance.standard_error:g}: that of "
                f"a probability of {chance.value:g} is below {limit:.3g}"
            )
        return self


class Quic(QuicProfile):
    """QUIC, with a kept or with a new connection."""

    kept_connection: KeptConnection | None = Field(
        default=None, description="Faults of a kept connection; absent: none."
    )
    outstanding_proposals: Places | None = Field(default=None, description=_OUTSTANDING)
    outstanding_until_drained: Flag | None = Field(
        default=None,
        description="Whether a message with an endpoint of its own is one of those until that has "
        "drained; absent: until its answer.",
    )


class Tftp(Section):
    """TFTP; its machine has no options."""

    outstanding_proposals: Places | None = Field(default=None, description=_OUTSTANDING)


class Ipv8(Section):
    """Bare packets of IPv8, plain or sealed."""


class ModelError(Section):
    """By how much simulations are off beyond what is drawn, as sessions that were left out tell.

    It widens intervals of single runs (`predicted90_low` in metrics.json), and moves nothing.
    """

    transports: list[Transport] = Field(min_length=1, description="Of runs over these.")
    metrics: list[Predicted] = Field(min_length=1, description="Of these metrics.")
    sigma: float = Field(ge=0, le=10, description="Standard deviation of log ratios.")
    degrees_of_freedom: int = Field(
        ge=1, le=2**31, description="How well that is known: sessions it was estimated from."
    )
    rows: list[str] = Field(
        min_length=1, description="Published rows that it was estimated from; they fit nothing."
    )
    source: str = Field(min_length=1, description="What made it.")


class Implementation(Section):
    """An implementation profile document; what it has a section of, it can be run with."""

    implementation: About = Field(description="The program.")
    pacing: PacingLaw = Field(description="Its sender loop.")
    log_entries: Limit | None = Field(
        default=None, description="Capacity of its benchmark log; absent: no limit."
    )
    duplicate_window: DurationNumber = Field(
        description="A block seen again within this is dropped."
    )
    retries: Retries | None = Field(
        default=None,
        description="How proposals without an answer are sent again; absent: each is sent once.",
    )
    threads_first: Flag = Field(
        description="Whether threads that read the socket and propose run before tasks when both "
        "want cores."
    )
    steps: dict[str, Step] = Field(
        default=written({}),
        description="Steps that take something else than one operation of their name.",
    )
    own_costs: dict[str, OwnCost] = Field(
        default=written({}), description="Costs of its own, by what they stand for."
    )
    model_error: dict[str, ModelError] | None = Field(
        default=None,
        description="What the model is off by, by any name; absent: nobody has estimated it.",
    )
    udp: UdpProfile | None = Field(default=None, description="Plain UDP.")
    quic_keep: Quic | None = Field(default=None, description="QUIC, a connection kept.")
    quic_reconnect: Quic | None = Field(default=None, description="QUIC, one for each message.")
    tftp: Tftp | None = Field(default=None, description="TFTP.")
    ipv8: Ipv8 | None = Field(default=None, description="Packets of IPv8.")
    ipv8_sealed: Ipv8 | None = Field(default=None, description="Sealed packets of IPv8.")
    eva: EvaProfile | None = Field(default=None, description="EVA.")

    absent_when_none = frozenset({"model_error", "retries"})

    @model_validator(mode="after")
    def _errs_in_one_way(self) -> Implementation:
        named = [
            (mode, metric)
            for error in (self.model_error or {}).values()
            for mode in error.transports
            for metric in error.metrics
        ]
        for mode, metric in named:
            if named.count((mode, metric)) > 1:
                raise ValueError(f"model_error: {metric} over {mode} is in two of its tables")
        return self

    @model_validator(mode="after")
    def _steps_are_known(self) -> Implementation:
        for name, step in self.steps.items():
            _known(name, operations(), "step")
            for operation in step.operations:
                _known(operation, device_operations(), "operation")
        return self

    @model_validator(mode="after")
    def _tells_rests_of_whole_steps(self) -> Implementation:
        for name, cost in self.own_costs.items():
            if cost.after_rest is None:
                continue
            parts = [other for other, each in self.own_costs.items() if each.step == cost.step]
            takes = self.steps[cost.step].operations if cost.step in self.steps else {cost.step}
            if parts != [name] or {*takes} & {*device_operations(), *OPTIONAL}:
                raise ValueError(
                    f"own_costs.{name}.after_rest: step {cost.step!r} takes something else, too"
                )
        return self

    def modes(self) -> list[str]:
        """Return the transports that it has."""
        return [mode for mode in MODES if getattr(self, mode) is not None]


NOT_TRANSPORTS = (
    *("implementation", "pacing", "log_entries", "duplicate_window", "retries"),
    *("threads_first", "steps", "own_costs", "model_error"),
)
MODES = tuple(name for name in Implementation.model_fields if name not in NOT_TRANSPORTS)


def load(path: Path) -> Implementation:
    """Return the profile in the file at `path`; raises ScenarioError with file and key path."""
    _, data = read_toml(path)
    if "implementation" not in data:
        what = "a device profile" if "device" in data else "no profile of an implementation"
        raise ScenarioError(path, "", f"is {what}: it has no [implementation]")
    return validate(Implementation, data, path)


def contents(found: Implementation) -> ImplementationContents:
    """Return the profile as plain JSON values in SI units, as resolved.json holds it."""
    return cast("ImplementationContents", si.section(found))


def _known(name: str, names: tuple[str, ...], what: str) -> None:
    if name not in names:
        guess = nearest(name, names)
        raise ValueError(
            f"unknown {what} {name!r}" + (f" (did you mean {guess!r}?)" if guess else "")
        )
