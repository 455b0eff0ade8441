"""`pocketsim profile export`: a device as rates, by hand and as its schema says."""

import csv
import io
import json

import jsonschema
import pytest

import pocketsim as ps
from pocketsim.api.documents import schema
from pocketsim.sim.devices import profile
from pocketsim.sim.export import rates

FILE = profile.DEVICES / "moto_g04s.toml"


def of(contents, size_bytes=668.0):
    return rates.rates("x", "0", contents, size_bytes)


@pytest.fixture
def contents():
    return profile.contents(profile.load(FILE))


def with_cost(contents, **changes):
    cost = {**contents["operations"]["sign"], **changes}
    return {**contents, "operations": {"sign": cost}}


def test_a_rate_by_hand(contents):
    # 100 us of core time on two threads, then 50 us of waiting: ten thousand a second.
    changes = {"cpu_s": 60e-6, "per_byte_s": 0.4e-6, "wait_s": 50e-6, "threads": 2}
    # A tenth of what the error is of, core time and wait without bytes.
    (one,) = of(with_cost(contents, **changes, standard_error_s=11e-6), 100.0).operations
    assert one.core_s == pytest.approx(100e-6)
    assert one.seconds == pytest.approx(100e-6)
    assert one.per_s == pytest.approx(10_000)
    # sigma = 0.099751, median = 99.504 us, factor exp(1.96 sigma) = 1.21593.
    assert one.seconds_ci95_low == pytest.approx(81.833e-6, rel=1e-4)
    assert one.seconds_ci95_high == pytest.approx(120.99e-6, rel=1e-4)
    assert one.per_s_ci95_low == pytest.approx(1 / one.seconds_ci95_high)
    assert one.per_s_ci95_high == pytest.approx(1 / one.seconds_ci95_low)


def test_cost_of_zero_has_no_rate(contents):
    nothing = {"cpu_s": 0.0, "per_byte_s": 0.0, "wait_s": 0.0, "standard_error_s": 1e-6}
    (one,) = of(with_cost(contents, **nothing)).operations
    assert (one.seconds, one.per_s, one.seconds_ci95_low, one.per_s_ci95_high) == (0, None, 0, None)
    assert one.per_s_ci95_low == pytest.approx(1 / 1.96e-6, rel=1e-4)


def test_every_operation_and_its_provenance_is_there(contents):
    found = of(contents)
    assert [one.operation for one in found.operations] == list(contents["operations"])
    assert {one.basis for one in found.operations} == {"proxy", "assumed"}
    assert all(one.source for one in found.operations)
    assert found.source.does_not_claim == contents["device"]["does_not_claim"]
    assert found.source.sha256 == "0"


def test_classes_without_rates_are_named(contents):
    found = of(contents).cores
    assert (found.priced_on, found.not_priced) == ("little", ["big"])
    device = {**contents["device"], "priced_on": None}
    assert of({**contents, "device": device}).cores.not_priced == []


def test_shadow_is_told_what_it_takes_and_what_not(contents):
    found = of(contents).shadow
    assert found.options == {"experimental.socket_recv_buffer": "212992 B"}
    said = " ".join(found.not_taken)
    assert "infinitely fast" in said
    assert "experimental.unblocked_syscall_latency" in said
    assert "sleep `seconds`" in found.instead


def test_the_schema_takes_it_and_no_other_key():
    checker = jsonschema.Draft202012Validator(json.loads(schema.file("rates").read_text()))
    found = ps.device_rates("moto_g04s")
    assert not list(checker.iter_errors(found))
    assert list(checker.iter_errors({**found, "nonsense": 1}))
    assert list(checker.iter_errors({**found, "version": 2}))


@pytest.mark.parametrize("size_bytes", [0.0, 1200.0])
def test_the_command_writes_what_the_library_returns(cli, tmp_path, size_bytes):
    known = ps.device_rates("moto_g04s", size_bytes)
    asked = ("profile", "export", "--to", "rates", "moto_g04s", "--payload", f"{size_bytes:g}")
    assert json.loads(cli(*asked).stdout) == known
    done = cli(*asked, "-o", "out/rates.json")
    assert (done.returncode, done.stdout) == (0, "out/rates.json\n")
    assert json.loads((tmp_path / "out/rates.json").read_text()) == known
    assert known["source"]["sha256"] == profile.digest(FILE)
    cli(*asked, "-o", "rates.CSV")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "rates.CSV").read_text())))
    assert [row["operation"] for row in rows] == [one["operation"] for one in known["operations"]]
    for row, one in zip(rows, known["operations"], strict=True):
        assert float(row["seconds"]) == one["seconds"]
        assert float(row["size_bytes"]) == size_bytes
        assert row["source"] == one["source"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["moto_g04"], "did you mean moto_g04s?"),
        (["probe"], "no device that comes with the package has this name"),
        (["moto_g04s", "--to", "rate"], "--to: 'rate' is not one of rates (did you mean rates?)"),
        (["moto_g04s", "-o", "x.jso"], 'no format is called ".jso"'),
        (["moto_g04s", "--payload", "-1"], "--payload"),
    ],
)
def test_mistakes_are_exit_2_and_nothing_is_written(cli, tmp_path, arguments, said):
    done = cli("profile", "export", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
