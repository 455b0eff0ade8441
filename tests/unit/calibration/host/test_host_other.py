"""Another device on one core: its points, its simulation, and what is asked of either profile."""

import json
import math
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from pocketsim.api.host import host_validation, second_device
from pocketsim.calibration.host import (
    blocks,
    comparing,
    judging,
    measuring,
    other,
    other_tables,
    prediction,
)
from pocketsim.calibration.host.comparing import Comparison
from pocketsim.calibration.host.computer import Cores
from pocketsim.calibration.host.figures import Figures
from pocketsim.calibration.host.judging import Compared
from pocketsim.calibration.host.measuring import Bench
from pocketsim.cli.validate import host as command
from pocketsim.report.host import page
from pocketsim.report.host import second_device as other_page
from pocketsim.sim.devices.profile import DEVICES
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import token_batches

POINTS = other.design(other.FULL)
CARRIERS = set(other.CARRIERS)
OWN_P50, OWN_P95, FOREIGN_P50 = range(3)


def documents(device):
    return prediction.Documents(device, device, Path("probe"))


def figures_of(rtt_s, tail=2.0):
    return Figures(50, 50, rtt_s, tail * rtt_s, 10.0, 1.0, 700.0, 850.0)


def comparison(off, *, tail=2.0, points=POINTS):
    """Return points whose simulation is `off` times what was measured."""
    found = []
    for number, point in enumerate(points):
        rtt_s = 0.02 * (1 + number)
        measured = tuple(figures_of(rtt_s * factor) for factor in (0.9, 1.0, 1.2, 1.0))
        factors = off * np.exp(np.linspace(-0.02, 0.02, 9))
        simulated = tuple(figures_of(rtt_s * factor, tail) for factor in factors)
        found.append(Compared(point, measured, simulated, simulated[:1], (1e-5, 2e-5)))
    rows = judging.judge(found, replace(other.FULL, is_judged=False))
    return Comparison(rows, tuple(found))


def compared(own=1.0, foreign=0.5, **changes):
    both = comparison(own, **changes), comparison(foreign)
    return other.OtherComparison(*both, other.judge(*both))


def test_points_are_calm_without_a_relay_and_the_same_every_time():
    assert other.design(other.FULL) == POINTS
    assert [point.carrier for point in POINTS].count("udp") == 2
    assert {point.carrier for point in POINTS} == CARRIERS
    low, high = other.LOADS
    slices = sorted(int(6 * (point.load_ratio - low) / (high - low)) for point in POINTS)
    assert slices == list(range(6))  # a Latin hypercube has one in each
    assert not any(point.is_relayed or point.is_overloaded or point.is_fitted for point in POINTS)
    assert len({point.payload_bytes for point in POINTS}) == 6
    assert len(other.design(other.QUICK)) == 2


def test_both_ends_have_the_core_of_the_listener():
    assert other.one_core(Cores(0, 1, 0)) == Cores(1, 1, 1)
    assert other.one_core(Cores(3, 4, 5)).ends == {4}


def test_both_ends_are_simulated_on_the_cores_of_one(tmp_path):
    import tomli_w

    setting = prediction.Setting(10.0, 0.0, 0.0)
    apart = prediction.document(
        POINTS[0], setting, documents(DEVICES / "moto_g04s.toml"), other.QUICK
    )
    for scenario, expected in ((apart, []), (prediction.on_one_core(apart), [0, 0])):
        file = tmp_path / "point.toml"
        file.write_text(tomli_w.dumps(scenario))
        plan = build_plan(resolve(load(file))[0].resolved, 0)
        assert list(plan["phones"]["cores_of"]) == expected
    assert "computer" not in apart["devices"][0]  # it was not changed


def test_either_profile_is_simulated_on_one_core(monkeypatch, tmp_path):
    asked_of = []

    def simulate(asked, _jobs, done):
        found = {}
        for name, (scenario, _) in asked.items():
            (profile,) = {group["profile"] for group in scenario["devices"]}
            assert {group["computer"] for group in scenario["devices"]} == {"host"}
            asked_of.append((profile, scenario["run"]["draw"]))
            found[name] = [figures_of(0.02 if profile.endswith("own") else 0.01)]
            done(name, found[name])
        return found

    class Nothing:
        def kept(self, _made_from):
            return None

        def keep(self, made_from, value):
            pass

    profiles = other.Profiles(*(documents(tmp_path / name) for name in ("own", "foreign")))
    for file in (profiles.own.device, profiles.foreign.device):
        file.write_text(file.name)
    monkeypatch.setattr(comparing.prediction, "simulate", simulate)
    one = {"figures": figures_of(0.021).as_json(), "relay": None}
    measured = [blocks.Measured(point, 40.0, 20.0, (one,) * 4) for point in POINTS]
    asked = (profiles, measured, lambda _size: (1e-5, 2e-5))
    found = other.compare(*asked, other.FULL, 1, Nothing(), lambda _text: None)
    draws = {
        (str(one.device), draw)
        for one in (profiles.own, profiles.foreign)
        for draw in ("posterior", "mean")
    }
    assert set(asked_of) == draws
    assert [bar.is_met for bar in found.bars] == [True, True, True]
    assert not any(row.is_dropped for both in found.rows for row in both)
    for own, foreign in found.rows:
        assert own.errors[judging.RTT_P50].error == pytest.approx(math.log(20 / 21))
        assert foreign.errors[judging.RTT_P50].error == pytest.approx(math.log(10 / 21))
    quick = other.compare(*asked, other.QUICK, 1, Nothing(), lambda _text: None)
    assert quick.bars == ()


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({}, set()),
        ({"own": 1.12}, {OWN_P50}),
        ({"own": 0.88}, {OWN_P50}),
        ({"tail": 2.7}, {OWN_P95}),
        ({"foreign": 0.7}, {FOREIGN_P50}),  # too near: the trades say nothing of the profile
        ({"foreign": 1.6}, set()),
    ],
)
def test_each_bar_is_missed_by_what_it_is_about(changes, missed):
    found = compared(**changes)
    assert {place for place, bar in enumerate(found.bars) if not bar.is_met} == missed
    assert found.is_met is not bool(missed)


def test_what_is_unknown_meets_no_bar():
    unknown = compared(own=math.nan, foreign=math.nan)
    assert [bar.is_met for bar in unknown.bars] == [False] * 3
    none = comparison(1.0, points=[])
    bars = other.judge(none, none)
    assert [bar.is_met for bar in bars] == [None] * 3


def validation(*, is_judged=True, **changes):
    data = {"probe_sha256": "0123456789abcdef", "core": 1, "reports": [{"spoiled": ["hot: <40>"]}]}
    return second_device.OtherValidation(compared(**changes), is_judged=is_judged, data=data)


def test_a_verdict_is_of_both_and_none_of_a_quick_look():
    assert validation().verdict == host_validation.MET
    assert validation(own=2.0).verdict == host_validation.MISSED
    assert validation(own=2.0, is_judged=False).verdict == host_validation.NOT_JUDGED
    tokens = token_batches.compared()
    whole = host_validation.HostValidation(
        compared().own, tokens, is_judged=True, data={"reports": []}, other=validation(own=2.0)
    )
    assert whole.verdict == host_validation.MISSED
    told = json.loads(whole.as_json())["other"]
    alone = json.loads(validation(own=2.0).as_json())
    assert alone == alone | told  # the same, in a file of its own
    assert [bar["met"] for bar in told["bars"]] == [False, False, True]
    assert told["rows"][0]["own"]["rtt_p50_s"]["error"] == pytest.approx(math.log(2))
    assert "other" not in json.loads(replace(whole, other=None).as_json())


def test_there_is_no_verdict_where_two_cores_share_no_cache_in_a_report():
    reports = [{"name": name, "cores_apart": name == "turn_1"} for name in ("before", "turn_1")]
    whole = host_validation.HostValidation(
        compared().own,
        token_batches.compared(),
        is_judged=True,
        data={"reports": reports},
        other=validation(own=2.0),
    )
    assert whole.verdict == host_validation.NOT_JUDGED
    told = command._no_verdict(whole)
    assert told == (
        "There is no verdict, as the two cores shared no cache in 1 of 2 reports (turn_1)."
    )
    calm = replace(whole, data={"reports": reports[:1]})
    assert calm.verdict == host_validation.MISSED


def test_pages_have_every_point_by_both_profiles():
    found = compared()
    rows = other_tables.rows_of(found.rows)
    assert [row[0] for row in rows] == [point.name for point in POINTS]
    assert all(len(row) == len(other_tables.HEAD) for row in rows)
    assert rows[0][-2] == f"{math.log(0.5):+.3f}"
    alone = other_page.page(found, "Another device", ["Hot: <40>.", "Verdict: met."])
    beside = page.page(
        found.own, "This host", ["Two cores.", "Verdict: met."], token_batches.compared(), found
    )
    for text in (alone, beside):
        assert "by this one's profile, p50 of round trips" in unescape(text)
        assert all(f"<td>{point.name}</td>" in text for point in POINTS)
    assert "Hot: &lt;40&gt;." in alone
    parts = ["<h1>This host", "Verdict: met.", 'id="points"', 'id="other"', "Two cores."]
    assert sorted(parts, key=beside.rindex) == parts  # what came of it first
    unknown = other_tables.rows_of(compared(own=math.nan).rows)
    assert unknown[0][5] == unknown[0][7] == "-"


def test_ramps_of_a_slow_device_begin_lower(monkeypatch):
    asked_per_s = []

    def traded(_bench, asked, *_):
        asked_per_s.append(asked.rate_per_s)
        return None, replace(figures_of(0.02), store_rate_per_s=min(40.0, asked.rate_per_s))

    monkeypatch.setattr(Bench, "_traded", traded)
    point = replace(POINTS[0], carrier="quic_keep")
    for slowness, rates in ((1.0, [1500.0]), (other.SLOWNESS, [1500 / 27, 1500 / 9])):
        asked_per_s.clear()
        bench = Bench(None, None, other.QUICK, measuring.Kept, slowness=slowness)
        assert bench._ramp(point) == 40.0
        assert asked_per_s == pytest.approx(rates)
