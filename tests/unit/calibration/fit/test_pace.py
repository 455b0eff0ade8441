"""What messages take at their own pace, beside hot loops: steps after a rest, and waking QUIC."""

from __future__ import annotations

import numpy as np
import pytest

from pocketsim.calibration.fit import pace, quic_wakes, wakes, write
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.calibration.host import processes
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import profile
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import synthetic_reports as synthetic
from support.synthetic_reports import in_memory, without


def paced(number_of):
    return [in_memory(synthetic.Phone(n).paced_report(), n) for n in range(number_of)]


def slept_s(asked_s):
    """Return how long a sleep takes that was asked for."""
    return wakes.slept_s(paced(1)[0], asked_s)


@pytest.fixture(scope="module")
def fitted():
    return Calibration().fit(paced(4))


def test_what_is_cold_takes_longer(fitted):
    queued, hot, rested = fitted.profile_.scheduler.pace_after
    assert queued.rest == 0
    assert hot.rest == pytest.approx(0.25 * synthetic.PASSAGE_S, rel=0.05)
    assert rested.rest == pytest.approx(slept_s(10e-3) + synthetic.PASSAGE_S, rel=0.01)
    for found, known in zip((queued, hot, rested), (None, 0.0, 10e-3), strict=True):
        assert found.ratio == pytest.approx(synthetic.PACES[known], abs=4 * found.standard_error)
        assert 0 < found.standard_error < 0.02 * found.ratio
        assert "trade_at_pace" in found.source


def test_a_pace_holds_for_as_long_as_a_message_takes():
    rested = pace.Pace(paced(1)[0], slept_s(10e-3) + synthetic.PASSAGE_S)
    ratio = 1 + rested.longer_s(1e-9) / 1e-9
    assert ratio == pytest.approx(synthetic.PACES[10e-3], rel=0.05)
    assert rested.longer_s(10.0) == rested.longer_s(1.0)  # all else is a hot loop
    assert pace.Pace(in_memory(synthetic.Phone(1).report(), 1), 10e-3).longer_s(1.0) == 0.0


def test_waking_quic_is_what_a_round_trip_takes_beyond_what_is_known(fitted):
    wake = fitted.profile_.operations["quic_wake"]
    assert wake.cpu == pytest.approx(synthetic.QUIC_WAKES[10e-3][0], rel=0.05)
    assert wake.wait == wake.per_byte == 0
    queued, short, priced = fitted.profile_.scheduler.quic_wake_after
    assert (queued.rest, priced.ratio) == (0, 1)
    assert short.rest == pytest.approx(slept_s(0.2e-3), rel=0.02)
    assert priced.rest == pytest.approx(slept_s(10e-3), rel=0.01)
    assert queued.ratio == pytest.approx(synthetic.QUIC_QUEUED_S / wake.cpu, rel=0.1)
    # Passages between rests that were timed lie on a line over the logarithm of the rest.
    passage_s = wakes.passage_s(paced(1)[0], slept_s(0.2e-3))
    left_s = sum(synthetic.QUIC_WAKES[0.2e-3]) - passage_s
    assert short.ratio == pytest.approx(left_s / wake.cpu, abs=0.05)


def test_who_has_not_timed_it_tells_nothing():
    plain = in_memory(synthetic.Phone(1).waking_report(), 1)
    for reports in ([plain], [plain, *paced(1)]):
        assert pace.after(reports) == []
        assert quic_wakes.price(reports) is None
        found = Calibration().fit(reports).profile_
        assert found.scheduler.pace_after is found.scheduler.quic_wake_after is None
        assert "quic_wake" not in found.operations


def test_a_pace_needs_what_it_is_a_ratio_of():
    report = in_memory(without(synthetic.Phone(1).paced_report(), "sha256", reason="none"))
    assert pace.after([report]) == []


def test_they_are_in_the_file_and_reach_the_engine(fitted, scenario):
    file = scenario.parent / "phone.toml"
    write.write_profile(fitted.profile_, file)
    assert profile.load(file) == fitted.profile_
    own = ["devices[0].profile=phone.toml"]
    column = build_plan(resolve(load(scenario, own))[0].resolved, 0)["profiles"][0]
    for key in ("wake_after", "quic_wake_after", "pace_after"):
        known = getattr(fitted.profile_.scheduler, key)
        assert list(column[key]["rest_s"]) == [one.rest for one in known]
        assert list(column[key]["ratio"]) == [one.ratio for one in known]


def test_ratios_of_one_table_are_drawn_together(fitted, scenario):
    write.write_profile(fitted.profile_, scenario.parent / "phone.toml")
    own = ["devices[0].profile=phone.toml", "run.draw=posterior"]
    resolved = resolve(load(scenario, own))[0].resolved
    known = fitted.profile_.scheduler.pace_after
    tables = [build_plan(resolved, n)["profiles"][0]["pace_after"]["ratio"] for n in range(60)]
    deviations = np.log(tables) - np.log([one.ratio for one in known])
    assert np.corrcoef(deviations.T).min() > 0.999
    for spread, one in zip(deviations.std(axis=0), known, strict=True):
        assert spread == pytest.approx(one.standard_error / one.ratio, rel=0.35)


def rests_of(file):
    return profile.load(file).scheduler.wake_after


def test_a_base_gives_both_ways_of_waking(fitted):
    report = in_memory(without(synthetic.Phone(1).report(), "udp_receive", reason="no such call"))
    found = Calibration(("new", fitted.profile_)).fit([report])
    for name in ("udp_wake", "quic_wake"):
        assert found.profile_.operations[name] == fitted.profile_.operations[name]
        assert name in {part.key for part in found.kept_}
    assert found.profile_.scheduler.quic_wake_after == fitted.profile_.scheduler.quic_wake_after


def test_a_report_that_does_not_tell_its_rests_has_no_two_of_none():
    report = synthetic.Phone(1).paced_report()
    kept = [one for one in report["measurements"] if one["kernel"] != "udp_wake_up"]
    paced = pace.after([in_memory({**report, "measurements": kept})])
    assert [one.rest for one in paced] == [0, pytest.approx(slept_s(10e-3), rel=0.01)]


def test_over_the_loopback_waking_is_work_of_the_sender(fitted, tmp_path):
    file, process = tmp_path / "phone.toml", tmp_path / "process.toml"
    write.write_profile(fitted.profile_, file)
    before = profile.load(file)
    # After 10 ms a third of the wait is in the call, after none more than there is.
    wait_s = before.operations["udp_wake"].wait
    told = ((1e-6, 2 * wait_s), (10e-3, wait_s / 3), (1.0, wait_s / 2))
    calls = [wakes.WakingCall(*each, wait_s / 10) for each in told]
    processes.of_a_process(file, process, calls, 10e-3)
    after = profile.load(process)
    assert after.operations["udp_wake"].wait == pytest.approx(wait_s * 2 / 3, abs=2e-9)
    # Waking tasks is beyond the passage of a datagram.
    for name in ("quic_wake", "udp_send"):
        assert after.operations[name] == before.operations[name]
    assert after.device.cores.value == 1
    send = before.operations["udp_send"]
    send_s = send.cpu + 668 * send.per_byte
    sends = after.scheduler.send_after
    # Who sends again at once finds the other awake.
    assert [one.rest for one in sends] == [0, *(call.rest_s for call in calls)]
    assert [one.ratio * send_s for one in sends] == pytest.approx(
        [send_s, *(send_s + call.longer_s for call in calls)], rel=1e-6
    )
    errors_s = [one.standard_error * send_s for one in sends]
    assert errors_s == pytest.approx([0, *[wait_s / 10] * len(calls)])
    with pytest.raises(ScenarioError, match="of a process already"):
        processes.of_a_process(process, tmp_path / "twice.toml", calls, 10e-3)
    assert not (tmp_path / "twice.toml").exists()
    # A passage is as long as it was where a call takes no more than there is of a wake-up.
    wakes_s = [
        [one.operations["udp_wake"].wait * each.ratio for each in rests_of(path)]
        for one, path in ((before, file), (after, process))
    ]
    rests_s = [each.rest for each in rests_of(file)]
    late = max(place for place, rest_s in enumerate(rests_s) if rest_s <= 11e-3)
    assert wakes_s[1][late] + wait_s / 3 == pytest.approx(wakes_s[0][late], rel=0.02)
    assert wakes_s[1][0] == pytest.approx(0.1 * wakes_s[0][0], rel=1e-2)
    # Where nobody tells what calls take, sending and waking are as they were.
    processes.of_a_process(file, process, [], 10e-3)
    after = profile.load(process)
    assert (after.operations, after.scheduler) == (before.operations, before.scheduler)


def test_what_waking_adds_to_a_call_is_told_by_rest():
    reports = paced(2)
    hot, rested = wakes.waking_calls(reports)
    assert hot.rest_s < 1e-3
    assert rested.rest_s >= 10e-3
    # Without a rest such a call is the shorter one, of the made-up phone.
    assert hot.longer_s == 0
    assert 0 < rested.standard_error_s < 0.1 * rested.longer_s
    (_, alone) = wakes.waking_calls(reports[:1])
    assert 0 < alone.standard_error_s < 0.1 * alone.longer_s
    assert rested.longer_s == pytest.approx(2 * synthetic.SENT_S - 9e-6 - 668 * 0.4e-9, rel=0.1)
    without_calls = synthetic.Phone(1).paced_report()
    for one in without_calls["measurements"]:
        one["quantities"] = [each for each in one["quantities"] if each["name"] != "sent_s"]
    assert wakes.waking_calls([in_memory(without_calls)]) == []
    assert wakes.waking_calls([]) == []


def test_a_passage_lies_between_those_that_were_timed():
    (report,) = paced(1)
    hot_s, rested_s = (wakes.passage_s(report, rest_s) for rest_s in (1e-9, 1.0))
    assert hot_s == pytest.approx(0.25 * synthetic.PASSAGE_S, rel=0.05)
    assert rested_s == pytest.approx(synthetic.PASSAGE_S, rel=0.05)
    assert hot_s < wakes.passage_s(report, 0.5e-3) < rested_s
    assert wakes.passage_s(in_memory(synthetic.Phone(1).report()), 1e-3) is None
