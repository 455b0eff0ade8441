"""Metrics of a town that pays with tokens, on traces small enough to count by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pocketsim import testing
from pocketsim.sim import metrics, trace
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.metrics import energy
from pocketsim.sim.metrics import town as payments
from pocketsim.sim.metrics.pooled_quantiles import Sample
from pocketsim.sim.trace.columns import Columns, last_before, next_after

Row = tuple[float, str, int, int, int, int]


def town(
    *, handshake: str = "none", outages: tuple[tuple[float, float], ...] = (), **sections: Any
) -> dict[str, Any]:
    resolved = testing.resolved(
        repetitions=1,
        protocol={"kind": "tokens", "tokens": {"rules": "thesis", "handshake": handshake}},
        outages=[{"access": None, "start_s": start, "end_s": end} for start, end in outages],
        **sections,
    )
    resolved["run"]["duration_s"] = 2 * 3600.0
    return resolved


def table(rows: list[Row]) -> Any:
    rows = sorted(rows, key=lambda row: row[0])
    time_s, kind, message, size, node, peer = zip(*rows, strict=True) if rows else [[]] * 6
    nothing = np.zeros(len(rows), dtype=int)
    return trace.build(
        repetition=nothing,
        time_s=np.array(time_s, dtype=float),
        node=np.array(node, dtype=int),
        kind=list(kind),
        message_id=np.array(message, dtype=np.int64),
        peer=np.array(peer, dtype=int),
        message_size=np.array(size, dtype=int),
        reason=[None] * len(rows),
        logged=np.ones(len(rows), dtype=bool),
    )


def measure(
    rows: list[Row], resolved: dict[str, Any] | None = None, **told: Any
) -> dict[str, float]:
    found = payments.measure(Columns.of(table(rows)), NOTHING | told, resolved or town())
    trials = {"outage_payments_asked"}  # of a share, which is no metric itself
    return {
        name: value
        for name, value in found.items()
        if not isinstance(value, Sample) and name not in trials
    }


def event(time_s: float, kind: str, message: int = 0, node: int = 0, peer: int = 0) -> Row:
    return time_s, kind, message, 0, node, peer


def take(time_s: float, serial: int, recipients: int = 2) -> Row:
    """A token of so many recipients is taken, without challenges in it."""
    return time_s, "take", serial, 149 + 138 * recipients, 0, 0


OUTAGE = ((100.0, 200.0),)
# Four payments and one that cannot be made, three of the five in an outage.
ASKED = [
    *(event(10.0, "send", 1), event(10.2, "store", 1)),
    *(event(100.0, "send", 2), event(250.0, "store", 2)),
    event(120.0, "send", 3),
    event(150.0, "unpayable", 4),
    *(event(200.0, "send", 5), event(200.1, "store", 5)),
]


def test_payments_are_counted_where_they_were_asked_for():
    found = measure(ASKED, town(outages=OUTAGE))
    assert (found["payments_asked"], found["payments_completed"]) == (5, 3)
    assert found["completed_ratio"] == 3 / 5
    assert found["unpayable_ratio"] == 1 / 5
    # Asked for at 100, 120 and 150 s; the first was completed, after the outage.
    assert found["outage_completed_ratio"] == 1 / 3
    assert found["payment_ms_p50"] == pytest.approx(200.0)
    # Between 200 ms and 150 s, nine tenths of the way.
    assert found["payment_ms_p95"] == pytest.approx(200.0 + 0.9 * 149_800.0)


def test_several_outages_are_all_outages():
    found = measure(ASKED, town(outages=((0.0, 11.0), (190.0, 201.0))))
    assert found["outage_completed_ratio"] == 1.0


def test_costs_per_payment_are_over_completed_payments():
    counters = {"contact_bytes": 600, "access_bytes": 1200}
    found = measure(ASKED, counters=counters, cpu_s={"sign": 0.02, "verify": 0.01})
    assert found["contact_bytes_per_payment"] == 200
    assert found["access_bytes_per_payment"] == 400
    assert found["cpu_ms_per_payment"] == pytest.approx(10.0)


def test_the_engine_leaves_out_counters_of_nothing():
    found = measure(ASKED)
    assert found["access_bytes_per_payment"] == found["contact_bytes_per_payment"] == 0.0


@pytest.mark.parametrize(("handshake", "answer_bytes"), [("none", 0), ("challenge", 16)])
def test_recipients_are_read_from_bytes_in_both_layouts(handshake, answer_bytes):
    sizes = [149 + 138 * count + answer_bytes * (count - 1) for count in (1, 2, 5)]
    rows = [(float(size), "take", 7, size, 0, 0) for size in sizes]
    found = measure(rows, town(handshake=handshake))
    # The first comes from the authority: nobody paid with it.
    assert found["token_recipients_mean"] == 3.5
    assert found["token_recipients_p95"] == pytest.approx(4.85)
    assert found["token_recipients_max"] == 5


def test_a_token_that_changes_hands_twice_waits_once():
    rows = [take(110.0, 7), take(150.0, 7, 3), event(260.0, "decide", 7)]
    found = measure(rows, town(outages=OUTAGE))
    assert found["unverified_tokens_max"] == 1
    assert found["drain_min_p50"] == found["drain_min_max"] == 1.0


def test_two_lives_of_a_token_wait_twice():
    lives = [take(10.0, 7), event(20.0, "decide", 7), take(30.0, 7), event(40.0, "decide", 7)]
    others = [take(5.0, 8), event(50.0, "decide", 8), take(35.0, 9), event(60.0, "decide", 9)]
    assert measure(lives)["unverified_tokens_max"] == 1
    assert measure([*lives, *others])["unverified_tokens_max"] == 3


def test_a_token_decided_again_has_stopped_waiting_before():
    rows = [take(10.0, 7), event(20.0, "decide", 7), event(25.0, "decide", 7), take(22.0, 8)]
    assert measure(rows)["unverified_tokens_max"] == 1


def test_the_queue_drains_from_the_end_of_the_last_outage():
    rows = [
        *(take(110.0, 1), event(260.0, "decide", 1)),
        *(take(200.0, 2), event(440.0, "decide", 2)),
        # Verified in the outage, taken after it, and fresh from the authority: none waited.
        *(take(90.0, 3), event(190.0, "decide", 3)),
        *(take(210.0, 4), event(900.0, "decide", 4)),
        *(take(120.0, 5, 1), event(900.0, "decide", 5)),
    ]
    found = measure(rows, town(outages=((20.0, 30.0), *OUTAGE)))
    assert found["drain_min_p50"] == 2.5
    assert found["drain_min_p95"] == pytest.approx(1.0 + 0.95 * 3.0)
    assert found["drain_min_max"] == 4.0


def test_a_token_that_is_never_verified_leaves_the_last_undefined():
    rows = [take(110.0, 1), event(260.0, "decide", 1), take(120.0, 2)]
    found = measure(rows, town(outages=OUTAGE))
    assert found["unverified_tokens_max"] == 2
    assert math.isnan(found["drain_min_p50"]), "half of the way to one that waits for ever"
    assert math.isnan(found["drain_min_max"])


def test_without_an_outage_nothing_drains():
    found = measure([take(10.0, 7), event(20.0, "decide", 7)])
    assert math.isnan(found["drain_min_max"])


def test_a_backlog_is_what_was_submitted_and_not_decided():
    rows = [
        *(event(1.0, "submit", 1), event(2.0, "submit", 2), event(2.5, "decide", 1)),
        *(event(3.0, "submit", 3), event(4.0, "decide", 2), event(4.0, "decide", 3)),
    ]
    assert measure(rows)["authority_backlog_tokens_max"] == 2


def test_deciding_again_for_a_missed_answer_takes_nothing_from_the_backlog():
    rows = [event(1.0, "submit", 1), event(2.0, "decide", 1), event(3.0, "decide", 1)]
    rows += [event(10.0 + serial, "submit", serial) for serial in (2, 3)]
    assert measure(rows)["authority_backlog_tokens_max"] == 2


def test_an_answer_takes_from_the_last_submission_on():
    rows = [
        *(event(1.0, "submit", 1), event(4.0, "settle", 1)),
        *(event(10.0, "submit", 1), event(11.0, "settle", 1)),
        # Of another token, and after its answer.
        *(event(10.5, "submit", 2), event(12.0, "submit", 1)),
    ]
    # 3 s and 1 s.
    assert measure(rows)["authority_answer_ms_p95"] == pytest.approx(2900.0)


AUTHORITY, HONEST, CHEATED = 9, 1, 2


def test_both_holders_of_a_double_spent_token_have_answers_of_their_own():
    rows = [
        *(event(1.0, "submit", 7, HONEST, AUTHORITY), event(5.0, "submit", 7, CHEATED, AUTHORITY)),
        *(event(6.0, "settle", 7, HONEST, AUTHORITY), event(7.0, "settle", 7, CHEATED, AUTHORITY)),
    ]
    # 5 s and 2 s; from the other's submission they would be 1 s and 2 s.
    assert measure(rows)["authority_answer_ms_p95"] == pytest.approx(2000.0 + 0.95 * 3000.0)


def test_a_copy_waits_for_a_decision_on_what_its_own_holder_submitted():
    submitted = [
        event(1.0, "submit", 7, HONEST, AUTHORITY),
        event(2.0, "submit", 7, CHEATED, AUTHORITY),
    ]
    decided = [
        event(3.0, "decide", 7, AUTHORITY, CHEATED),
        event(8.0, "decide", 7, AUTHORITY, HONEST),
    ]
    another = [event(5.0, "submit", 8, HONEST, AUTHORITY)]
    another += [event(9.0, "decide", 8, AUTHORITY, HONEST), event(6.0, "submit", 9)]
    # From 6 to 8 s: the first copy, and two other tokens. The second copy's decision is not its.
    assert measure([*submitted, *decided, *another])["authority_backlog_tokens_max"] == 3


def test_a_token_is_verified_by_whoever_brings_it():
    rows = [take(1.0, 7), event(5.0, "decide", 7, AUTHORITY, CHEATED), take(6.0, 8)]
    assert measure(rows)["unverified_tokens_max"] == 1


def test_rows_pair_by_all_that_they_are_on():
    def columns(*rows: tuple[int, int, float]) -> list[Any]:
        found = np.array(rows, dtype=float).reshape(-1, 3)
        return [found[:, 0].astype(int), found[:, 1].astype(np.int32), found[:, 2]]

    found = columns((5, 1, 4.0), (5, 1, 2.0), (5, 2, 3.0), (6, 1, 1.0))
    wanted = columns((5, 1, 3.0), (5, 2, 3.0), (6, 2, 1.0), (5, 1, 1.0), (7, 9, 9.0), (0, 0, 0.0))
    never = math.inf
    assert next_after(found, wanted).tolist() == [4.0, 3.0, never, 2.0, never, never]
    nan = math.nan
    before = last_before(found, wanted)
    assert before.tolist() == pytest.approx([2.0, 3.0, nan, nan, nan, nan], nan_ok=True)
    for pair in (next_after, last_before):
        assert not np.isfinite(pair(columns(), wanted)).any()
        assert pair(found, columns()).size == 0


def test_detection_is_from_the_first_double_spend_to_the_first_naming():
    rows = [
        *(event(60.0, "double_spend", 1), event(90.0, "double_spend", 1)),
        *(event(180.0, "accuse", 1), event(600.0, "accuse", 1)),
        *(event(60.0, "double_spend", 2), event(300.0, "accuse", 2)),
        event(60.0, "double_spend", 3),
    ]
    found = measure(rows, counters={"accused": 3, "wrongly_accused": 1, "undetected_serials": 4})
    assert found["double_spends"] == 4
    assert found["detection_min_p50"] == 3.0
    assert found["detection_min_max"] == 4.0
    names = ("accused", "wrongly_accused", "undetected_tokens")
    assert [found[name] for name in names] == [3, 1, 4]


def test_a_token_spent_twice_several_times_is_at_risk_once():
    rows = [
        *(event(10.0, "double_spend", 1), event(20.0, "double_spend", 1)),
        *(event(30.0, "double_spend", 2), event(40.0, "accuse", 1)),
        *(event(50.0, "double_spend", 3), event(60.0, "accuse", 2)),
    ]
    kept = {"1": 500, "2": 200, "3": 100}
    # 5 EUR, 7 EUR, then 2, 3 and 1.
    assert measure(rows, kept_cents=kept)["value_at_risk_eur_max"] == 7.0
    assert measure(rows, kept_cents={**kept, "3": 900})["value_at_risk_eur_max"] == 11.0


def test_a_serial_beyond_the_signed_numbers_finds_its_worth():
    rows = [event(10.0, "double_spend", -5)]
    assert measure(rows, kept_cents={str(2**64 - 5): 300})["value_at_risk_eur_max"] == 3.0


MONEY = ("refused_to_honest_eur", "minted_eur", "redeemed_eur", "circulating_eur", "vanished_eur")


def test_money_is_in_euros():
    cents = {"lost_cents": 150, "minted_cents": 1000, "redeemed_cents": 400}
    found = measure([], counters={**cents, "circulating_cents": 600, "vanished_cents": 20})
    assert [found[name] for name in MONEY] == [1.5, 10.0, 4.0, 6.0, 0.2]


def test_a_town_in_which_nothing_happens_defines_little():
    found = measure([], town(outages=OUTAGE))
    assert tuple(found) == payments.NAMES
    known = {name: value for name, value in found.items() if not math.isnan(value)}
    assert set(known.values()) == {0.0}
    counts = {"payments_asked", "payments_completed", "token_recipients_max", "double_spends"}
    counts |= {"authority_backlog_tokens_max", "unverified_tokens_max", "value_at_risk_eur_max"}
    told = {"accused", "wrongly_accused", "undetected_tokens"}
    assert set(known) == counts | told | set(MONEY)


def sampled(**sections: Any) -> dict[str, Any]:
    return town(**sections, output={"trace": "sampled", "sample_ratio": 0.1})


def test_a_sampled_trace_tells_shares_and_times_and_what_is_counted():
    rows = [*ASKED, take(110.0, 7), event(120.0, "double_spend", 7)]
    counters = {"contact_bytes": 600, "minted_cents": 1000}
    counters |= {"accused": 3, "wrongly_accused": 1, "undetected_serials": 4}
    found = measure(rows, sampled(outages=OUTAGE), counters=counters)
    known = {name: value for name, value in found.items() if not math.isnan(value)}
    counted = {"accused": 3, "wrongly_accused": 1, "undetected_tokens": 4}
    assert {name: known[name] for name in counted} == counted
    shares = {"completed_ratio", "unpayable_ratio", "outage_completed_ratio"}
    shares |= {"payments_in_flight_ratio"}
    times = {"payment_ms_p50", "payment_ms_p95"}
    scaled = {"payments_asked", "payments_completed", "contact_bytes_per_payment"}
    scaled |= {"access_bytes_per_payment"}
    assert set(known) == shares | times | scaled | {"cpu_ms_per_payment", *counted, *MONEY}
    assert known["payments_asked"] == pytest.approx(50)
    assert known["payments_completed"] == pytest.approx(30)
    assert known["contact_bytes_per_payment"] == pytest.approx(20)


def test_payment_neither_completed_nor_lost_is_in_flight():
    rows = [
        *(event(1.0, "send", 1), event(2.0, "store", 1), event(3.0, "unpayable", 2)),
        *(event(4.0, "send", 3), event(5.0, "lose", 3), event(6.0, "send", 4)),
    ]
    found = measure(rows)
    shares = ("completed_ratio", "unpayable_ratio", "payments_in_flight_ratio")
    assert [found[name] for name in shares] == [0.25, 0.25, 0.25]


def test_other_families_have_no_metrics_of_payments():
    resolved = {**town(), "protocol": {**town()["protocol"], "kind": "trustchain"}}
    assert not set(payments.NAMES) & set(metrics.measure(table(ASKED), resolved)["metrics"])


def test_the_hours_of_a_day_by_hand():
    rows = [
        *(event(10.0, "send", 1), event(20.0, "store", 1), event(30.0, "unpayable", 2)),
        *(event(3500.0, "send", 3), event(3700.0, "store", 3)),
        *(take(20.0, 7), take(40.0, 8, 5), take(50.0, 9, 1), event(3000.0, "decide", 7)),
        *(take(3700.0, 7, 3), event(7100.0, "decide", 8)),
    ]
    assert payments.hourly(Columns.of(table(rows)), town()) == {
        "payments_asked": [3, 0],
        "payments_completed": [1, 1],
        "unverified_tokens": [1, 1],
        "token_recipients_mean": [3.5, 3.0],
    }


def test_an_hour_without_payments_has_no_mean():
    found = payments.hourly(Columns.of(table([take(20.0, 7)])), town())
    assert found["token_recipients_mean"] == [2.0, None]


def test_the_hours_of_a_sampled_day_are_scaled_up_and_say_nothing_of_tokens():
    rows = [*ASKED, take(20.0, 7), event(30.0, "decide", 7), event(4000.0, "unpayable", 8)]
    assert payments.hourly(Columns.of(table(rows)), sampled()) == {
        "payments_asked": [50, 10],
        "payments_completed": [30, 0],
        "unverified_tokens": [None, None],
        "token_recipients_mean": [None, None],
    }


POWERS = {"core_w": 1.6, "access": {}, "contacts": {}}
SPENT_J = {
    "cpu": 0.003,
    "contact": 0.006,
    "access_active": 0.01,
    "access_tail": 0.02,
    "access_promotion": 0.03,
}


def test_energy_is_over_completed_payments_and_adds_up():
    found = metrics.measure(table(ASKED), town(energy=POWERS), [NOTHING | {"energy_j": SPENT_J}])
    mean = {name: metric["mean"] for name, metric in found["metrics"].items()}
    parts = [mean[f"{part}_mj_per_payment"] for part in ("cpu", "contact", "access")]
    assert parts == pytest.approx([1.0, 2.0, 20.0])
    assert mean["energy_mj_per_payment"] == pytest.approx(sum(parts))
    assert {name: component["mean"] for name, component in found["energy_j"].items()} == SPENT_J


def test_without_powers_there_is_no_energy():
    found = metrics.measure(table(ASKED), town(), [NOTHING])
    assert "energy_j" not in found
    assert not [name for name in found["metrics"] if "_mj_" in name]


def test_energy_of_payments_is_undefined_where_none_is_completed_or_told():
    resolved = town(energy=POWERS)
    nothing = energy.measure({"payments_completed": 0.0}, resolved, SPENT_J)
    untold = energy.measure({"payments_completed": 3.0}, resolved, {})
    sampled = energy.measure({"payments_completed": math.nan}, resolved, SPENT_J)
    for found in (nothing, untold, sampled):
        assert tuple(found) == energy.names(resolved)
        assert all(math.isnan(value) for value in found.values())


def test_trades_have_energy_per_transaction_and_what_computes_has_none():
    resolved = {**town(energy=POWERS), "protocol": {"kind": "trustchain"}}
    found = energy.measure({"store_count": 3.0}, resolved, SPENT_J)
    assert found["energy_mj_per_transaction"] == pytest.approx(23.0)
    assert energy.names({**resolved, "protocol": {"kind": "compute"}}) == ()
