"""Stays of phones at places, and what follows from them: ways, contacts and access points.

Who stays where when is `sim.plan.days`'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.plan import contacts
from pocketsim.sim.plan.walks import Waypoints

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.base.streams import Floats, Streams
    from pocketsim.sim.plan import plan
    from pocketsim.sim.plan.population import Indices, Population
    from pocketsim.sim.scenario import resolved as given

KINDS = ("home", "work", "shop")


@dataclass(frozen=True)
class Places:
    """Places as columns of one length; `kind` is a number into `KINDS`."""

    kind: Indices
    x_m: Floats
    y_m: Floats


@dataclass(frozen=True)
class Stays:
    """Stays as columns of one length, sorted by phone and then by time; between them it is on way.

    `place` is a number into `places`. The first stay of a phone begins at 0 s; the last one ends
    with the run. A phone without stays has no place.
    """

    phone: Indices
    place: Indices
    begin_s: Floats
    end_s: Floats
    places: Places

    def waypoints(self) -> Waypoints:
        """Return the ways between places, which are straight and even."""
        both = np.repeat(np.arange(self.phone.size), 2)
        time_s = np.stack([self.begin_s, self.end_s], axis=1).ravel()
        place = self.place[both]
        return Waypoints(self.phone[both], time_s, self.places.x_m[place], self.places.y_m[place])

    def contacts(
        self,
        links: Mapping[str, given.ContactLink],
        streams: Streams,
        people: Population,
        duration_s: float,
    ) -> plan.Proximity:
        """Return a contact for every two stays that overlap at one place before `duration_s`."""
        one, other, begin_s, end_s = self._together()
        low, high = np.minimum(one, other), np.maximum(one, other)
        order = np.lexsort((high, low, begin_s))
        order = order[begin_s[order] < duration_s]
        columns = (low[order], high[order], begin_s[order], end_s[order])
        return contacts.linked(links, streams, people, columns)

    def _together(self) -> tuple[Indices, Indices, Floats, Floats]:
        """Return phones, begin and end of every overlap of two stays at a place."""
        order = np.lexsort((self.begin_s, self.place))
        phone, place = self.phone[order], self.place[order]
        begin_s, end_s = self.begin_s[order], self.end_s[order]
        # A place and the rank of a time are one number, so that one search finds all that begin
        # at a place before a stay there ends.
        _, rank = np.unique(np.concatenate([begin_s, end_s]), return_inverse=True)
        begins, ends = np.split(rank, 2)
        key = place * rank.size + begins
        after = np.arange(key.size) + 1
        until = np.maximum(np.searchsorted(key, place * rank.size + ends), after)
        count = until - after
        first = np.repeat(np.arange(key.size), count)
        second = np.repeat(after, count) + np.arange(count.sum())
        second -= np.repeat(np.cumsum(count) - count, count)
        apart = phone[first] != phone[second]
        first, second = first[apart], second[apart]
        return phone[first], phone[second], begin_s[second], np.minimum(end_s[first], end_s[second])
