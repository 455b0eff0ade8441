"""What days of people come to, beside what travel surveys count: nothing is fitted here.

Draws the days of `town_day` for a week and prints, for a person and day, trips, minutes on the way
and time by place, with figures of Statistics Netherlands (CBS) where there are any. It runs no
simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan import placement
from pocketsim.sim.plan.stays import KINDS
from pocketsim.sim.scenario import shipped
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

if TYPE_CHECKING:
    from pocketsim.sim.plan.placement import Placement
    from pocketsim.sim.scenario.resolved import Resolved

DAYS = 7
DAY_S = 86_400.0


def main() -> int:
    """Print the table; return 0."""
    (rung,) = resolve(load(shipped.scenarios()["town_day"], [f"run.duration={DAYS}d"]))
    made = placement.placed(rung.resolved, "repetition/0", {})
    print("| of a person and day | days of the scenario | counted in the Netherlands |")
    print("|---|---|---|")
    for what, found, counted in rows(rung.resolved, made):
        print(f"| {what} | {found:.3g} | {counted} |")
    return 0


def rows(resolved: Resolved, made: Placement) -> list[tuple[str, float, str]]:
    """Return what is counted, in these days and by others."""
    assert made.lived is not None, "the scenario has days"
    stays, home = made.lived.stays, made.lived.addresses.home
    persons = int((home >= 0).sum())
    mine = home[stays.phone] >= 0
    phone, kind = stays.phone[mine], stays.places.kind[stays.place[mine]]
    begin_s = np.minimum(stays.begin_s[mine], DAYS * DAY_S)
    end_s = np.minimum(stays.end_s[mine], DAYS * DAY_S)
    goes = (phone[1:] == phone[:-1]) & (begin_s[1:] < DAYS * DAY_S)
    way_s = (begin_s[1:] - end_s[:-1])[goes]
    person_days = persons * DAYS
    found = [
        ("trips", goes.sum() / person_days, "2.73 (a Monday, 2014)"),
        ("minutes on the way", way_s.sum() / 60 / person_days, "60.6 (the same day)"),
        ("minutes a trip", way_s.mean() / 60, "27.05 (2023, 11.76 km)"),
    ]
    day = (begin_s // DAY_S)[kind == KINDS.index("work")]
    at_work = np.unique(np.stack([phone[kind == KINDS.index("work")], day], axis=1), axis=0)
    found.append(("who goes to work", len(at_work) / person_days, ".21 (2022; put in)"))
    shops = (kind == KINDS.index("shop")).sum() / person_days
    found.append(("visits of shops", shops, ".29 (2017: half of 21.2 % of trips)"))
    for number, name in enumerate(KINDS):
        share = (end_s - begin_s)[kind == number].sum() / DAY_S / person_days
        found.append((f"share of time at {name}", share, "-"))
    share = wifi_share(resolved, made, persons)
    found.append(("share of time on Wi-Fi", share, ".70 (2016; Wi-Fi at home and work assumed)"))
    return found


def wifi_share(resolved: Resolved, made: Placement, persons: int) -> float:
    """Return the share of time that persons are on access networks with access points."""
    networks = sorted(resolved["network"]["access"].items())
    has = np.array(["wifi" in network for _, network in networks])
    itinerary, until_s = made.itinerary, DAYS * DAY_S
    assert itinerary is not None, "people go out"
    phone = np.concatenate([np.arange(persons), itinerary.phone])
    access = np.concatenate([made.people.access[:persons], itinerary.access])
    since_s = np.concatenate([np.zeros(persons), itinerary.time_s])
    order = np.lexsort((since_s, phone))
    phone, since_s, on = phone[order], since_s[order], has[access[order]]
    last = np.append(phone[1:] != phone[:-1], True)
    ends_s = np.where(last, until_s, np.append(since_s[1:], until_s))
    return float((ends_s - since_s)[on].sum() / (persons * until_s))


if __name__ == "__main__":
    raise SystemExit(main())
