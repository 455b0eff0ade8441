"""What `[report]` of a sweep asks for is checked when the sweep is read, before anything runs."""

from __future__ import annotations

import re

import pytest

from pocketsim.api.study import Study
from pocketsim.sim.base.errors import UserError

AXES = """
"workload.rate" = ["2/s", "4/s"]
"devices[0].count" = [2, 3]
"""
MIX = """
[network.access.lte]
up = "10Mbps"
down = "10Mbps"
latency = "40ms"
"""
SHARES = '"devices[0].access" = [{ home_wifi = 0.5, lte = 0.5 }, { home_wifi = 1.0 }]'
COMPUTE = """
implementation = "kotlin_ipv8_2023"

[run]
seed = 1
duration = "1s"

[[devices]]
profile = "thinkpad_l13"
count = 1
access = "loopback"

[network.access.loopback]
up = "10Gbps"
down = "10Gbps"
latency = "10us"

[workload]
kind = "compute"
task = "verify_token"
recipients = [1, 3]
tokens = 10
payload = "1200B"

[protocol]
kind = "compute"

[transport]
mode = "none"
"""


@pytest.fixture
def study(scenario, tmp_path):
    """Return a function that makes a study of a sweep with a table `[report]`."""

    def make(asked, axes=AXES, scenarios='"small.toml"', shard=(1, 1)):
        path = tmp_path / "sweep.toml"
        said = "\n".join(f'{key} = "{value}"' for key, value in asked.items())
        path.write_text(
            f"[sweep]\nscenario = [{scenarios}]\n\n[report]\n{said}\n\n[axes]\n{axes}\n"
        )
        return Study(path, tmp_path / "runs", shard)

    make.scenario = scenario
    return make


@pytest.mark.parametrize(
    "asked",
    [
        {"x": "workload.rate"},
        {"x": "devices[0].count", "by": "workload.rate"},
        {"by": "devices[0].count", "x": "workload.rate", "metric": "success_ratio"},
        {"metric": "rtt_ms_p95"},
    ],
)
def test_what_differs_can_be_shown(study, asked):
    assert len(study(asked).sweep.points) == 4


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"x": "workload.rat"}, "report.x: .*did you mean workload.rate?"),
        ({"x": "network.access.home_wifi.latency"}, "report.x: .*no quantity that differs"),
        ({"x": "colour"}, "report.x: .*; there is workload.rate, devices[0].count"),
        ({"by": "device[0].count", "x": "workload.rate"}, "report.by: .*devices[0].count?"),
        ({"by": "workload.rate", "x": "workload.rate"}, "report.by: .*is on the horizontal axis"),
        ({"metric": "success"}, "report.metric: .*did you mean success_ratio?"),
    ],
)
def test_what_does_not_is_refused_before_anything_runs(study, tmp_path, asked, said):
    pattern = re.escape(said).replace(re.escape(".*"), ".*")
    with pytest.raises(UserError, match=f"sweep.toml: {pattern}"):
        study(asked)
    assert not (tmp_path / "runs").exists()


def test_shares_of_networks_are_named_as_in_the_scenario(study):
    study.scenario.write_text(study.scenario.read_text() + MIX)
    study({"x": "devices[0].access.lte"}, SHARES)
    with pytest.raises(UserError, match=re.escape("did you mean devices[0].access.lte?")):
        study({"x": "devices[0].access.ltee"}, SHARES)


def test_a_key_of_one_scenario_may_be_shown_with_a_metric_of_it(study, tmp_path):
    (tmp_path / "compute.toml").write_text(COMPUTE)
    both = '"small.toml", "compute.toml"'
    study({"metric": "task_us_mean", "x": "workload.recipients"}, "", both)
    study({"x": "workload.recipients"}, "", both)
    with pytest.raises(UserError, match=r"report\.x"):
        study({"metric": "rtt_ms_p50", "x": "workload.recipients"}, "", both)


def test_a_part_of_a_study_leaves_it_to_the_whole(study):
    assert len(study({"x": "workload.rat"}, shard=(1, 2)).sweep.points) == 2
