"""A rate may be as low as a float goes: then the second proposal is after the end of every run."""

import json

import pytest

from pocketsim import testing
from pocketsim.sim import metrics, trace
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import interval_s
from pocketsim.sim.scenario.warnings import warnings


@pytest.mark.parametrize("pacing", ["by_clock", "floored_ms", "spread"])
@pytest.mark.parametrize("rate_per_s", [1e-12, 1e-306, 5e-324])
def test_a_pause_between_proposals_is_a_number_longer_than_any_run(pacing, rate_per_s):
    assert 3660 * 86400 < interval_s(pacing, rate_per_s) < 1e12


def rows(sent):
    """Return events of proposals 1 s apart, each stored after 10 ms."""
    said = [
        (number + offset_s, kind, number)
        for number in range(sent)
        for offset_s, kind in ((0.0, "send"), (0.01, "store"))
    ]
    times_s, kinds, messages = zip(*said, strict=True)
    count = len(said)
    return trace.build(
        repetition=[0] * count,
        time_s=times_s,
        node=[0] * count,
        kind=kinds,
        message_id=messages,
        peer=[1] * count,
        message_size=[300] * count,
        reason=[None] * count,
        logged=[True] * count,
    )


@pytest.mark.parametrize("rate", ["send_rate_per_s", "store_rate_per_s"])
def test_one_proposal_has_no_rate(rate):
    one, two = (
        metrics.measure(rows(sent), testing.resolved(repetitions=1))["metrics"] for sent in (1, 2)
    )
    assert one[rate]["value"] is None  # not 1 over its round trip, 100/s
    assert one["send_count"]["value"] == one["store_count"]["value"] == 1
    assert two[rate]["value"] == pytest.approx(2 / 1.01)


def test_one_proposal_has_no_rate_where_no_events_are_kept(scenario, cli):
    for kept in ("full", "metrics"):
        changes = ("workload.rate=1e-306/s", f"output.trace={kept}", "run.repetitions=1")
        asked = [word for change in changes for word in ("--set", change)]
        done = cli("run", scenario, "--json", "-q", *asked)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["metrics"]
        assert (found["send_count"]["value"], found["send_rate_per_s"]["value"]) == (1, None)


def test_a_rate_at_which_a_second_proposal_is_after_any_run_is_warned_of(scenario):
    document = load(scenario, ["workload.rate=1e-306/s"])
    text = "at 1e-306/s a loop sends one proposal, when it starts; its second is after any run, of "
    assert ("workload.rate", f"{text}at most 3660d") in warnings(document)
    assert not warnings(load(scenario, ["workload.rate=0.001/s"]))


def test_a_rate_at_which_next_to_nothing_is_asked_for_is_warned_of(scenario):
    poisson = ["workload.kind=poisson", "workload.rate=1e-306/s"]
    (warning,) = warnings(load(scenario, poisson))
    assert warning[0] == "workload.rate"
    assert warning[1].endswith("proposals in each repetition: next to all have none")
