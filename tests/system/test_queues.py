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


def test_blocking_queue_drops_nothing(tmp_path):
    full = {"workload.rate": "32/s", "network.access.home_wifi.up_queue": "2kB"}
    dropping = narrow(tmp_path, **full)
    blocking = narrow(tmp_path, **full, **{"network.access.home_wifi.when_full": "block"})
    assert dropping.manifest["repetitions"][0]["counters"]["queue_full"] > 100
    assert "queue_full" not in blocking.manifest["repetitions"][0]["counters"]
    assert mean(blocking, "uplink_queue_drop_ratio") == 0.0
    # The queues of both hold 250 ms each; what waits before them at the phone has no such end.
    assert mean(dropping, "rtt_ms_p95") < 600.0
    assert mean(blocking, "rtt_ms_p95") > 2000.0


def test_blocking_queues_are_refused_with_flows(tmp_path):
    changes = {"network.access.home_wifi.when_full": "block", "run.fidelity": "flow"}
    with pytest.raises(ScenarioError, match="has no queue that could be full") as refused:
        narrow(tmp_path, **changes)
    assert refused.value.key_path == "network.access.home_wifi.when_full"
    assert not list(tmp_path.iterdir())


CROWDED = """
implementation = "trustchain_throughput_2025"
[run]
seed = 1
duration = "10s"
repetitions = 1
[[devices]]
profile = "moto_g04s"
count = 20
access = "wifi"
[network.access.wifi]
up = "40Mbps"
down = "40Mbps"
latency = "2ms"
[workload]
kind = "poisson"
rate = "60/s"
payload = "1000B"
[transport]
mode = "udp"
"""


def crowd(tmp_path, phones, **changes):
    """Run phones that together ask for about half as much again as 40 Mbit/s carry."""
    scenario = tmp_path / "crowd.toml"
    scenario.write_text(CROWDED)
    asked = {"devices[0].count": phones, "workload.rate": f"{1200 / phones:g}/s"}
    (run,) = ps.run(scenario, {**asked, **changes}, out=tmp_path)
    return run


def full_ratio(run):
    """Return the datagrams that found no room over those sent, which cross two queues each."""
    counters = run.manifest["repetitions"][0]["counters"]
    return counters["queue_full"] / counters["datagrams_sent"]


@pytest.mark.parametrize("phones", [2, 20, 200, 1000])
def test_phones_that_overload_their_site_wait_for_less_than_half_a_second(tmp_path, phones):
    run = crowd(tmp_path, phones, **{"network.access.wifi.site_capacity": "40Mbps"})
    waits_ms = [mean(run, f"{way}link_wait_ms_p95") for way in ("up", "down")]
    assert sum(waits_ms) < 500.0
    # Of two crossings of each datagram 40 Mbit/s carry two thirds; cores of two phones are busy.
    assert 0.1 < full_ratio(run) < 0.5


@pytest.mark.parametrize(
    ("way", "other"), [("up", "down"), ("down", "up")], ids=["uplink", "downlink"]
)
@pytest.mark.parametrize("phones", [2, 20])
def test_a_link_that_nobody_shares_stands_for_a_quarter_of_a_second(tmp_path, phones, way, other):
    rate = f"{1200 / phones:g}kbps"  # of some 3 kbit/s for each trade of two messages or three
    slow = {f"network.access.wifi.{way}": rate, "workload.rate": f"{120 / phones:g}/s"}
    run = crowd(tmp_path, phones, **slow)
    assert mean(run, f"{way}link_queue_drop_ratio") > 0.1
    assert mean(run, f"{other}link_queue_drop_ratio") == 0.0
    assert mean(run, f"{way}link_wait_ms_p95") <= 250.0


def test_a_burst_finds_room_on_a_quiet_site_of_many_phones(tmp_path):
    """The room that others do not use is there for who has something to send."""
    rows = "".join(f"1.0,0,{peer},1000\n" for peer in range(1, 51))
    (tmp_path / "trades.csv").write_text(f"time_s,from,to,payload_bytes\n{rows}")
    scenario = tmp_path / "burst.toml"
    head, _, rest = CROWDED.partition("[workload]")
    rest = rest[rest.index("[transport]") :]
    scenario.write_text(f'{head}[workload]\nkind = "trace"\nfile = "trades.csv"\n{rest}')
    changes = {"devices[0].count": 1000, "network.access.wifi.site_capacity": "40Mbps"}
    (run,) = ps.run(scenario, changes, out=tmp_path)
    assert mean(run, "success_ratio") == 1.0
    assert "queue_full" not in run.manifest["repetitions"][0]["counters"]
