"""How phones keep what they store: a section of the scenario document.

No profile measures what a commit writes: the probe's storage kernels measure how long it takes.
What is written for what is stored is `sim.metrics.storage`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from pocketsim.sim.base.documents import Section, Size, written
from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class Storage(Section):
    """What a phone writes when it stores a record, each in a commit of its own."""

    journal: Literal["wal", "truncate", "append"] = Field(
        default="wal",
        description="wal: SQLite with a write-ahead log, as apps have since Android 9; truncate: "
        "SQLite with a rollback journal; append: a file that is synced after each record.",
    )
    page: Annotated[Size, Field(ge=512, le=65_536)] = Field(
        default=written("4096B"), description="Page of the database, or block of the file system."
    )
    pages: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=1,
        description="Pages of the database that a record changes, beside those that it fills: the "
        "table's last, and one for each index; assumed.",
    )
    checkpoint_pages: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=100,
        description="Pages in the log at which a checkpoint writes them into the database: 100 on "
        "Android (db_wal_autocheckpoint), 1000 by SQLite's default.",
    )


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where phones store no records."""
    kind = scenario.protocol.kind
    if scenario.storage is not None and kind not in STORING:
        reason = f'phones of protocol "{kind}" store no records, as those of "trustchain" do'
        raise ScenarioError(path, "storage", reason)


STORING = ("trustchain", "tokens")
"""Protocols whose phones store records: blocks, or tokens that they take."""
