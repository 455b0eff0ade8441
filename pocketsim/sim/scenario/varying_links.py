"""Links whose rate varies: rates from files, handovers and changes of radio technology.

Sections of an access network. What files may hold is in `sim.scenario.rate_files`, what becomes of
it in sim/engine/src/resources/rates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import PositiveDuration, PositiveRate, Section, written
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.fields import Sigma

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario

WAYS = ("up", "down")


class RateFile(Section):
    """Rates over time from files, the same for each phone of the network, from the run's begin on.

    Queues without a size, and the energy of a radio, go by `up` and `down` of the network all the
    same: write there what the files come to on average.
    """

    up: str | None = Field(
        default=None,
        min_length=1,
        description="File of the rate from the phone, relative to the scenario; absent: `up` of the"
        " network.",
    )
    down: str | None = Field(default=None, min_length=1, description="The same to the phone.")
    format: Literal["columns", "mahimahi"] = Field(
        default="columns",
        description="columns: CSV or Parquet with columns time_s and rate_mbps, a row for each"
        " change of the rate, in Mbit/s; the first is where the run begins, the last lasts."
        " mahimahi: a whole number of milliseconds a line, at which 1500 B may be sent; it begins"
        " again after the last.",
    )

    @model_validator(mode="after")
    def _it_names_a_file(self) -> RateFile:
        if self.up is None and self.down is None:
            raise ValueError("names no file: up, down or both")
        return self


class Interruption(Section):
    """Times in which a phone's link carries nothing; what is sent then waits, and is not lost."""

    rate: PositiveRate = Field(
        description='How often, as "71.6/h": exponential times lie between one and the next.'
    )
    interruption: PositiveDuration = Field(description="Median of how long each takes.")
    interruption_sigma: Sigma = Field(
        default=written(0.0), description="Sigma of that, if it is lognormal; 0: always as long."
    )


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for a link that varies where the engine has none."""
    for name, access in scenario.network.access.items():
        for key in _KEYS:
            if getattr(access, key) is None:
                continue
            place, reason = f"network.access.{name}.{key}", None
            if scenario.run.fidelity == "flow":
                reason = 'run.fidelity = "flow" has links of one rate'
                raise ScenarioError(path, place, reason, 'run.fidelity = "hybrid"')
            if access.site_capacity is not None:
                reason = "is of a link that a phone has for itself, and site_capacity shares one"
                raise ScenarioError(path, place, reason)


_KEYS = ("rate_file", "handover", "rat_change")
