"""The scenario document, field by field: what may be written in the TOML file.

Values leave this module in SI units. The sections of a town are in `sim.scenario.town`. What
deliberately does not live here: defaults that depend on a device profile, the product of the lists
(`sim.scenario.resolve`), and anything random.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from sim.base.documents import (
    Bandwidth,
    Count,
    Counts,
    Duration,
    Flags,
    PositiveDuration,
    Rates,
    Section,
    Size,
    Sizes,
    ladder_schema,
    one_or_list,
    written,
)
from sim.base.engine_facts import operations
from sim.base.errors import nearest
from sim.devices.provenance import PlainNumber
from sim.scenario.compute import Compute
from sim.scenario.energy import Energy
from sim.scenario.fields import Ratio, Share, Sigma, add_up
from sim.scenario.town import Contacts, Outage, Tokens, Town

TransportMode = Literal[
    "udp", "quic_reconnect", "quic_keep", "tftp", "ipv8", "ipv8_sealed", "eva", "none"
]
Role = Literal["person", "shop", "authority"]


def _shares(value: Any) -> Any:
    return {value: 1.0} if isinstance(value, str) else value


Shares = Annotated[
    dict[str, Share],
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
Modes = Annotated[
    list[TransportMode],
    BeforeValidator(one_or_list),
    ladder_schema({"enum": [*get_args(TransportMode)]}),
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
    draw: Literal["mean", "posterior"] = Field(
        default="mean",
        description="posterior: each repetition also draws every number of the device profiles "
        "from its uncertainty; mean: the numbers as they stand.",
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

    cost_factors: dict[str, PlainNumber] = Field(
        default={},
        description="Factors on the costs of operations, by name, where this session of "
        "measurements differed from the profile.",
    )

    @model_validator(mode="after")
    def _factors_have_operations(self) -> Devices:
        for name in self.cost_factors:
            if name not in operations():
                guess = nearest(name, operations())
                hint = f" (did you mean {guess!r}?)" if guess else ""
                raise ValueError(f"unknown operation {name!r} in cost_factors{hint}")
        return self

    @model_validator(mode="after")
    def _shares_add_up(self) -> Devices:
        if not add_up(list(self.access.values())):
            raise ValueError(f"shares of access add up to {sum(self.access.values()):g}, not 1")
        return self


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


class Weibull(Section):
    """Weibull distribution of a length of time."""

    distribution: Literal["weibull"] = Field(description="Name of the family.")
    shape: float = Field(gt=0.1, le=20, allow_inf_nan=False, description="Shape k.")
    scale: PositiveDuration = Field(description="Scale lambda.")
    longest: PositiveDuration | None = Field(
        default=None, description="Truncation: longer ones do not occur; absent for none."
    )


class Lognormal(Section):
    """Lognormal distribution of a length of time."""

    distribution: Literal["lognormal"] = Field(description="Name of the family.")
    median: PositiveDuration = Field(description="Median.")
    sigma: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] = Field(
        description="Standard deviation of the logarithm."
    )
    longest: PositiveDuration | None = Field(
        default=None, description="Truncation: longer ones do not occur; absent for none."
    )


Lengths = Annotated[Weibull | Lognormal, Field(discriminator="distribution")]


class Churn(Section):
    """Phones that come and go, independently, from their stationary state on."""

    session: Lengths = Field(description="How long a phone stays on.")
    gap: Lengths = Field(description="How long it stays off.")


class Paced(Section):
    """The theses' benchmark: phone 0 proposes to phone 1 in one sender loop."""

    kind: Literal["paced"] = Field(description="Kind of workload.")
    rate: Rates = Field(description="Nominal proposals per second; a list is a ladder.")
    payload: Sizes = Field(description="Payload of each transaction; a list is a ladder.")
    pacing: Literal["floored_ms", "batch_1024ms", "unpaced"] = Field(
        default="floored_ms",
        description="Sleep between proposals: floor(1000/rate) ms, 1024/rate ms, or none, whatever "
        "the rate says.",
    )
    start: Duration = Field(default=written("0s"), description="When the loop starts.")

    @model_validator(mode="after")
    def _interval_is_not_zero(self) -> Paced:
        if self.pacing == "floored_ms" and max(self.rate) > _MS_PER_S:
            raise ValueError("a rate above 1000/s floors to a sleep of 0 ms; use batch_1024ms")
        return self


class Poisson(Section):
    """Every phone proposes to uniformly random others at the points of a Poisson process."""

    kind: Literal["poisson"] = Field(description="Kind of workload.")
    rate: Rates = Field(
        description="Proposals of one phone per second, at most 50 million of all in a repetition; "
        "a list is a ladder."
    )
    payload: Sizes = Field(description="Payload of each transaction; a list is a ladder.")
    start: Duration = Field(default=written("0s"), description="Nothing is proposed before.")


class Protocol(Section):
    """Protocol family."""

    kind: Literal["trustchain", "transfer", "token_batch", "compute", "tokens"] = Field(
        default="trustchain",
        description="trustchain: trades, countersigned; transfer: one-way messages; token_batch: "
        "offline tokens from phone 0, the authority, through every phone and back; compute: tasks "
        "without a network, of a workload of that kind; tokens: a town that pays with them.",
    )
    crypto: Literal["counted", "real"] = Field(
        default="counted",
        description="counted: same sizes and costs without the arithmetic; real: Ed25519, SHA-256.",
    )
    duplicate_window: Duration = Field(
        default=written("30s"), description="A block seen again within this is dropped."
    )
    benchmark_log_entries: int = Field(
        default=0,
        ge=0,
        le=2**53,
        description="Capacity of each phone's benchmark log; 0: no limit.",
    )
    tokens: Tokens | None = Field(
        default=None, description="Options of offline tokens; may be left out."
    )


class Eva(Section):
    """EVA of Kotlin-IPv8; defaults are what the offline token thesis ran (kotlin-ipv8 00517bb)."""

    variant: Literal["original", "modified"] = Field(
        default="modified",
        description="original: lost blocks as text, always encrypted; modified: after pull "
        "request 71 of kotlin-ipv8.",
    )
    encryption: Flags = Field(
        default=written([False]),
        description="Whether packets are sealed boxes; a list is a ladder.",
    )
    block: Sizes = Field(
        default=written("1200B"), description="Data of a full block; a list is a ladder."
    )
    window: Counts = Field(
        default=written(256),
        description="Blocks between two acknowledgements; a list is a ladder.",
    )
    retransmit_interval: PositiveDuration = Field(
        default=written("150ms"),
        description="Silence after which the receiver repeats its acknowledgement, when it next "
        "checks.",
    )
    retransmit_attempts: Count = Field(
        default=3, description="The acknowledgement is repeated one time less."
    )
    write_request_retries: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=0, description="How often an unanswered offer is repeated (3 in f983ed4)."
    )
    timeout: PositiveDuration = Field(
        default=written("12s"), description="Silence after which either end gives up."
    )
    reduce_window_after_timeout: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        default=16, description="Blocks less for each earlier timeout of the same message."
    )
    min_window: Count = Field(default=16, description="The window is never smaller.")
    scheduled_send_interval: PositiveDuration = Field(
        default=written("5s"), description="Waiting transfers are looked at this often."
    )
    scheduled_tasks_check_delay: PositiveDuration = Field(
        default=written("1s"), description="Everything overdue is looked for this often."
    )
    binary_size_limit: Size = Field(
        default=written("250MiB"), description="Larger messages are refused."
    )
    simultaneous_transfers: Count | None = Field(
        default=None, description="Above this, new transfers wait (10 in f983ed4); absent: never."
    )
    send_threads: Count = Field(
        default=1, description="Threads that send; with several, packets may overtake each other."
    )
    race_window: Duration = Field(
        default=written("0s"),
        description="How long two starts of waiting transfers overlap (original); not measured.",
    )

    @model_validator(mode="after")
    def _block_is_not_empty(self) -> Eva:
        if min(self.block) < 1:
            raise ValueError("a block holds at least one byte")
        return self


class Transport(Section):
    """The switch between transports, and their constants."""

    mode: Modes = Field(
        description="Transport; a list is a ladder. quic_keep: one connection kept with each peer "
        "(the theses' iroh); quic_reconnect: a new one for every message; none: of phones that "
        "only compute."
    )
    poll_interval: Duration = Field(
        default=written("10ms"),
        description="How often the app looks for finished tasks; 0 for at once.",
    )
    connect_timeout: PositiveDuration = Field(
        default=written("30s"), description="A connection attempt is given up after this."
    )
    idle_timeout: PositiveDuration = Field(
        default=written("30s"),
        description="A connection silent for this is closed (quinn-proto config/transport.rs:362).",
    )
    keep_alive: Duration = Field(
        default=written("1s"),
        description="Ping of an open connection; 0 for none (iroh 0.35 endpoint.rs:128).",
    )
    answer_on_same_connection: bool = Field(
        default=True,
        description="Answers go back on the kept connection that brought the proposal.",
    )
    relay_first: bool = Field(
        default=True, description="QUIC starts over the relay and moves to the direct path."
    )
    app_faults: bool | None = Field(
        default=None,
        description="Whether kept connections (quic_keep) stall and break as the theses' app did, "
        "as often as the profiles' app.kept_connection says; absent: in its experiment, two paced "
        "phones that trade for 25 s at most, and nowhere else.",
    )
    socket_timeout: PositiveDuration = Field(
        default=written("5s"),
        description="Receive timeout of a plain UDP socket; the app only reads "
        "again, so the wake-up changes nothing and is not simulated.",
    )
    socket_buffer: Sizes | None = Field(
        default=None,
        description="Receive buffer asked for, as the kernel counts; a list is a ladder; absent: "
        "7 MiB for QUIC (netwatch udp.rs, SOCKET_BUFFER_SIZE), the phone's default otherwise.",
    )
    eva: Eva = Field(default=written({}), description="Options of EVA; may be left out.")


class Output(Section):
    """What the trace keeps."""

    trace: Literal["full", "sampled"] = Field(default="full", description="Which events are kept.")
    sample_ratio: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = Field(
        default=1.0, description="Share of transactions kept when sampled."
    )
    tokens: bool = Field(
        default=False,
        description="Whether the tokens that phones have at the end are kept, byte for byte; takes "
        'crypto = "real".',
    )


class Scenario(Section):
    """A scenario: devices on a network with a workload, a protocol and a transport."""

    title: str = Field(default="", description="For people.")
    run: Run = Field(description="Duration, repetitions and seed.")
    devices: list[Devices] = Field(min_length=1, description="Groups of phones.")
    network: Network = Field(description="What joins them.")
    churn: Churn | None = Field(
        default=None,
        description="Phones going off and on, but for the tokens' authority, a server; absent: "
        "none.",
    )
    contacts: Contacts | None = Field(
        default=None, description="Phones near each other when they pay; absent: never."
    )
    outages: list[Outage] = Field(
        default=[], description="When access networks carry nothing; absent: never."
    )
    workload: Annotated[Paced | Poisson | Town | Compute, Field(discriminator="kind")] = Field(
        description="Who proposes what, when; or what phones compute."
    )
    protocol: Protocol = Field(default=written({}), description="Protocol family; may be left out.")
    transport: Transport = Field(description="Transport.")
    output: Output = Field(default=written({}), description="What is kept; may be left out.")
    energy: Energy | None = Field(
        default=None, description="What draws how much power; absent: energy is not accounted for."
    )

    def phone_count(self) -> int:
        """Return the number of phones over all groups."""
        return sum(group.count for group in self.devices)


_MS_PER_S = 1000
