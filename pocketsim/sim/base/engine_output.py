"""What the engine tells of a repetition beside its trace. What it means, `sim.metrics` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Waits(TypedDict):
    """How long datagrams waited in the queues of all radios of a direction.

    Datagrams that were `taken`, and `refused` for want of room; the sum of the waits, and their
    median and 95th percentile, None of nothing.
    """

    taken: int
    refused: int
    sum_s: float
    p50_s: float | None
    p95_s: float | None


class Standing(TypedDict):
    """How many transactions there are, how many were stored, how many of the others lost."""

    sent: int
    stored: int
    lost: int


class Sizes(TypedDict):
    """Sizes in bytes; None of nothing."""

    min: int | None
    max: int | None
    sum: int


class Spread(TypedDict):
    """Durations in seconds: their sum, and columns of the buckets that have some, in order."""

    sum_s: float
    from_s: list[float]
    to_s: list[float]
    count: list[int]


class Completion(TypedDict):
    """Of what the log has sent: watched to the end, the same of what was done, and send to store.

    Empty where the log was full before the end.
    """

    watched: Spread
    done_watched: Spread
    done: Spread


class Transfers(TypedDict):
    """Messages that were stored; `timed` are those whose first block came some time before."""

    first_s: float | None
    last_s: float | None
    later_bytes: int
    bytes_per_s_sum: float
    timed: int


class AggregateSummary(TypedDict):
    """What the engine's ledger comes to, instead of a trace (sim/engine/src/record/summary.rs).

    `observed` has by name how often it was, and the sum of its values.
    """

    send_count: int
    store_count: int
    first_s: float | None
    last_s: float | None
    blocks: Sizes
    all: Standing
    lost: dict[str, int]
    logged: Standing
    rtt: Spread
    processing: Spread
    delivery: Spread
    completion: Completion
    quantile_error: float
    deliveries_sent: int
    observed: dict[str, tuple[int, int]]
    transfers: Transfers
    held_max: int
    forgotten: int
    stores_unheld: int


class Relayed(TypedDict):
    """How many there are, and how many of them came through the relay."""

    all: int
    relayed: int


class Punching(TypedDict):
    """Pairs of phones that tried to punch, and how long it took those that did; None of none."""

    opened: int
    failed: int
    pending: int
    reopened: int
    setup_p50_s: float | None
    setup_p90_s: float | None


class RelayOutput(TypedDict):
    """Datagrams that left the relay or found no room there, and how long it held them."""

    passed: int
    refused: int
    held_s: float


class Reach(TypedDict):
    """By what phones reached each other (sim/engine/src/record/paths.rs).

    Datagrams `delivered` and transactions `stored`; None where nobody punches, and of a relay
    without limits. `pairs` are the shares of `sim.scenario.reachability.Ways`, None without NATs.
    """

    delivered: Relayed
    stored: Relayed
    punching: Punching | None
    relay: RelayOutput | None
    pairs: list[float] | None


class Day(TypedDict):
    """The day of the plan of one repetition in bins of `bin_s`, the last of which may be shorter.

    Shares are of the phones, and means over the time of a bin. `asked_count` is None where nobody
    asks, but a program sends in a loop.
    """

    bin_s: float
    on_share: list[float]
    reachable_share: list[float]
    reachable_share_by_access: dict[str, list[float]]
    asked_count: list[int] | None


class Batteries(TypedDict):
    """What batteries came to, over all phones that have one (sim/engine/src/phone/battery.rs)."""

    phones: int
    deaths: int
    dead_s: float
    app_j: float
    other_j: float
    level_end_ratio_sum: float


class EngineOutput(TypedDict):
    """What the engine tells of one repetition beside its trace; empty where nothing was told.

    `counters` by name, `cpu_s` core seconds by operation over all phones, `phone_cpu_s` those of
    all phones but the tokens' authority, with what they forwarded, `kept_cents` what each
    token is worth that somebody signed over and kept, by serial, `energy_j` joules by component,
    `energy_by_part_j` the same by number of the access network or of the kind of link, `waits`
    those of "uplink" and "downlink", empty without queues (`flow`), `own` what custom functions
    made of its rows, None for what is undefined, `ledger` what its rows come to where they were not
    kept, `battery` what batteries came to where phones have any, `reach` by what phones reached
    each other where that is limited, `on_ratio` the share of the time that phones were to be on,
    where they come and go, `day` the same by bins of time.
    """

    counters: Mapping[str, int]
    cpu_s: Mapping[str, float]
    phone_cpu_s: NotRequired[float]
    kept_cents: Mapping[str, int]
    energy_j: Mapping[str, float]
    energy_by_part_j: NotRequired[Mapping[str, Sequence[float]]]
    waits: Mapping[str, Waits]
    own: Mapping[str, float | None]
    ledger: NotRequired[AggregateSummary]
    battery: NotRequired[Batteries | None]
    reach: NotRequired[Reach]
    on_ratio: NotRequired[float]
    day: NotRequired[Day]


NOTHING: EngineOutput = {
    "counters": {},
    "cpu_s": {},
    "kept_cents": {},
    "energy_j": {},
    "waits": {},
    "own": {},
}
