"""Slow and fast phases of made-up devices: what reports say of them, and what becomes of it."""

from __future__ import annotations

import numpy as np
import pytest

from pocketsim.calibration.fit import looks, phases, write
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.sim.devices import profile
from pocketsim.sim.devices.draws import draw
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario import load
from pocketsim.sim.scenario.resolve import resolve
from support import synthetic_reports as synthetic
from support.synthetic_reports import in_memory, measurement

SIGMA, TIME_S = 0.15, 0.8
CASES, ROUNDS, SAMPLES, ROUND_S = 40, 2, 100, 0.2


def course(random, times_s, sigma):
    """Return an autoregressive process of order 1 at ascending times."""
    level, last_s, found = random.normal(), times_s[0], []
    for at_s in times_s:
        kept = np.exp(-(at_s - last_s) / TIME_S)
        level = kept * level + np.sqrt(1 - kept**2) * random.normal()
        last_s = at_s
        found.append(sigma * level)
    return np.array(found)


def phased_report(seed, sigma=SIGMA, own=0.05):
    """Return a report of cases that were timed one after the other, in rounds over all of them."""
    random = np.random.Generator(np.random.Philox(seed))
    ticks = np.arange(CASES * ROUNDS * SAMPLES) * (ROUND_S / SAMPLES)
    logs = course(random, ticks, sigma).reshape(ROUNDS, CASES, SAMPLES)
    logs += own * random.normal(size=logs.shape)
    cases = []
    for number in range(CASES):
        values = 1e-5 * np.exp(logs[:, number, :].ravel())
        one = measurement(
            "ed25519_sign",
            "crypto",
            {"cpu_s": values, "wall_s": values},
            parameters={"bytes": 64 + number},
            iterations_per_sample=int(ROUND_S / SAMPLES / 1e-5),
        )
        places = [(number + CASES * turn) * ROUND_S for turn in range(ROUNDS)]
        medians = np.median(values.reshape(ROUNDS, SAMPLES), axis=1)
        rounds = [
            {"at_s": at_s, "samples": SAMPLES, "median": float(median)}
            for at_s, median in zip(places, medians, strict=True)
        ]
        cases.append({**one, "rounds": rounds})
    return in_memory({**synthetic.envelope(), "measurements": cases}, seed)


def test_phases_are_what_neighbours_share():
    found = phases.phase([phased_report(seed) for seed in range(12)])
    assert found.sigma == pytest.approx(SIGMA, abs=4 * found.sigma_error)
    assert found.sigma == pytest.approx(SIGMA, rel=0.25)
    assert found.time_s == pytest.approx(TIME_S, rel=0.6)
    assert found.samples == 12 * CASES * ROUNDS * 4


def test_scatter_alone_is_no_phase():
    found = [phases.phase([phased_report(seed, sigma=0.0, own=0.2)]) for seed in range(8)]
    assert sum(one is not None for one in found) <= 1
    together = phases.phase([phased_report(seed, sigma=0.0, own=0.2) for seed in range(8)])
    assert together is None or together.sigma < 0.02


def test_what_is_shared_is_no_scatter_of_executions():
    report = phased_report(3)
    (case,) = looks.cases(report, "ed25519_sign", "cpu_s")[:1]
    told = looks.estimate_of(case, "cpu_s", report)
    logs = np.log(case.quantity("cpu_s").values)
    assert told.sample_sigma < 0.7 * logs.std()
    calm = phased_report(3, sigma=0.0)
    (case,) = looks.cases(calm, "ed25519_sign", "cpu_s")[:1]
    assert looks.estimate_of(case, "cpu_s", calm).sample_sigma == pytest.approx(0.05, rel=0.2)


def test_reports_of_one_round_or_without_samples_tell_none():
    assert phases.phase([in_memory(synthetic.Phone(1).report(), 1)]) is None


@pytest.fixture(scope="module")
def phased():
    plain = Calibration(bootstraps=0).fit(
        [in_memory(synthetic.Phone(n).report(), n) for n in range(3)]
    )
    known = {"basis": "measured", "samples": 100, "source": "made up for a test"}
    told = profile.Phases.model_validate(
        {
            "sigma": {**known, "value": 0.2, "standard_error": 0.05},
            "correlation_time": {**known, "value": "500ms", "standard_error": "100ms"},
        }
    )
    scheduler = plain.profile_.scheduler.model_copy(update={"phases": told})
    return plain.profile_.model_copy(update={"scheduler": scheduler})


def test_they_are_in_the_file_reach_the_engine_and_are_drawn(phased, scenario):
    file = scenario.parent / "phone.toml"
    write.write_profile(phased, file)
    assert profile.load(file) == phased
    resolved = resolve(load(scenario, ["devices[0].profile=phone.toml"]))[0].resolved
    column = build_plan(resolved, 0)["profiles"][0]
    assert (column["phase_sigma"], column["phase_time_s"]) == (0.2, 0.5)
    (shipped,) = resolved["profiles"].values()
    sigmas = [
        draw(shipped, seed, "it")["scheduler"]["phases"]["sigma"]["value"] for seed in range(200)
    ]
    assert np.mean(sigmas) == pytest.approx(0.2, abs=4 * 0.05 / np.sqrt(200))
    assert np.std(sigmas) == pytest.approx(0.05, rel=0.3)


def test_phases_last():
    known = {"basis": "assumed", "source": "made up", "standard_error": 0.1}
    time = {**known, "value": "0s", "standard_error": "1s"}
    with pytest.raises(ValueError, match="more than 0"):
        profile.Phases.model_validate({"sigma": {**known, "value": 0.1}, "correlation_time": time})
