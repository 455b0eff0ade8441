"""`ps.calibrate`: the profile that the command makes, in a file and as a table."""

import json

import pandas as pd
import pytest

import pocketsim as ps
from pocketsim.calibration.fit import own, probe_report
from pocketsim.sim.devices import implementation as implementations
from pocketsim.sim.devices import profile
from support import synthetic_reports as synthetic

BASE = "moto_g04s"


@pytest.fixture
def report(tmp_path):
    """Return a report of which signing is left out."""
    found = synthetic.Phone(1).report()
    kept = [case for case in found["measurements"] if case["kernel"] != "ed25519_sign"]
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**found, "measurements": kept}))
    return path


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "whole.json"
    path.write_text(json.dumps(synthetic.Phone(1).report()))
    return path


def test_library_and_command_write_the_same_profile(cli, report, tmp_path):
    found = ps.calibrate([report], tmp_path / "mine.toml", base=BASE, measured_by="me")
    arguments = ("--base", BASE, "--measured-by", "me")
    done = cli("calibrate", report, "-o", "theirs.toml", *arguments)
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "mine.toml").read_bytes()
    assert written == (tmp_path / "theirs.toml").read_bytes()
    assert done.stderr.splitlines() == [f"taken from {BASE}: {part}" for part in found.kept]
    again = ps.device(tmp_path / "mine.toml")
    assert (found.name, found.contents) == ("mine", again.contents)
    pd.testing.assert_frame_equal(found.to_frame(), again.to_frame())
    assert repr(found) == repr(again)


def test_unmeasured_numbers_are_those_of_the_base(report, tmp_path):
    found = ps.calibrate(report, tmp_path / "mine.toml", base=BASE).to_frame()
    base = ps.device(BASE).to_frame()
    kept = found["basis"] != "measured"
    assert "operations.sign" in found.index[kept]
    assert found.loc["operations.sign", "source"] == base.loc["operations.sign", "source"]
    assert found.loc["operations.verify", "source"] != base.loc["operations.verify", "source"]


def test_a_profile_may_be_the_base(report, whole, tmp_path):
    first = ps.calibrate(whole, tmp_path / "first.toml")
    assert first.kept == ()
    second = ps.calibrate(report, tmp_path / "second.toml", base=tmp_path / "first.toml")
    assert any(part.startswith("sign (measured)") for part in second.kept)


@pytest.mark.parametrize(
    ("reports", "path", "options", "reason"),
    [
        (["report.json"], "p.toml", {}, "not measured"),
        (["report.json"], "p.toml", {"base": "moto_g4s"}, "did you mean moto_g04s?"),
        (["report.json"], "p.toml", {"base": BASE, "store": "sqlite_wall"}, "sqlite_wal?"),
        (["report.json"], "p.json", {"base": BASE}, "ends in .toml"),
        (["report.json", "whole.json"], "p.toml", {"base": "none/such.toml"}, "no such file"),
        ([], "p.toml", {"base": BASE}, "no report"),
        ("gone.json", "p.toml", {"base": BASE}, "no such file"),
    ],
)
@pytest.mark.usefixtures("report", "whole")
def test_user_error_leaves_no_file(tmp_path, monkeypatch, reports, path, options, reason):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ps.UserError) as caught:
        ps.calibrate(reports, path, **options)
    assert reason in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


def test_a_spoiled_report_is_taken_when_it_may_be(root, tmp_path):
    report = root / "tests/reports/linux_vm.json"
    target = tmp_path / "mine.toml"
    with pytest.raises(ps.ScenarioError, match="virtual_machine"):
        ps.calibrate(report, target, base=BASE, name="x")
    found = ps.calibrate(report, target, base=BASE, name="x", allow_spoiled=True)
    assert any("virtual_machine" in claim for claim in found.contents["device"]["does_not_claim"])


def test_an_implementation_has_what_reports_timed_of_it(whole, tmp_path):
    ps.calibrate(whole, tmp_path / "mine.toml")
    found = ps.calibrate_implementation(whole, tmp_path / "p.toml", device=tmp_path / "mine.toml")
    again = ps.implementation(tmp_path / "p.toml")
    assert (found.name, found.contents) == ("p", again.contents)
    told = found.to_frame()["source"].str.startswith("probe report")
    reports = [probe_report.load(whole)]
    device = profile.load(tmp_path / "mine.toml")
    described = implementations.load(profile.IMPLEMENTATIONS / "probe.toml")
    own_costs = own.measured(described, device, reports).own_costs
    priced = {name for name, cost in own_costs.items() if cost.source.startswith("probe report")}
    assert {path.rpartition(".")[2] for path in found.to_frame().index[told]} == priced
    for mistake in ({"device": "moto_g4s"}, {"device": BASE, "implementation": "prob"}):
        with pytest.raises(ps.UserError, match="did you mean"):
            ps.calibrate_implementation(whole, tmp_path / "none.toml", **mistake)
    with pytest.raises(ps.UserError, match="no report"):
        ps.calibrate_implementation([], tmp_path / "none.toml", device=BASE)
    assert not (tmp_path / "none.toml").exists()


def test_a_pinned_profile_has_one_core_and_passages_as_long(root, tmp_path):
    report = root / "pocketsim/notebooks/loopback_report.json"
    mine = ps.calibrate(report, tmp_path / "mine.toml", base=BASE, name="x", allow_spoiled=True)
    found = ps.pin_profile(tmp_path / "mine.toml", tmp_path / "pinned.toml", report)
    again = ps.device(tmp_path / "pinned.toml")
    assert (found.name, found.contents) == ("pinned", again.contents)
    before, after = mine.to_frame(), found.to_frame()
    assert after.loc["device.cores", "value"] == 1.0
    wake = "operations.udp_wake"
    left_s = before.loc[wake, "wait_s"] - after.loc[wake, "wait_s"]
    send = mine.contents["operations"]["udp_send"]
    (longer,) = [
        (one["ratio"] - 1) * (send["cpu_s"] + 668 * send["per_byte_s"])
        for one in found.contents["scheduler"]["send_after"]
        if 9e-3 < one["rest_s"] < 12e-3
    ]
    assert longer > 0
    assert left_s == pytest.approx(longer, rel=0.02)  # asked for 10 ms, it rested somewhat longer
    with pytest.raises(ps.UserError, match=r"ends in \.toml"):
        ps.pin_profile(BASE, tmp_path / "pinned.json")


@pytest.mark.engine
def test_a_scenario_takes_it(whole, tmp_path):
    ps.calibrate(whole, tmp_path / "mine.toml")
    changes = {"run.duration": "1s", "run.repetitions": 1, "workload.rate": "8/s"}
    profile = {"devices[0].profile": str(tmp_path / "mine.toml")}
    (run,) = ps.run("udp_100b", {**changes, **profile}, out=tmp_path / "runs", progress=False)
    (used,) = run.devices.values()
    mine = ps.device(tmp_path / "mine.toml").to_frame()
    assert used.to_frame()["cpu_s"].dropna().to_dict() == mine["cpu_s"].dropna().to_dict()


def test_a_report_without_measurements_gives_the_base(whole, tmp_path):
    whole.write_text(json.dumps({**json.loads(whole.read_text()), "measurements": []}))
    found = ps.calibrate(whole, tmp_path / "mine.toml", base=BASE)
    assert found.contents["operations"] == ps.device(BASE).contents["operations"]
