"""`pocketsim validate host`, with a probe that makes up what it says, and with the simulator."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import command_line

from pocketsim.calibration.host import (
    design,
    figures,
    prediction,
    processes,
)
from pocketsim.calibration.host.design import CARRIERS, QUICK
from pocketsim.calibration.host.tokens import design as token_design
from pocketsim.calibration.host.tokens import prediction as token_prediction
from pocketsim.calibration.host.tokens.design import CHECK, SIGN, Stage
from pocketsim.calibration.inverse.journal import Journal
from support import fake_probe

pytestmark = pytest.mark.engine
PROBE = Path(fake_probe.__file__)
DEVICE = Path(__file__).parents[1] / "reports" / "linux_vm_device.toml"
EFFORT = replace(QUICK, proposed_s=1.0, draws=2)
OTHER_REPORTS = {f"report_other_{name}.json" for name in ("before", "turn_2")}
PASSAGES_S = {"here": 0.0, "far": 0.005}
two_cores = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ends take two cores")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("payload_bytes", [16, 2048])
def test_a_simulated_round_trip_crosses_as_often_as_is_said(tmp_path, carrier, payload_bytes):
    device = tmp_path / "device.toml"
    processes.of_a_process(DEVICE, device)
    documents = prediction.Documents(device, device, Path("probe"))
    point = replace(
        design.design(QUICK)[0],
        carrier=carrier,
        payload_bytes=payload_bytes,
        delay_s=0.005,
        loss="none",
    )

    settings = {name: prediction.Setting(4.0, at_s, 0.0) for name, at_s in PASSAGES_S.items()}
    asked = {
        name: (
            prediction.document(point, setting, documents, EFFORT),
            prediction.judged(point, 0.0, EFFORT),  # nothing is taken off
        )
        for name, setting in settings.items()
    }
    found = {name: several[0] for name, several in prediction.simulate(asked, 1).items()}
    crossed = (found["far"].rtt_p50_s - found["here"].rtt_p50_s) / PASSAGES_S["far"]
    said = figures.passages(carrier, found["far"].proposal_bytes, found["far"].answer_bytes)
    assert crossed == pytest.approx(said, abs=0.05)


def test_a_simulated_ring_signs_once_and_checks_every_proof(tmp_path):
    processes.of_a_process(DEVICE, tmp_path / "device.toml")
    effort = token_design.Effort((1, 200), repetitions=1, draws=3)
    journal, told = tmp_path / "host.journal", []
    asked = (tmp_path / "device.toml", effort, 1)
    found = token_prediction.simulate(*asked, Journal(journal, "this"), told.append)
    assert [text.split(":")[0] for text in sorted(told)] == ["1 tokens", "200 tokens"]
    again = token_prediction.simulate(*asked, Journal(journal, "this"), told.append)
    assert (again, list(again)) == (found, [1, 200])
    assert len(told) == 2
    assert {tokens: len(draws) for tokens, draws in found.items()} == {1: 3, 200: 3}
    stages = {Stage(name, count) for name in (SIGN, CHECK) for count in (1, 2, 3)}
    for draw in found[200]:
        assert set(draw) == stages
        for count in (2, 3):
            assert draw[Stage(SIGN, count)] == pytest.approx(draw[Stage(SIGN, 1)], rel=0.1)
            once_s = draw[Stage(CHECK, 1)]
            assert draw[Stage(CHECK, count)] == pytest.approx(count * once_s, rel=0.1)
    # Draws of one seed: the same phone signs one token as it signs 200, but for the spread.
    one, many = (found[tokens][0][Stage(CHECK, 1)] for tokens in (1, 200))
    assert many == pytest.approx(200 * one, rel=0.5)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Return what a quick look said, twice in one folder, and that folder."""
    folder = tmp_path_factory.mktemp("host")
    cli = command_line(folder, sys.executable, "-m", "pocketsim.cli", timeout_s=300)
    call = ("validate", "host", "--quick", "--probe", PROBE, "--other", PROBE, "-o", "here")
    calls, several = folder / "calls", []
    for _ in range(2):
        done = cli(*call, FAKE_PROBE_LOG=calls)
        several.append((done, calls.read_text(), (folder / "here/host.json").read_text()))
    return several, folder


@two_cores
def test_a_quick_look_judges_nothing_and_writes_all(quick):
    ((done, _, _), _), folder = quick
    assert done.returncode == 0, done.stderr
    names = {"host.json", "host.html", "profile.toml", "probe_here.toml", "host.journal"}
    reports = {f"report_{name}.json" for name in ("before", "turn_1", "turn_2", "tokens_before")}
    names |= OTHER_REPORTS | {"profile_other.toml", "other.journal"}
    assert {path.name for path in (folder / "here").iterdir()} == names | reports
    assert done.stdout.splitlines()[-2:] == ["here/host.json", "here/host.html"]
    assert done.stderr.index("held out") < done.stderr.index("stores")  # stated first
    found = json.loads((folder / "here/host.json").read_text())
    assert (found["verdict"], found["bars"]) == ("not judged", [])
    assert len(found["points"]) == len(found["rows"]) == 4
    for point, row in zip(found["points"], found["rows"], strict=True):
        repetitions = point["repetitions"]
        assert len(repetitions) == 2
        success = min(1.0, fake_probe.CAPACITY_PER_S / point["rate_per_s"])
        assert row["errors"]["success_ratio"]["measured"] == pytest.approx(success, abs=0.01)
        if point["carrier"] in {"udp", "quic_keep"}:
            assert repetitions[0]["figures"]["rtt_p50_s"] == pytest.approx(fake_probe.RTT_S)
    assert "chart-4" in (folder / "here/host.html").read_text()
    assert len(found["other"]["points"]) == 2
    assert "another device" in done.stdout
    assert "Another device" in (folder / "here/host.html").read_text()


@two_cores
def test_a_quick_look_predicts_tokens_from_what_signatures_cost(quick):
    ((done, calls, _), _), folder = quick
    tokens = json.loads((folder / "here/host.json").read_text())["tokens"]
    assert tokens["bars"] == []
    assert [len(batch["repetitions"]) for batch in tokens["batches"]] == [2, 2]
    assert {row["batch"]["place"] for row in tokens["rows"]} == {"memory", "disk"}
    # What the made-up probe takes is what its report has, but for hashes, encoding and files.
    for row in tokens["rows"]:
        assert row["error"] == pytest.approx(0.0, abs=0.1)
        assert row["low_per_s"] < row["predicted_per_s"] < row["high_per_s"]
    assert {line.count(",") for line in calls.splitlines() if "] tokens" in line} == {0}  # one core
    assert "tokens" in done.stdout


@two_cores
def test_it_goes_on_where_it_was_and_says_the_same(quick):
    (first, again), _ = quick
    assert again[0].stdout == first[0].stdout
    assert again[1:] == first[1:]  # nothing was asked of the probe again
    # Four points, each of draws and of one profile, one batch, and two of another device by two
    # profiles; then nothing.
    counts = [done.stderr.count(": simulated ") for done, _, _ in (first, again)]
    assert counts == [4 + 4 + 1 + 2 * (2 + 2), 0]


@two_cores
def test_a_missed_bar_is_exit_3(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from pocketsim.cli import app

    # As FULL is, but for how much: a listener that stores each block after 1 ms is no phone.
    few = replace(
        design.FULL, points=8, repetitions=2, proposed_s=0.5, drained_s=0.2, fitted=1, draws=2
    )
    monkeypatch.setattr(design, "FULL", few)
    dear = token_design.Effort((1, 100), repetitions=2, draws=2)
    monkeypatch.setattr(token_design, "FULL", dear)
    monkeypatch.setenv("FAKE_PROBE_SIGNS_S", "120e-6")  # twice as long as the report says
    call = ["validate", "host", "--probe", str(PROBE), "-o", str(tmp_path / "here"), "-q"]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 3, done.output
    found = json.loads((tmp_path / "here/host.json").read_text())
    assert found["verdict"] == "missed"
    assert [one["name"] for one in found["token_reports"]] == ["tokens_before", "tokens_after"]
    assert {bar["met"] for bar in found["bars"]} >= {True, False}
    bars = {bar["name"]: bar["met"] for bar in found["tokens"]["bars"]}
    assert bars["largest error, tokens/s, memory"] is False
    assert bars["rates dropped"] is True


@two_cores
def test_tokens_that_cannot_be_done_are_known_before_anything_is_traded(cli, tmp_path):
    other = tmp_path / "other"
    other.write_text(
        f"#!/bin/sh\nif [ $1 = tokens ]; then echo nothing; else exec {PROBE} $@; fi\n"
    )
    other.chmod(0o755)
    call = ("validate", "host", "--quick", "--probe", other, "-o", "here")
    done = cli(*call, FAKE_PROBE_LOG=tmp_path / "calls")
    assert done.returncode == 5
    assert "`probe tokens new-authority` said nothing: another version" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "calls").exists()  # of all else nothing was asked


@two_cores
def test_another_device_alone_is_compared_with_an_earlier_profile(tmp_path):
    cli = command_line(tmp_path, sys.executable, "-m", "pocketsim.cli", timeout_s=300)
    call = ("validate", "host", "--quick", "--other", PROBE, "-o", "here", "--profile")
    done = [cli(*call, DEVICE, FAKE_PROBE_LOG=tmp_path / "calls") for _ in range(2)]
    assert [one.returncode for one in done] == [0, 0], done[0].stderr
    names = {"other.json", "other.html", "profile_other.toml", "other.journal"}
    assert {path.name for path in (tmp_path / "here").iterdir()} == names | OTHER_REPORTS
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len({line.partition("]")[0] for line in calls}) == 1  # all on one core
    assert calls[0].count(",", 0, calls[0].index("]")) == 0
    found = json.loads((tmp_path / "here/other.json").read_text())
    assert (found["verdict"], found["bars"], len(found["rows"])) == ("not judged", [], 2)
    # Real ones take 1 ms, whatever the report says; either profile says something else.
    for row in found["rows"]:
        own, foreign = (row[by]["rtt_p50_s"] for by in ("own", "foreign"))
        assert own["measured"] == foreign["measured"] == pytest.approx(fake_probe.RTT_S)
        assert own["simulated"] != foreign["simulated"]
    # It goes on where it was: nothing is measured or simulated again.
    assert done[1].stdout == done[0].stdout
    assert (done[0].stderr.count(": simulated "), done[1].stderr.count(": simulated ")) == (8, 0)


@pytest.mark.parametrize("words", [("--profile", DEVICE), ("--no-bar",)])
def test_what_is_about_another_device_takes_one(cli, tmp_path, words):
    done = cli("validate", "host", *words, "-o", "here")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{words[0]} is about --other, which is not there\n"
    assert not (tmp_path / "here").exists()


@two_cores
def test_what_is_no_profile_is_known_before_anything_is_traded(cli, tmp_path):
    (tmp_path / "other.toml").write_text("nothing = 1\n")
    call = ("validate", "host", "--quick", "--other", PROBE, "-o", "here", "--profile")
    done = cli(*call, "other.toml", FAKE_PROBE_LOG=tmp_path / "calls")
    assert done.returncode == 2
    assert "other.toml" in done.stderr
    assert not (tmp_path / "calls").exists()


def test_without_a_probe_it_says_what_builds_one(cli, tmp_path):
    done = cli("validate", "host", "--probe", "none", "-o", "here")
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr == "no probe at none: `make probe` builds build/bin/probe\n"
    assert not (tmp_path / "here").exists()


def test_validate_alone_is_of_what_was_published(cli):
    plain, named = (
        cli("validate", *words, "--subset", "block_sizes", "--json")
        for words in ((), ("published",))
    )
    assert plain.stdout == named.stdout
    assert json.loads(plain.stdout)["verdict"] == "all met"
