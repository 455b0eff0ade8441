"""Presence laws: how phones of a population come and go, each in its own way, as a trace showed.

A law is a document of its own, fitted by `pocketsim calibrate presence`. A scenario names one that
comes with the package, or a file. What is drawn from it is `sim.plan.presence`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field, model_validator

from pocketsim.sim.base import documents
from pocketsim.sim.base.documents import Section
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import profile
from pocketsim.sim.scenario.fields import Day, Ratio
from pocketsim.sim.scenario.presence_summary import PresenceSummary, Within
from pocketsim.sim.scenario.quantile_table import QuantileTable

if TYPE_CHECKING:
    from pathlib import Path

SHIPPED = profile.PRESENCE


class PresenceLaw(Section):
    """How phones come and go: each has an availability and a number of sessions a day."""

    title: str = Field(description="What it is a law of.")
    source: str = Field(default="", description="What it was fitted to, and by what.")
    never_ratio: Ratio = Field(default=0.0, description="Share of phones that never come on.")
    availability: QuantileTable = Field(
        description="Long-run share of time that a phone is on, by percentile of the phones that "
        "ever are."
    )
    sessions_per_day: QuantileTable = Field(description="Sessions of such a phone in a day.")
    rank_correlation: Annotated[float, Field(ge=-0.99, le=0.99)] = Field(
        default=0.0, description="Correlation of the normal scores of these two."
    )
    session_s: QuantileTable = Field(description="Lengths of the sessions of all phones, seconds.")
    session_within: Within = Field(
        default=1.0,
        description="Deviation of the normal scores of one phone's sessions; 1 for all.",
    )
    gap_s: QuantileTable = Field(description="Lengths of the gaps of all phones, seconds.")
    gap_within: Within = Field(default=1.0, description="The same of one phone's gaps.")
    begins: Day = Field(
        default=[1.0] * 24, description="How fast gaps run down in each hour, over their mean."
    )
    ends: Day = Field(
        default=[1.0] * 24, description="How fast sessions run down in each hour, likewise."
    )

    fitted_to: PresenceSummary | None = Field(
        default=None,
        description="What it was fitted to: percentiles of a trace, from which "
        "`pocketsim calibrate presence` makes the law again. No run reads it.",
    )

    absent_when_none = frozenset({"fitted_to"})

    @model_validator(mode="after")
    def _phones_are_off_now_and_then(self) -> PresenceLaw:
        highest = max(self.availability.values())
        if highest >= 1:
            raise ValueError(f"availability goes up to {highest:g}, which is not less than 1")
        return self

    @model_validator(mode="after")
    def _sessions_take_time(self) -> PresenceLaw:
        for name, per_day in self.sessions_per_day.items():
            if not _FEWEST <= per_day <= _MOST:
                raise ValueError(
                    f"sessions_per_day.{name} is {per_day:g}, not from {_FEWEST:g} to {_MOST:g}"
                )
        return self

    def transitions_per_day(self) -> float:
        """Return a little more than how often a phone comes or goes in a day, in the mean."""
        below, per_day = 0.0, 0.0
        for name, most in self.sessions_per_day.items():
            at = float(name[1:]) / 100
            per_day += (at - below) * most
            below = at
        return 2 * (per_day + (1 - below) * max(self.sessions_per_day.values()))


def read(path: Path) -> PresenceLaw:
    """Return the law in a file, or raise ScenarioError for what is none."""
    _, data = documents.read_toml(path)
    return documents.validate(PresenceLaw, data, path)


def load(name: str, beside: Path, place: tuple[str | Path, str]) -> PresenceLaw:
    """Return the law of this name or at this path relative to the folder `beside`, for runs.

    Raises ScenarioError for one that is no law; for one that is not there, with `place`, the file
    and the key path that name it.
    """
    try:
        path = profile.find(name, beside, SHIPPED)
    except LookupError as error:
        reason, suggestion = error.args
        raise ScenarioError(*place, reason, suggestion) from None
    return read(path).model_copy(update={"fitted_to": None})


_FEWEST, _MOST = 1e-3, 10_000.0
