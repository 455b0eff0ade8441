"""Where phones are over a repetition: their first network, their moves, and people's days.

Days hang on payments, since a person is in a shop to pay there; so a town's are drawn here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import days, moves, town
from pocketsim.sim.plan.population import populate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.plan.moves import Itinerary
    from pocketsim.sim.plan.population import Population
    from pocketsim.sim.scenario.resolved import Resolved


@dataclass(frozen=True)
class Placement:
    """Phones with all their access networks, and the moves between these, if there are any.

    `paid` are a town's payments, to whom the payer's day allows; None of other workloads. `lived`
    is None where persons have no days.
    """

    people: Population
    itinerary: Itinerary | None
    lived: days.Lived | None
    paid: town.Payments | None


def placed(resolved: Resolved, name: str, files: Mapping[str, str]) -> Placement:
    """Return where the phones of a repetition are, from streams under `name`.

    `files` are paths by digest. Raises ScenarioError for a file that has changed.
    """
    people, paid = populate(resolved, name), None
    streams, duration_s = Streams(resolved["run"]["seed"], name), resolved["run"]["duration_s"]
    if resolved["workload"]["kind"] == "town":
        paid = town.payments(resolved["workload"], streams, people, duration_s)
    parts = moves.by_groups(resolved, name, files)
    if "mobility" not in resolved:
        itinerary = moves.itinerary(resolved, name, parts)
        if itinerary is not None:
            people = populate(resolved, name, itinerary.goes())
        return Placement(people, itinerary, None, paid)
    law, networks = resolved["mobility"], sorted(resolved["network"]["access"])
    lived = days.lived(
        law, streams, people, town.nobody_pays() if paid is None else paid, duration_s
    )
    changes = days.moves(law, streams, people, lived, networks)
    itinerary = moves.itinerary(resolved, name, [*parts, changes])
    work_access = days.work_access(law, streams, people, networks)
    outside = networks.index(law["outside"])
    place = lived.addresses.access_points(people, work_access, outside)
    people = populate(resolved, name, None if itinerary is None else itinerary.goes(), place)
    if paid is not None:
        paid = replace(paid, to_phone=lived.payee)
    return Placement(people, itinerary, lived, paid)
