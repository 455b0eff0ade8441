"""Contacts as the plan has them: those that a file tells, and those of pairs by time.

Those that payments make are in `sim.plan.town`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan import plan
from pocketsim.sim.plan.town import kinds_of_link, link_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.streams import Floats, Streams
    from pocketsim.sim.base.tables import Table
    from pocketsim.sim.plan.population import Indices, Population
    from pocketsim.sim.scenario import resolved as given


def told(
    law: given.ContactsFile,
    table: Table,
    streams: Streams,
    people: Population,
    duration_s: float,
) -> plan.Proximity:
    """Return the contacts of a file that are in the run, with their kinds of link.

    What of a pair's overlaps or touches is one contact. A contact's link is drawn by the pair and
    the number of the contact among the pair's in the file: neither another pair nor another part of
    the file moves it. Who is near when the run begins meets then.
    """
    one, other = table.columns["phone_a"], table.columns["phone_b"]
    begin_s, end_s = table.columns["begin_s"], table.columns["end_s"]
    low, high = np.minimum(one, other), np.maximum(one, other)
    order = np.lexsort((begin_s, high, low))
    low, high, begin_s, end_s = low[order], high[order], begin_s[order], end_s[order]
    is_pair = np.r_[True, (low[1:] != low[:-1]) | (high[1:] != high[:-1])]
    # Of one pair, contacts overlap only where all are equally long: the last to begin ends last.
    begins = is_pair | np.r_[True, begin_s[1:] > end_s[:-1]]
    ends = np.r_[begins[1:], True]
    contact = np.cumsum(begins) - 1
    number = contact - np.maximum.accumulate(np.where(is_pair, contact, 0))
    low, high, number = low[begins], high[begins], number[begins]
    pair = streams.of("contact pairs").bits(people.lane[low], people.lane[high])
    link = kinds_of_link(law["links"], streams.of("contact links").uniform(pair, number))
    time_s = np.maximum(begin_s[begins] - law["origin_s"], 0.0)
    until_s = end_s[ends] - law["origin_s"]
    in_run = np.flatnonzero((until_s > 0) & (time_s < duration_s))
    order = in_run[np.lexsort((high[in_run], low[in_run], time_s[in_run]))]
    return {
        "links": link_columns(law["links"]),
        "time_s": plan.floats(time_s[order]),
        "duration_s": plan.floats((until_s - time_s)[order]),
        "phone_a": plan.numbers(low[order]),
        "phone_b": plan.numbers(high[order]),
        "link": plan.numbers(link[order]),
    }


def linked(
    links: Mapping[str, given.ContactLink],
    streams: Streams,
    people: Population,
    columns: tuple[Indices, Indices, Floats, Floats],
) -> plan.Proximity:
    """Return contacts with their kinds of link.

    Columns are the lower and the higher number of two phones, begin and end, sorted by begin. A
    contact's link is drawn by the pair and the number of the contact among the pair's.
    """
    low, high, begin_s, end_s = columns
    pair = streams.of("contact pairs").bits(people.lane[low], people.lane[high])
    chance = streams.of("contact links").uniform(pair, _numbers(low, high))
    return {
        "links": link_columns(links),
        "time_s": plan.floats(begin_s),
        "duration_s": plan.floats(end_s - begin_s),
        "phone_a": plan.numbers(low),
        "phone_b": plan.numbers(high),
        "link": plan.numbers(kinds_of_link(links, chance)),
    }


def _numbers(low: Indices, high: Indices) -> Indices:
    """Return the number of each contact among its pair's, of contacts sorted by begin."""
    order = np.lexsort((high, low))
    low, high = low[order], high[order]
    is_first = np.ones(low.size, dtype=bool)
    is_first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    turn = np.arange(low.size)
    number = np.empty_like(turn)
    number[order] = turn - np.maximum.accumulate(np.where(is_first, turn, 0))
    return number
