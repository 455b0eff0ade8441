"""Made-up phones: reports that are what a probe writes, and a check that finds what it is for."""

import numpy as np
import pytest

from pocketsim.calibration.fit import probe_report
from pocketsim.calibration.fit.kernels import SOURCES
from pocketsim.sim.devices.prices import REFERENCE_BYTES
from tools.made_up_phones.checking import DRAWS, TOGETHER, calibrated, drawn, rows, uneven
from tools.made_up_phones.phones import made_up

PHONES = 400
ALARM = 1e-4


def test_a_report_is_what_a_probe_writes():
    phone = made_up(1, 3, reports=2)
    for report in phone.reports:
        plain = report.document.model_dump(mode="json")
        assert probe_report.Document.model_validate(plain).model_dump(mode="json") == plain
        cases = [each for each in report.document.measurements if each.kernel == "ed25519_verify"]
        assert [case.parameters["bytes"] for case in cases] == [64, 147, 668, 4096]
        for case in cases:
            assert len(case.rounds) == phone.shape.rounds
            counts = {each.samples.count for each in case.quantities}
            assert counts == {sum(each.samples for each in case.rounds)}


def test_a_phone_is_named_by_seed_and_number():
    one, same, other, more = made_up(1, 7), made_up(1, 7), made_up(1, 8), made_up(2, 7)
    assert one.total_s == same.total_s
    assert [each.document for each in one.reports] == [each.document for each in same.reports]
    assert one.total_s["sign"] not in {other.total_s["sign"], more.total_s["sign"]}


def test_phone_without_timed_passages_differs_in_receiving_alone():
    newer, older = made_up(1, 7), made_up(1, 7, passages=False)
    for one, other in zip(newer.reports, older.reports, strict=True):
        cases = one.document.measurements
        assert cases[-1].kernel == "udp_wake_up"
        assert cases[:-1] == other.document.measurements
    assert newer.total_s.keys() - older.total_s.keys() == {"udp_wake"}
    # Waking is in what it receives, or beside it.
    assert older.total_s["udp_receive"] > newer.total_s["udp_receive"]
    assert {key for key, total_s in older.total_s.items() if total_s != newer.total_s[key]} == {
        "udp_receive"
    }


@pytest.mark.slow
def test_a_passage_is_sending_waking_and_reading():
    phone = made_up(1, 0, reports=150)
    told = [
        case.quantities[0].samples.mean
        for report in phone.reports
        for case in report.document.measurements
        if case.kernel == "udp_wake_up"
    ]
    error = np.std(told, ddof=1) / np.sqrt(150)
    passage_s = sum(phone.total_s[key] for key in ("udp_send", "udp_wake", "udp_receive"))
    assert np.mean(told) == pytest.approx(passage_s, abs=4 * error)
    assert error < 0.01 * passage_s


def test_many_reports_tell_the_truth():
    """The mean over reports and rounds of a case is what is true of it."""
    phone = made_up(1, 0, reports=150)
    told = [
        case.quantities[1].samples.mean
        for report in phone.reports
        for case in report.document.measurements
        if case.kernel == "ed25519_verify" and case.parameters == {"bytes": REFERENCE_BYTES}
    ]
    assert len(told) == 150
    error = np.std(told, ddof=1) / np.sqrt(150)
    assert np.mean(told) == pytest.approx(phone.total_s["verify"], abs=4 * error)
    assert error < 0.01 * phone.total_s["verify"]


def judged(draw):
    """Return rows of phones whose profile draws as `draw(random, its own estimate)`."""
    random = np.random.Generator(np.random.Philox(5))
    estimates = np.exp(0.05 * random.standard_normal((PHONES, 3)))
    names = ("sign", "verify", "hash")
    return rows([dict(zip(names, draw(random, each[:, None]), strict=True)) for each in estimates])


def as_sure(random, estimates, claimed=0.05, shift=0.0):
    logs = shift + claimed * random.standard_normal((3, DRAWS))
    return estimates * np.exp(logs)


def test_calibration_with_honest_errors_passes():
    found = judged(as_sure)
    assert uneven(found, ALARM) == []
    # Of 400 intervals of 95 %, binomial: four deviations are 4.4 %.
    assert all(abs(row.inside_ratio - 0.95) < 0.044 for row in found)
    assert all(abs(row.drawn_ratio) < 0.02 for row in found)
    # Between the least and the largest of 39: the expected range of as many normals is 4.3.
    assert found[0].width_ratio == pytest.approx(4.3 * 0.05, rel=0.1)


@pytest.mark.parametrize("mistake", [{"claimed": 0.025}, {"claimed": 0.1}, {"shift": 0.03}])
def test_overconfident_underconfident_and_biased_costs_are_named(mistake):
    found = judged(lambda random, estimates: as_sure(random, estimates, **mistake))
    assert sorted(uneven(found, ALARM)) == ["hash", "sign", "verify"]


def test_every_operation_is_judged():
    phone = made_up(1, 1, reports=2)
    found = drawn(phone, calibrated(phone), 1)
    assert sorted(found) == sorted([*SOURCES, "udp_wake", TOGETHER])
    assert all(ratios.shape == (DRAWS,) for ratios in found.values())
    # Two reports that differ by a tenth, at most: nobody is off by half.
    assert all(0.5 < np.median(ratios) < 2 for ratios in found.values())
