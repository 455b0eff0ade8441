"""Costs that a scenario supposes: what they come to, where they show, and what is refused."""

import json
import math

import pytest

import pocketsim as ps
from pocketsim.api.documents import catalog
from pocketsim.sim.base.engine_facts import operations
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.units import DURATION, Quantity
from pocketsim.sim.devices import draws, implementation, prices, profile
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import sweep
from pocketsim.sim.scenario import point_values
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans, typed_sections

APP = "trustchain_throughput_2025"
RECONNECT = (f"implementation={APP}", "transport.mode=quic_reconnect", "workload.rate=4/s")
KEY = "devices[0].cost"
COST = ("cpu_s", "per_byte_s", "wait_s")


def resolved(path, *overrides):
    return resolve(load(path, overrides))[0].resolved


def device(path, *overrides):
    (found,) = resolved(path, *overrides)["profiles"].values()
    return found


def columns(path, *overrides, repetition=0):
    return build_plan(resolved(path, *overrides), repetition)["profiles"][0]


def shipped(**changes):
    """Return a phone and an implementation as a scenario has them, with some costs changed."""
    own = implementation.contents(implementation.load(profile.IMPLEMENTATIONS / f"{APP}.toml"))
    phone = profile.contents(profile.load(profile.DEVICES / "pocophone_f1.toml"))
    for name, change in changes.items():
        costs = phone["operations"] if name in phone["operations"] else own["own_costs"]
        costs[name] = {**costs[name], **change}
    factors = prices.speed_factors(phone, own, {})
    known = {"digest": "", "drawn_as": "", "own_cost_factors": {}, "speed_factors": factors}
    return {**phone, **known}, own


def after(phone, own, **costs):
    asked = {
        name: Quantity(value, None) if isinstance(value, int) else Quantity(value, DURATION)
        for name, value in costs.items()
    }
    return draws.supposed(phone, own, asked, KEY)


# What it comes to


def test_a_factor_multiplies_all_of_a_cost_and_its_error(scenario):
    was, now = device(scenario), device(scenario, f"{KEY}.store=2.5")
    before, after_ = was["operations"]["store"], now["operations"]["store"]
    for key in (*COST, "standard_error_s"):
        assert after_[key] == 2.5 * before[key]
    for key in ("threads", "spread_sigma", "repetition_sigma"):
        assert after_[key] == before[key]
    assert {**now["operations"], "store": before} == was["operations"]
    assert now["drawn_as"] == was["drawn_as"]


def test_a_duration_is_core_time_and_wait_shared_as_they_stood():
    phone, own = shipped(sign={"cpu_s": 1e-3, "wait_s": 3e-3, "per_byte_s": 2e-9})
    sign = after(phone, own, sign=8e-3)["operations"]["sign"]
    assert [sign[key] for key in COST] == pytest.approx([2e-3, 4e-9, 6e-3])
    error_s = phone["operations"]["sign"]["standard_error_s"]
    assert sign["standard_error_s"] == pytest.approx(2 * error_s)


def test_duration_for_a_cost_of_zero_is_core_time():
    nothing = {"cpu_s": 0.0, "wait_s": 0.0, "per_byte_s": 1e-9}
    phone, own = shipped(sign=nothing, iroh_bind=nothing)
    now = after(phone, own, sign=3e-3, iroh_bind=4e-3)
    assert [now["operations"]["sign"][key] for key in COST] == [3e-3, 1e-9, 0.0]
    price = prices.own_price("iroh_bind", now, own)
    assert [price[key] for key in COST] == [4e-3, 1e-9, 0.0]
    at = operations().index("endpoint_setup")
    assert prices.prices(now, own)[at]["cpu_s"] == 4e-3
    assert prices.prices(phone, own)[at]["cpu_s"] == 0.0
    # Twice nothing is nothing.
    assert prices.own_price("iroh_bind", after(phone, own, iroh_bind=2), own)["cpu_s"] == 0.0


def test_a_cost_of_the_implementations_own_takes_so_long_on_this_phone():
    phone, own = shipped()
    # It scales with the phone: the same time on another phone would be another factor.
    assert phone["speed_factors"]["iroh_discovery"] != 1
    now = after(phone, own, iroh_discovery=20e-3, iroh_bind=2)
    was = prices.own_price("iroh_discovery", phone, own)
    price = prices.own_price("iroh_discovery", now, own)
    assert price["cpu_s"] + price["wait_s"] == pytest.approx(20e-3)
    assert price["wait_s"] / price["cpu_s"] == pytest.approx(was["wait_s"] / was["cpu_s"])
    twice = prices.own_price("iroh_bind", now, own)["cpu_s"]
    assert twice == 2 * prices.own_price("iroh_bind", phone, own)["cpu_s"]
    assert now["operations"] == phone["operations"]


def test_own_costs_that_scale_with_an_operation_stay(scenario):
    found = resolved(scenario, *RECONNECT)["implementation"]
    assert found["own_costs"]["native_call"]["scales_with"] == "verify"
    was, now = (columns(scenario, *RECONNECT, *more) for more in ([], [f"{KEY}.verify=3"]))
    changed = {name for name in operations() if "verify" in prices.takes(name, found)}
    assert "verify" in changed
    for number, name in enumerate(operations()):
        assert (now["cpu_s"][number] != was["cpu_s"][number]) == (name in changed), name


def test_only_the_group_that_says_so_is_changed(scenario):
    second = "devices=[{profile='moto_g04s', count=1, access='home_wifi'},"
    second += "{profile='moto_g04s', count=1, access='home_wifi', cost={verify=2, sign='3ms'}}]"
    plan = engine_plans.lists(build_plan(resolved(scenario, second), 0))
    plain, changed = (plan["profiles"][number] for number in plan["phones"]["profile"])
    for number, name in enumerate(operations()):
        expected = {"verify": 2 * 336e-6, "sign": 3e-3}.get(name, plain["cpu_s"][number])
        assert changed["cpu_s"][number] == pytest.approx(expected), name


# Common random numbers


@pytest.mark.parametrize("mode", ["udp", "quic_keep"])
@pytest.mark.parametrize("draw", ["mean", "posterior"])
def test_a_cost_that_is_what_it_was_changes_no_plan(scenario, draw, mode):
    settings = [f"run.draw={draw}", f"transport.mode={mode}"]
    was, *others = (
        engine_plans.lists(build_plan(resolved(scenario, *settings, *changes), 3))
        for changes in (
            [],
            [f"{KEY}={{store=1, lookup=1.0}}"],
            [f"{KEY}={{verify='336us', lookup='12.5ms'}}"],
        )
    )
    assert others == [was, was]


@pytest.mark.parametrize("name", ["verify", "command"])
def test_draws_scale_with_the_supposed_cost(scenario, name):
    key = "call" if name == "command" else name
    at = operations().index(name)
    for number in range(3):
        was, twice, long = (
            columns(scenario, "run.draw=posterior", *changes, repetition=number)["cpu_s"]
            for changes in ([], [f"{KEY}.{key}=2"], [f"{KEY}.{key}=6ms"])
        )
        mean_s = {"verify": 336e-6, "command": 60e-6}[name]
        assert was[at] != mean_s
        assert twice[at] == pytest.approx(2 * was[at], rel=1e-12)
        assert long[at] == pytest.approx(6e-3 / mean_s * was[at], rel=1e-12)
        for other in range(len(operations())):
            assert other == at or twice[other] == long[other] == was[other]


# Where it shows


def test_supposed_cost_names_its_key_as_source(scenario):
    found = resolved(scenario, f"{KEY}={{verify=2, sign='3ms', call=0.5, lookup='20ms'}}")
    phone = found["profiles"]["moto_g04s in devices[0]"]
    plain = device(scenario)["operations"]
    costs, factors = phone["operations"], phone["own_cost_factors"]
    for cost in (costs["verify"], costs["sign"], factors["call"], factors["lookup"]):
        assert (cost["basis"], cost["samples"], cost["fitted_to"]) == ("assumed", 0, [])
    assert costs["verify"]["source"].startswith(f"{KEY}.verify = 2; of the profile: ")
    assert costs["verify"]["source"].endswith(plain["verify"]["source"])
    assert costs["sign"]["source"].startswith(f"{KEY}.sign = 3ms; ")
    assert factors["call"]["source"] == f"{KEY}.call = 0.5; of the profile: invented"
    assert factors["call"]["value"] == 0.5
    assert factors["lookup"]["value"] == pytest.approx(20 / 12.5)
    assert costs["store"] == plain["store"]
    section = typed_sections.RESOLVED
    typed_sections.check(phone, section["Shipped"], section, "it")
    json.dumps(found, allow_nan=False)


def test_a_cost_that_took_nothing_is_what_the_types_say():
    phone, own = shipped(iroh_bind={"cpu_s": 0.0, "wait_s": 0.0})
    now = after(phone, own, iroh_bind=4e-3)
    section = typed_sections.RESOLVED
    typed_sections.check(now, section["Shipped"], section, "it")
    cost = now["own_costs"]["iroh_bind"]
    assert (cost["basis"], cost["standard_error_s"]) == ("assumed", 0.0)


def test_a_point_has_the_value_with_its_unit(scenario):
    document = load(scenario, [f"{KEY}={{verify=1, sign='3ms'}}"])
    found = point_values.of(document, resolve(document)[0].at)
    assert found[f"{KEY}.verify"] == {"value": 1.0, "unit": ""}
    assert found[f"{KEY}.sign"] == {"value": 3e-3, "unit": "s"}
    # Of a single cost that is 1 as well, though a table of shares that is 1 is told as its name.
    single = load(scenario, [f"{KEY}.verify=1"])
    alone = point_values.values(single.scenario, resolve(single)[0].at)
    assert alone[f"{KEY}.verify"] == {"value": 1.0, "unit": ""}
    assert alone["devices[0].access"] == {"value": "home_wifi", "unit": ""}
    label = point_values.label(document, resolve(document)[0])
    assert f"{KEY}.verify 1, {KEY}.sign 0.003 s" in label


def test_show_has_a_line_for_each(scenario, cli):
    changes = ("--set", f"{KEY}.verify=2", "--set", f"{KEY}.lookup=20ms")
    shown = cli("show", scenario, *changes).stdout
    lines = [line.split() for line in shown.splitlines()]
    assert [f"{KEY}.verify", "2", "672", "µs"] in lines
    assert [f"{KEY}.lookup", "20ms", "800", "µs", "+", "19.2", "ms", "waiting"] in lines
    assert "what if" not in cli("show", scenario).stdout
    told = json.loads(cli("show", scenario, "--json", *changes).stdout)
    assert told[0]["profiles"]["moto_g04s in devices[0]"]["operations"]["verify"]["cpu_s"] == 672e-6


@pytest.mark.engine
def test_runs_have_it_as_an_axis(tmp_path):
    changes = {"workload.rate": "16/s", "run.duration": "2s", "run.repetitions": 1}
    changes |= {"run.app": "restarted"}
    runs = ps.run("udp_100b", {**changes, f"{KEY}.verify": [1, 2, "30ms"]}, out=tmp_path)
    frame = runs.to_frame()
    assert list(frame[f"{KEY}.verify"][:2]) == [1.0, 2.0]
    assert math.isnan(frame[f"{KEY}.verify"][2])
    assert frame[f"{KEY}.verify_s"][2] == 30e-3
    one, two, slow = frame["cpu_s.verify"]
    # Executions vary by the same numbers.
    assert two == pytest.approx(2 * one)
    assert slow == pytest.approx(one * 30e-3 / 336e-6)
    assert (frame["cpu_s.sign"] == frame["cpu_s.sign"][0]).all()
    assert runs[1].manifest["point"][f"{KEY}.verify"] == {"value": 2.0, "unit": ""}
    assert runs[1].metrics["point"] == runs[1].manifest["point"]
    (phone,) = runs[1].devices.values()
    verify = phone.to_frame().loc["operations.verify"]
    assert (verify["basis"], verify["cpu_s"]) == ("assumed", 672e-6)
    assert verify["source"].startswith(f"{KEY}.verify = 2; ")


@pytest.mark.parametrize("values", ["[0.5, 1, 2]", '["1ms", "2ms", "4ms"]'])
def test_sweeps_have_it_as_an_axis(scenario, tmp_path, values):
    path = tmp_path / "sweep.toml"
    path.write_text(
        f'[sweep]\nscenario = "small.toml"\n[axes]\n"{KEY}.verify" = {values}\n'
        '"workload.rate" = ["4/s"]\n'
    )
    runs = list(sweep.load_sweep(path, tmp_path / "runs").runs())
    places = [run.place[f"{KEY}.verify"] for run in runs]
    unit, known = ("s", [1e-3, 2e-3, 4e-3]) if "ms" in values else ("", [0.5, 1.0, 2.0])
    assert places == [{"value": value, "unit": unit} for value in known]
    assert len({run.directory for run in runs}) == 3


def test_a_changed_scenario_is_written_as_it_was_said(scenario, tmp_path):
    document = ps.scenario(scenario, {f"{KEY}.verify": 2, f"{KEY}.sign": "3ms"})
    path = ps.write_scenario(document, tmp_path / "changed.toml")
    assert ps.scenario(path).scenario.devices == document.scenario.devices
    asked = document.scenario.devices[0].cost
    assert {name: str(value) for name, value in asked.items()} == {"verify": "2", "sign": "3ms"}


# What is refused


@pytest.mark.parametrize(
    ("cost", "place", "reason"),
    [
        ("{verify=0}", "verify", "a factor is more than 0 and at most 1e+06, not 0"),
        ("{verify=-1.5}", "verify", "a factor is more than 0"),
        ("{verify=nan}", "verify", "a factor is more than 0"),
        ("{verify=inf}", "verify", "a factor is more than 0"),
        ("{verify=1e7}", "verify", "at most 1e+06"),
        ("{verify=true}", "verify", "a factor such as 2 or a duration such as '20ms', not True"),
        ("{verify=[1, 2]}", "verify", "a factor such as 2 or a duration such as '20ms', not [1"),
        ("{verify={value=2}}", "verify", "a factor such as 2 or a duration"),
        ("{verify='2'}", "verify", "'2' has no unit; a duration takes ns us ms"),
        ("{verify='0s'}", "verify", "must be more than zero"),
        ("{verify='0'}", "verify", "must be more than zero"),
        ("{verify='-3ms'}", "verify", "is negative"),
        ("{verify='3B'}", "verify", "is a size"),
        ("{verfy=2}", "verfy", "neither an operation nor a cost of"),
        ("{lokup='3ms'}", "lokup", "(did you mean lookup?)"),
    ],
)
def test_mistakes_are_named(scenario, cost, place, reason):
    with pytest.raises(ScenarioError) as caught:
        load(scenario, [f"{KEY}={cost}"])
    assert reason in str(caught.value)
    assert caught.value.key_path == f"{KEY}.{place}"
    assert str(caught.value).startswith("--set: ")


def test_cost_both_measured_and_supposed_is_refused():
    path = catalog.PACKAGE / "scenarios/throughput/iroh_reconnect_100b.toml"
    with pytest.raises(ScenarioError, match=r"cost_factors\.iroh_bind says it already") as caught:
        load(path, [f"{KEY}.iroh_bind=2"])
    assert caught.value.key_path == f"{KEY}.iroh_bind"
    both = device(path, f"{KEY}.verify=2")
    assert both["own_cost_factors"]["iroh_bind"]["value"] == 0.765
    assert both["operations"]["verify"]["basis"] == "assumed"
