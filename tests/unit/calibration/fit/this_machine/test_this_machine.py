"""`pocketsim calibrate this-machine`: rounds by hand, known costs recovered, and what it writes."""

import datetime as dt
import math
import shutil

import numpy as np
import pytest

import pocketsim as ps
from pocketsim.calibration.fit import kernels, write
from pocketsim.calibration.fit.common import together
from pocketsim.calibration.fit.this_machine import computing, outside, profile, rounds
from pocketsim.sim.base.engine_facts import device_operations
from pocketsim.sim.devices import lint
from pocketsim.sim.devices import profile as devices
from pocketsim.sim.devices.ratios import Estimate

BASE = "thinkpad_l13"
MACHINE = profile.Machine(
    "a processor", "a system", 4, "Python 3, PyNaCl 1", is_virtual=False, socket_buffer_bytes=212992
)
# Of each kernel: fixed core time and core time per byte, in s.
COSTS = {
    "ed25519_sign": (20e-6, 2e-9),
    "ed25519_verify": (50e-6, 1e-9),
    "sha256": (1e-6, 1.5e-9),
    "block_encode": (5e-6, 3e-9),
    "block_decode": (6e-6, 4e-9),
    "udp_send": (9e-6, 0.5e-9),
    "udp_receive": (4e-6, 0.25e-9),
    "sealed_box_seal": (80e-6, 8e-9),
    "sealed_box_open": (60e-6, 8e-9),
}
STORED_S = {"file_append": 1e-6, "file_append_fsync": 2e-3, "sqlite_wal": 1e-3}


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self):
        self.now_s = self.used_s = 0.0

    def wall_s(self):
        return self.now_s

    def cpu_s(self):
        return self.used_s

    def sleep(self, duration_s):
        self.now_s += duration_s

    def today(self):
        return dt.date(2026, 11, 23)

    def work(self, cpu_s, wait_s=0.0):
        self.used_s += cpu_s
        self.now_s += cpu_s + wait_s


def timed(kernel, size_bytes, cpu_s, wall_s=None, *, scatter=0.01):
    """Return rounds around a time, with a median that is exactly it."""
    factors = 1 + scatter * np.linspace(-1, 1, rounds.ROUNDS)
    wall_s = cpu_s if wall_s is None else wall_s
    spent = tuple(rounds.Spent(wall_s * factor, cpu_s * factor) for factor in factors)
    return rounds.Timed(kernel, size_bytes, spent)


def all_timed():
    found = [
        timed(kernel, size, fixed_s + per_byte_s * size)
        for kernel, (fixed_s, per_byte_s) in COSTS.items()
        for size in (64, 668, 4096)
    ]
    found += [
        timed(kernel, size, 3e-6, 3e-6 + wait_s)
        for kernel, wait_s in STORED_S.items()
        for size in (668, 4096)
    ]
    found.append(timed("wake_up_latency", 0, 0.0, 60e-6))
    found += [
        timed(f"sleep_{asked_s:g}", 0, 0.0, 100e-6 + 20e-6 * math.log(asked_s / 1e-3))
        for asked_s in outside.SLEEPS_S
    ]
    return found


def learned(machine=MACHINE, **more):
    base = (BASE, devices.load(devices.DEVICES / f"{BASE}.toml"))
    return profile.learned(all_timed(), machine, base, today=Clock().today(), **more)


def test_a_median_of_rounds_by_hand():
    found = rounds.estimate([float(number) for number in range(1, 16)])
    assert found.mean == 8.0
    assert found.samples == 15
    # s = sqrt(20); t = 2.14479 for 14 degrees of freedom; sqrt(pi / 2) = 1.25331.
    by_hand = 1.25331 * math.sqrt(20) / math.sqrt(15) * 2.14479 / 1.95996
    assert found.standard_error == pytest.approx(by_hand, rel=1e-5)


def test_a_round_that_was_disturbed_moves_the_median_little_and_the_error_much():
    calm = rounds.estimate([1.0 + 0.001 * number for number in range(15)])
    disturbed = rounds.estimate([*(1.0 + 0.001 * number for number in range(14)), 9.0])
    assert disturbed.mean == calm.mean
    assert disturbed.standard_error > 50 * calm.standard_error


def test_the_error_covers_what_it_says():
    """Of medians of 15 normal rounds 95 in 100 are within 1.96 standard errors."""
    random = np.random.Generator(np.random.Philox(1))
    found = [rounds.estimate(row) for row in random.normal(10.0, 1.0, (4000, 15))]
    inside = [abs(one.mean - 10.0) < 1.96 * one.standard_error for one in found]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_a_batch_fits_into_its_slice_and_its_preparation_is_not_timed():
    clock, prepared, ran = Clock(), [], []

    def prepare(count):
        prepared.append(count)
        clock.work(5.0)

    def run():
        ran.append(1)
        clock.work(1e-3, 1e-3)

    batch = rounds.Batch("x", 10, run, prepare=prepare)
    spent = batch(clock, 0.020)
    # Eight take 16 ms, sixteen would take 32: so many are tried, then taken.
    assert prepared == [1, 2, 4, 8, 8]
    assert (spent.wall_s, spent.cpu_s) == pytest.approx((2e-3, 1e-3))
    before = len(ran)
    batch(clock, 0.020)
    assert len(ran) - before == prepared[-1] == 8


def test_a_batch_is_no_larger_than_it_may_be():
    clock, prepared = Clock(), []
    batch = rounds.Batch("x", 10, lambda: clock.work(1e-9), most=5, prepare=prepared.append)
    batch(clock, 1.0)
    assert max(prepared) == 5


def test_rounds_go_over_all_works_and_the_first_counts_for_nothing():
    clock, order = Clock(), []

    def once(name, first_s):
        def take_s(_):
            order.append(name)
            return first_s if order.count(name) == 1 else 1.0

        return rounds.Once(name, take_s)

    found = rounds.measure([once("a", 99.0), once("b", 1.0)], clock, 1.0)
    assert order == ["a", "b"] * (rounds.ROUNDS + 1)
    assert [one.kernel for one in found] == ["a", "b"]
    assert {spent.wall_s for spent in found[0].rounds} == {1.0}


def test_known_costs_are_recovered():
    found = learned().profile.operations
    for operation, source in profile.SOURCES.items():
        fixed_s, per_byte_s = COSTS[source.kernel]
        assert found[operation].cpu == pytest.approx(fixed_s, rel=1e-3), operation
        assert found[operation].per_byte == pytest.approx(per_byte_s, rel=1e-2), operation
        assert found[operation].basis == "measured"
        assert found[operation].samples == 3 * rounds.ROUNDS
    # The wake-up ends with a recv and begins with a send, of 64 bytes here.
    wait_s = 60e-6 - (9e-6 + 0.5e-9 * 64) - 4e-6
    assert found["udp_receive"].wait == pytest.approx(wait_s, rel=1e-3)
    assert found["sign"].wait == 0


@pytest.mark.parametrize("store", STORED_S)
def test_a_store_waits_for_what_it_stores(store):
    found = learned(store=store).profile.operations["store"]
    assert (found.cpu, found.wait) == pytest.approx((3e-6, STORED_S[store]), rel=1e-3)


def test_the_error_of_a_cost_is_that_of_its_rounds():
    sign = learned().profile.operations["sign"]
    one = timed("x", 0, 1.0).cpu()
    # Three sizes tell a line more surely than one, and less than three times as surely.
    assert one.standard_error / math.sqrt(3) / 2 < sign.standard_error / sign.cpu
    assert sign.standard_error / sign.cpu < one.standard_error


def test_a_cost_says_how_both_parts_err_and_of_how_many_rounds():
    found = learned().profile.operations
    for operation in profile.SOURCES:
        cost = found[operation]
        assert cost.degrees_of_freedom == pytest.approx(rounds.ROUNDS - 1, rel=0.05), operation
        # All rounds are slower by one factor here: so are both parts, and all operations.
        assert cost.per_byte_standard_error / cost.per_byte == pytest.approx(
            cost.standard_error / (cost.cpu + cost.wait), rel=0.05
        )
        assert cost.correlation == pytest.approx(1.0, abs=0.01)
        assert cost.common_ratio == pytest.approx(1.0, abs=0.01)
    base = devices.load(devices.DEVICES / f"{BASE}.toml")
    assert found["handshake_start"] == base.operations["handshake_start"]


def test_rounds_that_agree_exactly_leave_the_error_of_a_clock():
    calm = []
    for one in all_timed():
        middle = one.rounds[rounds.ROUNDS // 2]
        calm.append(rounds.Timed(one.kernel, one.size_bytes, (middle,) * rounds.ROUNDS))
    base = (BASE, devices.load(devices.DEVICES / f"{BASE}.toml"))
    found = profile.learned(calm, MACHINE, base, today=Clock().today()).profile.operations
    for operation in profile.SOURCES:
        cost = found[operation]
        assert cost.standard_error >= 0.999e-4 * (cost.cpu + cost.wait), operation
        assert cost.per_byte_standard_error >= 0.999e-4 * cost.per_byte > 0, operation


@pytest.mark.slow
def test_95_of_100_intervals_have_the_true_cost():
    """As Student's t: of the error of a median, whose rounds scatter more than their mean errs."""
    random = np.random.Generator(np.random.Philox(1))
    inside, count = 0, 600
    source = profile.STORES["sqlite_wal"]
    for row in np.exp(random.normal(0.0, 0.05, (count, rounds.ROUNDS))):
        spent = tuple(rounds.Spent(3e-6 * each, 3e-6 * each) for each in row)
        timed = {"sqlite_wal": [rounds.Timed("sqlite_wal", 668, spent)]}
        found = together({"store": profile._cost(source, timed, MACHINE)})["store"]
        known = Estimate(found.cpu + found.wait, found.standard_error, found.degrees_of_freedom)
        inside += known.ci95[0] < 3e-6 < known.ci95[1]
    assert inside / count == pytest.approx(0.95, abs=0.03)


def test_what_took_no_time_in_a_round_is_as_sure_as_its_samples():
    found = rounds.estimate([0.0, *([1.0] * 14)])
    assert found.rounds == ()
    assert found.standard_error > 0


def test_sleeps_have_a_law():
    law = learned().profile.scheduler.sleep_overshoot
    assert law.base.value == pytest.approx(100e-6, rel=0.01)
    assert law.slope.value == pytest.approx(20e-6, rel=0.05)
    base = devices.load(devices.DEVICES / f"{BASE}.toml").scheduler.sleep_overshoot
    assert law.repetition_sigma == base.repetition_sigma


def test_what_python_cannot_time_is_the_bases_and_listed():
    found = learned()
    base = devices.load(devices.DEVICES / f"{BASE}.toml")
    missing = [name for name in device_operations() if name not in {*profile.SOURCES, "store"}]
    assert "handshake_start" in missing
    for name in missing:
        assert found.profile.operations[name] == base.operations[name]
    listed = {kept.key for kept in found.kept}
    assert listed == {*missing, "scheduler.sleep_overshoot.repetition_sigma"}
    (claim,) = [text for text in found.profile.device.does_not_claim if BASE in text]
    assert all(name in claim for name in missing)


def test_it_says_that_it_is_of_no_phone_and_no_probe():
    found = learned().profile
    assert found.device.probe.startswith("none: Python")
    assert "anything about a phone" in found.device.does_not_claim[0]
    assert found.device.name == "a processor, timed from Python"
    sources = [found.operations[name].source for name in profile.SOURCES]
    assert all("no probe and no phone" in source for source in sources)
    assert all("median of 15 rounds" in source for source in sources)
    assert "no phone" in write.as_toml(found, "`this` on no phone").splitlines()[2]


def test_a_virtual_machine_is_claimed_to_be_one():
    virtual = profile.Machine(**{**vars(MACHINE), "is_virtual": True})
    more = set(learned(virtual).profile.device.does_not_claim)
    (claim,) = more - set(learned().profile.device.does_not_claim)
    assert "virtual" in claim


def test_the_same_times_give_the_same_bytes():
    assert write.as_toml(learned().profile) == write.as_toml(learned().profile)


def test_what_prices_nothing_stands_beside():
    names = {one.kernel for one in learned(store="sqlite_wal").beside}
    assert names == {"file_append", "file_append_fsync"}


def test_stores_are_those_of_the_probe():
    assert set(profile.STORES) == set(kernels.STORES)


def test_signatures_and_boxes_are_right():
    """What is timed does what it says: a work that fails would be quick, too."""
    works = {(one.kernel, one.size_bytes): one for one in computing.computing()}
    for size_bytes in computing.SIZES:
        message = bytes(number % 251 for number in range(size_bytes))
        assert works["ed25519_verify", size_bytes].run() == message
        assert works["ed25519_sign", size_bytes].run()[64:] == message
        assert works["sealed_box_open", size_bytes].run() == message
        assert len(works["sealed_box_seal", size_bytes].run()) == size_bytes + 48
        assert len(works["sha256", size_bytes].run()) == 32
    sizes = [size for kernel, size in works if kernel == "block_encode"]
    assert len(sizes) == len(computing.PAYLOADS)
    for size_bytes in sizes:
        assert len(works["block_encode", size_bytes].run()) == size_bytes
        assert works["block_decode", size_bytes].run()["index"] == 10_000


def test_what_leaves_the_process_arrives(tmp_path):
    with outside.outside(tmp_path) as works:
        by_name = {(one.kernel, one.size_bytes): one for one in works}
        receive = by_name["udp_receive", 1472]
        receive.prepare(outside._QUEUED)
        assert [len(receive.run()) for _ in range(outside._QUEUED)] == [1472] * outside._QUEUED
        append = by_name["file_append_fsync", 668]
        append.prepare(3)
        append.run()
        append.run()
        assert (tmp_path / "append_668").stat().st_size == 2 * 668
        append.prepare(1)
        assert (tmp_path / "append_668").stat().st_size == 0
        by_name["sqlite_journal", 668].run()
        sleep = by_name["sleep_0.004", 0]
        assert sleep.take_s(Clock()) == pytest.approx(0.0, abs=1e-12)
    assert outside.socket_buffer_bytes() > 2000


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    """Return a folder with a library that is called as PyPI's ed25519."""
    folder = tmp_path_factory.mktemp("stub")
    (folder / "ed25519.py").write_text(
        "class SigningKey:\n"
        "    def __init__(self, seed):\n        assert len(seed) == 32\n"
        "    def sign(self, message):\n        return b'signed' + message\n"
        "    def get_verifying_key(self):\n        return self\n"
        "    def verify(self, signature, message):\n"
        "        assert signature == b'signed' + message\n"
    )
    return folder


def test_the_command_writes_a_profile_that_can_be_used(cli, tmp_path, stub, root):
    done = cli(
        *("calibrate", "this-machine", "-o", "mine.toml", "--seconds", "0.5"),
        *("--measured-by", "a test", "--name", "A machine", "--store", "sqlite_wal"),
        PYTHONPATH=f"{root}:{stub}",
    )
    assert (done.returncode, done.stdout) == (0, "mine.toml\n"), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]
    assert "taken from thinkpad_l13: handshake_start (assumed)" in done.stderr
    beside = {line.split()[0] for line in done.stderr.splitlines() if line.startswith("  ")}
    assert beside == {
        *("work", "struct_pack", "struct_unpack", "file_append", "file_append_fsync"),
        *("sqlite_journal", "pypi_ed25519_sign", "pypi_ed25519_verify"),
    }
    found = devices.load(tmp_path / "mine.toml")
    assert (found.device.name, found.device.measured_by) == ("A machine", "a test")
    measured = [name for name, one in found.operations.items() if one.basis == "measured"]
    assert set(measured) == {*profile.SOURCES, "store"}
    assert all(found.operations[name].cpu > 0 for name in measured)
    assert "SQLite" in found.operations["store"].source
    # How fast this machine is may be suspicious; what the profile says of itself is not.
    rules = {one.rule for one in lint.lint(tmp_path / "mine.toml")}
    assert not rules & {"thin_source", "thin_claim", "nobody", "proxy_of_what", "no_error"}


def test_the_library_returns_what_it_writes(tmp_path):
    found = ps.calibrate_this_machine(tmp_path / "mine.toml", seconds=0.1, base="moto_g04s")
    assert found.contents == ps.device(tmp_path / "mine.toml").contents
    assert any(kept.startswith("task_spawn (assumed): ") for kept in found.kept)
    assert found.contents["operations"]["task_spawn"]["cpu_s"] == 10e-6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--base", "moto_g04"], "did you mean moto_g04s?"),
        (["--store", "sqlite_wall"], "did you mean sqlite_wal?"),
        (["-o", "mine.json"], "mine.json: a profile's file ends in .toml"),
        (["--seconds", "0"], "seconds: 0 is no time to measure in"),
        (["--seconds", "nan"], "seconds: nan"),
    ],
)
def test_mistakes_are_exit_2_and_nothing_is_written(cli, tmp_path, arguments, said):
    done = cli("calibrate", "this-machine", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_profile_that_is_there_stays_when_timing_fails(cli, tmp_path):
    shutil.copy(devices.DEVICES / "moto_g04s.toml", tmp_path / "mine.toml")
    before = (tmp_path / "mine.toml").read_bytes()
    assert cli("calibrate", "this-machine", "-o", "mine.toml", "--base", "x").returncode == 2
    assert (tmp_path / "mine.toml").read_bytes() == before
