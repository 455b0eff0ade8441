"""EVA through the engine: the socket's buffer decides what a window may be."""

import json

import pytest

from pocketsim.sim.run import runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.trace import read
from support import engine_plans as plans
from support.recount import check

pytestmark = pytest.mark.engine

# Ed25519 of libsodium on the laptop of the offline token thesis, and X25519 once and twice.
COSTS_S = {"sign": 26e-6, "verify": 57e-6, "sealed_box_open": 41e-6, "sealed_box_seal": 82e-6}
BLOCK_OF_BYTES = 2_000_000


def trade(buffer_bytes=0, **options):
    """One trade of a large block; the buffer is the phone's default or what is asked for."""
    plan = plans.plan(2, "eva", cores=4)
    plan["access"] = [plans.access(latency_s=1e-5)]
    plan["transport"]["eva"] = {**plans.EVA, **options}
    plan["transport"]["options"]["socket_buffer_bytes"] = buffer_bytes
    plan["profiles"][0]["spread_sigma"] = [0.1] * len(plan["profiles"][0]["cpu_s"])
    for name, cpu_s in COSTS_S.items():
        plans.cost(plan, name, cpu_s)
    plans.arrive(plan, 1.0, 0, 1, BLOCK_OF_BYTES)
    trace = plans.run(plan)
    check(trace, 100.0, nothing_left=True)
    assert trace.counters["store"] == 1
    return trace.counters.get("buffer_full", 0), trace.time_of("store") - 1.0


@pytest.mark.parametrize(
    ("overflows", "buffer_bytes", "options"),
    [
        (False, 0, {"window_blocks": 128}),
        (True, 0, {"window_blocks": 256}),
        (False, 0, {"window_blocks": 256, "encryption": True}),
        (False, 851_968, {"window_blocks": 256}),
    ],
)
def test_a_window_that_outgrows_the_buffer_stalls(overflows, buffer_bytes, options):
    lost, time_s = trade(buffer_bytes, **options)
    assert (lost > 0) == overflows
    assert (time_s > 2.0) == overflows, "found lost at checks a second apart, or never lost"


def test_offers_that_cross_are_lost_with_a_reason():
    plan = plans.plan(2, "eva")
    plans.arrive(plan, 1.0, 0, 1)
    plans.arrive(plan, 1.0, 1, 0)
    trace = plans.run(plan)
    assert trace.of("lose").reason_names() == ["peer_busy"] * 2


def test_phones_look_for_what_is_overdue_at_different_times():
    plan = plans.plan(6, "eva")
    plan["access"] = [plans.access(loss_ratio=1.0)]
    for phone in range(5):
        plans.arrive(plan, 1.0, phone, 5)
    lost_s = plans.run(plan).of("lose").time_s
    assert len({round(at % 1.0, 6) for at in lost_s}) == 5
    assert ((lost_s >= 13.0) & (lost_s < 14.0)).all(), "12 s, and up to one until it is found"


@pytest.mark.parametrize(("window", "stalls"), [(128, False), (256, True)])
def test_a_scenario_of_eva(root, tmp_path, window, stalls):
    """The scenario as it stands: what its comment says of windows."""
    scenario, override = (
        root / "pocketsim/scenarios" / "eva" / "window.toml",
        f"transport.eva.window={window}",
    )
    (directory,) = runner.run(scenario, [override], tmp_path / "runs")
    trace = plans.from_table(read(directory / "events.parquet"))
    counts = json.loads((directory / "metrics.json").read_text())["counts"]
    check(trace, 60.0, nothing_left=not stalls, counts=counts)
    first_s = trace.of("store").time_s[0]
    assert (first_s > 2.0) == stalls
    assert (counts["stored"] == counts["sent"]) or stalls


def test_the_defaults_are_those_of_the_thesis(root):
    document = load(root / "pocketsim/scenarios" / "eva" / "window.toml", ["transport.eva={}"])
    assert resolve(document)[0].resolved["transport"]["eva"] == plans.EVA


def test_other_transports_have_no_options_of_eva(scenario):
    assert resolve(load(scenario))[0].resolved["transport"]["eva"] is None
