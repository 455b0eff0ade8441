"""Rounds and reports tell how sure a cost is and what errs together; what estimators promise."""

import json

import numpy as np
import pytest

from pocketsim.calibration.fit import kernels
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.calibration.fit.looks import lack_of_fit, look
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.devices import profile
from pocketsim.sim.devices.prices import REFERENCE_BYTES
from support import synthetic_reports as synthetic
from support.synthetic_reports import cost_of, reports, standard_error_at, without

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base():
    return "moto_g04s", profile.load(profile.DEVICES / "moto_g04s.toml")


def with_rounds(report, factors, kernels_=("ed25519_sign", "ed25519_verify")):
    """Return `report` with a round for each of `factors`, by which everything in it is slower."""
    changed = json.loads(json.dumps(report))
    for case in changed["measurements"]:
        if case["kernel"] not in kernels_ or case["threads"] > 1:
            continue
        for quantity in case["quantities"]:
            parts = np.split(np.array(quantity["samples"]["values"]), len(factors))
            slower = [part * factor for part, factor in zip(parts, factors, strict=True)]
            quantity["samples"] = synthetic.samples(np.concatenate(slower))
            if quantity is case["quantities"][0]:
                case["rounds"] = [
                    {"at_s": 1.0, "samples": len(part), "median": float(np.median(part))}
                    for part in slower
                ]
    return changed


def test_rounds_of_a_report_tell_its_error():
    factors = (1.0, 1.1, 0.9, 1.0)
    report = synthetic.in_memory(with_rounds(synthetic.Phone(sigma=0.01).report(), factors))
    operation = cost_of(kernels.SOURCES["sign"], [report], 4)
    total = operation.cpu + operation.per_byte * REFERENCE_BYTES
    # The scatter of the four over the root of 4, for all sizes at once: both parts err together.
    assert standard_error_at(operation, REFERENCE_BYTES) / total == pytest.approx(
        np.std(factors, ddof=1) / 2, rel=0.05
    )
    assert operation.degrees_of_freedom == pytest.approx(3, abs=0.1)
    assert operation.correlation > 0.95
    assert "leaves" not in operation.source or "leaves 0." in operation.source


def test_reports_are_as_many_less_one_degrees_of_freedom():
    for number in (2, 3, 6):
        operation = cost_of(kernels.SOURCES["sign"], reports(number, between=0.1), 4)
        assert operation.degrees_of_freedom == pytest.approx(number - 1, abs=0.2)
    assert cost_of(kernels.SOURCES["task_spawn"], reports(1), 4).degrees_of_freedom is None


def test_what_a_line_leaves_over_is_seen_however_few_sizes_tell_it():
    """Of three sizes one is off by a tenth: rounds still tell the rest by three degrees."""
    report = synthetic.Phone(sigma=0.01).report()
    for case in report["measurements"]:
        if case["kernel"] == "udp_send" and case["parameters"] == {"bytes": 668}:
            for quantity in case["quantities"]:
                values = 1.1 * np.array(quantity["samples"]["values"])
                quantity["samples"] = synthetic.samples(values)
    source = kernels.SOURCES["udp_send"]
    bent = with_rounds(report, (1.0, 1.1, 0.9, 1.0), kernels_=("udp_send",))
    operation = cost_of(source, [synthetic.in_memory(bent)], 4)
    assert "leaves" in operation.source
    assert operation.degrees_of_freedom > 3
    # Without rounds nothing but samples and the line are off, and both are as good as known.
    assert cost_of(source, [synthetic.in_memory(report)], 4).degrees_of_freedom is None


def test_what_was_measured_together_errs_together(base):
    together = Calibration(base).fit(reports(5, between=0.2)).profile_.operations
    measured = [operation for operation in together.values() if operation.basis == "measured"]
    assert {operation.common_factor for operation in measured} == {"measured together"}
    # One factor of 20 % for the whole report, and 0.1 / sqrt(8 * 200) of each case.
    assert all(operation.common_ratio > 0.9 for operation in measured)
    alone = Calibration(base).fit(reports(1)).profile_.operations
    assert {operation.common_factor for operation in alone.values()} == {None}


def test_rounds_that_differ_alike_err_together(base):
    one = with_rounds(synthetic.Phone(sigma=0.01).report(), (1.0, 1.1, 0.9, 1.0))
    costs = Calibration(base).fit([synthetic.in_memory(one)]).profile_.operations
    assert costs["sign"].common_ratio == costs["verify"].common_ratio > 0.95
    assert costs["hash"].common_factor is None


@pytest.mark.slow
def test_an_estimator_says_how_it_was_made_and_how_well_it_did(base):
    calibration = Calibration(base, name="Mine", store="file_append")
    again = Calibration(**calibration.get_params())
    found = reports(3, between=0.03)
    assert calibration.fit(found) is calibration
    assert again.fit(found).profile_ == calibration.profile_
    # Costs are from 0.2 us to 34 ms apart; reports differ by 3 %.
    assert 0.999 < calibration.score(reports(2, 50, between=0.03)) < 1
    slower = Calibration(base).fit(found)
    slower.profile_ = slower.profile_.model_copy(
        update={
            "operations": {
                key: cost.model_copy(update={"cpu": 3 * cost.cpu, "per_byte": 3 * cost.per_byte})
                for key, cost in slower.profile_.operations.items()
            }
        }
    )
    assert slower.score(reports(2, 50)) < 0.9


def test_nothing_in_common_is_no_score(base):
    calibration = Calibration(base).fit(reports(1))
    names = [case["kernel"] for case in synthetic.Phone().report()["measurements"]]
    empty = without(synthetic.Phone(9).report(), *names, reason="no")
    with pytest.raises(UserError, match="nothing to compare"):
        calibration.score([synthetic.in_memory(empty)])


def test_sigmas_have_the_errors_that_so_many_samples_and_reports_leave(base):
    operations = Calibration(base, bootstraps=0).fit(reports(5, between=0.2)).profile_.operations
    sign = operations["sign"]
    # Of a deviation over five reports: 1 / sqrt(2 (5 - 1)).
    assert sign.repetition_sigma_standard_error / sign.repetition_sigma == pytest.approx(
        8**-0.5, rel=0.01
    )
    # Of 5 x 6 cases with 200 samples, by two quantiles of each.
    assert sign.spread_sigma_standard_error / sign.spread_sigma == pytest.approx(
        0.96 / np.sqrt(5 * 6 * 200), rel=0.5
    )
    (one,) = reports(1)
    alone = Calibration(base, bootstraps=0).fit([one]).profile_.operations["sign"]
    assert (alone.repetition_sigma, alone.repetition_sigma_standard_error) == (0.0, None)


def test_what_bends_one_report_by_chance_is_no_bend_of_the_device():
    """Cases are off by 3 % in each report, by others in the next; by sizes they fit a line."""
    random = np.random.Generator(np.random.Philox(5))

    def one(number):
        report = synthetic.Phone(number, sigma=0.01).report()
        for case in report["measurements"]:
            if case["kernel"] == "ed25519_sign" and case["threads"] == 1:
                factor = 1 + 0.03 * random.standard_normal()
                for quantity in case["quantities"]:
                    values = np.array(quantity["samples"]["values"]) * factor
                    quantity["samples"] = synthetic.samples(values)
        return synthetic.in_memory(report, number)

    found = [look(kernels.SOURCES["sign"], one(number)) for number in range(8)]
    each = [lack_of_fit([one_look]) for one_look in found]
    assert np.median(each) > 0.015
    assert lack_of_fit(found) < 0.5 * np.median(each)
    # What is off in all of them alike is, however many there are.
    bent = [synthetic.Phone(number, sigma=0.01).report() for number in range(8)]
    for report in bent:
        for case in report["measurements"]:
            if case["kernel"] == "ed25519_sign" and case["parameters"].get("bytes") == 668:
                for quantity in case["quantities"]:
                    values = 1.05 * np.array(quantity["samples"]["values"])
                    quantity["samples"] = synthetic.samples(values)
    looks = [look(kernels.SOURCES["sign"], synthetic.in_memory(report)) for report in bent]
    assert lack_of_fit(looks) == pytest.approx(lack_of_fit(looks[:1]), rel=0.1)
    assert lack_of_fit(looks) > 0.01
