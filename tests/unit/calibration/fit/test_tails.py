"""Executions that something interrupts are a second mode of their cost, as rare as it was."""

from __future__ import annotations

import numpy as np
import pytest

from pocketsim.calibration.fit import kernels, scatter, tails
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices import profile
from support import synthetic_reports as synthetic

KERNEL, OPERATION, EXECUTIONS = "ed25519_verify", "verify", 8


@pytest.fixture(scope="module")
def base():
    return "moto_g04s", profile.load(profile.DEVICES / "moto_g04s.toml")


def report(number, *, every=40, times=5.0, kernel=KERNEL):
    """Return a report in which one of so many samples takes so many times as long."""
    phone = synthetic.Phone(number, count=400)
    whole = phone.report()
    for case in whole["measurements"]:
        if case["kernel"] == kernel:
            for quantity in case["quantities"]:
                values = np.array(quantity["samples"]["values"])
                values[::every] *= times
                quantity["samples"] = synthetic.samples(phone.random.permutation(values))
            if case["group"] == "udp":
                case["iterations_per_sample"] = None
    return synthetic.in_memory(whole, number)


def fitted(base, **changes):
    reports = [report(number, **changes) for number in range(3)]
    return reports, Calibration(base).fit(reports).profile_


def test_what_is_late_in_a_batch_is_one_of_its_executions(base):
    _, found = fitted(base)
    cost, scattered = found.operations[OPERATION], found.scatter[OPERATION]
    assert scattered.family == "lognormal_with_tail"
    assert cost.tail_share == pytest.approx(1 / 40 / EXECUTIONS, rel=0.3)
    assert cost.tail_ratio == pytest.approx(1 + 4 * EXECUTIONS, rel=0.1)
    assert 0 < cost.tail_share_standard_error < cost.tail_share
    # Each is late by four batches of 8 executions, which differ by 4 %.
    assert cost.tail_sigma < 0.1
    assert scatter.worded(found.scatter, {})[0] == (
        f"drawn with a tail, since samples have one: {OPERATION}"
    )
    others = {name: one for name, one in found.operations.items() if name != OPERATION}
    assert {one.tail_share for one in others.values()} == {None}
    assert {found.scatter[name].family for name in found.scatter if name != OPERATION} == {
        "lognormal"
    }


@pytest.mark.parametrize(
    ("kernel", "operation", "every", "times"),
    [
        # What is not rare is in the sigma, what is not apart scatters as the others do.
        (KERNEL, OPERATION, 10, 5.0),
        (KERNEL, OPERATION, 2, 3.0),
        (KERNEL, OPERATION, 40, 1.05),
        # Of a socket nobody tells how many were timed together, of waits not what was late.
        ("udp_send", "udp_send", 40, 5.0),
        ("wake_up_latency", "udp_receive", 40, 5.0),
    ],
)
def test_what_is_no_rare_mode_of_single_executions_is_no_tail(
    base, kernel, operation, every, times
):
    _, found = fitted(base, every=every, times=times, kernel=kernel)
    assert found.operations[operation].tail_share is None
    assert found.scatter[operation].family == "lognormal"


def test_one_report_in_which_most_are_late_leaves_no_tail(base):
    reports = [report(0), report(1), report(2, every=2, times=3.0)]
    assert Calibration(base).fit(reports).profile_.operations[OPERATION].tail_share is None


def test_what_takes_as_long_as_a_tick_is_one_where_ticks_are_priced(base):
    reports, found = fitted(base)
    plain = found.operations[OPERATION].model_copy(
        update=dict.fromkeys(("tail_share", "tail_ratio", "tail_sigma"))
    )
    late_s = (found.operations[OPERATION].tail_ratio - 1) * plain.cpu
    asked = (OPERATION, plain, found.scatter[OPERATION], kernels.SOURCES[OPERATION], reports)
    shares = {
        tick_s: tails.with_tail(*asked, tick_s).tail_share
        for tick_s in (0.0, late_s / 3, late_s / 1.5, late_s * 1.5, late_s * 3)
    }
    assert [share is None for share in shares.values()] == [False, False, True, True, False]


def test_tails_of_another_profile_stay_unless_ticks_are_priced(base):
    tail = {"tail_share": 0.1, "tail_ratio": 2.0}
    kept = {"sign": base[1].operations["sign"].model_copy(update=tail)}
    assert tails.of_all(kept, {}, {}, [], 0.0) == kept
    assert tails.of_all(kept, {}, {}, [], 1e-5) == {"sign": base[1].operations["sign"]}


def test_a_profile_with_a_tail_reads_as_it_was_written(base, tmp_path):
    from pocketsim.calibration.fit import write

    _, found = fitted(base)
    write.write_profile(found, tmp_path / "late.toml")
    told = profile.contents(profile.load(tmp_path / "late.toml"))["operations"]
    assert told[OPERATION]["tail_share"] == found.operations[OPERATION].tail_share
    assert "tail_share" not in told["sign"]


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ("tail_share = 0.1", "tail_share and tail_ratio go together"),
        ("tail_sigma = 0.1", "tail_sigma and tail_share_standard_error need tail_share"),
        ("tail_share = 0.1\ntail_ratio = 0.5", "greater than 1"),
    ],
)
def test_half_a_tail_is_refused(keys, reason, tmp_path):
    shipped = (profile.DEVICES / "moto_g04s.toml").read_text()
    file = tmp_path / "half.toml"
    file.write_text(shipped.replace("[operations.sign]\n", f"[operations.sign]\n{keys}\n"))
    with pytest.raises(ScenarioError, match=reason):
        profile.load(file)
