"""Waking who receives, apart from receiving; sums of costs beside round trips that were timed."""

from __future__ import annotations

import json
import math
import re

import pytest

from pocketsim.calibration.fit import round_trips, wakes, write
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.calibration.fit.samples import Sigma
from pocketsim.calibration.fit.wakes import of_a_part
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import profile
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import synthetic_reports as synthetic
from support.synthetic_reports import in_memory, without

pytestmark = pytest.mark.slow

BASE = "moto_g04s"
_SEND_S, _READ_S = (
    synthetic.KERNELS[name][1] + 668 * synthetic.KERNELS[name][2]
    for name in ("udp_send", "udp_receive")
)


def waking(number_of):
    return [in_memory(synthetic.Phone(n).waking_report(), n) for n in range(number_of)]


@pytest.fixture(scope="module")
def fitted():
    return Calibration().fit(waking(4))


def test_a_wake_up_is_what_a_passage_takes_beyond_sending_and_reading(fitted):
    wake = fitted.profile_.operations["udp_wake"]
    assert wake.cpu == wake.per_byte == 0
    assert wake.wait == pytest.approx(synthetic.PASSAGE_S - _SEND_S - _READ_S, rel=0.05)
    assert 0 < wake.standard_error < 0.1 * wake.wait
    # Of the whole passage: the wait alone varies as much in seconds.
    assert wake.spread_sigma == pytest.approx(0.1 * synthetic.PASSAGE_S / wake.wait, rel=0.2)
    assert wake.basis == "measured"
    assert "udp_wake_up at 668 bytes" in wake.source
    assert fitted.profile_.operations["udp_receive"].wait == 0


def test_who_has_rested_for_less_wakes_sooner(fitted):
    hot, rested = fitted.profile_.scheduler.wake_after
    passage_s = synthetic.PASSAGE_S
    waits_s = [factor * passage_s - _SEND_S - _READ_S for factor in (0.25, 1.0)]
    # For the rest, and for the answer's way.
    assert hot.rest == pytest.approx(0.25 * passage_s, rel=0.05)
    # A sleep takes longer than it was asked for.
    slept_s = wakes.slept_s(in_memory(synthetic.Phone(0).waking_report()), 10e-3)
    assert 10e-3 < slept_s < 20e-3
    assert rested.rest == pytest.approx(slept_s + passage_s, rel=0.01)
    assert hot.ratio == pytest.approx(waits_s[0] / waits_s[1], abs=4 * hot.standard_error)
    assert 0 < hot.standard_error < 0.1 * hot.ratio
    assert (rested.ratio, rested.samples) == (1, 4 * 200)


def test_what_one_report_has_not_timed_is_told_by_none():
    def only_rested(report):
        kept = [one for one in report["measurements"] if one["parameters"].get("rest_s") != 0]
        return {**report, "measurements": kept}

    reports = [synthetic.Phone(number).waking_report() for number in range(2)]
    one = [in_memory(reports[0]), in_memory(only_rested(reports[1]), 1)]
    assert Calibration().fit(one).profile_.scheduler.wake_after is None


def test_rests_of_a_profile_reach_the_engine(fitted, scenario):
    write.write_profile(fitted.profile_, scenario.parent / "phone.toml")
    own = ["devices[0].profile=phone.toml"]
    column = build_plan(resolve(load(scenario, own))[0].resolved, 0)["profiles"][0]
    known = fitted.profile_.scheduler.wake_after
    assert list(column["wake_after"]["rest_s"]) == [wake.rest for wake in known]
    assert list(column["wake_after"]["ratio"]) == [wake.ratio for wake in known]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("ratio = 1.0", "ratio = 0.0"), "greater than 0"),
        (('\nrest = "', '\nrest = "1000000', 1), "rests must ascend"),
        (("[operations.udp_wake]", "[unknown]"), "unknown"),
    ],
)
def test_a_rest_is_refused_that_means_nothing(fitted, tmp_path, change, reason):
    file = tmp_path / "phone.toml"
    write.write_profile(fitted.profile_, file)
    text = file.read_text()
    assert change[0] in text
    file.write_text(text.replace(*change))
    with pytest.raises(ScenarioError, match=reason):
        profile.load(file)


def test_rests_need_what_they_are_a_ratio_of(fitted, tmp_path):
    file = tmp_path / "phone.toml"
    known = dict(fitted.profile_.operations)
    del known["udp_wake"]
    alone = fitted.profile_.model_copy(update={"operations": known, "scatter": None})
    file.write_text(write.as_toml(alone))
    with pytest.raises(ScenarioError, match="which there is none of"):
        profile.load(file)


def test_costs_of_a_passage_add_up_to_it(fitted):
    one_way_s = round_trips.added_up_s(fitted.profile_, 668) / 2
    assert one_way_s == pytest.approx(synthetic.PASSAGE_S, rel=0.02)


def test_a_report_without_the_kernel_is_priced_as_ever():
    plain = Calibration().fit([in_memory(synthetic.Phone(1).report())])
    mixed = Calibration().fit(
        [in_memory(synthetic.Phone(1).report()), in_memory(synthetic.Phone(2).waking_report(), 2)]
    )
    for found in (plain, mixed):
        assert "udp_wake" not in found.profile_.operations
        wait_s = found.profile_.operations["udp_receive"].wait
        assert wait_s == pytest.approx(synthetic.WAKE_UP_S, rel=0.1)
    assert plain.round_trips_ == ()


def test_a_base_gives_reading_and_waking_together(fitted):
    report = in_memory(without(synthetic.Phone(1).report(), "udp_receive", reason="no such call"))
    found = Calibration(("new", fitted.profile_)).fit([report])
    assert {part.key for part in found.kept_} >= {"udp_receive", "udp_wake"}
    for name in ("udp_receive", "udp_wake"):
        assert found.profile_.operations[name] == fitted.profile_.operations[name]


def test_a_profile_has_it_or_not(fitted, tmp_path):
    file = tmp_path / "phone.toml"
    write.write_profile(fitted.profile_, file)
    assert profile.load(file).operations["udp_wake"].wait > 0
    assert "udp_wake" not in profile.load(profile.DEVICES / f"{BASE}.toml").operations
    misspelt = file.read_text().replace("[operations.udp_wake]", "[operations.udp_wak]")
    file.write_text(misspelt)
    with pytest.raises(ScenarioError, match="did you mean udp_wake"):
        profile.load(file)


def test_round_trips_stand_beside_what_costs_add_up_to(fitted):
    hot, rested = fitted.round_trips_
    assert (hot.kernel, hot.rest_s, hot.is_judged) == ("udp_round_trip", 0, False)
    assert (rested.kernel, rested.rest_s, rested.is_judged) == ("udp_wake_up", 10e-3, False)
    assert rested.ratio == pytest.approx(1, abs=0.05)
    assert not rested.is_far_off
    # Three times as long as the hot one, which nobody promised.
    assert hot.ratio == pytest.approx(3, rel=0.1)
    assert not hot.is_far_off
    assert hot.verdict == f"not judged: {round_trips.NO_WAKE_UP}"
    assert rested.verdict == f"not judged: {round_trips.MADE_OF_IT}"


@pytest.mark.parametrize("report", ["report", "waking_report"])
@pytest.mark.parametrize("rtt_s", [3e-6, 125e-6, 4e-3])
def test_no_ratio_stands_there_without_a_verdict(cli, tmp_path, report, rtt_s):
    phone = synthetic.Phone(1)
    told = getattr(phone, report)()
    for kernel, asked in (
        ("udp_round_trip", {"bytes": 668}),
        ("udp_wake_up", {"bytes": 128, "rest_s": 10e-3}),
    ):
        timed = {"rtt_s": phone.times(rtt_s, iterations=1)}
        told["measurements"].append(synthetic.measurement(kernel, "udp", timed, parameters=asked))
    (tmp_path / "r.json").write_text(json.dumps(told))
    done = cli("calibrate", "r.json", "-o", "p.toml")
    assert done.returncode == 0, done.stderr
    _, _, table = done.stderr.partition("what costs add up to\n")
    rows = [line for line in table.splitlines() if line.startswith("  udp_")]
    assert rows
    for row in rows:
        *_, ratio, verdict = re.split(" {2,}", row)
        apart = not 1 / round_trips.FACTOR_MAX <= float(ratio) <= round_trips.FACTOR_MAX
        assert verdict.startswith(("warning", "not judged") if apart else ("agree", "not judged"))


@pytest.mark.parametrize(("factor", "far_off"), [(0.5, True), (1.0, False), (2.0, True)])
def test_what_did_not_price_a_wake_up_judges_it(factor, far_off):
    phone = synthetic.Phone(1)
    report = phone.waking_report()
    timed = {"rtt_s": phone.times(2 * factor * synthetic.PASSAGE_S, iterations=1)}
    asked = {"bytes": 128, "rest_s": 10e-3}
    told = synthetic.measurement("udp_wake_up", "udp", timed, parameters=asked)
    report["measurements"].append(told)
    (small,) = (
        one for one in Calibration().fit([in_memory(report)]).round_trips_ if one.size_bytes == 128
    )
    assert (small.is_judged, small.is_far_off) == (True, far_off)


def test_the_whole_of_a_deviation_is_that_of_the_part():
    whole, part = 80e-6, 2e-6  # the rest of the passage never varies
    sigma = of_a_part(Sigma(0.5, 0.01), whole / part)
    deviation_s = part * math.sqrt(math.expm1(sigma.value**2))
    assert deviation_s == pytest.approx(whole * math.sqrt(math.expm1(0.25)))
    step = (of_a_part(Sigma(0.51, 0.0), whole / part).value - sigma.value) / 0.01
    assert sigma.standard_error == pytest.approx(0.01 * step, rel=0.02)


def test_where_sending_and_reading_are_all_of_it_nothing_is_apart(monkeypatch):
    monkeypatch.setattr(synthetic, "PASSAGE_S", 0.9 * (_SEND_S + _READ_S))
    found = Calibration().fit([in_memory(synthetic.Phone(1).waking_report())])
    assert "udp_wake" not in found.profile_.operations


@pytest.mark.parametrize(("rtt_s", "far_off"), [(60e-6, True), (125e-6, False), (250e-6, True)])
def test_what_is_far_off_is_warned_of(cli, tmp_path, rtt_s, far_off):
    # Costs add up to 2 (10 + 7 + 40) us and what 668 bytes take.
    phone = synthetic.Phone(1)
    report = phone.report()
    timed = {"rtt_s": phone.times(rtt_s, iterations=1)}
    report["measurements"].append(
        synthetic.measurement("udp_round_trip", "udp", timed, parameters={"bytes": 668})
    )
    (tmp_path / "r.json").write_text(json.dumps(report))
    done = cli("calibrate", "r.json", "-o", "p.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert ("warning: udp_round_trip at 668 bytes" in done.stderr) == far_off
    told = json.loads(done.stdout)
    (one,) = told["round_trips"]
    assert one["is_far_off"] == far_off
    assert one["measured_s"] == pytest.approx(rtt_s, rel=0.05)
    assert one["ratio"] == pytest.approx(one["added_up_s"] / one["measured_s"])
    assert told["profile"] == "p.toml"
    assert (tmp_path / "p.toml").exists()


def test_a_scenario_may_change_it_where_the_profile_has_it(fitted, scenario):
    write.write_profile(fitted.profile_, scenario.parent / "phone.toml")
    own = ["devices[0].profile=phone.toml", "devices[0].cost.udp_wake=2.0"]
    resolved = resolve(load(scenario, own))[0].resolved
    (wake,) = (one["operations"]["udp_wake"] for one in resolved["profiles"].values())
    assert wake["wait_s"] == 2 * fitted.profile_.operations["udp_wake"].wait
    with pytest.raises(ScenarioError, match="moto_g04s has no such operation") as refused:
        resolve(load(scenario, own[1:]))
    assert refused.value.key_path == "devices[0].cost.udp_wake"
