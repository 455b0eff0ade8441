"""What the program that trades takes itself, of reports: bookkeeping, files, a new connection."""

from __future__ import annotations

import math

import pytest

from pocketsim.calibration.fit import bookkeeping, own, pace, wakes, write
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.calibration.fit.samples import Estimate
from pocketsim.sim.devices import implementation, profile
from support import synthetic_reports as synthetic
from support.synthetic_reports import in_memory, without

DESCRIBED = profile.IMPLEMENTATIONS / "probe.toml"


def paced(number_of):
    return [in_memory(synthetic.Phone(n).paced_report(), n) for n in range(number_of)]


@pytest.fixture(scope="module")
def device():
    return Calibration(bootstraps=0).fit(paced(3)).profile_


@pytest.fixture(scope="module")
def found(device):
    return own.measured(implementation.load(DESCRIBED), device, paced(3))


def test_bookkeeping_is_what_steps_take_beside_their_operations(found):
    costs, beside_s = found.own_costs, synthetic.BESIDE_S
    assert costs["proposing"].cpu == pytest.approx(beside_s["propose_s"], rel=0.02)
    mean_s = (beside_s["countersign_s"] + beside_s["complete_s"]) / 2
    receiving = costs["receiving"]
    assert receiving.per_byte == pytest.approx(synthetic.BESIDE_PER_BYTE_S, rel=0.02)
    # Half of the blocks are proposals of 489 B, half answers of 641 B.
    assert receiving.cpu + 565 * receiving.per_byte == pytest.approx(mean_s, rel=0.02)
    assert (costs["proposing"].step, costs["receiving"].step) == ("command", "decode")


def test_proposing_takes_longer_when_others_wait(found):
    proposing = found.own_costs["proposing"]
    queued, hot, rested = proposing.after_rest
    assert queued.rest == 0
    longer_s = (queued.ratio - 1) * proposing.cpu
    assert longer_s == pytest.approx(synthetic.PROPOSING_QUEUED_S, rel=0.3)
    assert 0 < hot.rest < 1e-4
    # What was computed before is as cold as for any step.
    paces = [synthetic.PACES[0.0], synthetic.PACES[10e-3]]
    assert [hot.ratio, rested.ratio] == pytest.approx(paces, rel=0.02)


def test_reports_of_one_size_tell_no_cost_per_byte(device):
    reports = [without_large(report) for report in paced(2)]
    told = own.measured(implementation.load(DESCRIBED), device, reports).own_costs["receiving"]
    assert told.per_byte == 0
    beside_s = synthetic.BESIDE_S
    mean_s = (beside_s["countersign_s"] + beside_s["complete_s"]) / 2
    assert told.cpu == pytest.approx(mean_s, rel=0.02)


def test_a_line_without_a_fixed_part_has_the_spread_of_its_sizes(device, monkeypatch):
    by_bytes = {200.0: Estimate(1e-7, 1e-8, 0.3, 100), 3000.0: Estimate(6e-6, 1e-8, 0.3, 100)}
    monkeypatch.setattr(own.bookkeeping, "received_by_bytes", lambda report: by_bytes)
    told = own.measured(implementation.load(DESCRIBED), device, paced(2)).own_costs["receiving"]
    assert told.cpu == 0
    assert told.per_byte > 0
    assert 0.2 < told.spread_sigma < 2


def test_a_file_is_begun_at_both_ends_and_has_blocks(found):
    costs = found.own_costs
    # Passages after rests that were not timed lie between those that were.
    slope_s = (synthetic.file_s_of(5, 10e-3) - synthetic.file_s_of(1, 10e-3)) / 4
    short_s = wakes.passage_s(paced(1)[0], slope_s / 2)
    assert costs["tftp_block"].cpu + short_s == pytest.approx(slope_s / 2, rel=0.05)
    for blocks in (1, 5):
        whole_s = synthetic.PASSAGE_S + 2 * blocks * (short_s + costs["tftp_block"].cpu)
        whole_s += 2 * costs["tftp_file"].cpu
        assert whole_s == pytest.approx(synthetic.file_s_of(blocks, 10e-3), rel=0.05)
    assert (costs["tftp_file"].step, costs["tftp_block"].step) == ("file_open", "file_block")


@pytest.fixture(scope="module")
def turned():
    return [in_memory(synthetic.Phone(n).turning_report(), n) for n in range(3)]


@pytest.fixture(scope="module")
def found_of_turns(device, turned):
    return own.measured(implementation.load(DESCRIBED), device, turned)


def test_a_block_that_an_end_has_slept_for_takes_longer(found_of_turns, found):
    told, blocks_s = found_of_turns.own_costs["tftp_block"], synthetic.FILE_BLOCKS_S
    hot, rested = told.after_rest
    assert (hot.rest < rested.rest) & (rested.ratio == 1)
    for known in (hot, rested):
        # The answer's passage is that of who has rested for the turn.
        answer_s = synthetic.PASSAGES[0.0] * synthetic.PASSAGE_S
        block_s = blocks_s[0.0 if known is hot else 10e-3]
        there_s = wakes.passage_s(paced(1)[0], known.rest)
        turn_s = there_s + answer_s + block_s
        left_s = turn_s - there_s - wakes.passage_s(paced(1)[0], turn_s)
        assert known.ratio * told.cpu == pytest.approx(left_s, abs=1.5e-6)
    assert 0 < hot.standard_error < 0.2
    assert found.own_costs["tftp_block"].after_rest is None


def test_beginning_a_file_takes_as_long_as_it_did_after_each_rest(found):
    hot, rested = found.own_costs["tftp_file"].after_rest
    assert (hot.rest < rested.rest) & (rested.ratio == 1)
    # These files do: both ends take as much whatever the rest was.
    assert hot.ratio == pytest.approx(1, abs=0.15)


def test_a_report_without_turns_leaves_what_the_others_tell_of_blocks(
    device, turned, found_of_turns
):
    described = implementation.load(DESCRIBED)
    two = own.measured(described, device, [*turned[:2], *paced(1)]).own_costs["tftp_block"]
    of_all = found_of_turns.own_costs["tftp_block"]
    assert two.cpu == pytest.approx(of_all.cpu, rel=0.03)
    assert len(two.after_rest) == len(of_all.after_rest)
    one = own.measured(described, device, [*turned[:1], *paced(1)]).own_costs["tftp_block"]
    assert one.after_rest is None
    assert one.cpu < 0.5 * of_all.cpu


def test_they_cost_as_much_on_the_device_that_was_measured(found, device):
    for cost in (found.own_costs[name] for name in ("proposing", "receiving", "tftp_file")):
        assert cost.basis == "measured"
        assert cost.samples > 0
        assert 0 < cost.standard_error < cost.cpu
        assert cost.reference == pytest.approx(device.operations[cost.scales_with].cpu, rel=1e-4)


def test_a_new_connection_stands_for_the_endpoint_it_has(found, device):
    # These reports have timed none, so the device's endpoint stays.
    assert "connecting" not in found.own_costs
    assert "endpoint_setup" not in found.steps
    rtt_s = 5e-3
    reports = [reconnecting(report, rtt_s) for report in paced(2)]
    told = own.measured(implementation.load(DESCRIBED), device, reports)
    assert told.steps["endpoint_setup"].operations == {}
    connecting = told.own_costs["connecting"]
    steps = ("handshake_start", "handshake_respond", "handshake_finish", "handshake_confirm")
    priced_s = sum(device.operations[step].cpu for step in steps)
    assert 0.5 * (rtt_s - priced_s) < connecting.cpu < rtt_s - priced_s
    # Who has dialled just before takes less; that is not what tasks take longer to wake.
    short, priced = connecting.after_rest
    assert short.rest < priced.rest
    assert (short.ratio < 1) & (priced.ratio == 1)
    longer_s = longer_after(reports[0], 10e-3, device) - longer_after(reports[0], 2e-3, device)
    left_s = 0.2 * rtt_s - longer_s
    assert (1 - short.ratio) * connecting.cpu == pytest.approx(left_s, rel=0.1)


def test_parts_of_a_trip_scatter_by_as_many_seconds_as_it_does(found, device):
    rtt_s, whole = 5e-3, synthetic.Phone(9).sigma
    reports = [reconnecting(report, rtt_s) for report in paced(2)]
    part = own.measured(implementation.load(DESCRIBED), device, reports).own_costs["connecting"]
    assert part.spread_sigma == pytest.approx(lognormal(whole * rtt_s / part.cpu), rel=0.2)
    # Both ends of a file vary on their own: each has half of its variance.
    file = found.own_costs["tftp_file"]
    each_s = synthetic.file_s_of(1, 10e-3) / 2**0.5
    assert file.spread_sigma == pytest.approx(lognormal(whole * each_s / file.cpu), rel=0.2)
    # And so do all its blocks.
    block, each_s = found.own_costs["tftp_block"], synthetic.file_s_of(5, 10e-3) / 10**0.5
    assert block.spread_sigma == pytest.approx(lognormal(whole * each_s / block.cpu), rel=0.2)


def lognormal(variation):
    """Return the sigma of a lognormal with this coefficient of variation."""
    return math.sqrt(math.log1p(variation**2))


def test_what_a_program_was_described_with_at_that_step_is_in_it(device):
    described = implementation.load(profile.IMPLEMENTATIONS / "trustchain_throughput_2025.toml")
    taken = {name for name, one in described.own_costs.items() if one.step == "endpoint_setup"}
    assert taken
    found = own.measured(described, device, [reconnecting(report, 5e-3) for report in paced(2)])
    assert not taken & set(found.own_costs)
    assert found.own_costs["connecting"].step == "endpoint_setup"


def test_what_steps_take_longer_after_a_rest_is_in_no_new_connection(device, monkeypatch):
    # The engine adds it, so with it in the cost it would count twice. It is that after the rest, of
    # either step: neither end has done one since the last message.
    report, described = reconnecting(paced(1)[0], 5e-3), implementation.load(DESCRIBED)
    found = own.measured(described, device, [report]).own_costs["connecting"].cpu
    longer_s = longer_after(report, 10e-3, device)
    assert longer_s > 0.01 * found
    monkeypatch.setattr(pace.Pace, "longer_s", lambda *_: 0.0)
    whole = own.measured(described, device, [report]).own_costs["connecting"].cpu
    assert whole - found == pytest.approx(longer_s, rel=0.05)


def test_a_disturbed_report_leaves_what_the_others_tell(device):
    # Kept messages took as long as new connections there: nothing is left of those.
    disturbed = reconnecting(paced(1)[0], 1e-4)
    calm = [reconnecting(report, 5e-3) for report in paced(2)]
    described = implementation.load(DESCRIBED)
    alone = own.measured(described, device, calm).own_costs["connecting"]
    beside = own.measured(described, device, [*calm, disturbed]).own_costs["connecting"]
    assert beside.cpu == pytest.approx(alone.cpu, rel=1e-9)
    assert "connecting" not in own.measured(described, device, [calm[0], disturbed]).own_costs


def test_reports_that_tell_one_size_are_left_out_beside_others(device):
    described = implementation.load(DESCRIBED)
    mixed = [without_large(paced(1)[0]), paced(2)[1]]
    told = own.measured(described, device, mixed).own_costs["receiving"]
    assert told.per_byte == pytest.approx(synthetic.BESIDE_PER_BYTE_S, rel=0.02)


@pytest.mark.parametrize("name", ["trustchain_throughput_2025", "trustchain_latency_2025"])
def test_what_is_measured_stands_in_any_description(device, name, tmp_path):
    # Both have a cost of their own at the step of a proposal.
    origin = profile.IMPLEMENTATIONS / f"{name}.toml"
    found = own.measured(implementation.load(origin), device, paced(2))
    assert found.own_costs["proposing"].after_rest is None
    file = tmp_path / "here.toml"
    write.write_implementation(origin, found, file)
    assert implementation.load(file).own_costs.keys() == found.own_costs.keys()


def longer_after(report, rest_s, device):
    """Return what a trade over a new connection takes longer after a rest, s.

    A turn has the steps that an end does in one go.
    """
    turns = [[f"handshake_{step}"] for step in ("start", "respond", "finish", "confirm")]
    turns += [["decode", "verify", "sign", "hash", "encode"], ["decode", "verify", "hash"]]
    rested = pace.Pace(report, wakes.slept_s(report, rest_s))

    def hot_s(step):
        cost = device.operations[step]
        return cost.cpu + 668 * cost.per_byte

    received_s = bookkeeping.received(report).mean
    hot = [sum(map(hot_s, turn)) + received_s * ("decode" in turn) for turn in turns]
    return sum(map(rested.longer_s, hot))


def without_large(report):
    """Return the report as of a probe that times steps of trades of one size."""
    whole = report.document.model_dump(mode="json")
    large = {"payload_bytes": 1000.0}
    cases = [case for case in whole["measurements"] if case["parameters"] != large]
    for case in cases:
        if case["kernel"] == "trade_bookkeeping":
            case["parameters"] = {}
    return in_memory({**whole, "measurements": cases}, hash(report.digest) % 1000)


def reconnecting(report, rtt_s):
    """Return the report with messages over new connections, and rests of 2 ms of kept ones.

    After 2 ms they take 0.8 of `rtt_s`.
    """
    whole = report.document.model_dump(mode="json")
    phone = synthetic.Phone(9)
    timed = [
        ("quic_reconnect_at_pace", 10e-3, rtt_s),
        ("quic_reconnect_at_pace", 2e-3, 0.8 * rtt_s),
    ]
    for kernel, rest_s, trip_s in (*timed, ("quic_message_at_pace", 2e-3, 250e-6)):
        trips = {"rtt_s": phone.times(trip_s, iterations=1)}
        trips["cpu_s"] = trips["rtt_s"]
        size = {"bytes": 668} if kernel == "quic_message_at_pace" else {"payload_bytes": 100}
        asked = {**size, "rest_s": rest_s}
        whole["measurements"].append(synthetic.measurement(kernel, "quic", trips, parameters=asked))
    return in_memory(whole, hash(report.digest) % 1000)


def test_a_report_without_it_leaves_the_description_as_it_is(device):
    described = implementation.load(DESCRIBED)
    plain = in_memory(synthetic.Phone(1).report(), 1)
    for reports in ([plain], [plain, *paced(1)]):
        assert own.measured(described, device, reports) == described
    untold = in_memory(without(synthetic.Phone(1).paced_report(), "tftp_file", reason="none"))
    assert own.measured(described, device, [untold]).own_costs["tftp_block"].basis == "assumed"


def test_it_reads_as_it_was_written(found_of_turns, tmp_path):
    found = found_of_turns
    file = tmp_path / "probe_here.toml"
    write.write_implementation(DESCRIBED, found, file)
    read = implementation.load(file)
    assert read.model_dump(exclude={"own_costs"}) == found.model_dump(exclude={"own_costs"})
    for name, cost in found.own_costs.items():
        assert read.own_costs[name].cpu == pytest.approx(cost.cpu, rel=1e-4)
    known = found.own_costs["tftp_block"].after_rest
    read_again = read.own_costs["tftp_block"].after_rest
    assert [one.ratio for one in read_again] == [one.ratio for one in known]
