"""Partners that are near: whom a phone is in contact with at a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.sim.base.streams import pick_bucket

if TYPE_CHECKING:
    import numpy.typing as npt

    from pocketsim.sim.base.streams import Floats, Integers
    from pocketsim.sim.plan import plan
    from pocketsim.sim.plan.population import Indices


def chosen(
    near: plan.Proximity,
    phone: Indices,
    time_s: Floats,
    bits: Integers,
    able: npt.NDArray[np.bool_] | None = None,
) -> Indices:
    """Return one of those near each phone at each time, by random bits; -1 where nobody is.

    The first three columns are of one length. Each of those near is equally likely; where `able`
    says of every phone whether it may be chosen, each of those that may.
    """
    row, other = pairs(near, phone, time_s)
    if able is not None:
        row, other = row[able[other]], other[able[other]]
    degree = np.bincount(row, minlength=phone.size)
    start = np.cumsum(degree) - degree
    has = degree > 0
    found = np.full(phone.size, -1, dtype=np.int64)
    found[has] = other[start[has] + pick_bucket(bits[has], degree[has])]
    return found


def pairs(near: plan.Proximity, phone: Indices, time_s: Floats) -> tuple[Indices, Indices]:
    """Return who is near at each time: numbers of rows of the columns, and phones.

    They are sorted by row and phone, and each is there once. A contact is there from its begin
    until before its end.
    """
    one = np.concatenate([near["phone_a"], near["phone_b"]]).astype(np.int64)
    other = np.concatenate([near["phone_b"], near["phone_a"]]).astype(np.int64)
    begin_s = np.tile(near["time_s"], 2)
    end_s = begin_s + np.tile(near["duration_s"], 2)
    # A phone and the place of a time among all are one number, so that one search finds both.
    every_s, place = np.unique(np.concatenate([time_s, begin_s, end_s]), return_inverse=True)
    when, begin, end = np.split(place, [phone.size, phone.size + one.size])
    key = phone * every_s.size + when
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], one * every_s.size + begin)
    count = np.searchsorted(key[order], one * every_s.size + end) - first
    inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    row = order[np.repeat(first, count) + inside]
    # Two contacts of a pair may overlap.
    phones = 1 + int(max(one.max(initial=0), phone.max(initial=0)))
    both = np.unique(row * phones + np.repeat(other, count))
    return both // phones, both % phones
