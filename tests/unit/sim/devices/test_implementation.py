"""Profiles of implementations: what they say, what a step costs with them, and old profiles."""

import re
from pathlib import Path

import pytest

from pocketsim.calibration.fit import split
from pocketsim.sim.base.engine_facts import device_operations, operations
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import draws, implementation, prices, profile
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

NAMES = profile.shipped(profile.IMPLEMENTATIONS)
APP = "trustchain_throughput_2025"
BIND_S = 1.128  # of own_costs.iroh_bind, as shipped


FACTOR = 'devices[0].cost_factors={iroh_bin={value=2, standard_error=0, basis="proxy", source="x"}}'


def shipped(name):
    return implementation.load(profile.IMPLEMENTATIONS / f"{name}.toml")


def device(name="moto_g04s", program=APP):
    found = profile.contents(profile.load(profile.DEVICES / f"{name}.toml"))
    factors = prices.speed_factors(found, implementation.contents(shipped(program)), {})
    known = {"digest": "", "drawn_as": name, "own_cost_factors": {}, "speed_factors": factors}
    return {**found, **known}


def cost_of(step, program, phone="moto_g04s"):
    found = prices.prices(device(phone, program), implementation.contents(shipped(program)))
    return found[operations().index(step)]


@pytest.mark.parametrize("name", NAMES)
def test_shipped_implementations_load_and_claim_little(name):
    found = shipped(name)
    assert found.implementation.does_not_claim
    assert found.modes()
    assert all(cost.basis != "measured" for cost in found.own_costs.values())


@pytest.mark.parametrize("name", NAMES)
def test_references_are_what_the_operation_costs_on_some_shipped_device(name):
    costs = [device(one)["operations"] for one in profile.shipped()]
    for cost in shipped(name).own_costs.values():
        if cost.scales_with:
            known = [operations_[cost.scales_with]["cpu_s"] for operations_ in costs]
            assert cost.reference in known


def test_a_step_is_one_operation_of_its_name_unless_something_else_is_said():
    found = implementation.contents(shipped("probe"))
    for step in device_operations():
        assert prices.takes(step, found) == {step: 1.0}
        expected = device()["operations"][step]
        priced = cost_of(step, "probe")
        for key in ("cpu_s", "wait_s", "per_byte_s", "threads"):
            assert priced[key] == expected[key]
    assert cost_of("command", "probe")["cpu_s"] == 0.0
    assert cost_of("discovery", "probe")["wait_s"] == 0.0


def test_an_own_cost_stands_for_a_step_and_scales_with_the_device():
    assert cost_of("endpoint_setup", APP)["cpu_s"] == BIND_S
    slower = 161 / 336
    fast = cost_of("endpoint_setup", APP, phone="pocophone_f1")
    assert fast["cpu_s"] == pytest.approx(BIND_S * slower)
    # A wait for a server is as long for everybody.
    found = cost_of("discovery", APP, phone="pocophone_f1")
    assert (found["cpu_s"], found["wait_s"]) == (pytest.approx(500e-6 * slower), 12e-3)


def test_a_step_may_take_several_operations():
    found = implementation.contents(shipped(APP))
    found["steps"]["store"] = {"operations": {"store": 2.0, "hash": 1.0}}
    phone = device()
    price = prices.prices(phone, found)[operations().index("store")]
    costs = phone["operations"]
    assert price["cpu_s"] == pytest.approx(2 * costs["store"]["cpu_s"] + costs["hash"]["cpu_s"])
    assert price["per_byte_s"] == costs["hash"]["per_byte_s"]
    # Of 40 us and 1 us that vary on their own.
    assert price["spread_sigma"] == pytest.approx((40 * 0.3) / 41, rel=1e-3)


def test_own_cost_far_from_the_devices_price_is_reported():
    (bind,) = prices.apart(device(), implementation.contents(shipped(APP)))
    assert (bind.own_cost, bind.step) == ("iroh_bind", "endpoint_setup")
    assert (bind.own_s, bind.device_s) == (BIND_S, 3.6e-3)
    # 1124 ms between them, of which 150 ms and 3.6 ms are one standard error.
    assert bind.standard_errors == pytest.approx(7.5, abs=0.05)
    served = implementation.contents(shipped("trustchain_latency_2025"))
    phone = device("pocophone_f1", "trustchain_latency_2025")
    assert prices.apart(phone, served) == []
    served["own_costs"]["serve_message"]["standard_error_s"] = 1e-4
    assert [one.own_cost for one in prices.apart(phone, served)] == ["serve_message"]
    assert prices.apart(device(program="probe"), implementation.contents(shipped("probe"))) == []


def test_a_factor_of_a_group_is_on_its_phones_alone():
    factor = {"value": 0.5, "standard_error": 0.1, "basis": "assumed", "source": "cold"}
    phone = draws.scaled(device(), {"iroh_bind": factor})
    found = implementation.contents(shipped(APP))
    at = operations().index("endpoint_setup")
    assert prices.prices(phone, found)[at]["cpu_s"] == pytest.approx(BIND_S / 2)
    assert prices.prices(device(), found)[at]["cpu_s"] == BIND_S


def test_own_cost_measured_on_a_device_ignores_its_draws(scenario):
    settings = ["run.draw=posterior", f"implementation={APP}", "transport.mode=quic_reconnect"]
    resolved = resolve(load(scenario, settings))[0].resolved
    for cost in resolved["implementation"]["own_costs"].values():
        cost["standard_error_s"] = cost["repetition_sigma"] = 0.0
    at = operations().index("endpoint_setup")
    drawn = [build_plan(resolved, number)["profiles"][0] for number in range(3)]
    assert {columns["cpu_s"][at] for columns in drawn} == {BIND_S}
    assert len({columns["cpu_s"][operations().index("verify")] for columns in drawn}) == 3


def test_draws_of_own_costs_leave_what_the_code_says():
    plain = {**implementation.contents(shipped(APP)), "digest": "", "called": APP}
    drawn = draws.draw_implementation(plain, 1, "repetition/0")
    assert drawn == draws.draw_implementation(plain, 1, "repetition/0")
    for key, cost in drawn["own_costs"].items():
        was = plain["own_costs"][key]
        assert cost["cpu_s"] != was["cpu_s"]
        assert cost["wait_s"] / cost["cpu_s"] == pytest.approx(was["wait_s"] / was["cpu_s"])
    faults, before = (one["quic_keep"].pop("kept_connection") for one in (drawn, plain))
    assert faults["duplicate_dial_probability"]["value"] <= 1
    window, was = faults["duplicate_dial_window_s"], before["duplicate_dial_window_s"]
    assert window["to"] - window["from"] == pytest.approx(was["to"] - was["from"])
    assert {**drawn, "own_costs": 0} == {**plain, "own_costs": 0}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('step = "command"', 'step = "comand"', "unknown step 'comand' (did you mean 'command'?)"),
        ('scales_with = "verify"\n', "", "scales_with and reference go together"),
        ('"verify"', '"verifi"', "unknown operation 'verifi' (did you mean 'verify'?)"),
        ("[steps.endpoint_setup]", "[steps.endpoint]", "unknown step 'endpoint'"),
        ('value = "floored_ms"', 'value = "floored"', "must be one of floored_ms"),
        (
            "value = 0.47, standard_error = 0.13",
            "value = 0.47, standard_error = 0.5",
            "standard_error is 0.5: that of a probability of 0.47 is below 0.499",
        ),
        (
            "value = 0.47, standard_error = 0.13",
            "value = 0, standard_error = 1",
            "standard_error is 1: that of a probability of 0 is below 1",
        ),
        ('"15/h", standard_error = "6/h"', '"15/h", standard_error = "0/h"', "without uncertainty"),
        ("[quic_keep]", "[quic_kep]", "quic_kep: unknown key (did you mean quic_keep?)"),
        ("[implementation]", "[device]", "is a device profile: it has no [implementation]"),
    ],
)
def test_unfit_implementations_do_not_load(tmp_path, old, new, expected):
    text = (profile.IMPLEMENTATIONS / f"{APP}.toml").read_text()
    assert old in text
    path = tmp_path / "own.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ScenarioError) as caught:
        implementation.load(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["implementation=prob"], "no implementation 'prob'; there is probe, "),
        (["implementation=prob"], "(`pocketsim list implementations` lists them)"),
        (["implementation=kotlin_ipv8_2023", "transport.mode=quic_keep"], "has no quic_keep; it"),
        (
            [FACTOR],
            "cost_factors.iroh_bin: neither an operation nor a cost of",
        ),
        (["workload.rate=1024/s"], "a rate above 1000/s floors to a sleep of 0 ms"),
    ],
)
def test_scenarios_ask_no_more_than_the_implementation_can(scenario, overrides, expected):
    with pytest.raises(ScenarioError) as caught:
        load(scenario, overrides)
    assert expected in str(caught.value)


def test_scenario_overrides_the_implementation(scenario):
    def transport(*overrides):
        mode = "transport.mode=quic_keep"
        return resolve(load(scenario, [mode, *overrides]))[0].resolved["transport"]

    assert transport()["poll_interval_s"] == 0.01
    assert transport("transport.poll_interval=0s")["poll_interval_s"] == 0.0
    assert transport("implementation=probe")["poll_interval_s"] == 0.0
    assert transport()["relay_first"]
    assert not transport("transport.relay_first=false")["relay_first"]
    assert not transport("implementation=probe", "transport.app_faults=true")["app_faults"]


def old_profile(folder):
    path = folder / "old.toml"
    path.write_text((Path(__file__).parents[3] / "support/profile_0_1.toml").read_text())
    return path


def test_an_old_profile_is_refused_and_can_be_split(cli, tmp_path, scenario):
    old = old_profile(tmp_path)
    done = cli("check", old)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    (command,) = re.findall(r"`pocketsim (profile split .*)`", done.stderr)
    made = cli(*command.split())
    assert made.returncode == 0, made.stderr
    phone, app = made.stdout.split()
    assert cli("check", phone, app).returncode == 0
    overrides = ["--set", f"devices[0].profile={phone}", "--set", f"implementation={app}"]
    assert cli("run", scenario, "--dry-run", *overrides).returncode == 0
    found = implementation.load(tmp_path / app)
    kept = profile.load(tmp_path / phone)
    assert sorted(kept.operations) == sorted(device_operations())
    assert found.own_costs["discovery"].cpu == 200e-6
    assert found.own_costs["discovery"].reference == kept.operations["verify"].cpu == 161e-6
    assert found.quic_keep.kept_connection.duplicate_dial_probability.value == 0
    assert kept.operations["stream_accept"].fitted_to == [
        *("L_iroh_median", "L_iroh_reliable", "L_iroh_collapses"),
    ]


def test_only_profiles_of_version_0_1_are_split(cli, tmp_path):
    for name in ("moto_g04s", "pocophone_f1"):
        done = cli("profile", "split", profile.DEVICES / f"{name}.toml", "-o", tmp_path / "out")
        assert (done.returncode, done.stdout) == (2, "")
        assert "is no profile of version 0.1" in done.stderr
    assert not (tmp_path / "out").exists()
    broken = old_profile(tmp_path)
    broken.write_text(broken.read_text().replace('cpu = "51us"', 'cpu = "51"'))
    done = cli("profile", "split", broken, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()
    with pytest.raises(ScenarioError, match=r"app: is no profile of version 0\.1"):
        split.split(profile.DEVICES / "moto_g04s.toml")


@pytest.mark.parametrize(
    ("implementation", "mode", "pacing", "most"),
    [
        ("probe", "quic_keep", "by_clock", 4096),
        ("probe", "quic_keep", "floored_ms", 4096),
        ("probe", "quic_reconnect", "by_clock", 64),
        ("probe", "tftp", "by_clock", 4096),
        ("probe", "udp", "by_clock", 0),
        ("trustchain_latency_2025", "quic_keep", "by_clock", 0),
        # It would look for room for ever, in no simulated time.
        ("probe", "quic_keep", "unpaced", 0),
    ],
)
def test_a_loop_stops_where_its_implementation_has_no_room(
    scenario, implementation, mode, pacing, most
):
    settings = [f"implementation={implementation}", f"transport.mode={mode}"]
    settings.append(f"workload.pacing={pacing}")
    resolved = resolve(load(scenario, settings))[0].resolved
    (loop,) = build_plan(resolved, 0)["workload"]["loops"]
    assert loop["outstanding_max"] == most


@pytest.mark.parametrize(
    ("implementation", "mode", "tick_s"),
    [
        ("probe", "quic_reconnect", 1e-3),
        ("probe", "udp", 0.0),
        ("trustchain_latency_2025", "quic_keep", 0.0),
    ],
)
def test_timers_end_with_the_ticks_of_the_implementation(scenario, implementation, mode, tick_s):
    settings = [f"implementation={implementation}", f"transport.mode={mode}"]
    resolved = resolve(load(scenario, settings))[0].resolved
    assert build_plan(resolved, 0)["transport"]["options"]["timer_tick_s"] == tick_s


def with_rests(folder, rests, step="file_open"):
    """Write an implementation in which what begins a file tells its rests, as part of `step`."""
    shipped_ = (profile.IMPLEMENTATIONS / "probe.toml").read_text()
    before, _, rest = shipped_.partition("[own_costs.tftp_file]")
    cost = (
        f"\n[own_costs.beginning]\nstep = '{step}'\ncpu = '50us'\nstandard_error = '1us'\n"
        "basis = 'assumed'\nsource = 'invented'\n"
    )
    known = "".join(
        f"\n[[own_costs.beginning.after_rest]]\nrest = '{rest}'\nratio = {ratio}\n"
        f"standard_error = {error}\nbasis = 'assumed'\nsource = 'invented'\n"
        for rest, ratio, error in rests
    )
    path = folder / "rested.toml"
    path.write_text(before + cost + known + rest[rest.index("\n[") :])
    return path


def test_a_cost_tells_its_rests_to_the_engine(scenario):
    file = with_rests(scenario.parent, [("0s", 0.5, 0.1), ("10ms", 2.0, 0.4)])
    settings = [f"implementation={file.name}", "transport.mode=tftp"]
    resolved = resolve(load(scenario, settings))[0].resolved
    (own,) = build_plan(resolved, 0)["profiles"][0]["own_after"]
    assert own["operation"] == operations().index("file_open")
    assert (list(own["after"]["rest_s"]), list(own["after"]["ratio"])) == ([0, 10e-3], [0.5, 2.0])
    drawn = resolve(load(scenario, [*settings, "run.draw=posterior"]))[0].resolved
    tables = [
        build_plan(drawn, number)["profiles"][0]["own_after"][0]["after"]["ratio"]
        for number in range(20)
    ]
    quotients = {high / low for low, high in tables}
    assert max(quotients) == pytest.approx(min(quotients)) == pytest.approx(4.0)
    assert len({low for low, _ in tables}) == len(tables)


@pytest.mark.parametrize(
    ("rests", "step", "expected"),
    [
        ([("10ms", 1, 0.1), ("1ms", 1, 0.1)], "file_open", "after_rest: rests must ascend"),
        ([("1ms", 1, 0.1)], "file_block", "beginning.after_rest: step 'file_block' takes some"),
        ([("1ms", 1, 0.1)], "hash", "beginning.after_rest: step 'hash' takes something"),
        ([("1ms", 1, 0.1)], "quic_wake", "beginning.after_rest: step 'quic_wake' takes some"),
    ],
)
def test_rests_that_no_step_has_do_not_load(tmp_path, rests, step, expected):
    with pytest.raises(ScenarioError) as caught:
        implementation.load(with_rests(tmp_path, rests, step))
    assert expected in str(caught.value)
