"""Costs are drawn as they say: with their means, errors and degrees of freedom, and together."""

import math

import numpy as np
import pytest
from scipy import stats

from pocketsim.sim.base import streams
from pocketsim.sim.devices import draws, joint, profile

DRAWS = 4000


def cost(**changes):
    return {
        "samples": 0,
        "basis": "assumed",
        "source": "x",
        "fitted_to": [],
        "cpu_s": 80e-6,
        "per_byte_s": 10e-9,
        "wait_s": 20e-6,
        "threads": 1,
        "spread_sigma": 0.1,
        "repetition_sigma": 0.0,
        "standard_error_s": 5e-6,
        **changes,
    }


def drawn(costs, count=DRAWS):
    """Return fixed parts and costs per byte, a column for each cost."""
    found = [joint.drawn(costs, 1, f"repetition/{number}") for number in range(count)]
    return (
        np.array([[each[key]["cpu_s"] + each[key]["wait_s"] for key in costs] for each in found]),
        np.array([[each[key]["per_byte_s"] for key in costs] for each in found]),
    )


def test_cost_without_joint_errors_is_drawn_by_one_factor():
    found = joint.drawn({"sign": cost()}, 1, "repetition/0")["sign"]
    factor = streams.positive(1, "repetition/0/sign", 100e-6, 5e-6) / 100e-6
    for key in ("cpu_s", "per_byte_s", "wait_s"):
        assert found[key] == pytest.approx(cost()[key] * factor, rel=1e-15)


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.9])
@pytest.mark.parametrize("per_byte_error_s", [1e-9, 8e-9])
def test_both_parts_keep_means_errors_and_correlation(correlation, per_byte_error_s):
    said = {"per_byte_standard_error_s": per_byte_error_s, "correlation": correlation}
    fixed, per_byte = (each[:, 0] for each in drawn({"sign": cost(**said)}))
    for values, mean, error in ((fixed, 100e-6, 5e-6), (per_byte, 10e-9, per_byte_error_s)):
        assert values.mean() == pytest.approx(mean, abs=4 * error / math.sqrt(DRAWS))
        assert values.std() == pytest.approx(error, rel=0.1)
    # Four deviations of a correlation that is 0; those of others are less.
    assert np.corrcoef(fixed, per_byte)[0, 1] == pytest.approx(
        correlation, abs=4 / math.sqrt(DRAWS)
    )


def test_cost_of_bytes_alone_errs_by_the_byte():
    said = {"cpu_s": 0.0, "wait_s": 0.0, "standard_error_s": 0.0, "per_byte_standard_error_s": 1e-9}
    fixed, per_byte = drawn({"sign": cost(**said)}, 500)
    assert not fixed.any()
    assert per_byte.std() == pytest.approx(1e-9, rel=0.15)


@pytest.mark.parametrize("freedom", [1, 2, 4, 30])
def test_few_measurements_leave_students_t(freedom):
    said = {"degrees_of_freedom": float(freedom), "standard_error_s": 0.2e-6}
    fixed = drawn({"sign": cost(**said)})[0][:, 0]
    deviations = (fixed - 100e-6) / 0.2e-6
    # By quantile, as t with one or two has no variance; binomial, four deviations.
    for share in (0.5, 0.8, 0.95):
        within = np.abs(deviations) < stats.t.ppf((1 + share) / 2, freedom)
        error = math.sqrt(share * (1 - share) / DRAWS)
        assert within.mean() == pytest.approx(share, abs=4 * error + 0.005)
    # No draw is less sure than one who only knows how large the cost is.
    assert fixed.min() > 0


@pytest.mark.parametrize("error_s", [2e-6, 20e-6])
def test_few_measurements_leave_as_much_below_the_mean_as_above(error_s):
    said = {
        "degrees_of_freedom": 1.0,
        "standard_error_s": error_s,
        "per_byte_standard_error_s": 2e-9,
        "correlation": 0.9,
    }
    fixed, per_byte = (each[:, 0] for each in drawn({"sign": cost(**said)}))
    # Four deviations: 3.2 %. Of lognormals with that mean and an error of a fifth, 57 % are below.
    for values, mean in ((fixed, 100e-6), (per_byte, 10e-9)):
        assert np.mean(values < mean) == pytest.approx(0.5, abs=2 / math.sqrt(DRAWS))
        assert values.mean() == pytest.approx(mean, abs=4 * values.std() / math.sqrt(DRAWS))
        assert values.min() > 0
    # Both parts of a draw are widened alike, so ranks tell how they go together.
    assert stats.spearmanr(fixed, per_byte)[0] == pytest.approx(0.9, abs=0.05)


def test_costs_with_a_common_factor_err_together_and_leave_the_others_alone():
    common = {"common_factor": "measured together", "common_ratio": 0.7}
    costs = {
        "sign": cost(**common, degrees_of_freedom=3.0),
        "verify": cost(**common),
        "hash": cost(**common, per_byte_standard_error_s=1e-9, correlation=1.0),
        "store": cost(),
    }
    found = np.log(drawn(costs)[0])
    said = np.corrcoef(found[:, 1:].T)
    assert said[0, 1] == pytest.approx(0.7, abs=0.04)
    assert said[0, 2] == pytest.approx(0.0, abs=4 / math.sqrt(DRAWS))
    alone = joint.drawn({"store": cost()}, 1, "repetition/0")
    assert joint.drawn(costs, 1, "repetition/0")["store"] == alone["store"]
    other = {"verify": cost(common_factor="another", common_ratio=0.7), "hash": costs["hash"]}
    apart = np.corrcoef(np.log(drawn(other)[0]).T)[0, 1]
    assert apart == pytest.approx(0.0, abs=4 / math.sqrt(DRAWS))


def test_a_factor_takes_the_error_of_each_byte_along():
    plain = profile.contents(profile.load(profile.DEVICES / "moto_g04s.toml"))
    said = cost(per_byte_standard_error_s=1e-9, correlation=-0.5)
    factor = {"value": 3.0, "standard_error": 0.0, "basis": "assumed", "source": "x"}
    scaled = draws.scaled({**plain, "operations": {"sign": said}}, {"sign": factor})
    one = joint.drawn({"sign": said}, 1, "x")["sign"]
    three = joint.drawn(scaled["operations"], 1, "x")["sign"]
    for key in ("cpu_s", "per_byte_s", "wait_s"):
        assert three[key] == pytest.approx(3 * one[key])


def test_cores_are_drawn_where_they_have_an_error():
    plain = profile.contents(profile.load(profile.DEVICES / "thinkpad_l13.toml"))
    cores = plain["device"]["cores"]
    assert cores["standard_error"] == 1.0
    found = [draws.draw(plain, 1, str(n))["device"]["cores"]["value"] for n in range(1000)]
    assert min(found) >= 1
    assert np.mean(found) == pytest.approx(cores["value"], abs=4 / math.sqrt(1000))
    sure = profile.contents(profile.load(profile.DEVICES / "moto_g04s.toml"))
    assert draws.draw(sure, 1, "x")["device"] == sure["device"]


@pytest.mark.parametrize("name", profile.shipped())
def test_optional_keys_are_absent_unless_given(name):
    loaded = profile.load(profile.DEVICES / f"{name}.toml")
    absent = {f"{key}_s" if "error" in key else key for key in profile.Cost.absent_when_none}
    for key, found in profile.contents(loaded)["operations"].items():
        given = {each for each in profile.Cost.absent_when_none if _given(loaded, key, each)}
        assert len(absent & found.keys()) == len(given)


def _given(loaded, key, field):
    return getattr(loaded.operations[key], field) is not None


def test_sigmas_are_drawn_where_they_have_errors_and_move_nothing_else():
    said = {"spread_sigma_standard_error": 0.02, "repetition_sigma_standard_error": 0.01}
    found = [joint.drawn({"sign": cost(**said)}, 1, str(n))["sign"] for n in range(DRAWS)]
    plain = [joint.drawn({"sign": cost()}, 1, str(n))["sign"] for n in range(DRAWS)]
    spread = np.array([each["spread_sigma"] for each in found])
    repetition = np.array([each["repetition_sigma"] for each in found])
    assert spread.mean() == pytest.approx(0.1, abs=4 * 0.02 / math.sqrt(DRAWS))
    assert spread.std() == pytest.approx(0.02, rel=0.1)
    # Around 0: half a normal, as of every number that cannot be lower.
    assert repetition.min() >= 0
    assert math.sqrt((repetition**2).mean()) == pytest.approx(0.01, rel=0.1)
    assert repetition.mean() == pytest.approx(0.01 * math.sqrt(2 / math.pi), rel=0.1)
    assert abs(np.corrcoef(spread, repetition)[0, 1]) < 4 / math.sqrt(DRAWS)
    for one, other in zip(found, plain, strict=True):
        assert [one[key] for key in ("cpu_s", "per_byte_s", "wait_s")] == [
            other[key] for key in ("cpu_s", "per_byte_s", "wait_s")
        ]
    assert {each["spread_sigma"] for each in plain} == {0.1}


def test_a_sigma_that_is_drawn_is_that_of_the_repetition():
    plain = profile.contents(profile.load(profile.DEVICES / "moto_g04s.toml"))
    said = cost(repetition_sigma=0.2, repetition_sigma_standard_error=0.1)
    drawn_ = draws.draw({**plain, "operations": {"sign": said}}, 1, "x")
    sigma = drawn_["operations"]["sign"]["repetition_sigma"]
    assert sigma != 0.2
    varied = draws.vary(drawn_, 1, "session")["operations"]["sign"]
    factor = streams.lognormal_factor(1, "session/sign", sigma)
    assert varied["cpu_s"] == drawn_["operations"]["sign"]["cpu_s"] * factor
