"""Goodput, loss and tokens a second on traces small enough to count by hand."""

import numpy as np
import pytest

from pocketsim import testing
from pocketsim.sim import metrics, trace
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.metrics import transfers
from pocketsim.sim.trace.columns import Columns


def rows(*events):
    """Columns of (time_s, node, kind, origin, number, size)."""
    columns = zip(*events, strict=True) if events else [[]] * 6
    time_s, node, kind, origin, number, size = columns
    message = (np.array(origin, dtype=np.int64) << 32) | np.array(number, dtype=np.int64)
    table = trace.build(
        repetition=np.zeros(len(time_s), dtype=int),
        time_s=np.array(time_s, dtype=float),
        node=np.array(node, dtype=int),
        kind=list(kind),
        message_id=message,
        peer=np.zeros(len(time_s), dtype=int),
        message_size=np.array(size, dtype=int),
        reason=[None] * len(time_s),
        logged=[True] * len(time_s),
    )
    return Columns.of(table)


def resolved(kind, payload_bytes=1000):
    return testing.resolved(payload_bytes=payload_bytes, protocol={"kind": kind})


def measure(part, counters=None, kind="transfer", payload_bytes=1000, **sections):
    told = NOTHING | {"counters": counters or {}}
    found = transfers.measure(part, told, resolved(kind, payload_bytes) | sections)
    assert set(found) == {*transfers.names(resolved(kind)), *transfers.RATIOS.values()}
    return found


def test_a_transfer_is_timed_at_its_receiver_from_its_first_block():
    part = rows(
        (0.0, 0, "send", 0, 0, 1000),
        (1.0, 1, "begin", 0, 0, 1000),
        (3.0, 1, "store", 0, 0, 1000),
        (4.0, 0, "send", 0, 1, 600),
        (5.0, 1, "begin", 0, 1, 600),
        (5.5, 1, "store", 0, 1, 600),
    )
    found = measure(part)
    assert found["goodput_mb_per_s"] == pytest.approx((1000 / 2 + 600 / 0.5) / 2 / 1e6)
    assert found["stored_mb_per_s"] == pytest.approx(600 / 2.5 / 1e6)


def test_packets_of_one_block_are_counted_from_the_first_that_was_stored():
    part = rows(*((0.5 + k, 1, "store", 0, k, 100) for k in range(5)))
    found = measure(part)
    assert found["stored_mb_per_s"] == pytest.approx(400 / 4.0 / 1e6)
    assert np.isnan(found["goodput_mb_per_s"])


def test_of_a_sampled_trace_what_was_stored_is_scaled_up_and_means_are_not():
    """Twelve messages, of which one in four is traced."""
    steps = [("begin", 0.25), ("process", 0.5), ("store", 0.5)]
    part, sample = (
        rows(*((k + at, 1, kind, 0, k, 100) for k in numbers for kind, at in steps))
        for numbers in (range(12), (1, 5, 9))
    )
    counters = {"datagrams_sent": 8, "datagrams_dropped": 2}
    output = {"trace": "sampled", "sample_ratio": 0.25}
    assert measure(sample, counters, output=output) == pytest.approx(measure(part, counters))


def test_a_transfer_that_never_ended_has_no_goodput():
    part = rows((0.0, 0, "send", 0, 0, 9), (1.0, 1, "begin", 0, 0, 9))
    found = measure(part, {"datagrams_sent": 8, "datagrams_dropped": 2})
    assert np.isnan(found["goodput_mb_per_s"])
    assert np.isnan(found["stored_mb_per_s"])
    assert found["datagram_loss_ratio"] == 0.25


def test_a_loss_ratio_is_of_what_was_on_the_air():
    """What was about to leave a phone that went off is not among what was sent."""
    counters = {"datagrams_sent": 8, "datagrams_dropped": 2, "datagrams_unread": 1}
    counters |= {"datagrams_cut_off": 30, "sender_off": 32, "receiver_off": 1}
    assert measure(rows(), counters)["datagram_loss_ratio"] == 3 / 8


def test_loss_ratio_without_datagrams_is_nan():
    assert np.isnan(measure(rows(), {})["datagram_loss_ratio"])
    assert measure(rows(), {"datagrams_sent": 3})["datagram_loss_ratio"] == 0.0


def test_tokens_are_counted_by_their_recipients_and_steps():
    """Ten tokens; each step takes a time of its own, so that none is another's."""
    size = {count: 10 * (149 + 138 * count) for count in (1, 2, 3)}
    events, now_s = [], 0.0
    for count, (origin, receiver) in enumerate([(0, 1), (1, 2), (2, 0)], start=1):
        steps = [("begin", origin), ("send", origin), ("begin", receiver), ("process", receiver)]
        for place, (kind, node) in enumerate([*steps, ("store", receiver)]):
            events.append((now_s, node, kind, origin, 0, size[count]))
            now_s += count * (place + 1)
    found = measure(rows(*events), kind="token_batch", payload_bytes=10 * 287)
    for count in (1, 2, 3):
        for step, took_s in (("sign", 1), ("receive", 3), ("validate", 4)):
            rate_per_s = found[f"token_{step}_{count}_rate_per_s"]
            assert rate_per_s == pytest.approx(10 / (took_s * count)), (step, count)
    assert found["goodput_mb_per_s"] == pytest.approx(
        np.mean([size[count] / (3 * count) / 1e6 for count in (1, 2, 3)])
    )


def test_other_families_have_no_metrics_of_transfers():
    resolved = testing.resolved()
    found = metrics.measure(testing.events(resolved, testing.Shape()), resolved)["metrics"]
    assert not set(transfers.TRANSFER_NAMES) & set(found)
