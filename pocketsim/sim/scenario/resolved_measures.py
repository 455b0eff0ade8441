"""What a resolved scenario says of what is measured and kept: powers, output, metrics, storage.

Part of `sim.scenario.resolved`, which says what holds for all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired

from typing_extensions import TypedDict  # that of 3.11 says too little to pydantic

if TYPE_CHECKING:
    from pocketsim.sim.devices.provenance import Basis


class Known(TypedDict):
    """How prices are known; absent where they are assumed and nobody said why."""

    basis: NotRequired[Basis]
    source: NotRequired[str]
    year: NotRequired[int]


class Radio(Known):
    """Powers of the radio of an access network."""

    active_w: float
    up_per_byte_j: float
    down_per_byte_j: float
    tail_s: float
    tail_power_w: float
    promotion_j: float


class ContactRadio(Known):
    """Power of one end of a kind of link between phones."""

    active_w: float


class Energy(TypedDict):
    """Powers of every phone but the tokens' authority."""

    core_w: float
    core_basis: NotRequired[Basis]
    core_source: NotRequired[str]
    core_year: NotRequired[int]
    access: dict[str, Radio]
    contacts: dict[str, ContactRadio]


class CustomMetric(TypedDict):
    """A custom function: "mine.py:hops" or "package.module:hops", and its file's SHA-256."""

    function: str
    digest: str


class Output(TypedDict):
    """What the trace keeps, and which custom metrics are made of it."""

    trace: Literal["full", "sampled", "work", "metrics"]
    sample_ratio: float
    tokens: bool
    blocks: bool
    map: NotRequired[bool]
    metrics: list[CustomMetric]


class Metrics(TypedDict):
    """What is measured beside what every run has."""

    deadlines_s: list[float]


class Storage(TypedDict):
    """What a phone writes when it stores a record."""

    journal: Literal["wal", "truncate", "append"]
    page_bytes: int
    pages: int
    checkpoint_pages: int
