"""What became of every transaction, counted from the rows alone, apart from `sim.metrics`."""

from __future__ import annotations

from collections import Counter

import numpy as np

from pocketsim import testing
from pocketsim.sim import metrics
from pocketsim.sim.trace import from_engine

# What only a phone that is on can do; it may still lose and drop.
ALIVE = ("send", "process", "receive_back", "store", "store_peer", "refuse", "connect", "begin")
EXPLAINS = ("lose", "drop", "refuse")
NO_TRANSACTION = 2**32 - 1


def intervals_off(trace):
    """For each phone that was ever off: when it went off, and when it came back."""
    found = {}
    for kind, at in (("phone_off", 0), ("phone_on", 1)):
        rows = trace.of(kind)
        for node, time_s in zip(rows.node.tolist(), rows.time_s.tolist(), strict=True):
            found.setdefault(node, ([], []))[at].append(time_s)
    return {node: (off, [*on, np.inf][: len(off)]) for node, (off, on) in found.items()}


def acts_while_off(trace):
    """Rows of `ALIVE` strictly between a phone's going off and its coming back."""
    found = []
    for node, (off_s, on_s) in intervals_off(trace).items():
        for kind in ALIVE:
            for time_s in trace.of(kind, node).time_s:
                place = np.searchsorted(off_s, time_s, side="left") - 1
                if place >= 0 and time_s < on_s[place]:
                    found.append((kind, node, float(time_s)))
    return found


def recount(trace):
    """Sets of transactions: sent, stored, and explained by a row other than a duplicate's."""
    sent, stored = (set(trace.of(kind).message.tolist()) for kind in ("send", "store"))
    explained = set()
    for kind in EXPLAINS:
        rows = trace.of(kind)
        rows = rows.where(rows.reason != trace.reasons.index("duplicate"))
        # Where proposals are sent again, a drop is about no transaction.
        rows = rows.where((rows.message & NO_TRANSACTION) != NO_TRANSACTION)
        explained |= set(rows.message.tolist())
    return sent, stored, explained


def fates(trace, duration_s):
    """What pocketsim.sim.metrics.repetitions says became of the transactions."""
    result = {"columns": trace.columns, "event_kinds": trace.kinds, "reasons": trace.reasons}
    table = from_engine(result, 0)
    resolved = testing.resolved(repetitions=1)
    resolved["run"]["duration_s"] = duration_s
    return metrics.measure(table, resolved)["counts"]


def check(trace, duration_s, *, nothing_left, counts=None):
    """Fail unless each transaction has one fate, the same as in `counts` of metrics.json."""
    sent, stored, explained = recount(trace)
    assert stored <= sent, "stored without having been sent"
    assert explained <= sent, "lost without having been sent"
    for kind in ("send", "store", "store_peer"):
        often = Counter(trace.of(kind).message.tolist())
        assert set(often.values()) <= {1}, f"{kind} twice"
    for kind in EXPLAINS:
        rows = trace.of(kind)
        assert len(rows.reason_names()) == rows.time_s.size, f"{kind} without a reason"
    in_flight = sent - stored - explained
    counts = counts or fates(trace, duration_s)
    assert counts["sent"] == len(sent)
    assert counts["stored"] == len(stored)
    assert counts["in_flight"] == len(in_flight)
    assert sum(counts["lost"].values()) == len((sent & explained) - stored)
    assert not acts_while_off(trace)
    if nothing_left:
        assert not in_flight, describe(trace, min(in_flight))


def describe(trace, message):
    rows = trace.where(trace.message == message)
    kinds = [trace.kinds[code] for code in rows.kind]
    return list(zip(rows.time_s.tolist(), rows.node.tolist(), kinds, strict=True))
