"""Samples are told from those of another family, and those of the same are not, but by chance."""

import json

import numpy as np
import pytest
from scipy import stats

from pocketsim.calibration.fit import kernels, scatter
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import profile
from support import synthetic_reports as synthetic

pytestmark = pytest.mark.slow

LEVELS = (1e-5, 1.3e-5, 0.7e-5)
BOOTSTRAPS = 199


def generator(seed):
    return np.random.Generator(np.random.Philox(seed))


def lognormal(random, count):
    return np.exp(0.3 * random.standard_normal(count))


DRAWN = {
    "gamma": lambda random, count: random.gamma(2.0, 1.0, count),
    "shifted_lognormal": lambda random, count: 3 + np.exp(random.standard_normal(count)),
    "lognormal_with_tail": lambda random, count: (
        np.where(random.random(count) < 0.1, 5.0, 1.0) * np.exp(0.1 * random.standard_normal(count))
    ),
}


def kinds(seed, draw, count=150, step=0.0):
    """Return samples of three rounds, on a grid where there is a step."""
    random = generator(seed)
    found = [level * draw(random, count) for level in LEVELS]
    if step:
        found = [np.maximum(1, np.round(each / step)) * step for each in found]
    return [scatter.Kind(found, step_s=step)]


def aicc_of(found, seed=0):
    return scatter.aicc(found, generator(20_000 + seed))


def p_of(found, seed=0):
    return scatter.p_value(found, generator(10_000 + seed), BOOTSTRAPS)


@pytest.mark.parametrize(("count", "step"), [(12, 0.0), (60, 0.0), (60, 2e-6)])
def test_lognormal_samples_have_any_p_value_as_often(count, step):
    """Levels, sigma and the clock's steps are estimated, or drawn, in each bootstrap, too."""

    p_values = [p_of(kinds(seed, lognormal, count, step), seed) for seed in range(200)]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("family", DRAWN)
def test_another_family_is_told_and_is_named(family):
    for seed in range(5):
        found = kinds(seed, DRAWN[family])
        assert p_of(found) == 1 / (BOOTSTRAPS + 1)
        above = aicc_of(found)
        assert above[family] < -10
        assert min(above, key=above.get) == family


def test_of_lognormal_samples_no_other_family_is_much_better():
    # Two parameters more of a mixture may follow chance, and AICc charges for them.
    best = [min(aicc_of(kinds(seed, lognormal)).values()) for seed in range(40)]
    assert np.median(best) > 0
    assert min(best) > -12


def means(random, count, iterations):
    """Return means over so many executions."""
    return lognormal(random, (count, iterations)).mean(axis=1)


def test_what_scatters_more_in_one_report_than_another_is_no_other_family():
    """Means over 8 executions and over 128 are each nearly lognormal; together they are not."""

    def both(seed):
        random = generator(seed)
        return [scatter.Kind([1e-5 * means(random, 150, number)], number) for number in (8, 128)]

    def one(seed):
        return [scatter.Kind([group for kind in both(seed) for group in kind.groups])]

    p_values = [p_of(both(seed), seed) for seed in range(100)]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3
    above = [aicc_of(both(seed))["lognormal_with_tail"] for seed in range(20)]
    assert np.median(above) > 0
    # It matters: with one sigma for both, all are rejected.
    assert max(p_of(one(seed), seed) for seed in range(18)) < 0.05


def sign_of(reports):
    return scatter.scattered({"sign": kernels.SOURCES["sign"]}, reports, BOOTSTRAPS)[0]["sign"]


def test_reports_that_timed_more_together_are_not_rejected():
    def one(seed):
        phones = [synthetic.Phone(2 * seed + n, iterations=(8, 128)[n]) for n in range(2)]
        return sign_of([synthetic.in_memory(phone.report(), n) for n, phone in enumerate(phones)])

    found = [one(seed) for seed in range(18)]
    assert {each.executions for each in found} == {128}
    assert stats.kstest([each.p_value for each in found], "uniform").pvalue > 1e-3
    assert sum(each.p_value < 0.05 for each in found) <= 4


def with_rounds(iterations, seed):
    """Return a report whose rounds timed so many executions of signing together, in this order."""
    phone = synthetic.Phone(seed, sigma=0.3, count=60)
    report = phone.report()
    for case in report["measurements"]:
        if case["kernel"] == "ed25519_sign" and case["threads"] == 1:
            parts = [phone.times(60e-6, iterations=number) for number in iterations]
            for quantity in case["quantities"]:
                quantity["samples"] = synthetic.samples(np.concatenate(parts))
            case["rounds"] = [
                {
                    "at_s": 1.0,
                    "samples": part.size,
                    "median": float(np.median(part)),
                    "iterations_per_sample": number,
                }
                for number, part in zip(iterations, parts, strict=True)
            ]
    return synthetic.in_memory(report)


def test_rounds_that_timed_more_together_are_not_rejected():
    found = [sign_of([with_rounds((128, 8, 110, 9), seed)]) for seed in range(18)]
    assert {each.executions for each in found} == {128}
    assert stats.kstest([each.p_value for each in found], "uniform").pvalue > 1e-3
    assert sum(each.p_value < 0.05 for each in found) <= 4


def spawning(seed, *, step_s, iterations=None, sigma=0.3, least=1):
    """Return a report whose starts of tasks have steps, as digits of reports leave them."""
    random = generator(seed)
    report = synthetic.Phone(seed, count=20).report()
    values_s = 8e-6 * np.exp(sigma * random.standard_normal(200))
    # A clock that is read at any time: how often it steps meanwhile.
    steps = np.maximum(least, np.floor(values_s / step_s + random.random(200)))
    for case in report["measurements"]:
        if case["kernel"] == "task_spawn":
            case["iterations_per_sample"] = iterations
            for quantity in case["quantities"]:
                values = [float(f"{step * step_s:.8e}") for step in steps]
                quantity["samples"] = synthetic.samples(values)
    return synthetic.in_memory(report)


def spawned(report):
    sources = {"task_spawn": kernels.SOURCES["task_spawn"]}
    return scatter.scattered(sources, [report], BOOTSTRAPS)


@pytest.mark.parametrize("iterations", [None, 7])
def test_steps_that_samples_are_on_are_no_other_family(iterations):
    """Neither how many were timed together nor the clock's resolution in the report tells them."""
    found = [
        spawned(spawning(seed, step_s=1e-6, iterations=iterations))[0]["task_spawn"]
        for seed in range(40)
    ]
    p_values = [one.p_value for one in found]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3
    assert sum(one < 0.05 for one in p_values) <= 6
    assert min(min(one.aicc.values()) for one in found) > -20


def test_of_steps_wider_than_the_scatter_nothing_is_told():
    found, untold = spawned(spawning(1, step_s=1e-6, sigma=0.1))
    assert found == {}
    assert "steps are too wide" in untold["task_spawn"]
    # As wide as the whole: some last none.
    found, untold = spawned(spawning(3, step_s=14e-6, least=0))
    assert found == {}
    assert "steps are too wide" in untold["task_spawn"]
    # Steps of several widths, as of batches of other sizes: hardly a value that is not shared.
    mixed = spawning(2, step_s=1e-6)
    for case in mixed.document.measurements:
        if case.kernel == "task_spawn":
            for quantity in case.quantities:
                quantity.samples.values[100:] = [0.93e-6 * n for n in range(6, 16)] * 10
    found, untold = spawned(mixed)
    assert found == {}
    assert "steps are too wide" in untold["task_spawn"]


def test_a_calibration_says_of_which_it_is_not_told(base):
    calibration = Calibration(base, bootstraps=9).fit([spawning(1, step_s=4e-6)])
    assert "task_spawn" not in calibration.profile_.scatter
    assert "steps are too wide" in calibration.untold_["task_spawn"]


def test_likelihoods_are_those_of_scipy():
    x = lognormal(generator(3), 400)
    fits = {name: fit(x) for name, fit in scatter.FAMILIES.items()}
    expected = {
        "lognormal": stats.lognorm.logpdf(x, *stats.lognorm.fit(x, floc=0)).sum(),
        "gamma": stats.gamma.logpdf(x, *stats.gamma.fit(x, floc=0)).sum(),
    }
    for name, value in expected.items():
        assert fits[name].log_likelihood == pytest.approx(value, abs=1e-3)
    # The larger models have the smaller one in them.
    for name in ("shifted_lognormal", "lognormal_with_tail"):
        assert fits[name].log_likelihood > fits["lognormal"].log_likelihood - 0.1


def test_the_criterion_is_corrected_for_few_samples():
    # 2 k - 2 ln L + 2 k (k + 1) / (n - k - 1), with k = 1 + 2 levels.
    assert scatter.Fit(-50.0, 1).aicc(10, 2) == 6 + 100 + 24 / 6


def test_holm_names_the_least_likely_first_and_stops():
    assert scatter.rejected({"a": 0.02, "b": 0.001, "c": 0.6}, 0.05) == ["b", "a"]
    assert scatter.rejected({"a": 0.03, "b": 0.03}, 0.05) == []


@pytest.fixture(scope="module")
def base():
    return "moto_g04s", profile.load(profile.DEVICES / "moto_g04s.toml")


def with_tail(phone, kernel="file_append", *, waking=False):
    """Return a report in which a kernel, an append, takes five times as long one time in ten."""
    report = phone.waking_report() if waking else phone.report()
    for case in report["measurements"]:
        if case["kernel"] == kernel:
            for quantity in case["quantities"]:
                values = np.array(quantity["samples"]["values"])
                values[::10] *= 5
                quantity["samples"] = synthetic.samples(phone.random.permutation(values))
    return synthetic.in_memory(report)


def test_a_profile_says_which_of_its_costs_are_not_lognormal(base):
    found = Calibration(base).fit([with_tail(synthetic.Phone(6))]).profile_.scatter
    assert [name for name, one in found.items() if one.poor] == ["store"]
    assert found["store"].p_value == 1 / (scatter.BOOTSTRAPS + 1)
    assert found["store"].aicc["lognormal_with_tail"] < -50
    assert (found["store"].samples, found["sign"].executions) == (200, 8)
    (said,) = scatter.worded(found, {})
    assert said.startswith("samples of 1 of 21 operations are not lognormal (p < 0.05, Holm)")
    assert "store (lognormal with tail: AICc -" in said
    assert scatter.worded({"sign": found["sign"]}, {}) == []
    untold = {"store": "coarse", "sign": "few", "hash": "few"}
    assert scatter.worded({}, untold) == [
        "whether samples are lognormal, as draws are, is not told of store: coarse",
        "whether samples are lognormal, as draws are, is not told of sign, hash: few",
    ]
    # What no report measured has no scatter, and one draws the same as the other.
    assert set(found) <= {"sign", *kernels.SOURCES}
    without = Calibration(base, bootstraps=0).fit([with_tail(synthetic.Phone(6))]).profile_
    assert without.scatter is None
    assert without.operations["store"].spread_sigma_standard_error > 0


@pytest.mark.parametrize(
    ("waking", "kernel", "changed"),
    [
        (False, "wake_up_latency", {"udp_receive"}),
        (False, "udp_receive", set()),  # its wait scatters more
        (True, "wake_up_latency", set()),
        (True, "udp_receive", {"udp_receive"}),
        (True, "udp_wake_up", {"udp_wake"}),
    ],
)
def test_what_prices_receiving_and_waking_tells_how_they_scatter(base, waking, kernel, changed):
    def p_values(of_kernel):
        report = with_tail(synthetic.Phone(6), of_kernel, waking=waking)
        found = Calibration(base, bootstraps=99).fit([report]).profile_.scatter
        assert ("udp_wake" in found) == waking
        return {name: one.p_value for name, one in found.items()}

    plain, tailed = p_values(""), p_values(kernel)
    assert {name for name in plain if plain[name] != tailed[name]} == changed
    assert all(tailed[name] == 1 / 100 < plain[name] for name in changed)


def test_the_same_reports_have_the_same_p_values(base):
    one, other = (Calibration(base).fit([with_tail(synthetic.Phone(6))]) for _ in range(2))
    assert one.profile_.scatter == other.profile_.scatter


def test_samples_of_which_quantiles_are_kept_say_nothing_of_families():
    report = synthetic.Phone(5).report()
    for case in report["measurements"]:
        for quantity in case["quantities"]:
            values = quantity["samples"]["values"]
            quantity["samples"] = synthetic.samples(values, keep=False)
    sources = {"sign": kernels.SOURCES["sign"]}
    found, untold = scatter.scattered(sources, [synthetic.in_memory(report)], 9)
    assert found == {}
    assert "fewer than 20 samples" in untold["sign"]


def profile_with_scatter(path, operation):
    """Write a shipped profile that says how one operation scatters."""
    text = (profile.DEVICES / "moto_g04s.toml").read_text()
    said = "samples = 9\nexecutions = 1\np_value = 0.5\n"
    path.write_text(f"{text}\n[scatter.{operation}]\n{said}poor = false\naicc = {{}}\n")


def test_no_run_depends_on_a_scatter(tmp_path):
    path = tmp_path / "phone.toml"
    profile_with_scatter(path, "sign")
    loaded = profile.load(path)
    assert loaded.scatter["sign"].samples == 9
    plain = profile.load(profile.DEVICES / "moto_g04s.toml")
    assert json.dumps(profile.contents(loaded)) == json.dumps(profile.contents(plain))


def test_a_scatter_of_no_operation_is_refused(tmp_path):
    path = tmp_path / "phone.toml"
    profile_with_scatter(path, "sing")
    with pytest.raises(ScenarioError, match=r"scatter\.sing: unknown operation .*sign"):
        profile.load(path)
