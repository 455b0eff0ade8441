"""Connections at rest against the same with every sign of life simulated."""

import numpy as np
import pytest

from support import engine_plans as plans

pytestmark = pytest.mark.engine

ONE_WAY_S = 2 * plans.LATENCY_S
PING_S = 1.0
# RFC 9000, 18.2: how long the acknowledgement of a ping is held back.
HELD_S = 0.025
# A ping a second after the last acknowledgement: one of either end in two of these.
CADENCE_S = PING_S + ONE_WAY_S + HELD_S
# A ping or an acknowledgement, with headers, is shorter.
DATAGRAM_BYTES = 80
COUNTED = ("datagrams_sent", "datagrams_delivered")
PACKETS = ("packet_seal", "udp_send", "udp_receive", "packet_open")


def with_events(plan, *, events):
    """Return the transport of a plan, with each sign of life simulated or not."""
    options = {**plan["transport"]["options"], "keep_alive_events": events}
    return {"transport": {**plan["transport"], "options": options}}


def both(plan):
    """Return the traces with signs of life simulated, and without."""
    return [plans.run({**plan, **with_events(plan, events=events)}) for events in (True, False)]


def silent(duration_s, *arrivals, phones=2, **options):
    """Return a plan of phones that trade at these times: from whom, to whom."""
    plan = plans.plan(phones, "quic_keep", cores=8, duration_s=duration_s)
    plan["transport"]["options"] |= {"answer_on_same_connection": True, **options}
    for time_s, sender, receiver in arrivals:
        plans.arrive(plan, time_s, sender, receiver)
    return plan


def rows(trace):
    """Rows by what they are about, since those of one moment may come in any order."""
    order = np.lexsort((trace.kind, trace.node, trace.message))
    return trace.where(order)


def assert_same_events(one, other, within_s=1e-9):
    left, right = rows(one), rows(other)
    for column in ("kind", "node", "message", "peer", "size_bytes", "reason"):
        assert (getattr(left, column) == getattr(right, column)).all(), column
    assert left.time_s == pytest.approx(right.time_s, abs=within_s)


def assert_same_upkeep(one, other, connections):
    """An exchange, which may be under way, is a ping, its answer, and two of each path's probes."""
    for name in COUNTED:
        assert abs(one.counters[name] - other.counters[name]) <= 6 * connections, name
    for name, ends in (("access_bytes", 1), ("phone_access_bytes", 2)):
        bytes_off = abs(one.counters[name] - other.counters[name])
        assert bytes_off <= 6 * connections * 160 * ends, name
    for name in one.cpu_s:
        per_datagram = {"packet_seal": 1e-3, "udp_send": 2e-3}.get(name, 4e-3)
        assert one.cpu_s[name] == pytest.approx(
            other.cpu_s[name], abs=6 * connections * per_datagram
        )


def with_costs(plan):
    for name, cpu_s in zip(PACKETS, (2e-4, 3e-4, 5e-4, 7e-4), strict=True):
        plans.cost(plan, name, cpu_s, 1e-7)
    return plan


@pytest.mark.parametrize("relay_first", [False, True])
@pytest.mark.parametrize("same", [False, True])
def test_trades_have_the_same_dates_and_the_same_is_counted(relay_first, same):
    arrivals = [(1.0, 0, 1), (1.5, 2, 3), (40.3, 0, 1), (77.7, 3, 2), (300.21, 1, 0)]
    plan = silent(400.37, *arrivals, phones=4, answer_on_same_connection=same)
    plan["transport"]["options"]["relay_first"] = relay_first
    simulated, reckoned = both(with_costs(plan))
    assert len(simulated.of("store").time_s) == len(arrivals)
    assert_same_events(simulated, reckoned, 1e-6)
    connections = len(simulated.of("connect").time_s)
    assert simulated.counters["datagrams_sent"] > 2 * connections * 350 / CADENCE_S
    assert_same_upkeep(simulated, reckoned, connections)


def test_phones_that_differ_keep_their_common_rhythm():
    plan = with_costs(silent(900.0, (1.0, 0, 1), (850.6, 1, 0)))
    plan["access"] = [plans.access(), plans.access(latency_s=0.150)]
    plan["profiles"].append(plans.profile())
    plan["phones"]["access"] = plan["phones"]["profile"] = [0, 1]
    simulated, reckoned = both(plan)
    assert_same_events(simulated, reckoned, 1e-6)
    assert_same_upkeep(simulated, reckoned, 2)


def test_numbers_that_grow_while_nobody_sends_them_make_acknowledgements_longer():
    """Past 64 and past 16384 packets; to the byte but for the exchange at the end."""
    simulated, reckoned = both(silent(20_000.0, (1.0, 0, 1)))
    off = [one.counters["access_bytes"] for one in (simulated, reckoned)]
    assert abs(off[0] - off[1]) <= 2 * DATAGRAM_BYTES
    sent = [one.counters["datagrams_sent"] for one in (simulated, reckoned)]
    assert sent[1] == pytest.approx(2 * 20_000.0 / CADENCE_S, rel=1e-3)
    assert abs(sent[0] - sent[1]) <= 2


def test_a_century_of_silence_takes_no_time():
    century_s = 100 * 365.25 * 86400.0
    plan = silent(century_s, (1.0, 0, 1), (century_s - 10.0, 1, 0))
    trace = plans.run(plan)
    assert trace.counters["datagrams_sent"] == pytest.approx(2 * century_s / CADENCE_S, rel=1e-3)
    assert len(trace.of("store").time_s) == 2


def test_a_connection_that_rested_needs_no_handshake():
    plan = silent(100.0, (1.0, 0, 1), (90.0, 1, 0), (95.0, 0, 1))
    trace = plans.run(plan)
    delays_s = trace.of("process").time_s - trace.of("send").time_s
    assert delays_s == pytest.approx([3 * ONE_WAY_S, ONE_WAY_S, ONE_WAY_S], rel=1e-6)
    assert len(trace.of("connect").time_s) == 1
    assert not len(trace.of("disconnect").time_s)


@pytest.mark.parametrize("gone", [0, 1])
@pytest.mark.parametrize("at_s", [30.0, 30.4, 30.8, 31.2, 31.6])
def test_a_phone_that_goes_off_meanwhile_is_missed_when_it_would_have_been(gone, at_s):
    plan = silent(120.0, (1.0, 0, 1), (100.0, 1 - gone, gone), idle_timeout_s=10.0)
    plans.turn(plan, at_s, gone, on=False)
    plans.turn(plan, 90.0, gone, on=True)
    simulated, reckoned = both(plan)
    if gone == 1:
        ends_s = [trace.time_of("disconnect", 0) for trace in (simulated, reckoned)]
        assert at_s + 8.0 < ends_s[0] < at_s + 12.0
        assert ends_s[1] == pytest.approx(ends_s[0], abs=1e-6)
    assert_same_events(simulated, reckoned, 1e-6)
    assert_same_upkeep(simulated, reckoned, 1)


def test_a_message_to_a_phone_that_went_off_meanwhile_is_lost_when_it_would_have_been():
    plan = silent(120.0, (1.0, 0, 1), (35.0, 0, 1))
    plan["transport"]["options"]["idle_timeout_s"] = 10.0
    plans.turn(plan, 30.0, 1, on=False)
    simulated, reckoned = both(plan)
    assert reckoned.of("lose").reason_names() == ["idle_timeout"]
    assert_same_events(simulated, reckoned, 1e-6)


def test_both_ends_may_go_off_and_come_back():
    plan = silent(200.0, (1.0, 0, 1), (1.2, 2, 1), (150.0, 1, 0), (151.0, 2, 1), phones=3)
    for time_s, phone, on in [(50.0, 0, 0), (50.0, 1, 0), (60.0, 2, 0), (70.0, 0, 1)]:
        plans.turn(plan, time_s, phone, on=bool(on))
    for phone in (1, 2):
        plans.turn(plan, 80.0, phone, on=True)
    simulated, reckoned = both(with_costs(plan))
    assert len(reckoned.of("store").time_s) == 4
    assert_same_events(simulated, reckoned, 1e-6)
    assert_same_upkeep(simulated, reckoned, 4)


def test_every_datagram_is_delivered_or_dropped():
    plan = town(9, LITTLE, duration_s=300.0, rate_per_s=0.05)
    trace = plans.run(plan)
    ended = trace.counters["datagrams_delivered"] + trace.counters["datagrams_dropped"]
    # What is on its way at the end.
    assert 0 <= trace.counters["datagrams_sent"] - ended <= 40


WIFI = {"jitter_median_s": 2e-3, "jitter_sigma": 1.75}
LTE = {"latency_s": 0.010, "jitter_median_s": 10e-3, "jitter_sigma": 0.8, "loss_ratio": 0.014}
BURSTS = {"bursts": {"share": 0.02, "mean_packets": 5.0, "loss_ratio": 0.5}}
LITTLE = {"jitter_median_s": 1e-3, "jitter_sigma": 0.8, "loss_ratio": 0.002}


def town(seed, changes, **options):
    """Return a town whose ways vary and lose."""
    plan = plans.busy_town(seed, 40, "quic_keep", **options)
    plan["access"] = [{**one, **changes} for one in plan["access"]]
    return plan


def assert_same_means(simulated, reckoned, within):
    for name in (*COUNTED, "access_bytes", "phone_access_bytes"):
        assert reckoned.counters[name] == pytest.approx(simulated.counters[name], rel=within), name
    for name in PACKETS:
        assert reckoned.cpu_s[name] == pytest.approx(simulated.cpu_s[name], rel=within), name


@pytest.mark.parametrize("changes", [LITTLE, WIFI])
def test_a_town_does_and_counts_the_same_but_for_chance(changes):
    """With jitter, loss and phones that come and go, draws differ and means do not."""
    plan = town(9, changes, duration_s=200.0, rate_per_s=0.2)
    assert len(plan["churn"]["time_s"])
    simulated, reckoned = both(plan)
    assert_same_means(simulated, reckoned, 0.05)
    stored = [one.counters["store"] for one in (simulated, reckoned)]
    assert stored[1] == pytest.approx(stored[0], rel=0.01)


def pairs(count, duration_s, *trades_s, **changes):
    """Return a plan of so many pairs that trade at these times, each over its own connection."""
    arrivals = [
        (time_s + pair / 100, 2 * pair, 2 * pair + 1)
        for time_s in trades_s
        for pair in range(count)
    ]
    plan = silent(duration_s, *sorted(arrivals), phones=2 * count)
    plan["access"] = [plans.access(**{"latency_s": 0.005, **changes})]
    return plan


@pytest.mark.parametrize(
    ("changes", "within"),
    [(WIFI, 0.02), (LTE, 0.02), (LITTLE, 0.02), ({"jitter_median_s": 1e-5}, 0.02), (BURSTS, 0.08)],
)
def test_where_ways_vary_as_much_is_counted_on_average(changes, within):
    """Ends that ask at once send nearly twice as much as those that ask in turn.

    From one to the other they come by losses alone where nothing else varies: so rarely that the
    mean of the pairs that are observed is off itself.
    """
    plan = with_costs(pairs(300, 250.0, 1.0, **changes))
    simulated, reckoned = both(plan)
    assert_same_means(simulated, reckoned, within)
    assert reckoned.counters != simulated.counters, "nothing rested"


def test_networks_that_differ_have_a_habit_of_their_own():
    plan = with_costs(pairs(300, 250.0, 1.0))
    plan["access"] = [plans.access(latency_s=0.005), plans.access(**LTE)]
    plan["phones"]["access"] = [0, 1] * 300
    simulated, reckoned = both(plan)
    assert_same_means(simulated, reckoned, 0.02)
    assert reckoned.counters != simulated.counters, "nothing rested"


def test_a_connection_that_rested_where_ways_vary_is_missed_within_a_ping():
    """The other end last heard something within a ping of the moment at which a phone goes off."""
    plan = pairs(300, 250.0, 1.0, **WIFI)
    plan["transport"]["options"]["idle_timeout_s"] = 10.0
    for pair in range(300):
        plans.turn(plan, 200.0, 2 * pair + 1, on=False)
    reckoned = plans.run(plan)
    ends_s = reckoned.of("disconnect").time_s - 200.0
    assert len(ends_s) == 300
    # Idle time begins with the last word heard, and again with the first ping after it.
    assert ends_s.min() > 10.0 - PING_S
    assert ends_s.max() < 10.0 + 1.1 * PING_S
    assert np.ptp(ends_s) > 0.5 * PING_S, "all ends were at the same place of their rhythm"


@pytest.mark.parametrize("changes", [WIFI, LTE])
def test_of_few_connections_every_sign_is_simulated(changes):
    """To find out what they do on average would take longer."""
    simulated, reckoned = both(pairs(4, 100.0, 1.0, **changes))
    assert reckoned.counters == simulated.counters


def test_where_connections_do_not_last_none_rests():
    plan = pairs(300, 250.0, 1.0, loss_ratio=0.6)
    plan["transport"]["options"]["idle_timeout_s"] = 4.0
    simulated, reckoned = both(plan)
    assert len(simulated.of("disconnect").time_s)
    assert reckoned.counters == simulated.counters


def test_a_connection_whose_first_look_for_the_direct_path_was_lost_finds_it_all_the_same():
    plan = pairs(400, 130.0, 1.0, 100.0, loss_ratio=0.004)
    plan["transport"]["options"]["relay_first"] = True
    plan["backbone"]["relay_latency_s"] = 1.0
    trace = plans.run(plan)
    sent, processed = trace.of("send"), trace.of("process")
    delays_s = [
        processed.time_s[processed.message == message][0] - time_s
        for time_s, message in zip(sent.time_s, sent.message, strict=True)
        if time_s > 50.0
    ]
    assert len(delays_s) == 400
    assert max(delays_s) < 2.0, "the detour is longer"


def test_time_goes_on_to_the_end_of_what_is_reckoned():
    simulated, reckoned = both(silent(600.0, (1.0, 0, 1)))
    assert simulated.clock_s == pytest.approx(600.0, abs=2 * PING_S)
    assert reckoned.clock_s == 600.0


def test_the_same_plan_leaves_the_same_bytes():
    plan = town(11, WIFI, duration_s=300.0, rate_per_s=0.2)
    one, other = plans.run(plan), plans.run(plan)
    assert one.data == other.data
    assert (one.counters, one.cpu_s) == (other.counters, other.cpu_s)


WATCHED = {
    "energy": lambda plan: {"energy": {"core_w": 1.0, "access": [plans.radio()], "contact_w": []}},
    "trace": lambda plan: {"trace": {**plan["trace"], "mode": "work"}},
    "outages": lambda _: {"outages": [{"access": 0, "start_s": 500.0, "end_s": 501.0}]},
    "fidelity": lambda _: {"fidelity": "flow"},
    "contacts": lambda plan: plans.meet(plan, 500.0, 1.0, 0, 1) or {},
    "transport": lambda plan: with_events(plan, events=True),
}


@pytest.mark.parametrize("by", [None, *WATCHED])
def test_where_somebody_looks_at_each_datagram_nothing_rests(by):
    """A rest draws no costs, so those of a ping show whether there was one."""
    plan = with_costs(silent(100.0, (1.0, 0, 1)))
    plan["profiles"][0]["spread_sigma"] = [1.0] * len(plan["profiles"][0]["cpu_s"])
    plan |= WATCHED[by](plan) if by else {}
    longer = {**plan, "duration_s": 400.0}
    one, other = plans.run(plan), plans.run(longer)
    spent_s = other.cpu_s["udp_send"] - one.cpu_s["udp_send"]
    datagrams = other.counters["datagrams_sent"] - one.counters["datagrams_sent"]
    # 30 to 33 bytes each, without their headers.
    mean_s = spent_s / datagrams
    assert (3.02e-4 < mean_s < 3.04e-4) == (by is None)
