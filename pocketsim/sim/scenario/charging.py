"""Episodes of the day, and those in which phones charge: sections of the scenario document.

What is drawn from them is `sim.plan.episodes`' and `sim.plan.charging`'s.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pocketsim.sim.base.documents import Section, written
from pocketsim.sim.scenario.fields import Day
from pocketsim.sim.scenario.lengths import Lengths

PerDay = Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)]
Spread = Annotated[float, Field(ge=0, le=3, allow_inf_nan=False)]


class Charging(Section):
    """When phones are plugged in, and charge."""

    per_day: PerDay = Field(default=1.5, description="How often a day; assumed.")
    spread: Spread = Field(
        default=0.0,
        description="Standard deviation of the logarithm of that between phones; 0: none.",
    )
    length: Lengths = Field(
        default=written({"distribution": "lognormal", "median": "2h", "sigma": 0.8}),
        description="How long a phone stays plugged in; assumed.",
    )
    hours: Day = Field(
        default=[1.4, *[3.0] * 7, *[1.4] * 10, *[18.0] * 2, *[1.4] * 4],
        description="How likely a phone that is not charging is plugged in, by hour of the day: "
        "weights. By these, 40 % of all times are at 18 to 20 h and 30 % at 1 to 8 h, as of 4035 "
        "users in 2011.",
    )
