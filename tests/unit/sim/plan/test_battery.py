"""Batteries of a plan: levels at the start, what drains them, and when they are charged."""

from __future__ import annotations

import numpy as np
import pytest

from pocketsim.sim.base.streams import Streams
from pocketsim.sim.plan import battery
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

DAY_S, HOUR_S = 86_400.0, 3600.0
STREAMS = Streams(7, "repetition/0/battery")
CHARGING = {
    "power_w": 10.0,
    "per_day": 1.5,
    "spread": 0.0,
    "hours": [1e-3] * 18 + [2.0, 1.0] + [1e-3] * 4,
    "length": {"distribution": "lognormal", "median_s": 600.0, "sigma": 0.1, "longest_s": None},
}
LAW = {
    "kind": "battery",
    "capacity_j": 55e3,
    "level": [0.34, 1.0],
    "draws_w": 0.4,
    "screen_j": 3600.0,
    "screen_hours": [1.0] * 24,
    "time_of_day_s": 0.0,
    "revives_at": 0.05,
    "charging": None,
}
LANES = np.arange(2000, dtype=np.uint64)


def test_a_phone_without_a_charger_and_with_an_even_screen_has_one_row() -> None:
    phone, time_s, other_w, charge_w = battery.flows(LAW, STREAMS, LANES[:3], DAY_S)
    assert phone.tolist() == [0, 1, 2]
    assert time_s.tolist() == charge_w.tolist() == [0, 0, 0]
    assert other_w == pytest.approx(0.4 + 3600 / DAY_S)


def test_a_screen_takes_its_joules_at_the_hours_of_the_day() -> None:
    law = LAW | {"screen_hours": [0.0] * 20 + [3.0, 1.0, 0.0, 0.0], "time_of_day_s": 19.5 * HOUR_S}
    _, time_s, other_w, _ = battery.flows(law, STREAMS, LANES[:1], DAY_S)
    lasts_s = np.diff(np.append(time_s, DAY_S))
    assert np.sum(lasts_s * (other_w - 0.4)) == pytest.approx(3600.0)
    assert other_w[np.searchsorted(time_s, 0.5 * HOUR_S)] == pytest.approx(0.4 + 2700 / HOUR_S)


def test_a_charger_gives_its_power_while_it_is_plugged_in_also_from_before_the_start() -> None:
    law = LAW | {"charging": CHARGING, "time_of_day_s": 18.5 * HOUR_S}
    phone, time_s, _, charge_w = battery.flows(law, STREAMS, LANES, HOUR_S / 2)
    assert set(charge_w) == {0.0, 10.0}
    first = np.flatnonzero(np.append(True, phone[1:] != phone[:-1]))
    assert (time_s[first] == 0).all()
    goes_on = np.append((time_s[1:] == 0) & (phone[1:] == phone[:-1]), False)
    last_at_0 = np.flatnonzero((time_s == 0) & ~goes_on)
    # One time in that hour, of ten minutes: who is plugged in is not plugged in again.
    plugged_in = charge_w[last_at_0].astype(bool).mean()
    assert plugged_in == pytest.approx((1 / 6) / (1 + 1 / 6), abs=0.03)


def test_another_phone_or_a_longer_run_moves_no_draw() -> None:
    law = LAW | {"charging": CHARGING}
    few = battery.flows(law, STREAMS, LANES[:5], DAY_S)
    many = battery.flows(law, STREAMS, LANES[:50], 2 * DAY_S)
    mine = (many[0] < 5) & (many[1] < DAY_S)
    inside = few[1] < DAY_S
    assert [column[inside].tolist() for column in few] == [column[mine].tolist() for column in many]


def test_phones_on_the_mains_are_never_empty(root) -> None:
    mains = ["devices[2].battery={kind='none'}", "battery={capacity='55kJ', draws='0.4W'}"]
    document = load(root / "pocketsim/scenarios/scale/town_day.toml", mains)
    found = build_plan(resolve(document)[0].resolved, 0)["battery"]
    level_j, role = np.asarray(found["level_j"]), np.repeat([0, 1], [2000, 61])
    assert np.isinf(level_j[role == 1]).all()
    assert (level_j[role == 0] < 55e3).all()
    assert set(np.asarray(found["phone"])) == set(range(2000))
