"""What a thread that sleeps until a time takes of its core, and who gets a core when."""

from __future__ import annotations

import pytest

from pocketsim.calibration.fit import write
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.sim.base.units import DURATION
from pocketsim.sim.devices import profile
from pocketsim.sim.devices.draws import TICK_MAX_S, draw
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import synthetic_reports as synthetic
from support.synthetic_reports import SLEEPS_S, TICK_S, in_memory

pytestmark = pytest.mark.slow


def sleeping(number, kernel="6.12.0"):
    return in_memory(synthetic.Phone(number).sleeping_report(kernel), number)


@pytest.fixture(scope="module")
def fitted():
    return Calibration().fit([sleeping(number) for number in range(3)]).profile_


def test_a_sleep_has_two_prices(fitted):
    for name, known_s in SLEEPS_S.items():
        cost = fitted.operations[name]
        assert cost.cpu == pytest.approx(known_s, rel=0.05)
        assert cost.per_byte == cost.wait == 0
        assert f"kernel {name}" in cost.source


def test_who_has_not_timed_them_tells_nothing(fitted):
    plain = in_memory(synthetic.Phone(1).paced_report(), 1)
    for reports in ([plain], [plain, sleeping(2)]):
        found = Calibration().fit(reports).profile_
        assert not SLEEPS_S.keys() & found.operations.keys()
    based = Calibration(("new", fitted)).fit([plain])
    for name in SLEEPS_S:
        assert based.profile_.operations[name] == fitted.operations[name]
        assert name in {part.key for part in based.kept_}


@pytest.mark.parametrize(
    ("kernels", "known"),
    [
        (["6.12.0"], "eevdf"),
        (["6.18.44-some-build"], "eevdf"),
        (["7.0"], "eevdf"),
        (["6.6.30-android15-8"], None),  # EEVDF, but who falls asleep leaves at once
        (["5.15.0"], None),
        (["6.12.1", "6.1.99"], None),
        (["unknown"], None),
    ],
)
def test_the_kernels_version_says_who_has_a_core(kernels, known):
    reports = [sleeping(number, kernel) for number, kernel in enumerate(kernels)]
    policy = Calibration().fit(reports).profile_.scheduler.policy
    assert (policy and policy.value) == known
    assert policy is None or kernels[0] in policy.source


def test_what_the_kernel_takes_every_4_ms_is_a_number_with_an_error(fitted):
    tick = fitted.scheduler.tick
    assert tick.value == pytest.approx(TICK_S, rel=0.05)
    assert 0 < tick.standard_error < 0.2 * TICK_S
    assert "kernel kernel_tick" in tick.source
    plain = in_memory(synthetic.Phone(1).paced_report(), 1)
    for reports in ([plain], [plain, sleeping(2)]):
        assert Calibration().fit(reports).profile_.scheduler.tick is None


@pytest.mark.parametrize("each_s", [0.0, 0.3e-3])
def test_a_tick_that_is_none_or_somebody_else_is_not_told(each_s):
    report = synthetic.Phone(1).sleeping_report()
    case = next(one for one in report["measurements"] if one["kernel"] == "kernel_tick")
    case["quantities"] = synthetic.measurement("", "", {"cpu_s": [each_s] * 20})["quantities"]
    scheduler = Calibration().fit([in_memory(report, 1)]).profile_.scheduler
    assert scheduler.policy is not None
    assert scheduler.tick is None


def test_of_a_kernel_whose_threads_share_cores_no_tick_is_told():
    assert Calibration().fit([sleeping(1, "5.15.0")]).profile_.scheduler.tick is None


def test_one_report_has_the_error_of_its_samples():
    tick = Calibration().fit([sleeping(1)]).profile_.scheduler.tick
    assert 0 < tick.standard_error < 0.1 * tick.value


def test_a_drawn_tick_leaves_something(fitted, scenario):
    wide = fitted.scheduler.tick.model_copy(update={"value": 0.15e-3, "standard_error": 0.1e-3})
    scheduler = fitted.scheduler.model_copy(update={"tick": wide})
    write.write_profile(
        fitted.model_copy(update={"scheduler": scheduler}), scenario.parent / "phone.toml"
    )
    resolved = resolve(load(scenario, ["devices[0].profile=phone.toml"]))[0].resolved
    (shipped,) = resolved["profiles"].values()
    drawn_s = [draw(shipped, seed, "it")["scheduler"]["tick_s"]["value"] for seed in range(200)]
    assert max(drawn_s) == TICK_MAX_S
    assert min(drawn_s) > 0


def test_a_tick_that_leaves_next_to_nothing_is_refused(fitted, scenario):
    file = scenario.parent / "phone.toml"
    write.write_profile(fitted, file)
    head, tail = file.read_text().split("[scheduler.tick]")
    there = f'value = "{DURATION.write(fitted.scheduler.tick.value)}"'
    assert there in tail
    slower = tail.replace(there, 'value = "3ms"', 1)
    file.write_text(f"{head}[scheduler.tick]{slower}")
    with pytest.raises(profile.ScenarioError, match=r"scheduler.*tick"):
        profile.load(file)


def test_they_are_in_the_file_and_reach_the_engine(fitted, scenario):
    write.write_profile(fitted, scenario.parent / "phone.toml")
    assert profile.load(scenario.parent / "phone.toml") == fitted
    settings = ["workload.rate=1000/s", "workload.pacing=by_clock"]
    own = ["devices[0].profile=phone.toml", *settings]
    plans = [build_plan(resolve(load(scenario, each))[0].resolved, 0) for each in (own, settings)]
    assert [plan["profiles"][0]["eevdf"] for plan in plans] == [True, False]
    ticks_s = [plan["profiles"][0]["tick_core_s"] for plan in plans]
    assert ticks_s == [fitted.scheduler.tick.value, 0.0]
    # The law is of the time until a thread goes on, which has what it computes until then.
    (loop,) = plans[0]["workload"]["loops"]
    law_s = fitted.scheduler.sleep_overshoot.base.value
    taken_s = sum(fitted.operations[name].cpu for name in SLEEPS_S)
    assert loop["overshoot_s"] == pytest.approx(law_s - taken_s, rel=0.01)


def test_a_policy_that_there_is_none_of_is_refused(fitted, scenario):
    file = scenario.parent / "phone.toml"
    write.write_profile(fitted, file)
    file.write_text(file.read_text().replace('"eevdf"', '"cfs"'))
    with pytest.raises(profile.ScenarioError, match=r"scheduler\.policy\.value"):
        profile.load(file)
