"""What no machine would end or hold is refused before it begins, and what takes long is said."""

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import runner
from pocketsim.sim.run.results import read_metrics
from pocketsim.sim.scenario import loops
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.scenario.warnings import warnings
from support import engine_plans as plans

UNPACED = ["workload.pacing=unpaced", "workload.rate=1/s", "run.repetitions=1"]
FAMILIES = ["trustchain", "transfer", "token_batch"]


def of(family, mode):
    return [*UNPACED, f"protocol.kind={family}", f"transport.mode={mode}"]


@pytest.mark.parametrize("mode", ["eva", "tftp"])
def test_a_loop_whose_sends_cost_nothing_is_refused_with_their_number(cli, scenario, mode):
    done = cli("check", scenario)
    assert done.returncode == 0, done.stderr
    text = scenario.read_text().replace('"udp"', f'"{mode}"').replace('"2s"', '"1s"')
    text = text.replace('["4/s", "8/s"]', '"1/s"\npacing = "unpaced"')
    scenario.write_text(text + '[protocol]\nkind = "transfer"\n')
    for command in (("check",), ("run", "--dry-run")):
        done = cli(command[0], scenario, *command[1:])
        assert done.returncode == 2
        assert done.stderr == (
            f"{scenario}: workload.pacing: asks for about 1e+09 proposals in each repetition, as a "
            f"loop that never sleeps over {mode} can make them; a run may ask for 50,000,000 "
            "(did you mean by_clock?)\n"
        )


def test_shorter_run_of_a_free_loop_is_accepted(scenario):
    eva = of("transfer", "eva")
    resolve(load(scenario, [*eva, "run.duration=50ms"]))
    with pytest.raises(ScenarioError) as caught:
        resolve(load(scenario, [*eva, "run.duration=51ms"]))
    assert caught.value.file == "--set"
    # Where a trade is signed, that takes its time.
    resolve(load(scenario, [*of("trustchain", "eva"), "run.duration=10min"]))


def test_a_loop_whose_messages_are_oversized_costs_nothing_either(scenario):
    udp = [*of("transfer", "udp"), "run.duration=1s"]
    resolve(load(scenario, [*udp, "workload.payload=60kB"]))
    with pytest.raises(ScenarioError, match="over udp can make them"):
        resolve(load(scenario, [*udp, "workload.payload=70kB"]))


def test_a_clock_that_ticks_too_often_is_refused(scenario):
    fast = ["protocol.kind=transfer", "transport.mode=eva", "workload.pacing=by_clock"]
    fast += ["workload.rate=1e6/s"]
    resolve(load(scenario, [*fast, "run.duration=49s"]))
    with pytest.raises(ScenarioError, match=r"5\.1e\+07 proposals"):
        resolve(load(scenario, [*fast, "run.duration=51s"]))


@pytest.mark.engine
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", plans.TRANSPORTS)
def test_a_loop_makes_no_more_proposals_than_estimated(scenario, tmp_path, family, mode):
    """And about as many, where nothing else holds them up."""
    overrides = [*of(family, mode), "run.duration=500us", "workload.payload=500B"]
    (rung,) = resolve(load(scenario, overrides))
    (directory,) = runner.run(scenario, overrides, tmp_path)
    sent = read_metrics(directory)["counts"]["sent"]
    most = loops.proposals_at_most(rung.resolved)
    # One is made at the beginning, and costs are drawn.
    assert sent <= 1.5 * most + 1
    if family == "transfer" and mode in ("udp", "tftp"):
        assert sent >= 0.5 * most


def test_no_more_tasks_than_a_run_may_hold(scenario):
    overrides = ["protocol.kind=compute", "transport.mode=none", "devices[0].count=1"]
    most = 'workload={kind="compute", task="sign", threads=[1, 50], count=1000000}'
    load(scenario, [*overrides, most])
    with pytest.raises(ScenarioError) as caught:
        load(scenario, [*overrides, most.replace("50", "51")])
    assert caught.value.key_path == "workload.count"
    assert "about 5.1e+07 tasks in each repetition" in caught.value.reason


@pytest.mark.parametrize(
    ("workload", "asks"),
    [
        ('{kind="poisson", rate="480/s", payload="1B"}', "workload.rate 3.5e+07 proposals 2 h"),
        ('{kind="poisson", rate="50/s", payload="1B"}', None),
        ('{kind="paced", rate="900/s", payload="1B"}', "workload.rate 3.2e+07 proposals 2 h"),
    ],
)
def test_runs_of_hours_are_warned_of(scenario, workload, asks):
    overrides = [f"workload={workload}", "run.duration=10h", 'transport.mode=["udp", "quic_keep"]']
    found = warnings(load(scenario, overrides))
    if asks is None:
        assert not found
        return
    place, number, what, hours, _ = asks.split()
    said = (
        f"asks for about {number} {what} in each repetition, which take {hours} h of a core or "
        "more over quic_keep"
    )
    assert found == [(place, said)]


def test_warning_of_hours_assumes_all_phones_are_on(scenario):
    law = '{distribution="weibull", shape=1, scale="1h"}'
    overrides = ['workload={kind="poisson", rate="480/s", payload="1B"}', "run.duration=10h"]
    overrides += [f"churn={{session={law}, gap={law}}}", 'transport.mode="quic_keep"']
    ((_, said),) = warnings(load(scenario, overrides))
    assert said.endswith("take 2 h of a core or more over quic_keep if all phones were on")


@pytest.mark.parametrize("mode", plans.TRANSPORTS)
def test_every_transport_has_an_estimated_duration(scenario, mode):
    most = ["workload={kind='poisson', rate='6900/s', payload='1B'}", "run.duration=1h"]
    assert warnings(load(scenario, [*most, f"transport.mode={mode}"]))
