"""More repetitions of a run, made later: they are those that a longer run would have had."""

import json

import pytest

import pocketsim as ps
from pocketsim.api.documents import catalog
from pocketsim.report.runs.shipped_scenarios import ShippedScenarios
from pocketsim.sim import trace
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans

MARKET = catalog.PACKAGE / "scenarios/tokens/market.toml"
LATER = ("run.first_repetition=4", "run.repetitions=2")
ALL = ("run.repetitions=6",)
# What draws most: churn, losses, shares of networks, costs from their uncertainty.
POISSON = [
    "run.duration=4s",
    "run.draw=posterior",
    "devices[0].count=5",
    "transport.mode=quic_keep",
    "network.access.home_wifi.loss_ratio=0.1",
    "network.access.home_wifi.jitter_median=2ms",
    "network.access.home_wifi.jitter_sigma=1.5",
    "churn.session={distribution='weibull', shape=0.5, scale='20s'}",
    "churn.gap={distribution='lognormal', median='5s', sigma=1.0}",
    "workload={kind='poisson', rate='4/s', payload='100B'}",
]
PACED = ["workload.rate=64/s", "run.draw=posterior"]


def resolved(path, *overrides):
    return resolve(load(path, overrides))[0].resolved


@pytest.mark.engine
@pytest.mark.parametrize("settings", [PACED, POISSON], ids=["paced", "poisson"])
def test_later_repetitions_have_the_events_of_a_longer_run(scenario, tmp_path, settings):
    (every,) = runner.run(scenario, [*settings, *ALL], tmp_path / "all")
    (later,) = runner.run(scenario, [*settings, *LATER], tmp_path / "later")
    ours, theirs = (trace.read(run / "events.parquet") for run in (later, every))
    theirs = theirs.filter([number >= 4 for number in theirs["repetition"].to_pylist()])
    assert ours.num_rows > 100
    assert set(ours["repetition"].to_pylist()) == {0, 1}
    for name in ours.column_names:
        found, known = ours[name].to_pylist(), theirs[name].to_pylist()
        assert found == ([number - 4 for number in known] if name == "repetition" else known), name
    manifests = [json.loads((run / "manifest.json").read_text()) for run in (later, every)]
    assert [one["first_repetition"] for one in manifests] == [4, 0]
    told, known = (one["repetitions"] for one in manifests)
    assert [one["repetition"] for one in told] == [0, 1]
    assert [{**one, "repetition": 0} for one in told] == [
        {**one, "repetition": 0} for one in known[4:]
    ]
    assert manifests[0]["point"]["run.first_repetition"] == {"value": 4, "unit": ""}
    metrics = [json.loads((run / "metrics.json").read_text())["metrics"] for run in (later, every)]
    few, many = (found["rtt_ms_p50"]["values"] for found in metrics)
    assert few == many[4:]


@pytest.mark.parametrize("overrides", [(), ("run.draw=posterior",)])
def test_a_town_is_drawn_as_in_a_longer_run(overrides):
    every, later = (resolved(MARKET, *overrides, *more) for more in (ALL, LATER))
    for number in range(2):
        plans = build_plan(later, number), build_plan(every, 4 + number)
        ours, theirs = map(engine_plans.lists, plans)
        assert ours == theirs
    assert engine_plans.lists(build_plan(later, 0)) != engine_plans.lists(build_plan(every, 0))


def test_first_repetition_names_another_run_unless_it_is_0(scenario):
    plain, first, later = (
        resolve(load(scenario, overrides))[0]
        for overrides in ([], ["run.first_repetition=0"], ["run.first_repetition=1"])
    )
    assert first.name == plain.name != later.name
    assert "first_repetition" not in first.resolved["run"]
    assert later.resolved["run"]["first_repetition"] == 1


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        (["run.first_repetition=-1"], "run.first_repetition: should be greater than or equal to 0"),
        (["run.first_repetition=1.5"], "must be a whole number, not 1.5"),
        (["run.first_repetition=1", "run.app=continued"], "begin with repetition 0"),
    ],
)
def test_mistakes_are_named(scenario, overrides, reason):
    with pytest.raises(ScenarioError) as caught:
        load(scenario, overrides)
    assert reason in str(caught.value)
    assert caught.value.key_path == "run.first_repetition"
    assert str(caught.value).startswith("--set: ")


def test_later_repetitions_count_as_the_shipped_experiment():
    path = catalog.PACKAGE / "scenarios/throughput/iroh_reconnect_100b.toml"
    shipped = ShippedScenarios()
    assert shipped.hold(resolved(path, *LATER))
    assert not shipped.hold(resolved(path, *LATER, "run.duration=1s"))


@pytest.mark.engine
def test_only_runs_that_begin_alike_are_compared_in_pairs(tmp_path):
    changes = {"workload.rate": "4/s", "run.duration": "2s", "run.app": "restarted"}
    changes |= {"run.repetitions": 3, "run.first_repetition": [0, 3], "transport.mode": "udp"}
    first, later = ps.run("udp_100b", changes, out=tmp_path)
    (slower,) = ps.run(
        "udp_100b",
        {**changes, "run.first_repetition": 3, "network.access.home_wifi.latency": "5ms"},
        out=tmp_path,
    )
    assert not ps.compare(first, later, "rtt_ms_p50").is_paired
    assert ps.compare(later, slower, "rtt_ms_p50").is_paired
    assert list(later.to_frame()["run.first_repetition"]) == [3] * 3
    assert list(later.to_frame()["repetition"]) == [0, 1, 2]


def test_show_says_where_it_begins(scenario, cli):
    shown = cli("show", scenario, "--set", "run.first_repetition=4").stdout
    assert "2 x 2 s from repetition 4 on, seed 7" in shown
    assert "from repetition" not in cli("show", scenario).stdout
