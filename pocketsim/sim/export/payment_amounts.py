"""The amount of each payment of a run: no trace has it, so it is taken from the plan, drawn again.

A payer's rows come in the order in which the plan makes it pay. Where that does not tell the
amount, none is returned: there are no guesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim import trace
from pocketsim.sim.base.build import versions
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.resolved import comes_and_goes

if TYPE_CHECKING:
    import pyarrow as pa

    from pocketsim.sim.plan.plan import Workload
    from pocketsim.sim.scenario.resolved import Resolved

    Array = np.ndarray[Any, Any]


def cents(events: pa.Table, resolved: Resolved, repetition: int) -> Array | None:
    """Return the amount of the payment of each row of a repetition, in cents; 0 for other rows.

    None when it cannot be known: of another protocol, of payments of a file or to who is near by
    one, of another version (its draws may differ), of a sampled trace, with churn (who goes off may
    skip a payment), and where a replay may succeed (it is worth what was replayed).
    """
    if not _is_known(resolved):
        return None
    message = events["message_id"].to_numpy()
    # Of other kinds of rows the ids may be serials of tokens.
    kind = np.array(events["kind"].to_pylist(), dtype=object)
    begun = np.isin(kind, ("send", "unpayable"))
    order = np.argsort(message[begun])
    payment, peer = message[begun][order], events["peer"].to_numpy()[begun][order]
    # Who is near whom, which a file may say, moves no payment unless payees are near.
    contacts = resolved["contacts"] if _are_near(resolved) else None
    plan = build_plan({**resolved, "contacts": contacts}, repetition)
    amounts = _of_payers(plan["workload"], trace.origin(payment), peer)
    if amounts is None:
        return None
    found = np.zeros(message.size, dtype=np.int64)
    of_payment = np.isin(kind, _OF_A_PAYMENT)
    place = np.searchsorted(payment, message[of_payment])
    assert (payment[place] == message[of_payment]).all(), "a payment ends that never began"
    found[of_payment] = amounts[place]
    return found


def _is_known(resolved: Resolved) -> bool:
    tokens = resolved["protocol"]["tokens"]
    if tokens is None or comes_and_goes(resolved):
        return False
    workload = resolved["workload"]
    if workload["kind"] != "town":  # a file, which no run directory holds
        return False
    contacts = resolved["contacts"]
    if _are_near(resolved) and contacts is not None and contacts["kind"] == "file":
        return False  # which no run directory holds either
    replays = workload["cheat_ratio"] * workload["replay_ratio"] > 0
    return (
        resolved["output"]["trace"] != "sampled"
        and versions().items() <= resolved["versions"].items()
        and not (replays and tokens["handshake"] == "none")
    )


def _are_near(resolved: Resolved) -> bool:
    workload = resolved["workload"]
    return workload["kind"] == "town" and workload.get("near", False)


def _of_payers(workload: Workload, payer: Array, peer: Array) -> Array | None:
    """Return the amounts of rows in the order of payers, each one's in the order of its payments.

    None when somebody else is paid than in the plan.
    """
    planned = np.array(workload["from_phone"], dtype=np.int64)
    order = np.argsort(planned, kind="stable")
    turn = np.arange(payer.size) - np.searchsorted(payer, payer)
    place = np.searchsorted(planned[order], payer) + turn
    if (place >= planned.size).any():
        return None
    place = order[place]
    is_so = planned[place] == payer
    is_so &= np.array(workload["to_phone"], dtype=np.int64)[place] == peer
    return np.array(workload["amount_cents"], dtype=np.int64)[place] if is_so.all() else None


_OF_A_PAYMENT = ("send", "store", "store_peer", "unpayable")
