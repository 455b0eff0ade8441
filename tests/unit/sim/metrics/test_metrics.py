"""Metrics on traces small enough to count by hand, and on the published counts."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from pocketsim import testing
from pocketsim.sim import metrics, trace
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.metrics import (
    compute,
    custom_protocol,
    per_phone,
    queues,
    storage,
    town,
    trades,
    transfers,
)
from pocketsim.sim.metrics.intervals import of_shares

GOLDEN = Path(__file__).parents[3] / "golden" / "metrics.json"


def table(rows: list[tuple[int, float, str, int, int, str | None, bool]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [[]] * 7
    repetition, time_s, kind, message, size, reason, logged = columns
    node = np.zeros(len(rows))
    return trace.build(
        repetition=np.array(repetition, dtype=int),
        time_s=np.array(time_s, dtype=float),
        node=node,
        kind=list(kind),
        message_id=np.array(message, dtype=int),
        peer=node + 1,
        message_size=np.array(size, dtype=int),
        reason=list(reason),
        logged=np.array(logged, dtype=bool),
    )


def event(
    time_s: float,
    kind: str,
    message: int,
    *,
    repetition: int = 0,
    size: int = 600,
    reason: str | None = None,
    logged: bool = True,
) -> tuple[int, float, str, int, int, str | None, bool]:
    return repetition, time_s, kind, message, size, reason, logged


def measured(rows: list[Any], repetitions: int = 1, duration_s: float = 25.0) -> dict[str, Any]:
    resolved = testing.resolved(repetitions=repetitions)
    resolved["run"]["duration_s"] = duration_s
    return metrics.measure(table(rows), resolved)


def means(found: dict[str, Any]) -> dict[str, Any]:
    return {name: metric["mean"] for name, metric in found["metrics"].items()}


def test_two_transactions_by_hand():
    found = measured(
        [
            event(1.0, "send", 1),
            event(1.010, "receive_back", 1),
            event(1.012, "store", 1, size=536),
            event(2.0, "send", 2),
            event(2.026, "receive_back", 2),
            event(2.030, "store", 2, size=664),
            event(3.0, "send", 3),
        ]
    )
    assert means(found) == pytest.approx(
        {
            "send_rate_per_s": 1.5,  # 3 sends from 1.0 to 3.0 s
            "store_rate_per_s": 1.0,
            "send_count": 3,
            "store_count": 2,
            "unmatched_count": 1,
            "success_ratio": pytest.approx(2 / 3),
            "settled_success_ratio": 1,  # of the two whose fate is known
            "in_flight_ratio": 1 / 3,
            "done_within_1s_ratio": pytest.approx(2 / 3),
            "done_within_10s_ratio": pytest.approx(2 / 3),
            **dict.fromkeys(("done_within_60s_ratio", "done_within_600s_ratio")),  # runs 25 s
            "done_50_percent_s": pytest.approx(0.030),
            **dict.fromkeys(("done_90_percent_s", "done_99_percent_s")),  # two of three are done
            "rtt_ms_p50": 21.0,
            "rtt_ms_p95": 12 + 0.95 * 18,
            "rtt_ms_p99": 12 + 0.99 * 18,
            "rtt_ms_mean": 21.0,
            "processing_ms_p50": 3.0,
            "stored_block_bytes_min": 536,
            "stored_block_bytes_mean": 600,
            "stored_block_bytes_max": 664,
            "stalled_run_ratio": 0,
            "partial_run_ratio": 1,
            **dict.fromkeys((*queues.METRICS, *per_phone.USE, *storage.CHAIN)),  # nobody told
        }
    )
    assert found["counts"] == {"sent": 3, "stored": 2, "in_flight": 1, "lost": {}}


def test_deadlines_of_the_scenario_have_metrics_beside_those_of_every_run():
    resolved = testing.resolved(repetitions=1)
    rows = [event(1.0, "send", 1), event(1.012, "store", 1), event(2.0, "send", 2)]
    rows += [event(2.3, "store", 2)]
    told = metrics.measure(table(rows), {**resolved, "metrics": {"deadlines_s": [0.25, 10.0]}})
    assert list(told["metrics"]) == metrics.names({**resolved, "metrics": {"deadlines_s": [0.25]}})
    assert told["metrics"]["done_within_250ms_ratio"]["value"] == pytest.approx(1 / 2)
    assert told["metrics"]["done_within_250ms_ratio"]["ci95_method"] == "wilson"
    assert told["metrics"]["done_within_10s_ratio"]["value"] == 1


def test_where_a_repetition_does_not_come_to_a_share_nothing_says_when_it_would():
    rows = [
        *(event(1.0, "send", 1), event(1.2, "store", 1)),
        *(event(1.0, "send", 1, repetition=1), event(9.0, "lose", 1, repetition=1)),
    ]
    found = measured(rows, repetitions=2)["metrics"]["done_50_percent_s"]
    assert (found["value"], found["mean"], found["ci95_low"]) == (None, None, None)
    assert found["values"] == [pytest.approx(0.2), None]


def test_events_beyond_the_log_or_the_end_are_not_measured_but_have_a_fate():
    found = measured(
        [
            event(0.0, "send", 1),
            event(0.1, "store", 1),
            event(0.2, "send", 2, logged=False),
            event(0.9, "send", 3),
            event(1.1, "store", 3),
        ],
        duration_s=1.0,
    )
    assert means(found)["send_count"] == 2
    assert means(found)["store_count"] == 1
    assert (means(found)["success_ratio"], means(found)["settled_success_ratio"]) == (1 / 2, 1)
    assert means(found)["unmatched_count"] == 1
    assert means(found)["in_flight_ratio"] == 1 / 2, "it was stored when nobody measured any more"
    assert found["counts"] == {"sent": 3, "stored": 2, "in_flight": 1, "lost": {}}


def test_each_transaction_ends_in_its_last_fate():
    found = measured(
        [
            *(event(0.0, "send", message) for message in range(1, 8)),
            event(0.1, "drop", 1, reason="link_loss"),  # and stored later
            event(0.2, "drop", 2, reason="buffer_full"),
            event(0.3, "drop", 3, reason="link_loss"),
            event(0.4, "lose", 3, reason="idle_timeout"),  # giving up outweighs a drop
            event(0.5, "store", 1),
            event(0.6, "store_peer", 4),
            event(0.7, "refuse", 5, reason="fork"),
            event(0.8, "refuse", 6, reason="duplicate"),  # the first copy is still on its way
            event(0.9, "drop", 7, reason="buffer_full"),
            event(1.0, "drop", 7, reason="link_loss"),  # the last word
            event(1.1, "drop", 99, reason="link_loss"),  # no transaction of ours
        ]
    )
    assert means(found)["success_ratio"] == 1 / 7
    assert means(found)["settled_success_ratio"] == 1 / 5, "of one stored and four lost"
    assert means(found)["in_flight_ratio"] == 2 / 7
    lost = {"buffer_full": 1, "fork": 1, "idle_timeout": 1, "link_loss": 1}
    assert found["counts"] == {"sent": 7, "stored": 1, "in_flight": 2, "lost": lost}


def test_a_success_ratio_counts_what_is_in_flight_as_not_done():
    """One way tells at once that a phone is off, the other after 30 s; both store two of ten."""
    sent = [event(0.1 * at, "send", at) for at in range(10)]
    stored = [event(2.0, "store", at) for at in range(2)]
    told_at_once = [event(2.1, "drop", at, reason="receiver_off") for at in range(2, 10)]
    told_late = [event(32.1, "lose", at, reason="connect_timeout") for at in range(2, 10)]
    at_once, late = (
        means(measured([*sent, *stored, *told], duration_s=20.0))
        for told in (told_at_once, told_late)
    )
    assert at_once["success_ratio"] == late["success_ratio"] == 2 / 10
    assert (late["settled_success_ratio"], late["in_flight_ratio"]) == (1, 8 / 10)
    assert at_once["settled_success_ratio"] == 2 / 10


def test_how_long_a_run_is_does_not_change_its_settled_success():
    """Of a queue that only grows, what is under way at the end is no failure."""
    rows = [
        *(event(0.1 * at, "send", at) for at in range(1, 40)),
        *(event(0.2 * at, "store", at) for at in range(1, 40) if at % 4),
        *(event(0.2 * at, "drop", at, reason="link_loss") for at in range(4, 40, 4)),
    ]
    rows.sort(key=lambda row: row[1])
    shares = [means(measured(rows, duration_s=end_s)) for end_s in (2.0, 4.0, 8.0)]
    settled = [found["settled_success_ratio"] for found in shares]
    assert settled == pytest.approx([0.8, 0.75, 30 / 39])
    assert [found["in_flight_ratio"] for found in shares] == pytest.approx([0.5, 19 / 39, 0])


def test_transactions_missed_by_a_full_log_are_in_flight():
    stored_unseen = [
        event(0.0, "send", 1),
        event(0.1, "send", 2),
        event(0.2, "send", 3),
        event(0.3, "store", 1),
        event(0.4, "store", 2, logged=False),
        event(0.5, "send", 4, logged=False),
        event(0.6, "lose", 3, reason="idle_timeout"),
    ]
    found = means(measured(stored_unseen))
    assert (found["settled_success_ratio"], found["in_flight_ratio"]) == (1, pytest.approx(2 / 3))
    assert found["unmatched_count"] == 2
    logged = [(*row[:-1], True) for row in stored_unseen]
    found = means(measured(logged))
    shares = found["success_ratio"], found["settled_success_ratio"], found["in_flight_ratio"]
    assert shares == (2 / 4, pytest.approx(2 / 3), 1 / 4)


def test_a_run_without_events_has_no_rates():
    found = measured([])
    assert means(found)["send_rate_per_s"] is None
    assert means(found)["store_count"] == 0
    assert found["metrics"]["in_flight_ratio"]["values"] == [None]
    assert found["metrics"]["rtt_ms_p50"] == {
        "value": None,
        "mean": None,
        "ci95_low": None,
        "ci95_high": None,
        "ci95_method": "bootstrap",
        "normal_ci95": None,
        "values": [None],
    }


def test_repetitions_are_apart_even_with_equal_ids():
    rows = [
        *(event(0.0, "send", 1), event(0.010, "store", 1)),
        *(event(0.0, "send", 1, repetition=1), event(0.030, "store", 1, repetition=1)),
    ]
    found = measured(rows, repetitions=2)["metrics"]["rtt_ms_p50"]
    assert found["values"] == pytest.approx([10.0, 30.0])
    assert found["normal_ci95"] == pytest.approx(1.96 * np.std([10, 30], ddof=1) / np.sqrt(2))


def test_the_definition_reproduces_a_published_mixture():
    # Appendix B: at 64/s five runs stored these many; printed mean 21.22 +- 20.793 per second.
    window_s, send_rate_per_s = 24.99, 55.78
    rows = []
    for repetition, stored in enumerate((877, 396, 1373, 3, 2)):
        sent_s = np.linspace(0.0, window_s, round(send_rate_per_s * window_s))
        rows += [event(at, "send", n, repetition=repetition) for n, at in enumerate(sent_s)]
        # Stores stop long before sends do; a window of their own would hide the stall.
        times_s = np.linspace(0.01, 0.01 + stored * 0.0179, stored)
        rows += [event(at, "store", n, repetition=repetition) for n, at in enumerate(times_s)]
    found = measured(sorted(rows, key=lambda row: row[:2]), repetitions=5)["metrics"]
    assert round(found["store_rate_per_s"]["mean"], 2) == 21.22
    assert found["store_rate_per_s"]["normal_ci95"] == pytest.approx(20.793, abs=0.01)
    assert found["stalled_run_ratio"]["mean"] == pytest.approx(0.4)
    assert found["partial_run_ratio"]["mean"] == pytest.approx(0.4)


def test_sampled_traces_are_scaled_up():
    resolved = testing.resolved(output={"trace": "sampled", "sample_ratio": 0.5})
    full = metrics.measure(testing.events(resolved, testing.Shape()), testing.resolved())
    sampled = metrics.measure(testing.events(resolved, testing.Shape()), resolved)
    assert sampled["traced_share"] == 0.5
    assert means(sampled)["send_count"] == 2 * means(full)["send_count"]
    assert means(sampled)["rtt_ms_p50"] == means(full)["rtt_ms_p50"]
    assert sampled["counts"] == full["counts"]


KINDS = st.sampled_from(["send", "store", "drop", "lose", "refuse", "process", "connect"])
REASONS = st.sampled_from([None, "link_loss", "duplicate", "fork"])


@given(st.lists(st.tuples(KINDS, st.integers(1, 6), REASONS, st.booleans()), max_size=40))
def test_every_transaction_has_one_fate(rows: list[tuple[str, int, str | None, bool]]):
    events = [
        event(at / 10, kind, message, reason=reason, logged=logged)
        for at, (kind, message, reason, logged) in enumerate(rows)
    ]
    counts = measured(events)["counts"]
    sent = {message for kind, message, *_ in rows if kind == "send"}
    stored = {message for kind, message, *_ in rows if kind == "store"}
    assert counts["sent"] == len(sent)
    assert counts["stored"] == len(sent & stored)
    assert counts["sent"] == counts["stored"] + counts["in_flight"] + sum(counts["lost"].values())


SUCCESSES = st.lists(st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1)), max_size=9)


@given(SUCCESSES)
def test_a_ratio_and_its_bounds_are_shares(values: list[float]):
    found = metrics.summary(values, of_shares(values, [20] * len(values)))
    bounds = found["ci95_low"], found["ci95_high"]
    if len(values) < 2:
        assert bounds == (None, None)
        return
    assert 0 <= bounds[0] <= found["mean"] + 1e-12
    assert found["mean"] - 1e-12 <= bounds[1] <= 1


NAMES = {
    "trades": trades.OF_ALL,
    "transfers": (*transfers.TRANSFER_NAMES, *transfers.TOKEN_NAMES),
    "compute": compute.NAMES,
    "town": town.NAMES,
    "custom_protocol": custom_protocol.names(None),
}


def test_every_ratio_and_quantile_is_declared():
    """By their names, which end alike; what is declared need not be spelt so."""
    modules = dict(zip(NAMES, (trades, transfers, compute, town, custom_protocol), strict=True))
    for family, module in modules.items():
        ratios = {name for name in NAMES[family] if name.endswith("_ratio")}
        quantiles = {name for name in NAMES[family] if re.search(r"_p\d\d$", name)}
        declared = (set(vars(module).get(name, ())) for name in ("RATIOS", "QUANTILES"))
        assert tuple(declared) == (ratios, quantiles), family


def test_each_kind_of_metric_has_its_interval():
    resolved = testing.resolved(repetitions=5)
    found = metrics.measure(testing.events(resolved, testing.Shape(lost_ratio=0.02)), resolved)[
        "metrics"
    ]
    by_method = {
        method: {name for name, kind in found.items() if kind["ci95_method"] == method}
        for method in ("bootstrap", "wilson")
    }
    assert by_method["bootstrap"] >= set(trades.QUANTILES)
    assert by_method["wilson"] == {*trades.RATIOS, *queues.RATIOS}
    assert found["success_ratio"]["ci95_high"] <= 1
    rate = found["store_rate_per_s"]
    half = scipy.stats.t.ppf(0.975, 4) * np.std(rate["values"], ddof=1) / np.sqrt(5)
    assert rate["ci95_high"] - rate["mean"] == pytest.approx(half)
    assert rate["mean"] - rate["ci95_low"] == pytest.approx(half)


def test_bootstraps_are_drawn_from_the_scenarios_seed():
    resolved = testing.resolved(repetitions=8)
    events = testing.events(resolved, testing.Shape())
    other = {**resolved, "run": {**resolved["run"], "seed": 2}}
    one, again, another = (
        metrics.measure(events, at)["metrics"] for at in (resolved, resolved, other)
    )
    assert one == again
    assert one["rtt_ms_p95"]["ci95_high"] != another["rtt_ms_p95"]["ci95_high"]
    assert one["store_count"] == another["store_count"]
    log, again = (metrics.of_log(events, "x")["metrics"]["rtt_ms_p95"] for _ in range(2))
    assert log == again, "a log has no seed"
    assert log["ci95_method"] == "bootstrap"


@pytest.mark.parametrize(
    ("stored", "sent", "outcome"),
    [
        (3, 1394, "stalled"),
        (396, 1394, "partial"),
        (1373, 1394, "complete"),
        (0, 0, "complete"),
        (5, 100, "partial"),
        (90, 100, "complete"),
    ],
)
def test_outcome_classes_follow_the_stored_share(stored: int, sent: int, outcome: str):
    assert metrics.classify(stored, sent) == outcome


def test_round_trips_leave_out_what_was_not_stored():
    resolved = testing.resolved(repetitions=2)
    trips = metrics.round_trips(testing.events(resolved, testing.Shape(lost_ratio=0.5)), 25.0)
    assert len(trips) == 2
    for sent_s, rtt_ms in trips:
        assert 0 < sent_s.size == rtt_ms.size < 400
        assert (rtt_ms > 0).all()


def test_metrics_match_the_golden_file():
    resolved = testing.resolved(repetitions=3)
    shape = testing.Shape(lost_ratio=0.1, breaks_s=(25.0, 11.0, 0.2))
    text = json.dumps(metrics.measure(testing.events(resolved, shape), resolved), indent=1) + "\n"
    if os.environ.get("REWRITE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


WAITS = {
    "uplink": {"taken": 30, "refused": 10, "sum_s": 0.6, "p50_s": 0.0, "p95_s": 0.1},
    "downlink": {"taken": 0, "refused": 0, "sum_s": 0.0, "p50_s": None, "p95_s": None},
}


def test_waits_are_milliseconds_and_drops_a_share_of_what_was_offered():
    resolved = testing.resolved(repetitions=1)
    events = testing.events(resolved, testing.Shape())
    found = means(metrics.measure(events, resolved, [NOTHING | {"waits": WAITS}]))
    assert found["uplink_wait_ms_mean"] == pytest.approx(20.0)
    assert (found["uplink_wait_ms_p50"], found["uplink_wait_ms_p95"]) == (0.0, 100.0)
    assert found["uplink_queue_drop_ratio"] == 0.25
    assert {found[name] for name in queues.METRICS if "downlink" in name} == {None}


def test_phones_that_only_compute_have_no_queues():
    resolved = testing.resolved(protocol={"kind": "compute"})
    assert not set(metrics.names(resolved)) & set(queues.METRICS)


SPENT_S = ({"sign": 1.0}, {"sign": 3.0, "verify": 2.0})


def test_core_seconds_are_summarised_over_repetitions():
    resolved = testing.resolved(repetitions=2)
    events = testing.events(resolved, testing.Shape())
    found = metrics.measure(events, resolved, [NOTHING | {"cpu_s": spent} for spent in SPENT_S])
    assert found["cpu_s"]["sign"]["mean"] == 2.0
    assert found["cpu_s"]["verify"]["values"] == [0.0, 2.0]
    assert "cpu_s" not in metrics.measure(events, resolved)


def test_tasks_are_counted_until_the_last_thread_is_done():
    workload = {"kind": "compute", "start_s": 1.0, "threads": 2}
    sections = {"workload": workload, "protocol": {"kind": "compute"}}
    resolved = testing.resolved(transport="none", repetitions=2, **sections)
    filled = {"repetition": 0, "node": 0, "kind": "compute", "peer": 0, "message_size": 147}
    table = trace.build(
        **{key: np.full(4, value) for key, value in filled.items()},
        time_s=np.array([1.5, 2.0, 2.5, 3.0]),
        message_id=np.arange(4),
        reason=np.full(4, None, object),
        logged=np.ones(4, dtype=bool),
    )
    found = metrics.measure(table, resolved)["metrics"]
    # Two phones of two threads; the second repetition did nothing.
    assert found["task_rate_per_s"]["values"] == [2.0, None]
    assert found["task_us_mean"]["values"] == [2e6, None]
    assert found["data_rate_mb_per_s"]["values"] == [pytest.approx(2 * 147e-6), None]
    assert found["send_rate_per_s"]["values"] == [None, None]
