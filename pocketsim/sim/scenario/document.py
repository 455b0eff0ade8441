"""The scenario document, field by field: what may be written in the TOML file.

Values leave this module in SI units. The sections of a town are in `sim.scenario.town`. What
deliberately does not live here: defaults that depend on a profile, the product of the lists
(`sim.scenario.resolve`), and anything random.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pocketsim.sim.base import families
from pocketsim.sim.base.documents import (
    Count,
    Duration,
    FactorOrDuration,
    PositiveDuration,
    Rate,
    Section,
    written,
)
from pocketsim.sim.base.families import FAMILIES
from pocketsim.sim.devices.provenance import PlainNumber
from pocketsim.sim.scenario.battery import Battery, GroupBattery
from pocketsim.sim.scenario.churn import AnyChurn, GroupChurn
from pocketsim.sim.scenario.compute import Compute
from pocketsim.sim.scenario.contacts import AnyContacts
from pocketsim.sim.scenario.custom_code import CustomSection, Name, Option
from pocketsim.sim.scenario.custom_protocol import CustomOperation
from pocketsim.sim.scenario.energy import Energy
from pocketsim.sim.scenario.fields import Ratio, add_up
from pocketsim.sim.scenario.foreground import Foreground
from pocketsim.sim.scenario.mobility import Days
from pocketsim.sim.scenario.moves import Moves
from pocketsim.sim.scenario.network import Network, Outage
from pocketsim.sim.scenario.retries import Retries
from pocketsim.sim.scenario.storage import Storage
from pocketsim.sim.scenario.town import Tokens, Town
from pocketsim.sim.scenario.transports import Transport
from pocketsim.sim.scenario.workloads import CustomWorkload, Paced, Poisson, WorkloadTrace

_ROUNDING = 1e-9
FEWEST_PHONES = 2
"""Of a trade."""


def _known(kind: str) -> str:
    # A literal's own error: its message and the nearest choice are those of other fields.
    if kind not in families.kinds():
        expected = " or ".join(map(repr, families.kinds()))
        raise PydanticCustomError("literal_error", "unknown", {"expected": expected})
    return kind


Kind = Annotated[
    str, AfterValidator(_known), WithJsonSchema({"enum": families.kinds(), "type": "string"})
]
Role = Literal["person", "shop", "authority"]


def _shares(value: Any) -> Any:
    return {value: 1.0} if isinstance(value, str) else value


Shares = Annotated[
    dict[str, Ratio],
    BeforeValidator(_shares),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                {"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 1},
            ]
        }
    ),
]


class Run(Section):
    """How long, how often, and from which seed."""

    seed: int = Field(
        ge=0, lt=2**63, description="Root of every random stream; a run without a seed is refused."
    )
    duration: PositiveDuration = Field(description="Simulated time of one repetition.")
    repetitions: int = Field(
        default=1, ge=1, le=10_000, description="Runs of each rung, each with its own streams."
    )
    first_repetition: int = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Number of the first one, by which its streams are called: with 4, a run of 2 "
        "has the events of the last two of a run of 6.",
    )
    fidelity: Literal["hybrid", "flow"] = Field(
        default="hybrid",
        description="hybrid: each radio is a queue, up and down, and sites and cores are shared"
        " max-min fairly; flow: each datagram is a flow of SimGrid's that shares all its links;"
        " it needs SimGrid (`make simgrid`).",
    )
    contention: bool = Field(
        default=True,
        description="Whether phones share the air and the capacity of their sites, and what the "
        "relay receives and sends. false: each has such a site and such a relay to itself, and all "
        "draws are the same, which says what contention costs.",
    )
    draw: Literal["mean", "posterior"] = Field(
        default="mean",
        description="posterior: each repetition also draws every number of the device profiles "
        "from its uncertainty, and those of access networks that have one; mean: the numbers as "
        "they stand.",
    )
    app: Literal["restarted", "continued"] = Field(
        default="restarted",
        description="continued: chains go on over repetitions and rungs; restarted: every "
        "repetition starts with fresh chains.",
    )


class Devices(Section):
    """A group of equal phones."""

    role: Role = Field(
        default="person", description="What they are in a town that pays with tokens."
    )
    profile: str = Field(
        min_length=1,
        description="Name of a shipped device profile, or path of a .toml file relative to the "
        "scenario.",
    )
    count: Count = Field(description="Phones in the group.")
    access: Shares = Field(
        description="Name of an access network, or a table of shares that add up to 1."
    )
    rate: Rate | None = Field(
        default=None,
        description="Proposals (of a town: payments) of each of these phones; absent: as the "
        "workload says.",
    )
    computer: str | None = Field(
        default=None,
        min_length=1,
        description="Name of a computer whose cores these phones use, together with those of other "
        "groups that name it, as its processes do; absent: each phone has cores of its own.",
    )
    churn: GroupChurn | None = Field(
        default=None, description="How these phones come and go; absent: as [churn] says."
    )
    battery: GroupBattery | None = Field(
        default=None, description="What these phones live on; absent: as [battery] says."
    )
    moves: Moves | None = Field(
        default=None,
        description="When these phones change their access network; absent: they stay.",
    )
    walks: bool | None = Field(
        default=None,
        description='With contacts of kind "walk": whether these phones walk, or stand at a drawn '
        "place; absent: shops stand, and all others walk.",
    )
    cost: dict[str, FactorOrDuration] = Field(
        default={},
        description="What if: costs of the device's operations, or of the implementation's own, by "
        "name. A number is how many times as much they are as the profile says, a duration what a "
        "call takes before its bytes.",
    )
    cost_factors: dict[str, PlainNumber] = Field(
        default={},
        description="Factors on the costs of the device's operations, or on the implementation's "
        "own, by name, where this session of measurements differed from the profiles.",
    )

    @model_validator(mode="after")
    def _shares_add_up(self) -> Devices:
        if not add_up(list(self.access.values())):
            raise ValueError(f"shares of access add up to {sum(self.access.values()):g}, not 1")
        return self


class Adversary(CustomSection):
    """What some phones are that do not follow the protocol."""

    ratio: Ratio = Field(
        description="Probability of each phone to be one; a phone that is one at a ratio is one at "
        "every larger one."
    )


class Protocol(Section):
    """Protocol family."""

    kind: Kind = Field(
        default="trustchain",
        description="; ".join(f"{family.kind}: {family.does}" for family in FAMILIES) + ".",
    )
    crypto: Literal["counted", "real"] = Field(
        default="counted",
        description="counted: same sizes and costs without the arithmetic; real: Ed25519, SHA-256.",
    )
    duplicate_window: Duration | None = Field(
        default=None,
        description="A block seen again within this is dropped; absent: the implementation's.",
    )
    retries: Retries | None = Field(
        default=None,
        description="How proposals without an answer are sent again; absent: as the implementation "
        "does it.",
    )
    benchmark_log_entries: Annotated[int, Field(ge=0, le=2**53)] | None = Field(
        default=None,
        description="Capacity of each phone's benchmark log; 0: no limit; absent: the "
        "implementation's.",
    )
    tokens: Tokens | None = Field(
        default=None, description="Options of offline tokens; may be left out."
    )
    class_: Name | None = Field(
        default=None,
        alias="class",
        description="Of protocol python: a file relative to the scenario and a class in it, as "
        '"mine.py:Mine", or the name of an installed one.',
    )
    library: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="Of protocol rust: a library relative to the scenario, as "
        '"target/release/libmine.so".',
    )
    options: dict[str, Option] = Field(
        default={},
        description="Of protocols python and rust: what a phone's class or machine is given, by "
        "name.",
    )
    adversary: Adversary | None = Field(
        default=None,
        description="Of protocol python: a class that some phones have around the protocol's.",
    )

    absent_when_none = frozenset({"retries"})


class Output(Section):
    """What the trace keeps."""

    trace: Literal["full", "sampled", "work", "metrics"] = Field(
        default="full",
        description="Which events are kept; work: all, and in timeline.parquet when each lane "
        "spent which operation, and when datagrams were under way; metrics: none, but what the "
        "metrics need, so that memory does not grow with them.",
    )
    sample_ratio: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=1.0, description="Share of transactions kept when sampled."
    )
    tokens: bool = Field(
        default=False,
        description="Whether the tokens that phones have at the end are kept, byte for byte; takes "
        'crypto = "real".',
    )
    blocks: bool = Field(
        default=False,
        description="Whether the blocks that phones store are kept, byte for byte; takes "
        'crypto = "real".',
    )
    map: bool = Field(
        default=False,
        description="Whether the places of the phones of the first repetition are kept, for the map"
        ' of its report; takes phones that walk ([contacts] kind = "walk").',
    )
    metrics: Annotated[list[Name], Field(max_length=100)] = Field(
        default=[],
        description="Functions that make a metric of each repetition: a file relative to the "
        'scenario and a function in it, as "mine.py:hops", or the name of an installed one.',
    )


class Metrics(Section):
    """What is measured beside what every run has."""

    deadlines: Annotated[list[PositiveDuration], Field(min_length=1, max_length=20)] = Field(
        description="Deadlines beside 1s, 10s, 60s and 600s: each has a metric of the share that is"
        ' done by then, such as done_within_86400s_ratio of "24h". Whole milliseconds.',
    )

    @field_validator("deadlines")
    @classmethod
    def _are_whole_milliseconds(cls, deadlines_s: list[float]) -> list[float]:
        for deadline_s in deadlines_s:
            ms = 1e3 * deadline_s
            if abs(ms - round(ms)) > _ROUNDING * ms:
                raise ValueError(f"{ms:g} ms is no whole number of milliseconds")
        return deadlines_s


class Scenario(Section):
    """A scenario: devices on a network with a workload, a protocol and a transport."""

    title: str = Field(default="", description="For people.")
    question: str = Field(
        default="", description="What it is to answer: the heading of its report."
    )
    run: Run = Field(description="Duration, repetitions and seed.")
    devices: list[Devices] = Field(min_length=1, description="Groups of phones.")
    implementation: str = Field(
        min_length=1,
        description="Program that all phones run: name of a shipped implementation profile, or "
        "path of a .toml file relative to the scenario.",
    )
    network: Network = Field(description="What joins them.")
    churn: AnyChurn | None = Field(
        default=None,
        description="Phones going off and on, but for the tokens' authority, a server; absent: "
        "none.",
    )
    foreground: Foreground | None = Field(
        default=None,
        description="Phones that are on because their owners do something; absent: only as "
        "[churn] says.",
    )
    mobility: Days | None = Field(
        default=None,
        description="Where persons are over their days; absent: phones stay where they are, but "
        "for `moves` of groups.",
    )
    contacts: AnyContacts | None = Field(
        default=None,
        description="Phones near each other: when they pay, as a file or a law says, as they walk, "
        "or at one place; absent: never.",
    )
    outages: list[Outage] = Field(
        default=[], description="When access networks carry nothing; absent: never."
    )
    workload: Annotated[
        Paced | Poisson | WorkloadTrace | CustomWorkload | Town | Compute,
        Field(discriminator="kind"),
    ] = Field(description="Who proposes what, when; or what phones compute.")
    protocol: Protocol = Field(default=written({}), description="Protocol family; may be left out.")
    transport: Transport = Field(description="Transport.")
    operations: dict[str, CustomOperation] = Field(
        default={},
        max_length=200,
        description="Of protocols python and rust: operations that they bring, by name, and what "
        "they take.",
    )
    output: Output = Field(default=written({}), description="What is kept; may be left out.")
    metrics: Metrics | None = Field(default=None, description="Further deadlines; absent: none.")
    storage: Storage | None = Field(
        default=None,
        description="How phones keep what they store; absent: what they write is not counted.",
    )
    energy: Energy | None = Field(
        default=None, description="What draws how much power; absent: energy is not accounted for."
    )
    battery: Battery | None = Field(
        default=None, description="What phones live on; absent: batteries that are never empty."
    )

    def phone_count(self) -> int:
        """Return the number of phones over all groups."""
        return sum(group.count for group in self.devices)
