"""Two runs compared, on the command line and from Python; which range of a design matters."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.power import TTestIndPower, TTestPower

from pocketsim import plot
from pocketsim.comparing import Difference

DESIGN = """
[sweep]
scenario = "small.toml"
title = "Which range matters"
repetitions = 1

[axes]
"workload.rate" = ["4/s"]

[design]
kind = "morris"
trajectories = 2
seed = 3

[design.ranges]
"network.access.home_wifi.latency" = { from = "1ms", to = "100ms" }
"devices[0].count" = { from = 2, to = 9 }
"""


def difference(deviation, *, is_paired):
    return Difference("x", 10.0, 11.0, 1.0, 0.5, 1.5, is_paired, deviation)


@pytest.mark.parametrize("effect", [0.1, 0.5, 1.0, 2.0])
def test_repetitions_are_those_of_a_power_analysis(effect):
    paired = difference(1.0, is_paired=True).repetitions_to_see(effect)
    assert paired == math.ceil(TTestPower().solve_power(effect, alpha=0.05, power=0.8))
    # Two runs of one deviation each: their difference scatters by the root of two.
    apart = difference(math.sqrt(2), is_paired=False).repetitions_to_see(effect)
    assert apart == math.ceil(TTestIndPower().solve_power(effect, alpha=0.05, power=0.8))


def test_what_does_not_scatter_is_seen_at_once_and_the_unknown_never():
    assert difference(0.0, is_paired=True).repetitions_to_see(0.1) == 2
    assert difference(math.nan, is_paired=True).repetitions_to_see(0.1) is None
    assert difference(1.0, is_paired=True).repetitions_to_see(0.0) is None
    assert difference(1e9, is_paired=True).repetitions_to_see(0.1) is None


@pytest.fixture
def two_runs(fake_cli, scenario):
    done = fake_cli("run", scenario)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_runs_are_compared_metric_by_metric(cli, two_runs):
    done = cli("compare", *two_runs)
    assert done.returncode == 0, done.stderr
    title, head, *rows = done.stdout.splitlines()[1:]
    assert title.endswith("paired by random numbers")
    assert head.split()[:3] == ["metric", "A", "B"]
    assert "store_rate_per_s" in {row.split()[0] for row in rows}
    told = json.loads(cli("compare", *two_runs, "--metric", "store_rate_per_s", "--json").stdout)
    (row,) = told["differences"]
    assert row["is_paired"]
    assert row["difference"] == row["b_mean"] - row["a_mean"]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--metric", "rtt_ms_p51"], "has no metric 'rtt_ms_p51' (did you mean rtt_ms_p"),
        (["--detect", "5"], "'5' is no share, such as 5%"),
        (["--detect", "-1%"], "'-1%' is no share, such as 5%"),
    ],
)
def test_mistakes_of_a_comparison_are_usage(cli, two_runs, more, reason):
    done = cli("compare", *two_runs, *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_runs_of_one_seed_are_paired_as_far_as_both_go(cli, scenario, fake_cli):
    runs = [
        fake_cli(
            "run", scenario, "--set", "workload.rate=4/s", "--set", f"run.repetitions={number}"
        )
        for number in (3, 5)
    ]
    done = cli("compare", *(run.stdout.strip() for run in runs), "--json")
    (row, *_) = json.loads(done.stdout)["differences"]
    assert row["is_paired"]
    assert row["difference"] == 0


def test_sensitivity_without_runs_or_design_says_so(cli, scenario, tmp_path):
    (tmp_path / "sweep.toml").write_text(DESIGN)
    done = cli("sensitivity", "sweep.toml")
    assert done.returncode == 2
    assert "is not there; run the sweep" in done.stderr
    (tmp_path / "plain.toml").write_text('[sweep]\nscenario = "small.toml"\n')
    done = cli("sensitivity", "plain.toml")
    assert done.returncode == 2
    assert "has no design of kind saltelli or morris" in done.stderr


def test_a_folder_of_several_runs_is_not_one(cli, two_runs, tmp_path):
    done = cli("compare", tmp_path / "runs", two_runs[0])
    assert done.returncode == 2
    assert "holds 2 runs" in done.stderr


@pytest.mark.engine
def test_sensitivity_prints_a_table_and_draws_it(cli, scenario, tmp_path):
    (tmp_path / "sweep.toml").write_text(DESIGN)
    lacking = cli("sensitivity", "sweep.toml", "--metric", "rtt_ms_p50")
    assert lacking.returncode == 2
    assert "is not there; run the sweep" in lacking.stderr
    assert cli("sweep", "run", "sweep.toml", "--keep", "metrics").returncode == 0
    done = cli("sensitivity", "sweep.toml", "--metric", "rtt_ms_p50", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    title, head, latency, count = done.stdout.splitlines()[1:5]
    assert title == "Which range matters"
    assert head.split()[:3] == ["factor", "mu_star", "mu_star"]
    assert "network.access.home_wifi.latency" in latency
    assert "devices[0].count" in count
    assert "devices[0].count" in (tmp_path / "page.html").read_text()
    told = json.loads(cli("sensitivity", "sweep.toml", "--metric", "rtt_ms_p50", "--json").stdout)
    assert [row["factor"] for row in told] == [
        "network.access.home_wifi.latency",
        "devices[0].count",
    ]
    assert told[0]["mu_star"] > told[1]["mu_star"]


@pytest.mark.parametrize("kind", [("first_order", "total_order"), ("mu_star", "mu", "sigma")])
def test_a_bar_for_each_statistic_with_its_interval(kind):
    rows = [{"scenario": "one", "metric": "m", "factor": factor} for factor in ("a", "b")]
    frame = pd.DataFrame(rows)
    for place, name in enumerate(kind):
        frame[name] = [0.2 + place, 0.5]
        frame[f"{name}_ci95_low"] = [0.1, 0.5]
        frame[f"{name}_ci95_high"] = [1.4, 0.7]
    figure = plot.sensitivity(frame)
    first, second = figure.data
    assert list(first.x) == [0.2, 0.5]
    assert np.allclose(first.error_x.array, [1.2, 0.2])
    assert np.allclose(first.error_x.arrayminus, [0.1, 0.0])
    assert list(first.y) == ["a", "b"]
    assert first.name != second.name
    several = pd.concat([frame, frame.assign(scenario="two")])
    assert list(plot.sensitivity(several).data[0].y)[:1] == ["a<br>scenario one"]
