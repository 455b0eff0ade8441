"""What a town that pays with tokens achieved: payments, tokens, the authority, cheats and money.

Everything is read from a trace, from the engine's counters and from what double-spent tokens are
worth. A *payment* is asked for when its payer starts it or finds that it cannot; it is complete
when the payer has the receipt, and in flight if the run ends before that. Rows on tokens
have the serial for their message. What all runs have is in `sim.metrics.trades`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base import token_bytes
from pocketsim.sim.metrics import fates
from pocketsim.sim.metrics.family_metrics import traced_share
from pocketsim.sim.metrics.pooled_quantiles import Sample
from pocketsim.sim.metrics.town_definitions import METRICS
from pocketsim.sim.trace.columns import (
    last_before,
    next_after,
    ratio,
    times_by_message,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved, Tokens
    from pocketsim.sim.trace.columns import Columns

    Array = np.ndarray[Any, Any]

NAMES = tuple(METRICS)

RATIOS = {
    **dict.fromkeys(
        ("completed_ratio", "unpayable_ratio", "payments_in_flight_ratio"), "payments_asked"
    ),
    "outage_completed_ratio": "outage_payments_asked",
}
TRANSACTION = "payment"
COMPLETED = "payments_completed"
QUANTILES = (
    *("payment_ms_p50", "payment_ms_p95", "token_recipients_p95", "authority_answer_ms_p95"),
    *("drain_min_p50", "drain_min_p95", "detection_min_p50"),
)
COUNTS = (
    *("payments_asked", "payments_completed", "token_recipients_max", "double_spends"),
    *("authority_backlog_tokens_max", "unverified_tokens_max"),
    *("accused", "wrongly_accused", "undetected_tokens"),
)


def names(_resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run of this protocol family has."""
    return NAMES


def measure(part: Columns, output: EngineOutput, resolved: Resolved) -> dict[str, Any]:
    """Return the metrics of one repetition; NaN for what it does not define.

    Of a sampled trace, payments are scaled up by its share; it has too few rows for what goes over
    all tokens, so those are NaN.
    """
    counters = output["counters"]
    outages = [(outage["start_s"], outage["end_s"]) for outage in resolved["outages"]]
    whole = _is_whole(resolved)
    found = {
        **_payments(part, outages),
        **_counts(part, traced_share(resolved["output"])),
        **(_tokens(part, resolved, outages) if whole else {}),
        **(_cheats(part, output["kept_cents"]) if whole else {}),
        **_found_out(counters),
        **_money(counters),
    }
    if _tokens_of(resolved)["rules"] == "prototype":
        # It keeps no evidence of what it refuses.
        found["refused_to_honest_eur"] = math.nan
    completed = found.get("payments_completed", math.nan)
    found |= {
        "contact_bytes_per_payment": ratio(counters.get("contact_bytes", 0), completed),
        "access_bytes_per_payment": ratio(counters.get("access_bytes", 0), completed),
        "cpu_ms_per_payment": ratio(1e3 * sum(output["cpu_s"].values()), completed),
    }
    return dict.fromkeys(NAMES, math.nan) | found


def beside(parts: Sequence[Columns], resolved: Resolved) -> dict[str, Any]:
    """Return a town's day, for each repetition."""
    return {"hourly": [hourly(part, resolved) for part in parts]}


def hourly(part: Columns, resolved: Resolved) -> dict[str, list[float | None]]:
    """Return what a town did in each hour of the run, for plots.

    Payments asked for and completed, tokens taken that the authority had not yet verified at the
    hour's end, and the mean number of recipients of the tokens that were paid. Of a sampled trace,
    payments are scaled up by its share and what is said of tokens is None, as in `measure`.
    """
    hours = math.ceil(resolved["run"]["duration_s"] / _HOUR_S)
    edges = np.arange(hours + 1) * _HOUR_S
    asked = np.concatenate([part.of_kind(kind).time_s for kind in ("send", "unpayable")])
    share = traced_share(resolved["output"])
    whole = _is_whole(resolved)
    unknown: list[float | None] = [None] * hours
    return {
        "payments_asked": _per_hour(asked, edges, share),
        "payments_completed": _per_hour(part.of_kind("store").time_s, edges, share),
        "unverified_tokens": _waiting_at(part, resolved, edges[1:]) if whole else unknown,
        "token_recipients_mean": _mean_recipients(part, resolved, edges) if whole else unknown,
    }


def _tokens_of(resolved: Resolved) -> Tokens:
    tokens = resolved["protocol"]["tokens"]
    assert tokens is not None, "a town pays with them"
    return tokens


def _is_whole(resolved: Resolved) -> bool:
    return resolved["output"]["trace"] != "sampled"


def _per_hour(time_s: Array, edges: Array, share: float) -> list[float | None]:
    counts: list[float | None] = (
        np.rint(np.histogram(time_s, edges)[0] / share).astype(int).tolist()
    )
    return counts


def _waiting_at(part: Columns, resolved: Resolved, time_s: Array) -> list[float | None]:
    come_s, gone_s = (np.sort(times_s) for times_s in _unverified(part, resolved))
    left: list[float | None] = (
        np.searchsorted(come_s, time_s) - np.searchsorted(gone_s, time_s)
    ).tolist()
    return left


def _mean_recipients(part: Columns, resolved: Resolved, edges: Array) -> list[float | None]:
    paid = _paid(part, resolved)
    recipients = _recipients(paid, resolved)
    count, total = (
        np.histogram(paid.time_s, edges, weights=weights)[0] for weights in (None, recipients)
    )
    pairs = zip(total.tolist(), count.tolist(), strict=True)
    return [in_all / paid_tokens if paid_tokens else None for in_all, paid_tokens in pairs]


def _counts(part: Columns, share: float) -> dict[str, float]:
    sent, stored, unpayable = (part.of_kind(kind) for kind in ("send", "store", "unpayable"))
    return {
        "payments_asked": (sent.time_s.size + unpayable.time_s.size) / share,
        "payments_completed": stored.time_s.size / share,
    }


def _payments(part: Columns, outages: Sequence[tuple[float, float]]) -> dict[str, Any]:
    sent, stored, unpayable = (part.of_kind(kind) for kind in ("send", "store", "unpayable"))
    took_ms = 1e3 * (stored.time_s - times_by_message(sent, stored))
    asked_s = np.concatenate([sent.time_s, unpayable.time_s])
    completed_s = sent.time_s[np.isin(sent.message, stored.message)]
    in_flight = fates.of(part, sent.message)["in_flight"]
    in_outage = [np.count_nonzero(_within(time_s, outages)) for time_s in (completed_s, asked_s)]
    return {
        "completed_ratio": ratio(completed_s.size, asked_s.size),
        "unpayable_ratio": ratio(unpayable.time_s.size, asked_s.size),
        "payments_in_flight_ratio": ratio(in_flight, asked_s.size),
        "outage_completed_ratio": ratio(float(in_outage[0]), float(in_outage[1])),
        "outage_payments_asked": float(in_outage[1]),
        **_percentiles("payment_ms", took_ms, 50, 95),
    }


def _tokens(
    part: Columns, resolved: Resolved, outages: Sequence[tuple[float, float]]
) -> dict[str, Any]:
    """What tokens went through: hands, and the authority."""
    recipients = _recipients(_paid(part, resolved), resolved)
    submitted, settled = part.of_kind("submit"), part.of_kind("settle")
    decided = part.of_kind("decide")
    taken_s, verified_s = _unverified(part, resolved)
    # Both copies of a double-spent token may be submitted, so rows pair by the holder too: it is
    # the node of what it submits and settles, and the peer of what the authority decides.
    asked = (submitted.message, submitted.node, submitted.time_s)
    answered = (settled.message, settled.node, settled.time_s)
    answer_s = settled.time_s - last_before(asked, answered)
    # What is submitted once is decided again for a submitter who missed the answer.
    decided_s = next_after((decided.message, decided.peer, decided.time_s), asked)
    found = {
        "token_recipients_mean": float(recipients.mean()) if recipients.size else math.nan,
        **_percentiles("token_recipients", recipients, 95),
        "token_recipients_max": float(recipients.max(initial=0)),
        "authority_backlog_tokens_max": _largest_queue(submitted.time_s, decided_s),
        **_percentiles("authority_answer_ms", 1e3 * answer_s, 95),
        "unverified_tokens_max": _largest_queue(taken_s, verified_s),
    }
    if outages:
        end_s = max(end for _, end in outages)
        waited = (taken_s <= end_s) & (verified_s > end_s)
        drain_min = (verified_s[waited] - end_s) / _MINUTE_S
        for name, percent in (("p50", 50), ("p95", 95), ("max", 100)):
            found[f"drain_min_{name}"] = _waiting(drain_min, percent)
    return found


def _percentiles(name: str, values: Array, *percents: int) -> dict[str, Any]:
    """Return percentiles of values, and the sample that they are of."""
    sample = Sample.of(values)
    return {f"{name}_p{at}": sample.percentile(at) for at in percents} | {name: sample}


def _waiting(values: Array, percent: float) -> float:
    """Return a percentile where some may wait for ever (infinite); NaN if it is among them."""
    if not values.size:
        return math.nan
    place = percent / 100 * (values.size - 1)
    below, above = np.sort(values)[[math.floor(place), math.ceil(place)]]
    return float(below + (above - below) * (place % 1)) if math.isfinite(above) else math.nan


def _found_out(counters: Mapping[str, int]) -> dict[str, float]:
    """What the audit at the end found of cheats, whatever is traced."""
    return {
        "accused": float(counters.get("accused", 0)),
        "wrongly_accused": float(counters.get("wrongly_accused", 0)),
        "undetected_tokens": float(counters.get("undetected_serials", 0)),
    }


def _cheats(part: Columns, kept_cents: Mapping[str, int]) -> dict[str, Any]:
    spent, named = part.of_kind("double_spend"), part.of_kind("accuse")
    # Of several double spends of a token the first is the crime.
    serials, first = np.unique(spent.message, return_index=True)
    spent_s = spent.time_s[first]
    named_s = np.full(serials.size, math.inf)
    for row, serial in enumerate(serials):
        times_s = named.time_s[named.message == serial]
        named_s[row] = times_s.min() if times_s.size else math.inf
    known = np.isfinite(named_s)
    detection_min = (named_s - spent_s)[known] / _MINUTE_S
    worth = np.array([kept_cents.get(str(serial % _WORD), 0) for serial in serials.tolist()])
    return {
        "double_spends": float(spent.time_s.size),
        **_percentiles("detection_min", detection_min, 50),
        "detection_min_max": float(detection_min.max()) if detection_min.size else math.nan,
        "value_at_risk_eur_max": _largest_queue(spent_s, named_s, worth / _CENTS),
    }


def _money(counters: Mapping[str, int]) -> dict[str, float]:
    cents = {
        "refused_to_honest_eur": "lost_cents",
        "minted_eur": "minted_cents",
        "redeemed_eur": "redeemed_cents",
        "circulating_eur": "circulating_cents",
        "vanished_eur": "vanished_cents",
    }
    return {name: counters.get(counter, 0) / _CENTS for name, counter in cents.items()}


def _paid(part: Columns, resolved: Resolved) -> Columns:
    """Return the rows of tokens that came from another phone than the authority."""
    taken = part.of_kind("take")
    return taken.where(_recipients(taken, resolved) > 1)


def _recipients(taken: Columns, resolved: Resolved) -> Array:
    """Return how many recipients the tokens have."""
    challenged = _tokens_of(resolved)["handshake"] == "challenge"
    return token_bytes.recipients(taken.size_bytes, challenged=challenged)


def _unverified(part: Columns, resolved: Resolved) -> tuple[Array, Array]:
    """Return when tokens went from verified to paid, and when each was verified again (or never).

    A token that goes through several hands is one that waits, from the first payment on; whoever
    holds it then, any decision on it ends that, so rows pair by serial alone.
    """
    paid, decided = _paid(part, resolved), part.of_kind("decide")
    order = np.lexsort((paid.time_s, paid.message))
    serial, taken_s = paid.message[order], paid.time_s[order]
    verified_s = next_after((decided.message, decided.time_s), (serial, taken_s))
    # Payments between two decisions are one wait.
    first = np.ones(serial.size, dtype=bool)
    first[1:] = (serial[1:] != serial[:-1]) | (verified_s[1:] != verified_s[:-1])
    return taken_s[first], verified_s[first]


def _largest_queue(come_s: Array, gone_s: Array, weight: Array | None = None) -> float:
    """Return the most that was there at once of what came and went."""
    weights = np.ones(come_s.size) if weight is None else weight
    leaves = np.ones(gone_s.size) if weight is None else weight
    times_s = np.concatenate([come_s, gone_s])
    change = np.concatenate([weights, -leaves])
    # Of what happens at one instant, arrivals count first.
    order = np.lexsort((-change, times_s))
    return float(np.cumsum(change[order]).max(initial=0.0))


def _within(time_s: Array, spans: Sequence[tuple[float, float]]) -> Array:
    inside = np.zeros(time_s.shape, dtype=bool)
    for start_s, end_s in spans:
        inside |= (time_s >= start_s) & (time_s < end_s)
    return inside


_HOUR_S = 3600.0
_MINUTE_S = 60.0
_CENTS = 100.0
_WORD = 2**64  # serials are unsigned; the trace's column of messages is signed
