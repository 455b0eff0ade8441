"""Phones that go off with datagrams under way: SimGrid names what fails in an order of addresses.

A difference between processes is a matter of chance, so there are many of them; without the mend
five in five differed. Queues and shares have no addresses, and are held to the same.
"""

import concurrent.futures
import hashlib

import pytest

from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans as plans

pytestmark = pytest.mark.engine

CHURN = """
implementation = "trustchain_throughput_2025"

[run]
seed = 1
duration = "20s"

[[devices]]
profile = "moto_g04s"
count = 4
access = "lte"

[network.access.lte]
up = "6Mbps"
down = "10kbps"
latency = "10ms"

[churn]
session = { distribution = "weibull", shape = 1.0, scale = "2s" }
gap = { distribution = "weibull", shape = 1.0, scale = "0.5s" }

[workload]
kind = "poisson"
rate = "5/s"
payload = "100B"

[transport]
mode = "udp"
"""
RUNS = 10


@pytest.fixture
def plan_of(tmp_path):
    def make(fidelity):
        path = tmp_path / "churn.toml"
        path.write_text(CHURN)
        (rung,) = resolve(load(path, [f"run.fidelity={fidelity}"]))
        return build_plan(rung.resolved, 0)

    return make


# A queue at a sender of 6 Mbit/s is empty, so what fails there waits at the receiver.
@pytest.mark.parametrize(
    ("fidelity", "reason"), [("flow", "sender_off"), ("hybrid", "receiver_off")]
)
@pytest.mark.parametrize("variables", [{}, {"PYTHONHASHSEED": "1"}], ids=["random", "fixed"])
def test_every_process_gives_the_same_bytes(plan_of, fidelity, reason, variables):
    plan = plan_of(fidelity)
    # PYTHONHASHSEED=random is Python's default, whatever the environment says.
    chosen = {"PYTHONHASHSEED": "random", **variables}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        traces = list(pool.map(lambda _: plans.run(plan, **chosen), range(RUNS)))
    assert traces[0].reason_names().count(reason) > 10
    assert len({hashlib.sha256(trace.data).digest() for trace in traces}) == 1
