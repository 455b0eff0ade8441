"""A device measured with the probe runs what the probe runs, and inherits nobody's faults.

The device is a virtual machine: `pocketsim calibrate` made its profile of a quick report without a
base. `probe trade` on it stored all that it proposed, over each of the three.
"""

import json
from pathlib import Path

import pytest

from pocketsim.sim.run import runner

pytestmark = pytest.mark.engine

SCENARIO = """
implementation = "probe"

[run]
seed = 1
duration = "10s"

[[devices]]
profile = "@DEVICE@"
count = 2
access = "loopback"

[network.access.loopback]
up = "10Gbps"
down = "10Gbps"
latency = "1us"

[workload]
kind = "paced"
rate = "100/s"
payload = "100B"

[transport]
mode = ["udp", "quic_keep", "quic_reconnect"]
"""
DEVICE = Path(__file__).parents[1] / "reports" / "linux_vm_device.toml"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("measured")
    (folder / "pair.toml").write_text(SCENARIO.replace("@DEVICE@", str(DEVICE)))
    directories = runner.run(folder / "pair.toml", [], folder / "runs")
    found = [json.loads((path / "metrics.json").read_text()) for path in directories]
    return {run["rung"]["transport"]: run["metrics"] for run in found}


@pytest.mark.parametrize("mode", ["udp", "quic_keep", "quic_reconnect"])
def test_every_proposal_is_stored(runs, mode):
    metrics = runs[mode]
    assert metrics["success_ratio"]["mean"] == 1.0
    assert metrics["in_flight_ratio"]["mean"] == 0.0
    # By the clock: a thousand proposals span 999 intervals.
    assert metrics["send_count"]["mean"] == 1000
    assert metrics["send_rate_per_s"]["mean"] == pytest.approx(1000 / 9.99, rel=1e-3)


def test_round_trip_is_shortest_over_udp_and_longest_with_new_connections(runs):
    modes = ("udp", "quic_keep", "quic_reconnect")
    udp, kept, new = (runs[mode]["rtt_ms_p50"]["mean"] for mode in modes)
    assert udp < kept < new
