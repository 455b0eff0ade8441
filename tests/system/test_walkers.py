"""Phones that walk, through the engine: trades with whoever is near, and a town's payments."""

import json

import numpy as np
import pytest

from pocketsim.report.answer import limits
from pocketsim.report.runs.run import load
from pocketsim.sim.export import payment_amounts
from pocketsim.sim.run import runner
from pocketsim.sim.trace import read

pytestmark = pytest.mark.engine

WALK = (
    "{kind='walk', model='random_waypoint', width='100m', height='100m', range='10m', "
    "slowest='0.5m/s', fastest='1.5m/s', "
    "links={ble={share=0.6, rate='59kBps', latency='30ms'}, "
    "nfc={share=0.3, rate='10kBps', latency='10ms'}, "
    "wifi_direct={share=0.1, rate='40Mbps', latency='3ms'}}}"
)


@pytest.fixture(scope="module")
def run(root, tmp_path_factory):
    out = tmp_path_factory.mktemp("walkers")

    def made(name, *overrides):
        (directory,) = runner.run(root / "pocketsim/scenarios" / name, list(overrides), out)
        return directory

    return made


def metrics(run_dir):
    found = json.loads((run_dir / "metrics.json").read_text())["metrics"]
    return {name: metric["mean"] for name, metric in found.items()}


def test_trades_with_who_is_near_succeed_and_with_others_fail(run):
    few = ("run.duration=2min", "run.repetitions=1")
    near = metrics(run("scale/walkers.toml", *few))
    far = metrics(
        run(
            "scale/walkers.toml",
            *few,
            "workload.partners={generator='random_regular', neighbours=3}",
        )
    )
    assert near["success_ratio"] > 0.9
    assert far["success_ratio"] < 0.1
    assert near["send_count"] < far["send_count"]


def test_a_report_says_that_walks_are_drawn(run):
    runs = list(load([run("scale/walkers.toml", "run.duration=2min", "run.repetitions=1")]))
    said = limits.sentences(None, runs)
    assert any("People walk by a drawn law" in sentence for sentence in said)
    assert not any("no model of mobility" in sentence for sentence in said)


def test_payments_to_who_is_near_have_amounts_and_pass_the_audit(run):
    directory = run(
        "tokens/market.toml",
        f"contacts={WALK}",
        "workload.near=true",
        "workload.to_shop_ratio=0.2",
        "outages=[]",
        "workload.replay_ratio=0",
    )
    resolved = json.loads((directory / "resolved.json").read_text())
    events = read(directory / "events.parquet")
    cents = payment_amounts.cents(events, resolved, 0)
    stored = np.array(events["kind"].to_pylist()) == "store"
    assert stored.sum() > 10
    assert (cents[stored] > 0).all()
