"""What a presence law is fitted to: percentiles of a trace, and its hours of the day.

The trace itself need not be at hand, or may not be passed on: whoever has the summary can repeat
the fit. It stands in the law's document as `[fitted_to]`; no run reads it.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pocketsim.sim.base.documents import Section
from pocketsim.sim.scenario.fields import Day, Ratio
from pocketsim.sim.scenario.quantile_table import QuantileTable

Within = Annotated[float, Field(ge=0.1, le=1, allow_inf_nan=False)]


class PresenceSummary(Section):
    """Percentiles of a trace of phones that come and go."""

    never_ratio: Ratio = Field(description="Share of phones that never came on.")
    watched_days: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(
        min_length=1, description="Share of the other phones by the days that each was watched."
    )
    availability: QuantileTable = Field(description="Of a phone that came on: share of time on.")
    sessions_per_day: QuantileTable = Field(description="Of such a phone.")
    rank_correlation: float = Field(description="Of these two (Spearman).")
    session_s: QuantileTable = Field(description="Lengths of all sessions.")
    session_within: Within = Field(
        description="Deviation of the normal scores of session lengths within a phone."
    )
    gap_s: QuantileTable = Field(description="Lengths of all gaps between two sessions.")
    gap_within: Within = Field(description="The same of gaps.")
    begins: Day = Field(description="Sessions begun in each hour of the day, over the mean.")
    on: Day = Field(description="Phones on in each hour of the day, over the mean.")
