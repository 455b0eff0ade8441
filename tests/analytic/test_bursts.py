"""Bursts of loss on a simulated link against the closed forms of Gilbert's and Elliott's chain."""

import json
import sys

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans as plans

sys.path.append(str(ROOT / "bench"))  # scripts, not a package
import bursts

VECTORS = json.loads((ROOT / "tests/vectors/bursts.json").read_text())
PACKETS = 1_000_000


def chain_of(share, mean_packets, loss_ratio=1.0, outside=0.0):
    inside = {"share": share, "mean_packets": mean_packets, "loss_ratio": loss_ratio}
    return {"loss_ratio": outside, "bursts": inside}


def lost_by(plan, sender, receiver):
    """Return which proposals between two phones are lost, in order."""
    trace = plans.run(plan)
    sent = trace.of("send", sender)
    to = sent.message[sent.peer == receiver]
    return np.isin(to, trace.of("process", receiver).message, invert=True)


def proposing(chain, count, *, payload_bytes=100, ways=((0, 1),), phones=2):
    """Return a plan with proposals on each of `ways`; network 0 has the bursts, 1 nothing."""
    plan = plans.plan(phones, duration_s=1e6)
    plan["access"] = [plans.access(**chain), plans.access()]
    plan["phones"]["access"] = [1] * phones
    for number in range(count):
        for sender, receiver in ways:
            plans.arrive(plan, 0.1 * number, sender, receiver, payload_bytes)
    return plan


@pytest.mark.parametrize("row", VECTORS["chains"], ids=lambda row: str(row["bursts"]["share"]))
def test_the_vectors_are_the_closed_forms(row):
    assert vars(bursts.expected(row)) == pytest.approx(row["expected"], rel=1e-9)


@given(st.floats(0.01, 0.9), st.floats(1, 100))
def test_without_loss_outside_runs_are_the_bursts(share, times_chance):
    """As Gilbert's chain: k losses or more in a row with probability (1 - 1 / mean)^(k - 1)."""
    mean_packets = times_chance / (1 - share)
    found = bursts.expected(chain_of(share, mean_packets))
    assert found.loss_ratio == pytest.approx(share)
    assert found.autocorrelation == pytest.approx(1 - 1 / times_chance, abs=1e-9)
    for level, packets in zip((0.5, 0.9, 0.99), list(vars(found).values())[2:], strict=True):
        longer = [(1 - 1 / mean_packets) ** count for count in (packets - 1, packets)]
        assert longer[1] <= 1 - level + 1e-9
        assert longer[0] >= 1 - level - 1e-9


@given(st.floats(0.01, 0.9))
def test_bursts_as_long_as_chances_runs_are_independent_losses(share):
    assert bursts.expected(chain_of(share, 1 / (1 - share))).autocorrelation == pytest.approx(
        0, abs=1e-9
    )


def test_runs_are_counted_from_end_to_end():
    lost = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1], bool)
    found = bursts.measured(lost)
    assert (found.p50_packets, found.p99_packets) == (2, 3)
    assert found.loss_ratio == pytest.approx(6 / 9)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("chain", bursts.chains(), ids=lambda chain: str(chain["bursts"]["share"]))
def test_simulated_link_has_the_configured_bursts(chain):
    put_in, found = bursts.expected(chain), bursts.measured(bursts.simulated(chain, PACKETS))
    assert max(bursts.apart(found, put_in).values()) <= bursts.BAR, found
    null = bursts.measured(bursts.independent(put_in.loss_ratio, PACKETS))
    off = bursts.apart(null, put_in)
    assert off.pop("loss_ratio") <= bursts.BAR
    assert min(off.values()) > 0.5


IN_TIME = [
    # As packets that come every 100 ms meet them: 3.4, 5.4, 8.5 and 11 in a row on average, of LTE
    # and 5G, as pings a second apart do bursts of ten times these.
    {
        "loss_ratio": 0.0,
        "bursts": {"share": 0.014, "mean_duration": f"{mean_ms}ms", "loss_ratio": 1.0},
    }
    for mean_ms in (286, 488, 798, 1048)
]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("chain", IN_TIME, ids=lambda chain: chain["bursts"]["mean_duration"])
def test_bursts_that_last_for_a_time_are_as_long_as_they_should(chain):
    put_in = bursts.expected(chain)
    found = bursts.measured(bursts.simulated(chain, 4 * PACKETS))
    assert max(bursts.apart(found, put_in).values()) <= bursts.BAR, found


def test_in_time_the_measured_means_are_those_of_the_facts():
    found = [bursts.mean_packets(chain["bursts"]) for chain in IN_TIME]
    assert found == pytest.approx([3.4, 5.4, 8.5, 11.0], rel=0.01)


@pytest.mark.parametrize("name", ["scale/1k", "tokens/market", "tokens/outage"])
def test_shipped_lte_loses_as_much_as_was_measured_in_bursts_as_long(root, name):
    (resolved, *_) = resolve(load(root / f"pocketsim/scenarios/{name}.toml"))
    lte = resolved.resolved["network"]["access"]["lte"]
    assert lte["loss_ratio"] == 0.0
    assert lte["bursts"] == {"share": 0.014, "mean_duration_s": 4.9, "loss_ratio": 1.0}


@pytest.mark.engine
def test_what_is_lost_together_depends_on_time_and_not_on_packets():
    """Packets that come far apart are lost independently, those of one moment together."""

    def lost(gaps_s):
        plan = plans.plan(2, duration_s=1e9)
        bursty = {"bursts": {"share": 0.3, "mean_duration_s": 1.0}, "loss_ratio": 0.0}
        plan["access"] = [plans.access(**bursty), plans.access()]
        plan["phones"]["access"] = [0, 1]
        for time_s in np.cumsum(gaps_s):
            plans.arrive(plan, time_s, 0, 1, 100)
        return lost_by(plan, 0, 1)

    apart = lost(np.full(10_000, 50.0))
    assert abs(np.corrcoef(apart[1:], apart[:-1])[0, 1]) < 0.04
    pairs = lost(np.tile([50.0, 0.0], 5000)).reshape(-1, 2)
    assert (pairs[:, 0] == pairs[:, 1]).all()
    assert pairs.mean() == pytest.approx(0.3, abs=0.03)


@pytest.mark.engine
@pytest.mark.parametrize("way", [(0, 1), (1, 0)])
def test_each_phone_has_a_chain_for_each_direction(way):
    """What others send and receive in the same network moves no burst."""
    chain = chain_of(0.3, 10.0)

    def lost(ways):
        plan = proposing(chain, 2000, ways=ways, phones=4)
        plan["phones"]["access"] = [0, 1, 0, 1]
        return lost_by(plan, *way)

    alone = lost([way])
    assert 0.15 < alone.mean() < 0.45
    assert (alone == lost([way, (2, 3), (3, 2)])).all()
    other = {(0, 1): (2, 1), (1, 0): (1, 2)}[way]
    plan = proposing(chain, 2000, ways=[other], phones=4)
    plan["phones"]["access"] = [0, 1, 0, 1]
    assert (alone != lost_by(plan, *other)).any()


@pytest.mark.engine
def test_bursts_leave_other_losses_as_they_were():
    def lost(chain):
        plan = proposing(chain, 5000)
        plan["phones"]["access"] = [0, 1]
        return lost_by(plan, 0, 1)

    network, inside = {"loss_ratio": 0.1}, chain_of(0.3, 10.0)
    alone, burst, both = lost(network), lost(inside), lost({**inside, **network})
    assert (both == alone | burst).all()
    assert (alone & ~burst).any()


@pytest.mark.engine
@pytest.mark.parametrize("mean_packets", [2.0, 20.0])
def test_a_datagram_is_lost_with_any_of_its_packets(mean_packets):
    plan = proposing(chain_of(0.1, mean_packets), 20_000, payload_bytes=5000)  # four packets
    plan["phones"]["access"] = [0, 1]
    # All four stay outside bursts; the standard error is 0.0075 with bursts of 20.
    stays = 1 - 0.1 / (mean_packets * 0.9)
    assert 1 - lost_by(plan, 0, 1).mean() == pytest.approx(0.9 * stays**3, abs=0.025)


def test_bursts_have_one_length(scenario):
    for lengths in ("", ', mean_packets = 8.0, mean_duration = "1s"'):
        override = f"network.access.home_wifi.bursts={{share = 0.02{lengths}}}"
        with pytest.raises(ScenarioError, match="one length: mean_packets or mean_duration"):
            load(scenario, [override])
    with pytest.raises(ScenarioError, match="more than zero"):
        load(scenario, ['network.access.home_wifi.bursts={share = 0.1, mean_duration = "0s"}'])


def with_bursts(scenario, row):
    text = ", ".join(f"{key} = {value}" for key, value in row["bursts"].items())
    return load(scenario, [f"network.access.home_wifi.bursts={{{text}}}"])


@pytest.mark.parametrize("row", VECTORS["refused"], ids=lambda row: str(row["bursts"]))
def test_impossible_burst_parameters_are_refused(scenario, row):
    with pytest.raises(ScenarioError) as caught:
        with_bursts(scenario, row)
    said = f"{caught.value.key_path} {caught.value.reason}"
    assert said.startswith("network.access.home_wifi.bursts")
    assert row["wrong"] in said


@pytest.mark.parametrize(("share", "least"), [(0.02, 1.0204082), (0.2, 1.25), (0.9, 10)])
def test_least_mean_packets_of_the_message_are_accepted(scenario, share, least):
    with pytest.raises(ScenarioError, match=rf"1 is less than {least}, as") as caught:
        with_bursts(scenario, {"bursts": {"share": share, "mean_packets": 1}})
    assert caught.value.key_path == "network.access.home_wifi.bursts"
    with_bursts(scenario, {"bursts": {"share": share, "mean_packets": least}})


def test_a_network_may_have_bursts_and_has_none_by_default(scenario):
    for settings, expected in (
        ([], None),
        (
            ["network.access.home_wifi.bursts={share = 0.02, mean_packets = 8}"],
            {"share": 0.02, "mean_packets": 8.0, "loss_ratio": 1.0},
        ),
    ):
        resolved = resolve(load(scenario, settings))[0].resolved
        assert resolved["network"]["access"]["home_wifi"]["bursts"] == expected
