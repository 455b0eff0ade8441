"""Phones that only compute, as a protocol family of scenarios: their workload is its section.

What each task consists of is said where it is performed, in sim/protocols/src/compute.rs.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import (
    Count,
    Duration,
    OneOrMore,
    Section,
    Size,
    written,
)
from pocketsim.sim.scenario import tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.sim.scenario.document import Scenario

Task = Literal[
    "sign",
    "verify",
    "sign_token",
    "verify_token",
    "verify_packet",
    "sign_packet",
    "handle_packet",
]
THREADS_MAX = 1024
"""No device has so many cores, and beyond those a thread gains nothing; each takes memory."""
Threads = Annotated[int, Field(ge=1, le=THREADS_MAX)]


class Compute(Section):
    """Threads of every phone that each perform one task again and again; nothing is sent."""

    kind: Literal["compute"] = Field(description="Kind of workload.")
    task: OneOrMore[Task] = Field(
        description="sign, verify: one operation on the payload; sign_token, verify_token: the "
        "first proof, every proof of each token; verify_packet, sign_packet, handle_packet: of the "
        "EVA packets that bring the tokens and take as many new ones away, the signatures, and "
        "everything else. A list makes several runs."
    )
    threads: OneOrMore[Threads] = Field(
        default=written(1),
        description="Threads of a phone, on its cores, at most 1024; a list makes several runs.",
    )
    count: Count = Field(
        default=1000,
        description="How often each thread performs its task; at most 50 million tasks of all "
        "threads in a repetition.",
    )
    tokens: Count = Field(default=1, description="Tokens that a task handles at once.")
    recipients: OneOrMore[Count] = Field(
        default=written(3),
        description="Recipients of each token, with a proof each; a list makes several runs. Three "
        "come back to the authority after one payment: of two phones and its own.",
    )
    payload: OneOrMore[Size] = Field(
        default=written("147B"),
        description="Data of an operation, or of a packet; a list makes several runs. The proofs "
        "of tokens have sizes of their own.",
    )
    start: Duration = Field(default=written("0s"), description="When the threads start.")

    @model_validator(mode="after")
    def _has_something_to_do(self) -> Compute:
        if min(self.payload) < 1:
            raise ValueError("an operation is on at least one byte")
        return self

    def largest_task_bytes(self, tokens: int) -> int:
        """Return the bytes of the largest task on so many tokens, of any of the lists."""
        lists = itertools.product(self.task, self.payload, self.recipients)
        return max(tasks.traced_bytes(*task, tokens) for task in lists)


def lists(scenario: Scenario) -> dict[str, Sequence[Any]]:
    """Return the lists of the workload; there is no rate."""
    workload = scenario.workload
    assert isinstance(workload, Compute), "the family's only workload"
    return {
        "workload.task": workload.task,
        "workload.recipients": workload.recipients,
        "workload.payload": workload.payload,
        "workload.threads": workload.threads,
        "workload.rate": [0.0],
    }


def message_bytes(_scenario: Scenario, _payload_bytes: int) -> int:
    """Return 0: nothing is sent."""
    return 0
