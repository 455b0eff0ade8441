"""Joules and MB of a phone and day, and which price makes most of the joules, by hand."""

from __future__ import annotations

import math

import pytest

from pocketsim import testing
from pocketsim.sim import metrics
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.metrics import energy_shares, per_phone

# Of networks "lte", "office" and "wifi", in this order: nobody who has an account is on the second.
PARTS_J = {
    "cpu": [3.0],
    "contact": [1.0, 2.0],
    "access_active": [4.0, 0.0, 5.0],
    "access_tail": [60.0, 0.0, 10.0],
    "access_promotion": [15.0, 0.0, 0.0],
}
SAID = NOTHING | {
    "energy_j": {component: sum(parts) for component, parts in PARTS_J.items()},
    "energy_by_part_j": PARTS_J,
    "phone_cpu_s": 0.9,
    "counters": {"phone_access_bytes": 3_000_000, "send": 2},
}
RADIO = {"active_w": 1.0}
HUANG = {"basis": "published", "source": "Huang et al., MobiSys 2012", "year": 2012}


def town(duration_s=21_600.0, kind="tokens", **lte):
    """A town of nine phones and an authority, for a quarter of a day."""
    energy = {
        "core_w": 1.0,
        "access": {"lte": {**RADIO, **lte}, "wifi": RADIO},
        "contacts": {"ble": RADIO, "nfc": RADIO},
    }
    resolved = testing.resolved("town", protocol={"kind": kind}, energy=energy)
    group = resolved["devices"][0]
    resolved["devices"] = [
        {**group, "count": 6, "role": "person"},
        {**group, "count": 3, "role": "shop"},
        {**group, "count": 1, "role": "authority"},
    ]
    resolved["run"] |= {"duration_s": duration_s, "repetitions": 1}
    resolved["network"]["access"] = {"wifi": {}, "lte": {}, "office": {}}
    resolved["contacts"] = {"links": {"nfc": {}, "ble": {}}}
    return resolved


def shares(resolved, said=SAID):
    energy_j = energy_shares.named(said["energy_by_part_j"], resolved)
    found = {
        "energy_by_network_j": {name: metrics.summary([one]) for name, one in energy_j.items()}
    }
    return energy_shares.shares(found, resolved)


def test_joules_and_mb_are_of_a_phone_that_is_no_authority_and_of_24_hours():
    # 9 phones for a quarter of a day are 2.25 phones for a day.
    found = per_phone.measure(town(), SAID)
    assert found == pytest.approx(
        {
            "energy_j_per_phone_day": 100.0 / 2.25,
            "cpu_j_per_phone_day": 3.0 / 2.25,
            "contact_j_per_phone_day": 3.0 / 2.25,
            "access_active_j_per_phone_day": 9.0 / 2.25,
            "access_tail_j_per_phone_day": 70.0 / 2.25,
            "access_promotion_j_per_phone_day": 15.0 / 2.25,
            "core_s_per_phone_day": 0.9 / 2.25,
            "mb_per_phone_day": 3.0 / 2.25,
        }
    )
    assert tuple(found) == per_phone.names(town())


def test_a_run_twice_as_long_with_the_same_joules_has_half_of_them_a_day():
    short, long = (per_phone.measure(town(duration_s), SAID) for duration_s in (3600.0, 7200.0))
    assert list(short.values()) == pytest.approx([2 * value for value in long.values()])


def test_mb_need_no_prices_and_what_computes_has_no_network():
    resolved = town()
    resolved["energy"] = None
    assert list(per_phone.measure(resolved, SAID)) == ["core_s_per_phone_day", "mb_per_phone_day"]
    assert per_phone.measure(town(kind="compute"), SAID) == {}


def test_what_nobody_told_is_undefined_and_what_did_not_happen_is_nothing():
    untold = per_phone.measure(town(), NOTHING)
    assert all(map(math.isnan, untold.values()))
    silent = per_phone.measure(town(), NOTHING | {"counters": {"phone_off": 1}})
    assert silent["mb_per_phone_day"] == 0.0


def test_joules_are_named_by_network_and_kind_of_link_in_the_order_of_the_plan():
    assert energy_shares.named(PARTS_J, town()) == {
        "cpu": 3.0,
        "contact.ble": 1.0,
        "contact.nfc": 2.0,
        "access_active.lte": 4.0,
        "access_active.wifi": 5.0,
        "access_tail.lte": 60.0,
        "access_tail.wifi": 10.0,
        "access_promotion.lte": 15.0,
        "access_promotion.wifi": 0.0,
    }


def test_metrics_have_joules_by_network_that_add_up_to_those_by_component():
    resolved = town(kind="trustchain")
    found = metrics.measure(testing.events(resolved, testing.Shape()), resolved, [SAID])
    by_network = {name: one["mean"] for name, one in found["energy_by_network_j"].items()}
    for component, one in found["energy_j"].items():
        parts = [joules for name, joules in by_network.items() if name.split(".")[0] == component]
        assert sum(parts) == one["mean"]


def test_shares_come_with_what_each_price_rests_on_the_most_first():
    found = shares(town(**HUANG))
    assert [(one.component, one.network) for one in found[:3]] == [
        *(("access_tail", "lte"), ("access_promotion", "lte"), ("access_tail", "wifi")),
    ]
    tail, core = found[0], next(one for one in found if one.component == "cpu")
    assert (tail.share, tail.j_per_phone_day) == pytest.approx((0.6, 60.0 / 2.25))
    assert (tail.basis, tail.source, tail.year) == tuple(HUANG.values())
    # Who says nothing has assumed it.
    assert (core.network, core.basis, core.source, core.year) == ("", "assumed", None, None)
    assert sum(one.share for one in found) == pytest.approx(1.0)
    assert min(one.share for one in found) > 0.0


def test_the_core_says_what_it_rests_on_too():
    resolved = town()
    resolved["energy"] |= {"core_basis": "measured", "core_source": "a meter", "core_year": 2026}
    (core,) = (one for one in shares(resolved) if one.component == "cpu")
    assert (core.basis, core.source, core.year) == ("measured", "a meter", 2026)


def test_a_price_that_makes_most_of_the_energy_is_warned_of():
    published = energy_shares.warnings([shares(town(**HUANG))])
    what = "60 % of the energy goes into the tail of lte radios"
    assert published == [f"{what}, at a price that was published in 2012."]
    assert energy_shares.warnings([shares(town())])[0].endswith("at an assumed price.")
    proxy = energy_shares.warnings([shares(town(**{**HUANG, "basis": "proxy"}))])
    assert proxy[0].endswith("published in 2012 for another device.")


def test_what_was_measured_or_makes_no_more_than_half_is_not_warned_of():
    measured = town(**{**HUANG, "basis": "measured"})
    assert energy_shares.warnings([shares(measured)]) == []
    for rest_j, warned in ((19.9, True), (20.0, False), (20.1, False)):
        parts_j = PARTS_J | {"access_promotion": [15.0, 0.0, rest_j]}
        # 60 J of the tail, and 40 J and these.
        found = shares(town(), SAID | {"energy_by_part_j": parts_j})
        assert bool(energy_shares.warnings([found])) is warned, rest_j


def test_runs_that_differ_are_warned_of_once_with_the_span_of_their_shares():
    parts_j = PARTS_J | {"access_promotion": [0.0, 0.0, 0.0]}
    other = shares(town(), SAID | {"energy_by_part_j": parts_j})
    assert energy_shares.warnings([shares(town()), other, []]) == [
        "60 to 71 % of the energy goes into the tail of lte radios, at an assumed price."
    ]
    even = shares(town(), SAID | {"energy_by_part_j": {"cpu": [1.0], "contact": [1.0, 0.0]}})
    (line,) = energy_shares.warnings([shares(town()), even])
    assert line.startswith("60 % of the energy of some runs goes into")


def test_a_run_of_an_older_version_or_without_energy_has_no_shares():
    assert energy_shares.shares({}, town()) == []
    resolved = town()
    resolved["energy"] = None
    assert energy_shares.named({}, resolved) == {}
