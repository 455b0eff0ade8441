"""Phones that come and go: sections of the scenario document.

Laws of lengths of time are `sim.scenario.lengths`', laws in documents of their own
`sim.scenario.presence_law`'s, what Android allows is `sim.scenario.android`'s. Files that make no
sense are refused in `sim.scenario.presence_files`; what becomes of all is `sim.plan.churn`'s.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from pocketsim.sim.base.documents import Duration, Origin, Section, written
from pocketsim.sim.scenario.android import AndroidChurn
from pocketsim.sim.scenario.fields import kind_if_absent
from pocketsim.sim.scenario.lengths import Lengths


class Churn(Section):
    """Phones that come and go, independently, from their stationary state on."""

    kind: Literal["drawn"] = Field(
        default="drawn", description="Where it is from; may be left out."
    )
    session: Lengths = Field(description="How long a phone stays on.")
    gap: Lengths = Field(description="How long it stays off.")


class ChurnLaw(Section):
    """Phones that come and go by a presence law: each in its own way, by hours of the day."""

    kind: Literal["law"] = Field(description="Where it is from.")
    law: str = Field(
        min_length=1,
        description="Presence law: name of one that comes with the package, or path of a .toml "
        "file relative to the scenario.",
    )
    time_of_day: Duration = Field(
        default=written("0s"), description="How long after midnight the run begins."
    )


class ChurnFile(Section):
    """Phones that come and go as a file says; a phone that it does not name is always on.

    In a group's file its phones are numbered from 0, in that of the scenario all phones are.
    """

    kind: Literal["file"] = Field(default="file", description="Where it is from; may be left out.")
    file: str = Field(
        min_length=1,
        description="CSV or Parquet file relative to the scenario, with columns phone, on_s and "
        "off_s: a row for each interval in which a phone is on.",
    )
    origin: Origin = Field(
        default=written("0s"),
        description="Time in the file at which the run begins: seconds on its clock, also Unix "
        'seconds, or a date and time in a time zone; "first" is the earliest in the file.',
    )


class AlwaysOn(Section):
    """Phones that do not come and go, whatever those of other groups do."""

    kind: Literal["none"] = Field(description="They are always on.")


AnyChurn = Annotated[
    Annotated[Churn | ChurnFile | ChurnLaw | AndroidChurn, Field(discriminator="kind")],
    BeforeValidator(kind_if_absent("drawn")),
]
GroupChurn = Annotated[
    Annotated[Churn | ChurnFile | ChurnLaw | AndroidChurn | AlwaysOn, Field(discriminator="kind")],
    BeforeValidator(kind_if_absent("drawn")),
]
