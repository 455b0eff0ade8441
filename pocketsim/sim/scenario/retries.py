"""How often trades are tried: what a scenario says of it, and what it leaves to the implementation.

A proposal without an answer is sent again after waits that grow (sim/protocols/src/trustchain).
Without retries, neither in the scenario nor in the implementation, each is sent once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from pocketsim.sim.base.documents import PositiveDuration, Section
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.fields import Ratio

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.devices.implementation import Implementation
    from pocketsim.sim.scenario.document import Protocol, Scenario


class Retries(Section):
    """How proposals without an answer are sent again."""

    attempts: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        default=None,
        description="Most sends of one proposal, the first included; 0: no retries, whatever the "
        "implementation does; absent: the implementation's.",
    )
    first_wait: PositiveDuration | None = Field(
        default=None,
        description="How long an answer is waited for after the first send; absent: the "
        "implementation's.",
    )
    factor: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] | None = Field(
        default=None,
        description="How many times as long each wait is as the one before; absent: the "
        "implementation's, or 2.",
    )
    longest_wait: PositiveDuration | None = Field(
        default=None,
        description="No wait is longer; absent: the implementation's, or as long as the deadline.",
    )
    jitter: Ratio | None = Field(
        default=None,
        description="Share of each wait that is drawn; absent: the implementation's, or 0.5.",
    )
    deadline: PositiveDuration | None = Field(
        default=None,
        description="A proposal is given up so long after it was first sent; absent: the "
        "implementation's.",
    )
    while_off: Literal["kept", "lost"] | None = Field(
        default=None,
        description="Whether a phone that goes off keeps its open proposals and tries them again "
        'when it is on, or loses them; absent: the implementation\'s, or "kept".',
    )


def filled(protocol: Protocol, implementation: Implementation) -> Retries | None:
    """Return retries with what they leave out, as far as it is known; None where there are none."""
    asked, said = protocol.retries, implementation.retries
    if protocol.kind != TRIED_AGAIN:
        return None
    known: dict[str, Any] = {}
    if said is not None:
        known = {name: one.value for name in Retries.model_fields if (one := getattr(said, name))}
    if asked is not None:
        known |= {name: value for name, value in asked if value is not None}
    if known.get("attempts", 1) == 0 or (said is None and asked is None):
        return None
    known = {**_USUAL, "longest_wait": known.get("deadline"), **known}
    return Retries.model_construct(**known)


def check(asked: Retries | None, scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for retries that were `asked` for and do not fit the filled scenario."""
    found = scenario.protocol.retries
    if asked is not None and asked.attempts != 0 and scenario.protocol.kind != TRIED_AGAIN:
        reason = f'protocol "{scenario.protocol.kind}" sends once; retries are for "{TRIED_AGAIN}"'
        raise ScenarioError(path, "protocol.retries", reason)
    for name in _REQUIRED if found is not None else ():
        if getattr(found, name, None) is None:
            reason = f"is required: {scenario.implementation} has no [retries]"
            raise ScenarioError(path, f"protocol.retries.{name}", reason)


TRIED_AGAIN = "trustchain"
"""The protocol whose machines send again."""
_REQUIRED = ("attempts", "first_wait", "deadline")
_USUAL = {"factor": 2.0, "jitter": 0.5, "while_off": "kept"}
