"""Who is near whom as a file says: a section of the scenario document.

Contacts that payments make are in `sim.scenario.town`, those of phones that walk in
`sim.scenario.walks`, those that a law draws in `sim.scenario.contact_law`. Where people are whose
places make contacts is `sim.scenario.mobility`'s; what is wrong with a file is told in
`sim.scenario.presence_files`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from pocketsim.sim.base.documents import Origin, written
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario import walks
from pocketsim.sim.scenario.contact_law import ContactsLaw
from pocketsim.sim.scenario.fields import kind_if_absent
from pocketsim.sim.scenario.town import Contacts, ContactsOverLinks
from pocketsim.sim.scenario.walks import AnyWalk

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.document import Scenario


class ContactsFile(ContactsOverLinks):
    """Phones near each other as a file says, whatever they do meanwhile."""

    kind: Literal["file"] = Field(default="file", description="Where it is from; may be left out.")
    file: str = Field(min_length=1, description="File relative to the scenario.")
    format: Literal["columns", "tij"] = Field(
        default="columns",
        description="columns: CSV or Parquet with phone_a, phone_b, begin_s, end_s; tij: lines "
        "t i j of SocioPatterns, of people near each other in the 20 s before t.",
    )
    origin: Origin = Field(
        default=written("0s"),
        description="Time in the file at which the run begins: seconds on its clock, also Unix "
        'seconds, or a date and time in a time zone; "first" is the earliest in the file.',
    )


class ContactsPlaces(ContactsOverLinks):
    """Phones near each other while they are at one home, workplace or shop, by `[mobility]`."""

    kind: Literal["places"] = Field(description="Places make contacts.")


AnyContacts = Annotated[
    Annotated[
        Contacts | ContactsFile | ContactsLaw | ContactsPlaces | AnyWalk,
        Field(discriminator="kind"),
    ],
    BeforeValidator(kind_if_absent("payments")),
]


def check(scenario: Scenario, path: Path) -> None:
    """Raise ScenarioError where the workload has no use for the contacts."""
    kind = scenario.protocol.kind
    if isinstance(scenario.contacts, Contacts) and kind != "tokens":
        reason = f'payments make them, which protocol "tokens" has, not "{kind}"'
        raise ScenarioError(path, "contacts", reason)
    if scenario.contacts is not None and kind == "compute":
        raise ScenarioError(path, "contacts", "phones that compute send nothing")
    walks.check(scenario, path)
    walks.check_near(scenario, path)
