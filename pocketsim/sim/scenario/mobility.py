"""People with homes, work and shops: a section of the scenario document, and its limits.

It says where persons are over their days, and so on which access network. Who is near whom for it
is `[contacts] kind = "places"`. What is drawn is `sim.plan.days`'. Phones that walk about without a
reason are `sim.scenario.walks`', those that change networks by a schedule `sim.scenario.moves`'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from pocketsim.sim.base.documents import (
    Count,
    Duration,
    PositiveDuration,
    PositiveLength,
    PositiveSpeed,
    Section,
    written,
)
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.scenario.fields import Ratio, Sigma, add_up
from pocketsim.sim.scenario.lengths import Lengths

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class Work(Section):
    """Who goes to work when."""

    share: Ratio = Field(default=0.5, description="Share of persons who have work; assumed.")
    attendance: Ratio = Field(
        default=0.59,
        description="Share of days from Monday to Friday on which they go there. With half of all "
        "persons it makes 21 % of people commute on an average day, as in the Netherlands (CBS "
        "2022: .42 trips a day for work).",
    )
    places: Count = Field(description="Workplaces, each as likely as another.")
    begins: Duration = Field(
        default=written("8.5h"), description="Mean time of day at which people begin; assumed."
    )
    begins_sd: Duration = Field(
        default=written("45min"), description="Its standard deviation between persons; assumed."
    )
    stay: PositiveDuration = Field(
        default=written("8h"), description="Mean time at work, breaks included; assumed."
    )
    stay_sd: Duration = Field(
        default=written("45min"), description="Its standard deviation between persons; assumed."
    )
    access: dict[str, Ratio] = Field(
        min_length=1, description="Shares of persons by the access network that they use there."
    )

    @model_validator(mode="after")
    def _shares_add_up(self) -> Work:
        if not add_up(list(self.access.values())):
            raise ValueError(f"shares of access add up to {sum(self.access.values()):g}, not 1")
        return self


class Days(Section):
    """Persons who live in homes, go to work, and go to shops where they pay; others stay.

    The run begins at midnight. Phones of one place and one access network other than `outside`
    share an access point there.
    """

    kind: Literal["days"] = Field(description="Persons have days.")
    width: PositiveLength = Field(description="One side of the rectangle that places lie in.")
    height: PositiveLength = Field(description="The other side.")
    first_day: Weekday = Field(
        default="monday", description="Day of the week on which the run begins."
    )
    household: Annotated[float, Field(ge=1, le=1000, allow_inf_nan=False)] = Field(
        description="Mean number of persons of a home. Phones of a group fill homes in their order."
    )
    work: Work | None = Field(default=None, description="Work; absent: nobody has any.")
    outside: str = Field(
        min_length=1,
        description="Access network of persons on the way and in shops. At home they are on that "
        "of their group.",
    )
    speed: PositiveSpeed = Field(
        default=written("3.5m/s"),
        description="Of all ways, which are straight; assumed: a bicycle.",
    )
    before_paying: Lengths = Field(
        default=written({"distribution": "lognormal", "median": "20min", "sigma": 0.6}),
        description="How long a person has been in a shop when paying; assumed.",
    )
    interruption: Duration = Field(
        default=written("0s"),
        description="Median of how long a phone has no network when it changes the access network.",
    )
    interruption_sigma: Sigma = Field(
        default=0.0, description="Sigma of that, if it is lognormal; 0: always as long."
    )


def networks(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the key path and the name of each access network that persons come to in their days."""
    days = scenario.mobility
    if days is None:
        return
    yield "mobility.outside", days.outside
    if days.work is not None:
        for name, share in days.work.access.items():
            if share:
                yield "mobility.work.access", name


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError for days that nobody has, or that something else contradicts."""
    days, contacts = scenario.mobility, scenario.contacts
    if contacts is not None and contacts.kind == "places" and days is None:
        reason = "people have no places"
        raise ScenarioError(path, "contacts.kind", reason, '[mobility] kind = "days"')
    if days is None:
        return
    if scenario.run.fidelity == "flow":
        reason = 'run.fidelity = "flow" has phones that stay on their access network'
        raise ScenarioError(path, "mobility", reason, 'run.fidelity = "hybrid"')
    if contacts is not None and contacts.kind == "walk":
        reason = "phones are where their owners' days say, and do not walk about"
        raise ScenarioError(path, "contacts.kind", reason, "places")
    for place, name in networks(scenario):
        if name not in scenario.network.access:
            guess = nearest(name, scenario.network.access)
            raise ScenarioError(path, place, f"no [network.access.{name}]", guess)
    _check_groups(scenario, days, path)
    for name, access in scenario.network.access.items():
        if access.forwarding_cpu:
            reason = f"network.access.{name}.forwarding_cpu is of phones that stay"
            raise ScenarioError(path, "mobility", reason)


def _check_groups(scenario: Scenario, days: Days, path: Path) -> None:
    homes = set()
    for number, group in enumerate(scenario.devices):
        if group.role == "person":
            homes |= {name for name, share in group.access.items() if share}
            if group.moves is not None:
                reason = "persons move by [mobility]"
                raise ScenarioError(path, f"devices[{number}].moves", reason)
    if not any(group.role == "person" for group in scenario.devices):
        raise ScenarioError(path, "mobility", "there are no phones of role person")
    both = (homes - {days.outside}) & set(days.work.access if days.work else ())
    if both:
        name = min(both)
        reason = f"{name} is an access network at home; an access point is of one place"
        raise ScenarioError(path, f"mobility.work.access.{name}", reason)


def expected_contacts(scenario: Scenario) -> tuple[str, float]:
    """Return which key asks for most contacts at one place, and about how many a repetition has.

    Of colleagues and of members of a household, who part twice a day at most; visitors of shops
    are few beside them.
    """
    days, contacts = scenario.mobility, scenario.contacts
    if days is None or contacts is None or contacts.kind != "places":
        return "mobility", 0.0
    persons = sum(group.count for group in scenario.devices if group.role == "person")
    pairs = {"mobility.household": persons * days.household}
    if days.work is not None:
        at_work = persons * days.work.share * days.work.attendance
        pairs["mobility.work.places"] = at_work * at_work / days.work.places
    most = max(pairs, key=lambda key: pairs[key])
    return most, sum(pairs.values()) * (1 + scenario.run.duration / _DAY_S)


_DAY_S = 86_400.0
