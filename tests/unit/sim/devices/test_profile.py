import json
import re
import subprocess
import sys

import numpy as np
import pytest

from pocketsim import sim
from pocketsim.sim.base import engine_facts
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import draws, profile

NO_OPERATION = """[operations.overlay_send]
cpu = "0s"
standard_error = "0s"
basis = "proxy"
source = "x"

[operations.sign]"""


@pytest.fixture
def text():
    return (profile.DEVICES / "moto_g04s.toml").read_text()


@pytest.mark.parametrize("name", profile.shipped())
def test_shipped_profiles_load_and_claim_little(name):
    loaded = profile.load(profile.DEVICES / f"{name}.toml")
    assert loaded.device.probe == "none"
    for operation in loaded.operations.values():
        assert operation.basis != "measured"
        assert operation.standard_error > 0


def test_the_package_claims_no_more_than_its_profiles():
    """As long as every shipped profile says that no probe measured it."""
    said = " ".join(sim.__doc__.split())
    assert "No real phone has run this project's probe yet." in said
    assert "real phones measured" not in said


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('standard_error = "25us"\n', "", "operations.sign.standard_error: is required"),
        ('standard_error = "25us"', 'standard_error = "0us"', "a cost without uncertainty"),
        ('source = """lib', 'origin = """lib', "operations.sign.origin: unknown key"),
        ("[operations.sign]", "[operations.sing]", "operations.sing: unknown operation"),
        ('basis = "proxy"', 'basis = "fitted"', "needs fitted_to"),
        ('basis = "proxy"', 'basis = "measured"', "needs samples"),
        ('basis = "proxy"', 'basis = "guessed"', "must be one of measured, published, proxy"),
        ("measured_on = 2025-06-22", 'measured_on = "June"', "must be a date"),
        ("value = 8", "value = 0", "must be at least 1"),
        (
            '"0.72ms", standard_error = "0.1ms"',
            '"0s", standard_error = "0s"',
            "without uncertainty",
        ),
        (
            'standard_error = "25us"',
            'standard_error = "25us"\ncorrelation = 0.5',
            "operations.sign: correlation needs per_byte_standard_error",
        ),
        (
            'standard_error = "25us"',
            'standard_error = "25us"\ncommon_factor = "day"',
            "operations.sign: common_factor and common_ratio go together",
        ),
        (
            'standard_error = "25us"',
            'standard_error = "25us"\ndegrees_of_freedom = 0.5',
            "operations.sign.degrees_of_freedom: ",
        ),
        ("threads = 2", "threads = 0", "operations.endpoint_setup.threads: "),
        ("threads = 2", "repetition_sigma = -1", "endpoint_setup.repetition_sigma: "),
        (
            'priced_on = "little"',
            'priced_on = "huge"',
            "priced_on = 'huge' is none of core_classes",
        ),
        (
            "[operations.sign]",
            NO_OPERATION,
            "operations.overlay_send: is no operation of a device",
        ),
        ("[device]", "[app]\n[device]", "convert it with `pocketsim profile split"),
        ("[device]", "[implementation]\n[device]", "is the profile of an implementation"),
        (
            "\nslope = ",
            "\nslop = ",
            "scheduler.sleep_overshoot.slop: unknown key (did you mean slope?)",
        ),
    ],
)
def test_unfit_profiles_do_not_load(tmp_path, text, old, new, expected):
    path = tmp_path / "own.toml"
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ScenarioError) as caught:
        profile.load(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


def test_every_operation_is_priced(tmp_path, text):
    path = tmp_path / "own.toml"
    path.write_text(re.sub(r'\[operations\.stream_open\].*?"""\n', "", text, flags=re.DOTALL))
    with pytest.raises(ScenarioError, match=r"operations\.stream_open: is required"):
        profile.load(path)


def test_operations_are_those_of_the_machine_contract(root):
    source = (root / "sim/protocols/src/contract.rs").read_text()
    body = source.split("Operation {", 1)[1].split("named_enum!", 1)[0]
    assert tuple(re.findall(r'= "(\w+)"', body)) == engine_facts.operations()


def test_draws_keep_proportions_and_leave_the_mean_alone():
    plain = profile.contents(profile.load(profile.DEVICES / "moto_g04s.toml"))
    drawn = draws.draw(plain, 1, "repetition/0/profile/moto_g04s")
    assert drawn == draws.draw(plain, 1, "repetition/0/profile/moto_g04s")
    assert drawn != draws.draw(plain, 1, "repetition/1/profile/moto_g04s")
    was, now = plain["operations"]["hash"], drawn["operations"]["hash"]
    assert now["per_byte_s"] / now["cpu_s"] == pytest.approx(was["per_byte_s"] / was["cpu_s"])


@pytest.mark.parametrize("name", profile.shipped())
def test_draws_of_every_number_of_a_shipped_profile_keep_its_mean(name):
    plain = profile.contents(profile.load(profile.DEVICES / f"{name}.toml"))
    drawn = [draws.draw(plain, 1, str(number)) for number in range(1000)]

    def numbers(contents):
        yield from (cost["cpu_s"] + cost["wait_s"] for cost in contents["operations"].values())
        for part in contents["scheduler"].values():
            yield from (number["value"] for number in part.values())

    errors = [cost["standard_error_s"] for cost in plain["operations"].values()]
    errors += [
        number["standard_error"] for part in plain["scheduler"].values() for number in part.values()
    ]
    found = np.array([list(numbers(contents)) for contents in drawn])
    for values, mean, error in zip(found.T, numbers(plain), errors, strict=True):
        if mean > 0:
            assert values.mean() == pytest.approx(mean, abs=4 * error / np.sqrt(1000))
        else:
            assert np.sqrt(np.mean(values**2)) == pytest.approx(error, rel=0.1)


def test_drawn_costs_spread_as_their_standard_error():
    plain = profile.contents(profile.load(profile.DEVICES / "pocophone_f1.toml"))
    costs = [
        draws.draw(plain, 1, str(number))["operations"]["sign"]["cpu_s"] for number in range(300)
    ]
    mean, deviation = sum(costs) / 300, 0.0
    deviation = (sum((cost - mean) ** 2 for cost in costs) / 299) ** 0.5
    sign = plain["operations"]["sign"]
    assert mean == pytest.approx(sign["cpu_s"], abs=4 * sign["standard_error_s"] / 300**0.5)
    assert deviation == pytest.approx(sign["standard_error_s"], rel=0.2)


def test_factor_of_a_repetition_has_mean_1_and_its_sigma():
    plain = profile.contents(profile.load(profile.DEVICES / "moto_g04s.toml"))
    cost = {**plain["operations"]["sign"], "repetition_sigma": 0.3, "wait_s": 1e-3}
    plain = {**plain, "operations": {**plain["operations"], "sign": cost}}
    varied = [draws.vary(plain, 1, f"repetition/{number}")["operations"] for number in range(400)]
    factors = np.array([costs["sign"]["cpu_s"] for costs in varied]) / cost["cpu_s"]
    assert factors.mean() == pytest.approx(1, abs=4 * 0.3 / 20)
    assert np.log(factors).std() == pytest.approx(0.3, rel=0.15)
    assert [costs["sign"]["wait_s"] for costs in varied] == pytest.approx(list(1e-3 * factors))
    assert all(costs["verify"] == plain["operations"]["verify"] for costs in varied)
    assert varied[0] == draws.vary(plain, 1, "repetition/0")["operations"]


def test_a_cost_factor_is_applied_and_kept():
    plain = profile.contents(profile.load(profile.DEVICES / "moto_g04s.toml"))
    factor = {"value": 1.5, "standard_error": 0.1, "basis": "assumed", "source": "a warm day"}
    scaled = draws.scaled(plain, {"store": factor, "iroh_bind": factor})
    was, now = plain["operations"]["store"], scaled["operations"]["store"]
    for key in ("cpu_s", "per_byte_s", "wait_s"):
        assert now[key] == 1.5 * was[key]
    assert now["cost_factor"] == factor
    assert scaled["own_cost_factors"] == {"iroh_bind": factor}
    assert {**scaled["operations"], "store": was} == plain["operations"]


@pytest.mark.engine
def test_engine_facts_match_the_engine():
    # In a process of its own: SimGrid is not to be loaded here.
    code = (
        "from pocketsim.sim import _engine as e; import json;"
        "print(json.dumps([e.OPERATIONS, e.MODEL_OPTIONS]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    operations, options = json.loads(done.stdout)
    assert tuple(operations) == engine_facts.OPERATIONS
    assert options == [f"{key}:{value}" for key, value in engine_facts.MODEL_OPTIONS.items()]
