"""A resolved scenario: the plain values in SI units that determine a run, and nothing else does.

Names are those of the document with their units last, by the rule of `sim.base.si`; a test compares
the two. Values are JSON: they are written as resolved.json, and their digest names the run. How a
document becomes this is `sim.scenario.resolve`.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from typing_extensions import TypedDict  # that of 3.11 says too little to pydantic

from pocketsim.sim.devices.transport_options import EvaValues, TransportValues
from pocketsim.sim.scenario.resolved_measures import (  # noqa: TC001 - read at run time, too
    Energy,
    Metrics,
    Output,
    Storage,
)

if TYPE_CHECKING:
    from pocketsim.sim.base.custom_code import CustomClass
    from pocketsim.sim.devices.contents import ScaledCost, Shipped, ShippedImplementation


class Run(TypedDict):
    """How long, how often, and from which seed; `first_repetition` where it is not 0.

    `contention` where there is none.
    """

    seed: int
    duration_s: float
    repetitions: int
    first_repetition: NotRequired[int]
    contention: NotRequired[bool]
    fidelity: Literal["hybrid", "flow"]
    draw: Literal["mean", "posterior"]
    app: Literal["restarted", "continued"]


def canonical_json(value: Any) -> str:
    """Return `value` as JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, in hex."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def identity(resolved: Resolved) -> dict[str, str]:
    """Return what each table of a run says of it: version, seed, and the digest that names it."""
    return {
        "pocketsim.version": resolved["versions"]["pocketsim"],
        "pocketsim.run_sha256": digest(resolved),
        "pocketsim.seed": str(resolved["run"]["seed"]),
    }


def streams_number(run: Run, repetition: int) -> int:
    """Return by which number the streams of a repetition are called, which is counted from 0."""
    return run.get("first_repetition", 0) + repetition


def runs_simgrid(run: Run, network: Network) -> bool:
    """Tell whether a run loads SimGrid: its datagrams are flows, or some of them share links."""
    return run["fidelity"] == "flow" or ("core" in network and network["core"]["shared"])


def comes_and_goes(resolved: Resolved) -> bool:
    """Tell whether any phone of a resolved scenario may be off."""
    groups = (group.get("churn") for group in resolved["devices"])
    churns = resolved["churn"] is not None or any(law and law["kind"] != "none" for law in groups)
    return churns or has_batteries(resolved)


def has_batteries(resolved: Resolved) -> bool:
    """Tell whether any phone of a resolved scenario has a battery that may be empty."""
    groups = (group.get("battery", resolved.get("battery")) for group in resolved["devices"])
    return any(law is not None and law["kind"] != "none" for law in groups)


class Rung(TypedDict):
    """What tells a rung from its neighbours; `axes` only where lists beside these have several."""

    transport: str
    payload_bytes: int
    rate_per_s: float
    axes: NotRequired[dict[str, Any]]


class Stop(TypedDict):
    """When phones leave for an access network."""

    at_s: float
    to: str


class GroupMoves(TypedDict):
    """When phones change their access network: by a schedule, or by a file with a digest."""

    schedule: NotRequired[list[Stop]]
    every_s: NotRequired[float]
    spread_s: float
    file: NotRequired[str]
    digest: NotRequired[str]
    interruption_s: float
    interruption_sigma: float


class Group(TypedDict):
    """Equal phones; `access` are shares of them by access network.

    The last six only where they are not as the workload, [churn] and [battery] say, where phones
    share the cores of one computer, and where they move or are said to walk or not.
    """

    role: Literal["person", "shop", "authority"]
    profile: str
    count: int
    access: dict[str, float]
    rate_per_s: NotRequired[float]
    churn: NotRequired[AnyChurn | AlwaysOn]
    battery: NotRequired[Battery | Mains]
    computer: NotRequired[str]
    moves: NotRequired[GroupMoves]
    walks: NotRequired[bool]


class Bursts(TypedDict):
    """How losses of an access network cluster."""

    share: float
    mean_packets: NotRequired[float]
    mean_duration_s: NotRequired[float]
    loss_ratio: float


class States(TypedDict):
    """How radios of an access network sleep, and what datagrams wait for that."""

    promotion_s: float
    inactivity_timer_s: float
    drx_cycle_s: float
    on_duration_s: float
    drx_inactivity_timer_s: float
    paging_cycle_s: float
    sr_periodicity_s: float
    grant_delay_s: float
    bler: float
    harq_delay_s: float


class PowerSave(TypedDict):
    """How radios of a Wi-Fi doze."""

    awake_s: float
    dtim_periods: int
    beacon_interval_s: float


class RateFile(TypedDict):
    """Files of rates over time, by their names without folders, and their SHA-256."""

    up: str | None
    down: str | None
    format: Literal["columns", "mahimahi"]
    up_digest: str | None
    down_digest: str | None


class Interruption(TypedDict):
    """Times in which a phone's link carries nothing."""

    rate_per_s: float
    interruption_s: float
    interruption_sigma: float


class AccessErrors(TypedDict):
    """Standard errors of an access network's numbers, of those that have one."""

    up_bytes_per_s: NotRequired[float]
    down_bytes_per_s: NotRequired[float]
    latency_s: NotRequired[float]
    jitter_median_s: NotRequired[float]
    jitter_sigma: NotRequired[float]
    loss_ratio: NotRequired[float]


class Nat(TypedDict):
    """What lies between phones of an access network and the Internet."""

    open: float
    full_cone: float
    address_restricted: float
    port_restricted: float
    symmetric: float
    blocked: float
    carrier_grade: bool
    unreplied_timeout_s: float
    replied_timeout_s: float
    lifetime_s: float | None
    inbound_refresh: bool
    client_isolation: bool


class HolePunching(TypedDict):
    """How pairs of phones open a direct path that are both behind NATs."""

    success: float
    setup_median_s: float
    setup_sigma: float
    failure_median_s: float
    failure_sigma: float
    path_trust_s: float


class Relay(TypedDict):
    """Limits of the relay."""

    up_bytes_per_s: float | None
    down_bytes_per_s: float | None
    queue_packets: int
    client_rate_bytes_per_s: float | None
    client_burst_bytes: int


class Distances(TypedDict):
    """Shares of an access point's phones by how far from it they are."""

    near: float
    room: float
    next_room: float
    edge: float


class Wifi(TypedDict):
    """Access points of IEEE 802.11."""

    standard: Literal["802.11n", "802.11ac"]
    channel_width_mhz: int | None
    streams: int
    mcs: int | None
    distance: Distances | None
    aggregation: bool
    block_ack_request: bool
    queue_packets: int


class Access(TypedDict):
    """One kind of access network; its rates are absent where it has `wifi`."""

    up_bytes_per_s: NotRequired[float]
    down_bytes_per_s: NotRequired[float]
    up_queue_bytes: int | None
    down_queue_bytes: int | None
    when_full: Literal["drop", "block"]
    latency_s: float
    jitter_median_s: float
    jitter_sigma: float
    loss_ratio: float
    bursts: Bursts | None
    states: NotRequired[States]
    power_save: NotRequired[PowerSave]
    rate_file: NotRequired[RateFile]
    handover: NotRequired[Interruption]
    rat_change: NotRequired[Interruption]
    reorders: bool
    forwarding_cpu_s: float
    site_capacity_bytes_per_s: float | None
    phones_per_site: int | None
    nat: NotRequired[Nat]
    wifi: NotRequired[Wifi]
    standard_error: NotRequired[AccessErrors]


class Attach(TypedDict):
    """Netpoints that the sites of an access network are at: in turn, or drawn by weights."""

    netpoints: list[str]
    weights: NotRequired[list[float]]


class Core(TypedDict):
    """A platform between sites: its file's name and SHA-256, and that of its routes.

    `attach` is by access network; `shared` tells whether flows share any of its links.
    """

    platform: str
    attach: dict[str, Attach]
    relay: NotRequired[str]
    digest: str
    routes_digest: str
    shared: bool


class Network(TypedDict):
    """Access networks by name, and what lies between their sites."""

    backbone_latency_s: float
    relay_latency_s: float
    relay: NotRequired[Relay]
    hole_punching: NotRequired[HolePunching]
    core: NotRequired[Core]
    access: dict[str, Access]


class Weibull(TypedDict):
    """A Weibull law of a length of time."""

    distribution: Literal["weibull"]
    shape: float
    scale_s: float
    longest_s: float | None


class Lognormal(TypedDict):
    """A lognormal law of a length of time."""

    distribution: Literal["lognormal"]
    median_s: float
    sigma: float
    longest_s: float | None


Lengths = Weibull | Lognormal


class Churn(TypedDict):
    """Phones that come and go, by laws."""

    kind: Literal["drawn"]
    session: Lengths
    gap: Lengths


class PresenceLaw(TypedDict):
    """A presence law: tables by percentile, and speeds by hour (`sim.scenario.presence_law`)."""

    title: str
    source: str
    never_ratio: float
    availability: dict[str, float]
    sessions_per_day: dict[str, float]
    rank_correlation: float
    session_s: dict[str, float]
    session_within: float
    gap_s: dict[str, float]
    gap_within: float
    begins: list[float]
    ends: list[float]


class ChurnLaw(TypedDict):
    """Phones that come and go by a presence law, of which it has the name and the contents."""

    kind: Literal["law"]
    name: str
    law: PresenceLaw
    time_of_day_s: float


class ChurnFile(TypedDict):
    """Phones that come and go as a file says; its name without its folder, and its SHA-256."""

    kind: Literal["file"]
    file: str
    origin_s: float
    digest: str


class Episodes(TypedDict):
    """What comes now and then by hours of the day."""

    per_day: float
    spread: float
    length: Lengths
    hours: list[float]


class AndroidChurn(TypedDict):
    """Phones that are on when Android lets an app use the network in the background."""

    kind: Literal["android"]
    time_of_day_s: float
    exempt: bool
    bucket: str
    used_before_s: float
    maintenance_s: float
    pre_idle_s: float
    small_battery: bool
    push_s: float
    screen: Episodes
    charging: Episodes
    motion: Episodes


class BatteryCharging(Episodes):
    """When phones are plugged in, and what the charger gives."""

    power_w: float


class Battery(TypedDict):
    """A battery of each phone, and what drains it beside the app."""

    kind: Literal["battery"]
    capacity_j: float
    level: list[float]
    draws_w: float
    screen_j: float
    screen_hours: list[float]
    time_of_day_s: float
    revives_at: float
    charging: BatteryCharging | None


class Mains(TypedDict):
    """Phones that are always plugged in."""

    kind: Literal["none"]


class Foreground(TypedDict):
    """Apps that people have open around what they ask for."""

    lead_s: float
    stay: Lengths
    whose: Literal["asker", "both"]


AnyChurn = Churn | ChurnFile | ChurnLaw | AndroidChurn


class AlwaysOn(TypedDict):
    """Phones of a group that do not come and go."""

    kind: Literal["none"]


class PowerLaw(TypedDict):
    """A power law of a length of time."""

    alpha: float
    shortest_s: float
    longest_s: float


class ContactLink(TypedDict):
    """One kind of link between phones near each other."""

    share: float
    rate_bytes_per_s: float
    latency_s: float
    setup_s: float
    loss_ratio: float
    shares_air: NotRequired[bool]


class Contacts(TypedDict):
    """Payer and payee near each other."""

    kind: Literal["payments"]
    duration: PowerLaw
    lead_s: float
    links: dict[str, ContactLink]


class ContactsFile(TypedDict):
    """Phones near each other as a file says, which is told as that of churn."""

    kind: Literal["file"]
    file: str
    format: Literal["columns", "tij"]
    origin_s: float
    links: dict[str, ContactLink]
    digest: str


class ContactsPlaces(TypedDict):
    """Phones near each other while they are at one place of people's days."""

    kind: Literal["places"]
    links: dict[str, ContactLink]


class Work(TypedDict):
    """Who goes to work when; `access` are shares of persons by access network there."""

    share: float
    attendance: float
    places: int
    begins_s: float
    begins_sd_s: float
    stay_s: float
    stay_sd_s: float
    access: dict[str, float]


class Days(TypedDict):
    """Persons who live in homes, go to work, and go to shops where they pay."""

    kind: Literal["days"]
    width_m: float
    height_m: float
    first_day: str
    household: float
    work: Work | None
    outside: str
    speed_m_per_s: float
    before_paying: Lengths
    interruption_s: float
    interruption_sigma: float


class RandomWaypoint(TypedDict):
    """Phones near each other that walk to one uniform place after the other in a rectangle."""

    kind: Literal["walk"]
    width_m: float
    height_m: float
    range_m: float
    links: dict[str, ContactLink]
    model: Literal["random_waypoint"]
    slowest_m_per_s: float
    fastest_m_per_s: float
    pause_s: float


class LevyWalk(TypedDict):
    """Phones near each other whose legs and pauses have power laws, in a rectangle."""

    kind: Literal["walk"]
    width_m: float
    height_m: float
    range_m: float
    links: dict[str, ContactLink]
    model: Literal["levy_walk"]
    alpha: float
    shortest_leg_m: float
    longest_leg_m: float
    beta: float
    shortest_pause_s: float
    longest_pause_s: float
    time_factor: float
    rho: float
    fastest_m_per_s: float | None


Walk = RandomWaypoint | LevyWalk


class Meets(TypedDict):
    """Who meets whom on a day."""

    probability: float
    same_person_correlation: float
    same_pair_correlation: float


class ContactLaw(TypedDict):
    """A law of contacts, by the name of its document; tables are quantiles by percent."""

    name: NotRequired[str]
    people: int
    resolution_s: float
    there: list[float]
    hours: list[float]
    leaves_s: dict[str, float]
    meets: Meets
    contacts: dict[str, float]
    duration_s: dict[str, float]
    gap_s: dict[str, float]
    activity_correlation: float


class ContactsLaw(TypedDict):
    """People who share a place and meet as a law says."""

    kind: Literal["law"]
    law: ContactLaw
    origin_s: float
    links: dict[str, ContactLink]


class Outage(TypedDict):
    """A time in which an access network carries nothing; None: all of them."""

    access: str | None
    start_s: float
    end_s: float


class Amount(TypedDict):
    """How much is paid."""

    mean_cents: int
    sigma: float
    largest_cents: int
    rounding_cents: int


class Paced(TypedDict):
    """The benchmark's sender loop; `interval_s` is the sleep that its pacing makes of the rate."""

    kind: Literal["paced"]
    rate_per_s: float
    payload_bytes: int
    pacing: str
    start_s: float
    interval_s: float


Partners = TypedDict(
    "Partners",
    {
        "graph": str | None,
        "digest": str | None,
        "generator": Literal["watts_strogatz", "barabasi_albert", "random_regular"] | None,
        "neighbours": int | None,
        "rewiring": float | None,
        "class": str | None,
        "class_digest": str | None,
        "options": dict[str, Any],
        "near": NotRequired[bool],
    },
)
"""Neighbours in a graph: a file's, by its name and the SHA-256 of its content, or a drawn one.

What belongs to the other of the two is None. A custom class chooses among them, or without a graph
among all: `class` and `options` are as `sim.base.custom_code.CustomClass` says, and the SHA-256 of
its file. `near`, where it is there: those in contact at that moment.
"""


class Poisson(TypedDict):
    """Every phone proposes to random others; None: to any."""

    kind: Literal["poisson"]
    rate_per_s: float
    payload_bytes: int
    start_s: float
    hours: NotRequired[list[float]]
    time_of_day_s: NotRequired[float]
    partners: Partners | None


class WorkloadTrace(TypedDict):
    """Trades or payments of a file, by its name and the SHA-256 of its content."""

    kind: Literal["trace"]
    file: str
    digest: str
    origin_s: NotRequired[float]  # where the document has one
    cheat_ratio: float
    double_spend_ratio: float
    replay_ratio: float


CustomWorkload = TypedDict(
    "CustomWorkload",
    {"kind": Literal["python"], "class": str, "digest": str, "options": dict[str, Any]},
)
"""Proposals that a custom class makes, as `sim.base.custom_code.CustomClass` says it."""


class Town(TypedDict):
    """Persons who pay shops and each other."""

    kind: Literal["town"]
    payments_per_s: float
    start_s: float
    to_shop_ratio: float
    shops_visited: int
    acquaintances: int
    near: NotRequired[bool]
    amount: Amount
    hours: list[float]
    cheat_ratio: float
    double_spend_ratio: float
    replay_ratio: float


class Compute(TypedDict):
    """Threads that each perform one task again and again."""

    kind: Literal["compute"]
    task: str
    threads: int
    count: int
    tokens: int
    recipients: int
    payload_bytes: int
    start_s: float


Workload = Paced | Poisson | WorkloadTrace | CustomWorkload | Town | Compute


class Tokens(TypedDict):
    """Options of offline tokens."""

    rules: str
    handshake: str
    acceptance: str
    recipients_max: int
    settle_interval_s: float
    payment_timeout_s: float
    person_wallet_cents: int
    person_low_cents: int
    shop_till_cents: int
    batch_tokens: int


class Retries(TypedDict):
    """How proposals without an answer are sent again."""

    attempts: int
    first_wait_s: float
    factor: float
    longest_wait_s: float
    jitter: float
    deadline_s: float
    while_off: str


# "class" is no name of Python's.
Adversary = TypedDict(
    "Adversary", {"class": str, "digest": str, "options": dict[str, Any], "ratio": float}
)
"""A class of some phones, as `sim.base.custom_code.CustomClass` says it, and the share of them."""

Protocol = TypedDict(
    "Protocol",
    {
        "kind": str,
        "crypto": str,
        "duplicate_window_s": float,
        "retries": NotRequired[Retries],
        "benchmark_log_entries": int,
        "tokens": Tokens | None,
        "class": str | None,
        "library": str | None,
        "options": dict[str, Any],
        "adversary": Adversary | None,
        "digest": str | None,
    },
)
"""Protocol family and options; `tokens` where it pays with them, `retries` where it sends again.

A custom protocol has a `class`, as `sim.base.custom_code.CustomClass` says it, or a `library`, its
file's name; the SHA-256 of its file, `options`, and perhaps an adversary.
"""


class Transport(TransportValues):
    """Transport and options.

    `app_faults` says whether they act, `socket_buffer_bytes` is 0 for the phone's default, `eva` is
    None for other transports.
    """

    mode: str
    app_faults: bool
    eva: EvaValues | None
    policy: CustomClass | None


class Resolved(TypedDict):
    """All that a run depends on; `continues` names the run whose chains go on here.

    `people` are the ids of those who have the first phones, in files that call them by ids.
    """

    schema: int
    scenario: str
    title: str
    question: NotRequired[str]
    versions: dict[str, str]
    run: Run
    rung: Rung
    devices: list[Group]
    people: NotRequired[list[str]]
    profiles: dict[str, Shipped]
    implementation: ShippedImplementation
    network: Network
    churn: AnyChurn | None
    foreground: NotRequired[Foreground]
    mobility: NotRequired[Days]
    contacts: Contacts | ContactsFile | ContactsLaw | ContactsPlaces | Walk | None
    outages: list[Outage]
    workload: Workload
    protocol: Protocol
    transport: Transport
    energy: Energy | None
    battery: NotRequired[Battery]
    output: Output
    metrics: NotRequired[Metrics]
    storage: NotRequired[Storage]
    operations: dict[str, ScaledCost]
    engine_options: dict[str, str]
    continues: str | None


SCHEMA = 3
