"""Queues of radios, from a document to metrics."""

import pytest

import pocketsim as ps
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.metrics import queues

pytestmark = pytest.mark.engine

# Some 640 B with headers each way: 32/s on 64 kbit/s are more than twice what it carries.
NARROW = {"run.repetitions": 1, "run.duration": "20s", "network.access.home_wifi.up": "64kbps"}


def narrow(tmp_path, **more):
    changes = {**NARROW, **more}
    (run,) = ps.run("udp_100b", changes, out=tmp_path)
    return run


def mean(run, name):
    return run.metrics["metrics"][name]["mean"]


def test_waits_and_drops_are_those_of_the_queues(tmp_path):
    quiet = narrow(tmp_path, **{"workload.rate": "4/s"})
    full = narrow(tmp_path, **{"workload.rate": "32/s", "network.access.home_wifi.up_queue": "2kB"})
    assert mean(quiet, "uplink_queue_drop_ratio") == 0.0
    assert 0.0 <= mean(quiet, "uplink_wait_ms_mean") < mean(full, "uplink_wait_ms_mean")
    # What finds room has no more than 2 kB less itself before it, and 2 kB take 250 ms.
    assert 150.0 < mean(full, "uplink_wait_ms_p95") < 200.0
    (told,) = full.manifest["repetitions"]
    counters = told["counters"]
    offered = counters["datagrams_sent"]
    assert mean(full, "downlink_queue_drop_ratio") == 0.0
    assert mean(full, "uplink_queue_drop_ratio") == counters["queue_full"] / offered


def test_flows_have_no_queues(tmp_path):
    flows = narrow(tmp_path, **{"workload.rate": "4/s", "run.fidelity": "flow"})
    assert [mean(flows, name) for name in queues.METRICS] == [None] * len(queues.METRICS)


def test_who_is_blocked_loses_nothing_there(tmp_path):
    full = {"workload.rate": "32/s", "network.access.home_wifi.up_queue": "2kB"}
    dropping = narrow(tmp_path, **full)
    blocking = narrow(tmp_path, **full, **{"network.access.home_wifi.when_full": "block"})
    assert dropping.manifest["repetitions"][0]["counters"]["queue_full"] > 100
    assert "queue_full" not in blocking.manifest["repetitions"][0]["counters"]
    assert mean(blocking, "uplink_queue_drop_ratio") == 0.0
    # The queues of both hold 250 ms each; what waits before them at the phone has no such end.
    assert mean(dropping, "rtt_ms_p95") < 600.0
    assert mean(blocking, "rtt_ms_p95") > 2000.0


def test_flows_do_not_block(tmp_path):
    changes = {"network.access.home_wifi.when_full": "block", "run.fidelity": "flow"}
    with pytest.raises(ScenarioError, match="has no queue that could be full") as refused:
        narrow(tmp_path, **changes)
    assert refused.value.key_path == "network.access.home_wifi.when_full"
    assert not list(tmp_path.iterdir())
