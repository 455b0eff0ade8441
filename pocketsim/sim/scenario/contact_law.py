"""Laws of contacts: documents of their own, which `[contacts]` of a scenario names.

A law says how people who share a place meet. It is found by its name among those that come with
the package, or as a file; what it says is in the resolved scenario. What is drawn from it is
`sim.plan.contact_law`'s.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import Field, model_validator

from pocketsim.sim.base import si
from pocketsim.sim.base.documents import (
    Duration,
    PositiveDuration,
    Section,
    read_toml,
    validate,
    written,
)
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import profile
from pocketsim.sim.scenario import limits
from pocketsim.sim.scenario.fields import Ratio, Weight
from pocketsim.sim.scenario.quantile_table import QuantileTable
from pocketsim.sim.scenario.town import ContactsOverLinks

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario import resolved
    from pocketsim.sim.scenario.load import Document

Text = Annotated[str, Field(min_length=1)]
Correlation = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


class ContactsLaw(ContactsOverLinks):
    """People who share a place, and meet as a law says, whatever their phones do meanwhile."""

    kind: Literal["law"] = Field(description="A law says who meets whom, when.")
    law: Text = Field(
        description="Name of a law that comes with the package, or path of a .toml file relative "
        "to the scenario."
    )
    origin: Duration = Field(
        default=written("0s"),
        description="Time since the midnight before a Monday at which the run begins; 9h is Monday "
        "at 9:00.",
    )


class About(Section):
    """What a law rests on."""

    title: Text = Field(description="For people.")
    source: Text = Field(description="Data that the law was fitted to.")
    licence: Text = Field(description="Licence of these data.")
    fitted_to: Text = Field(description="Which part of the data, and how much that is.")


class Meets(Section):
    """Which pairs meet on a day on which both are there: those whose normal score is high.

    The score is a sum of a part of each of the two, a part of the pair, and a part of the day.
    """

    probability: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] = Field(
        description="That two people who are both there meet on a day."
    )
    same_person_correlation: Annotated[float, Field(ge=0, lt=0.5, allow_inf_nan=False)] = Field(
        description="Correlation of the scores of two pairs that share a person."
    )
    same_pair_correlation: Correlation = Field(
        description="Correlation of the scores of a pair on two days, at least twice that of pairs "
        "that share a person."
    )

    @model_validator(mode="after")
    def _a_pair_is_two_people(self) -> Meets:
        if self.same_pair_correlation < 2 * self.same_person_correlation:
            raise ValueError("same_pair_correlation is less than twice same_person_correlation")
        return self


class ContactLaw(Section):
    """A law of contacts among people who share a place."""

    law: About = Field(description="What it rests on.")
    people: Annotated[int, Field(ge=2, le=5000)] = Field(
        description="Who share one place; phones fill places in their order, and who is in another "
        "place is never met."
    )
    resolution: PositiveDuration = Field(
        description="Contacts begin at multiples of this, and durations and gaps are multiples."
    )
    there: Annotated[list[Ratio], Field(min_length=7, max_length=7)] = Field(
        description="Share of people who are there, on each day of the week from Monday on."
    )
    hours: Annotated[list[Weight], Field(min_length=24, max_length=24)] = Field(
        description="Weights of the hours of a day in which a pair's first contact begins."
    )
    leaves_s: QuantileTable = Field(
        description="Quantiles of when the first of a pair leaves, in seconds after midnight."
    )
    meets: Meets = Field(description="Who meets whom on a day.")
    contacts: QuantileTable = Field(
        description="Quantiles of how many contacts a pair has on a day on which it meets, unless "
        "one of the two leaves before; rounded up."
    )
    duration_s: QuantileTable = Field(
        description="Quantiles of how long a contact lasts, rounded up to the resolution."
    )
    gap_s: QuantileTable = Field(
        description="Quantiles of the time from a contact to the pair's next one on the same day, "
        "unless one of the two leaves before; rounded up to the resolution."
    )
    activity_correlation: Correlation = Field(
        description="Correlation of the normal scores of how many contacts a pair has on a day and "
        "of how short the gaps between them are."
    )

    @model_validator(mode="after")
    def _there_is_an_hour(self) -> ContactLaw:
        if not any(self.hours):
            raise ValueError("hours: no hour has weight")
        return self

    @model_validator(mode="after")
    def _they_fit_a_day(self) -> ContactLaw:
        if self.resolution > _HOUR_S:
            raise ValueError("resolution is more than an hour")
        if max(self.leaves_s.values()) > _DAY_S:
            raise ValueError(f"leaves_s: {max(self.leaves_s.values()):g} is after the day's end")
        # Each contact and each gap takes a resolution at least.
        most = _DAY_S / self.resolution
        if max(self.contacts.values()) > most:
            raise ValueError(f"contacts: a day holds {most:g} times the resolution")
        return self

    def contacts_per_day(self, phones: int) -> float:
        """Return about how many contacts so many phones have at most on the busiest day."""
        places, rest = divmod(phones, self.people)
        pairs = places * math.comb(self.people, 2) + math.comb(rest, 2)
        return pairs * max(self.there) ** 2 * self.meets.probability * _mean_at_most(self.contacts)


def load(path: Path) -> ContactLaw:
    """Return the law in the file at `path`; raises ScenarioError with file and key path."""
    _, data = read_toml(path)
    return validate(ContactLaw, data, path)


def contents(law: ContactLaw) -> resolved.ContactLaw:
    """Return what is drawn from, as plain values in SI units: all but what the law rests on."""
    found = si.section(law)
    del found["law"]
    return cast("resolved.ContactLaw", found)


def resolve(document: Document, contacts: ContactsLaw) -> resolved.ContactsLaw:
    """Return the section with the contents of its law.

    Raises ScenarioError for a law that is not there or asks for too much.
    """
    place = "contacts.law"
    try:
        path = profile.find(contacts.law, document.path.parent, profile.CONTACTS)
    except LookupError as error:
        reason, suggestion = error.args
        raise ScenarioError(document.source_of(place), place, reason, suggestion) from None
    law = load(path)
    scenario = document.scenario
    phones = sum(group.count for group in scenario.devices if group.role != "authority")
    days = math.ceil((contacts.origin % _DAY_S + scenario.run.duration) / _DAY_S)
    expected = law.contacts_per_day(phones) * days
    limits.check_count((document.source_of(place), place), "contacts", expected)
    found: dict[str, Any] = si.section(contacts)
    found["law"] = {"name": path.stem, **contents(law)}
    return cast("resolved.ContactsLaw", found)


def _mean_at_most(table: dict[str, float]) -> float:
    """Return the mean of a law by quantiles whose values are all those of the next percentile."""
    shares = [0.0, *(float(key[1:]) / 100 for key in table), 1.0]
    values = [*table.values(), max(table.values())]
    return math.fsum(
        (until - since) * value
        for since, until, value in zip(shares[:-1], shares[1:], values, strict=True)
    )


_DAY_S, _HOUR_S = 86_400.0, 3600.0
