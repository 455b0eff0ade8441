"""From reports to a profile: known costs are recovered, and what is not known is not invented."""

from __future__ import annotations

import datetime as dt
import json
import math

import numpy as np
import pytest

from pocketsim.calibration.fit import device as behaviour
from pocketsim.calibration.fit import kernels, write
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.calibration.fit.costs import price
from pocketsim.sim.base.engine_facts import device_operations
from pocketsim.sim.base.errors import ScenarioError, UserError
from pocketsim.sim.devices import profile
from pocketsim.sim.devices.prices import REFERENCE_BYTES
from support import synthetic_reports as synthetic
from support.synthetic_reports import cost_of, reports, standard_error_at, without

BASE = "moto_g04s"


@pytest.fixture(scope="module")
def base():
    return BASE, profile.load(profile.DEVICES / f"{BASE}.toml")


@pytest.fixture(scope="module")
def fitted(base):
    return Calibration(base).fit(reports(4, between=0.03)).profile_


def truth(name):
    """Return fixed and per-byte CPU time of an operation of the synthetic phone."""
    _, cpu_s, per_byte_s, _ = synthetic.KERNELS[kernels.SOURCES[name].kernel]
    return cpu_s, per_byte_s


COMPUTING = [name for name, source in kernels.SOURCES.items() if source.kernel in synthetic.KERNELS]


def test_every_operation_of_a_device_has_a_kernel():
    assert sorted(kernels.SOURCES) == sorted(device_operations())
    assert kernels.STORES["file_append"] == kernels.SOURCES["store"]


@pytest.mark.parametrize("name", COMPUTING)
def test_costs_are_recovered(fitted, name):
    cpu_s, per_byte_s = truth(name)
    operation = fitted.operations[name]
    assert operation.basis == "measured"
    # Four reports that differ by 3 %: 5 % are three standard errors.
    assert operation.cpu == pytest.approx(cpu_s, rel=0.07)
    assert operation.per_byte == pytest.approx(per_byte_s, rel=0.15, abs=1e-13)
    assert operation.spread_sigma == pytest.approx(0.1, rel=0.15) or name == "udp_receive"
    assert operation.repetition_sigma < 0.08
    assert 0 < operation.standard_error < 0.1 * (operation.cpu + operation.wait)


@pytest.mark.slow
def test_one_report_covers_its_truth():
    """Over many phones, errors are as large as the standard errors say; of lines, at a block."""
    inside, claims = [], []
    for seed in range(40):
        (report,) = reports(1, seed, count=60)
        for name in COMPUTING:
            if name == "udp_receive":
                continue
            cpu_s, per_byte_s = truth(name)
            operation = cost_of(kernels.SOURCES[name], [report], 4)
            at = REFERENCE_BYTES if per_byte_s else 0.0
            true, found = cpu_s + per_byte_s * at, operation.cpu + operation.per_byte * at
            error = standard_error_at(operation, at)
            inside.append(abs(found - true) <= 1.96 * error)
            claims.append(error / found)
    assert 0.91 <= np.mean(inside) <= 0.995
    # The error of a mean over 60 samples of 8 executions with a spread of 10 %, and some.
    assert np.median(claims) < 3 * 0.1 / math.sqrt(8 * 60)


def test_reports_that_differ_say_so():
    found = [
        cost_of(kernels.SOURCES["sign"], reports(6, 100 * seed, between=0.1, count=30), 4)
        for seed in range(12)
    ]
    assert np.median([operation.repetition_sigma for operation in found]) == pytest.approx(
        0.1, abs=0.03
    )
    # Six of them tell the mean to 0.1 / sqrt(6).
    claims = [
        standard_error_at(operation, REFERENCE_BYTES)
        / (operation.cpu + REFERENCE_BYTES * operation.per_byte)
        for operation in found
    ]
    assert np.median(claims) == pytest.approx(0.1 / math.sqrt(6), rel=0.35)
    errors = [abs(operation.cpu / 60e-6 - 1) for operation in found]
    assert np.mean(np.array(errors) <= 2.6 * np.array(claims)) >= 0.8


def test_alike_reports_do_not():
    operation = cost_of(kernels.SOURCES["sign"], reports(4), 4)
    assert operation.repetition_sigma < 0.01


def test_a_kernel_that_waits_costs_less_cpu_than_time(fitted):
    store = fitted.operations["store"]
    total_s = store.cpu + store.per_byte * REFERENCE_BYTES
    assert total_s == pytest.approx(15e-6, rel=0.07)
    assert store.wait == pytest.approx(5e-6, rel=0.2)
    assert store.threads == 1


def test_a_kernel_on_several_threads(fitted):
    setup = fitted.operations["endpoint_setup"]
    # 34 ms of CPU time in 10 ms: four threads, and 1.5 ms in which they wait.
    assert (setup.threads, setup.cpu) == (4, pytest.approx(34e-3, rel=0.07))
    assert setup.wait == pytest.approx(1.5e-3, rel=0.4)
    close = fitted.operations["endpoint_close"]
    assert (close.threads, close.wait) == (1, pytest.approx(1e-3, rel=0.15))


def test_no_more_threads_than_cores():
    operation = cost_of(kernels.SOURCES["endpoint_setup"], reports(1), 2)
    assert operation.threads == 2
    assert operation.wait == 0


def test_a_received_datagram_wakes_its_thread(fitted):
    operation = fitted.operations["udp_receive"]
    # Blocked in recvfrom, less what sending and receiving cost; not the 5 us of a parked thread.
    assert operation.wait == pytest.approx(synthetic.WAKE_UP_S, rel=0.1)
    assert "wake_up_latency" in operation.source
    # The wake-up is most of it and was timed one by one.
    assert operation.spread_sigma == pytest.approx(0.1 * 50 / 57, rel=0.15)


def test_the_sleep_law(fitted):
    law = fitted.scheduler.sleep_overshoot
    for number, true_s in ((law.base, 0.2e-3), (law.slope, 0.1e-3)):
        assert number.basis == "measured"
        assert number.value == pytest.approx(true_s, rel=0.1)
        assert 0 < number.standard_error < 0.1 * true_s
    assert law.spread_sigma.value == pytest.approx(0.1, rel=0.1)
    assert law.repetition_sigma.basis == "measured"
    assert law.repetition_sigma.value < 0.08


def test_one_report_does_not_tell_how_repetitions_sleep(base):
    law = Calibration(base).fit(reports(1)).profile_.scheduler.sleep_overshoot
    assert law.repetition_sigma == base[1].scheduler.sleep_overshoot.repetition_sigma
    assert law.base.basis == "measured"


SIGMA = "scheduler.sleep_overshoot.repetition_sigma"


def claims(calibration):
    return calibration.profile_.device.does_not_claim


def test_what_one_report_takes_from_the_base_is_said(base):
    """Two more reports of which one has slept tell no more than that one."""
    sleepless = [
        without(synthetic.Phone(n).report(), "sleep_overshoot", reason="no") for n in (1, 2)
    ]
    also = [synthetic.in_memory(report, 1 + n) for n, report in enumerate(sleepless)]
    for found in (reports(1), reports(1) + also):
        calibration = Calibration(base).fit(found)
        (kept,) = [one for one in calibration.kept_ if one.key == SIGMA]
        assert (kept.basis, kept.why) == (
            base[1].scheduler.sleep_overshoot.repetition_sigma.basis,
            "one report does not tell how much repetitions differ",
        )
        (said,) = [claim for claim in claims(calibration) if BASE in claim]
        assert f"{SIGMA} (fitted): of profile {BASE}" in said
    assert not any(SIGMA in claim for claim in claims(Calibration(base).fit(reports(2))))


def test_one_report_does_not_claim_how_operations_differ(base):
    calibration = Calibration(base).fit(reports(1))
    measured = [
        operation
        for operation in calibration.profile_.operations.values()
        if operation.basis == "measured"
    ]
    assert {operation.repetition_sigma for operation in measured} == {0.0}
    (said,) = [claim for claim in claims(calibration) if "one report" in claim]
    assert said.endswith("so repetition_sigma of the operations that it measured is 0")
    assert not any("one report" in claim for claim in claims(Calibration(base).fit(reports(2))))


def test_cores_are_what_threads_gain(fitted):
    cores = fitted.device.cores
    assert cores.value == pytest.approx(3.0, rel=0.02)
    assert "the system counts 4" in cores.source


def test_without_a_ladder_cores_are_counted():
    (report,) = reports(1)
    cases = [case for case in report.document.measurements if case.threads == 1]
    document = report.document.model_copy(update={"measurements": cases})
    alone = type(report)(report.path, report.digest, document)
    assert (behaviour.cores([alone]).value, behaviour.cores([alone]).standard_error) == (4.0, 0.0)


def test_the_default_buffer_is_the_one_nobody_asked_for(fitted):
    assert fitted.device.socket_buffer == 229376


def test_a_report_of_everything_takes_no_base(fitted):
    alone = Calibration().fit(reports(4, between=0.03))
    assert alone.profile_ == fitted
    assert alone.kept_ == ()
    (one,) = [Calibration().fit(reports(1)).profile_.scheduler.sleep_overshoot.repetition_sigma]
    assert (one.value, one.basis) == (0.0, "assumed")
    assert one.standard_error > 0.05


def test_without_a_base_a_hole_is_refused():
    broken = without(synthetic.Phone().report(), "ed25519_sign", "sha256", reason="no such call")
    expected = "not measured: sign and 1 more .kernel ed25519_sign: no such call.; name a profile"
    with pytest.raises(ScenarioError, match=expected):
        Calibration().fit([synthetic.in_memory(broken)])


def test_the_device_is_the_reports(fitted):
    device = fitted.device
    assert (device.name, device.soc, device.os) == (
        "Invented Phone",
        "Imaginary 1",
        "Android 14 U1",
    )
    assert device.measured_on == dt.date(2026, 3, 1)
    assert device.probe == "0.1.0, release, aarch64-linux-android"


def test_a_kernel_that_was_not_measured_says_why(base):
    report = synthetic.Phone().report()
    broken = without(report, "ed25519_sign", "udp_buffer_capacity", reason="no such call")
    broken = without(broken, "wake_up_latency", reason="no threads")
    calibration = Calibration(base).fit([synthetic.in_memory(broken)])
    why = {kept.key: kept.why for kept in calibration.kept_}
    assert list(why)[:2] == ["sign", "udp_receive"]
    assert why["sign"] == "kernel ed25519_sign: no such call"
    # It was received often enough; how long its thread takes to wake up is not known.
    assert why["udp_receive"] == "kernel wake_up_latency: no threads"
    assert why["device.socket_buffer"] == "kernel udp_buffer_capacity: no such call"
    assert "device.socket_buffer, scheduler." in "".join(claims(calibration))
    assert calibration.profile_.operations["sign"] == base[1].operations["sign"]


def test_too_few_samples_are_none():
    report = synthetic.Phone(count=4).report()
    assert price(kernels.SOURCES["sign"], [synthetic.in_memory(report)], 4) is None


def test_a_report_that_lacks_a_kernel_leaves_it_to_the_others():
    one, other = synthetic.Phone(1).report(), synthetic.Phone(2).report()
    found = [
        synthetic.in_memory(without(one, "sha256", reason="no")),
        synthetic.in_memory(other, 1),
    ]
    assert cost_of(kernels.SOURCES["hash"], found, 4) == cost_of(
        kernels.SOURCES["hash"], found[1:], 4
    )


@pytest.mark.parametrize("store", sorted(kernels.STORES))
def test_the_store_may_be_durable(base, store):
    report = synthetic.Phone().report()
    source = kernels.STORES[store]
    for bytes_ in (668, 4096):
        quantities = {"wall_s": np.full(50, 3e-3), "cpu_s": np.full(50, 1e-3)}
        parameters = {"bytes": bytes_, **dict(source.variant)}
        case = synthetic.measurement(source.kernel, "storage", quantities, parameters=parameters)
        report["measurements"] = [
            old
            for old in report["measurements"]
            if (old["kernel"], old["parameters"]) != (source.kernel, parameters)
        ]
        report["measurements"].append(case)
    priced = Calibration(base, store=store).fit([synthetic.in_memory(report)]).profile_
    assert priced.operations["store"].wait == pytest.approx(2e-3, rel=1e-3)
    assert source.kernel in priced.operations["store"].source


def test_costs_on_many_threads_or_chosen_cores_do_not_enter(base):
    report = synthetic.Phone().report()
    slow = np.full(100, 1.0)
    for changes in ({"core_class": "little"}, {"threads": 8}):
        quantities = {"wall_s": slow, "cpu_s": slow}
        case = synthetic.measurement(
            "ed25519_sign", "crypto", quantities, parameters={"bytes": 138}, **changes
        )
        report["measurements"].append(case)
    operation = cost_of(kernels.SOURCES["sign"], [synthetic.in_memory(report)], 4)
    assert operation.cpu == pytest.approx(60e-6, rel=0.05)


def test_a_line_that_does_not_fit_widens_the_error():
    straight = synthetic.Phone().report()
    bent = json.loads(json.dumps(straight))
    for case in bent["measurements"]:
        if case["kernel"] == "sha256" and case["parameters"]["bytes"] in (138, 1472):
            for quantity in case["quantities"]:
                values = 1.3 * np.array(quantity["samples"]["values"])
                quantity["samples"] = synthetic.samples(values)
    one, other = (
        cost_of(kernels.SOURCES["hash"], [synthetic.in_memory(document)], 4)
        for document in (straight, bent)
    )
    assert one.standard_error / one.cpu < 0.02
    assert other.standard_error / other.cpu > 0.08
    assert "the line leaves" in other.source


def test_spoiled_reports_are_refused_or_said(base):
    spoiled = [{"condition": "throttled", "detail": "1.3 times slower"}]
    report = synthetic.in_memory(synthetic.Phone().report(spoiled=spoiled), 7)
    with pytest.raises(ScenarioError, match=r"spoiled: throttled \(1.3 times slower\)"):
        Calibration(base).fit([report])
    found = Calibration(base, allow_spoiled=True).fit([report]).profile_
    assert "throttled in report 000000000000: 1.3 times slower" in found.device.does_not_claim


def test_reports_are_of_one_device_and_count_once(base):
    other = synthetic.Phone().report()
    other["device"]["model"] = "Tablet"
    found = [synthetic.in_memory(synthetic.Phone().report()), synthetic.in_memory(other, 1)]
    with pytest.raises(ScenarioError, match=r"device.model: is 'Tablet', but .* says 'Phone'"):
        Calibration(base).fit(found)
    with pytest.raises(ScenarioError, match="is there twice"):
        Calibration(base).fit([found[0], found[0]])


def test_a_device_without_a_name_needs_one(base):
    report = synthetic.Phone().report()
    report["device"] |= {"manufacturer": "", "model": "", "soc": ""}
    with pytest.raises(UserError, match="--name"):
        Calibration(base).fit([synthetic.in_memory(report)])
    processor = json.loads(json.dumps(report))
    processor["device"]["soc"] = "EPIC"
    assert Calibration(base).fit([synthetic.in_memory(processor)]).profile_.device.name == "EPIC"
    found = Calibration(base, name="Mine").fit([synthetic.in_memory(report)]).profile_
    assert (found.device.name, found.device.soc) == ("Mine", "not stated")


@pytest.mark.slow
def test_the_order_of_reports_does_not_matter(base, tmp_path):
    found = reports(3)
    texts = {
        write.as_toml(Calibration(base).fit(order).profile_)
        for order in (found, found[::-1], [found[1], found[2], found[0]])
    }
    assert len(texts) == 1


@pytest.mark.parametrize("name", profile.shipped())
def test_a_profile_is_read_as_it_was_written(tmp_path, name):
    shipped = profile.load(profile.DEVICES / f"{name}.toml")
    path = tmp_path / "again.toml"
    write.write_profile(shipped, path)
    assert profile.load(path) == shipped
    assert [file.name for file in tmp_path.iterdir()] == ["again.toml"]


def test_a_profile_that_reads_otherwise_is_ours_to_mend(tmp_path, fitted, monkeypatch):
    monkeypatch.setattr(write, "load", lambda _: None)
    with pytest.raises(AssertionError, match="reads as it was written"):
        write.write_profile(fitted, tmp_path / "phone.toml")


def test_text_is_escaped(tmp_path, fitted):
    nasty = 'a "quoted" \\ name\nwith é and \x07'
    device = fitted.device.model_copy(update={"measured_by": nasty})
    path = tmp_path / "nasty.toml"
    write.write_profile(fitted.model_copy(update={"device": device}), path)
    assert profile.load(path).device.measured_by == nasty


@pytest.fixture
def files(tmp_path):
    for number in (1, 2):
        path = tmp_path / f"r{number}.json"
        path.write_text(json.dumps(synthetic.Phone(number).report()))
    return tmp_path


def test_the_command(cli, files):
    arguments = ("calibrate", "r1.json", "r2.json", "-o", "out/phone.toml", "--base", BASE)
    done = cli(*arguments, "--measured-by", "me")
    assert (done.returncode, done.stdout) == (0, "out/phone.toml\n"), done.stderr
    assert done.stderr == ""
    first = (files / "out/phone.toml").read_bytes()
    assert cli("check", "out/phone.toml").stderr == "out/phone.toml: ok\n"
    assert profile.load(files / "out/phone.toml").device.measured_by == "me"
    assert (
        cli("calibrate", "r2.json", "r1.json", *arguments[3:], "--measured-by", "me").returncode
        == 0
    )
    assert (files / "out/phone.toml").read_bytes() == first


def test_a_scenario_takes_the_profile(cli, files, scenario):
    assert cli("calibrate", "r1.json", "-o", "phone.toml", "--base", BASE).returncode == 0
    done = cli("show", scenario, "--set", "devices[0].profile=phone.toml")
    assert done.returncode == 0, done.stderr
    assert "1 fitted, 25 measured" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("r3.json", "-o", "p.toml", "--base", BASE),
            "r3.json: no such file (did you mean r2.json?)",
        ),
        (("r1.json", "-o", "p.toml", "--base", "moto_g4s"), "(did you mean moto_g04s?)"),
        (("r1.json", "-o", "p.json", "--base", BASE), "a profile's file ends in .toml"),
        (
            ("r1.json", "-o", "p.toml", "--base", BASE, "--store", "sqlite_wall"),
            "did you mean sqlite_wal?",
        ),
        (("r1.json", "r1.json", "-o", "p.toml", "--base", BASE), "is there twice"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(cli, files, arguments, expected):
    before = sorted(files.iterdir())
    done = cli("calibrate", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(files.iterdir()) == before


def test_a_base_is_asked_for_where_something_is_missing(cli, files):
    assert cli("calibrate", "r1.json", "-o", "p.toml").returncode == 0
    broken = without(synthetic.Phone().report(), "ed25519_sign", reason="no such call")
    (files / "r1.json").write_text(json.dumps(broken))
    done = cli("calibrate", "r1.json", "-o", "q.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not measured: sign (kernel ed25519_sign: no such call); name a profile" in done.stderr
    assert not (files / "q.toml").exists()


def test_packets_are_priced_by_the_bytes_of_their_datagrams():
    (report,) = reports(1)
    for case in report.document.measurements:
        if case.kernel == "quic_packet_seal":
            datagram = case.parameters["bytes"] + 39.0
            quantity = {"name": "datagram_bytes", "samples": synthetic.samples([datagram] * 9)}
            case.quantities.append(type(case.quantities[0]).model_validate(quantity))
    operation = cost_of(kernels.SOURCES["packet_seal"], [report], 4)
    assert "at 167 707 1239 bytes" in operation.source
