"""Two runs compared, on the command line and from Python; which range of a design matters."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower, TTestPower

from pocketsim.api import plot
from pocketsim.api.compare import compare, differing
from pocketsim.cli.runs import comparison
from pocketsim.report.runs.difference import Difference, holm
from pocketsim.sim.base.streams import stream
from pocketsim.sim.metrics.intervals import of_runs

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


def test_repetitions_needed_are_two_without_scatter_and_none_if_unknown():
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
    differs, table = done.stdout.split("\n\n")
    assert "workload.rate" in differs or "rung.rate_per_s" in differs
    title, head, *rows = table.splitlines()
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


def test_a_folder_of_several_scenarios_is_no_side(cli, two_runs, tmp_path):
    done = cli("compare", tmp_path / "runs", two_runs[0])
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds 2 runs of 2 scenarios" in done.stderr


def name_of(run):
    return "/".join(run.split("/")[-2:])


def seeds(fake_cli, scenario, rate, *every):
    done = [
        fake_cli("run", scenario, "--set", f"workload.rate={rate}", "--seed", str(seed))
        for seed in every
    ]
    assert all(one.returncode == 0 for one in done), done[0].stderr
    return [one.stdout.strip() for one in done]


def test_runs_of_one_scenario_are_one_side_by_pattern_or_by_name(cli, scenario, fake_cli):
    one, other = (seeds(fake_cli, scenario, rate, 1, 2) for rate in ("2/s", "4/s"))
    patterns = [f"{run.rpartition('-')[0]}-*" for run in (one[0], other[0])]
    asked = ["--metric", "store_rate_per_s", "--json"]
    quoted = cli("compare", *patterns, *asked)
    assert quoted.returncode == 0, quoted.stderr
    found = json.loads(quoted.stdout)
    assert sorted(map(name_of, found["a"])) == sorted(map(name_of, one))
    assert found["differences"][0]["is_paired"]
    # A shell that expands the patterns gives the same.
    assert cli("compare", *found["a"], *found["b"], *asked).stdout == quoted.stdout
    third = seeds(fake_cli, scenario, "8/s", 1)
    done = cli("compare", *one, *other, *third)
    assert (done.returncode, done.stdout) == (2, "")
    assert "A and B are two scenarios, not 3" in done.stderr
    assert name_of(third[0]) in "".join(done.stderr.split())


class Synthetic:
    """A run of which values are known, with the interval that metrics.json has of them."""

    def __init__(self, values, seed=1, interval=(None, None), **resolved):
        self.name = "synthetic"
        self.resolved = {**resolved, "run": {"seed": seed, "repetitions": len(values)}}
        self.metrics = {
            "metrics": {"m": {"values": values, "ci95_low": interval[0], "ci95_high": interval[1]}}
        }

    def values(self, metric):
        return self.metrics["metrics"][metric]["values"]


LAWS = {
    "mean": lambda draws: draws.normal(10, 2, 10),
    "share": lambda draws: draws.binomial(100, 0.37, 10) / 100,
    "p95": lambda draws: np.percentile(draws.lognormal(0, 0.5, (10, 100)), 95, axis=1),
}


@pytest.mark.parametrize("seed", [1, 2], ids=["paired", "not paired"])
@pytest.mark.parametrize("law", LAWS)
def test_of_400_comparisons_of_a_with_a_3_to_7_percent_exclude_0(law, seed):
    draws = stream(1, f"a/a/{law}/{seed}")
    found = [
        compare(*(Synthetic(list(LAWS[law](draws)), one) for one in (1, seed)), "m")
        for _ in range(400)
    ]
    assert {one.is_paired for one in found} == {seed == 1}
    assert 0.03 <= np.mean([one.is_clear_of_0 for one in found]) <= 0.07
    # The test that Holm's adjustment takes says the same as the interval.
    assert all((one.p_value < 0.05) == one.is_clear_of_0 for one in found)


def test_holms_adjustment_is_that_of_statsmodels():
    p_values = [0.01, 0.04, 0.03, 0.005, 0.9, 0.02]
    found = [Difference("m", 1, 2, 1, 0, 2, True, 1, p_value) for p_value in p_values]  # noqa: FBT003
    assert holm(found) == pytest.approx(multipletests(p_values, method="holm")[1])
    unknown = Difference("m", 1, 2, 1, 0, 2, True, 1)  # noqa: FBT003
    adjusted = holm([unknown, *found])
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == holm(found)


def test_of_eight_metrics_alike_one_is_clear_after_holm_in_5_of_100_comparisons():
    draws = stream(1, "family")
    clear, clear_after = [], []
    for _ in range(400):
        found = [
            compare(*(Synthetic(list(draws.normal(10, 2, 10)), seed) for seed in (1, 2)), "m")
            for _ in range(8)
        ]
        clear.append(any(one.is_clear_of_0 for one in found))
        clear_after.append(min(holm(found)) < 0.05)
    assert np.mean(clear) > 0.25
    assert 0.03 <= np.mean(clear_after) <= 0.07


def test_shares_that_never_vary_differ_by_an_interval_with_a_width():
    none, every = of_runs([0.0] * 5), of_runs([1.0] * 5)
    one = Synthetic([0.0] * 5, interval=(none.low, none.high))
    other = Synthetic([1.0] * 5, interval=(every.low, every.high))
    found = compare(one, other, "m")
    assert found.difference == found.ci95_high == 1
    assert found.ci95_low == pytest.approx(1 - math.hypot(1 - every.low, none.high))


def test_a_share_of_a_mean_that_is_not_clear_of_0_is_not_told():
    nearly_none = Synthetic([0.0, 0.0, 0.0, 0.0, 0.001])
    found = compare(nearly_none, Synthetic([0.2, 0.25, 0.3, 0.2, 0.3]), "m")
    assert not found.has_base
    row = comparison._row(found, 0.05, 1.0)
    assert (row["ratio"], comparison._cells(row)[5]) == (None, "-")
    notes = comparison._notes([found], [row], [])
    assert notes[1] == "  No share of A where A's mean is not clear of 0: m."
    small = Synthetic([0.001, 0.0011, 0.0009, 0.001, 0.001])
    row = comparison._row(compare(small, Synthetic([0.28] * 5), "m"), 0.05, 1.0)
    assert comparison._cells(row)[5] == "280 times"


def test_keys_that_differ_are_told_with_both_values():
    one = Synthetic([1.0], network={"latency_s": 0.1, "sites": [1, 2]}, devices=[{"count": 2}])
    other = Synthetic(
        [1.0], network={"latency_s": 0.2, "sites": [1, 2]}, devices=[{"count": 3}] * 2
    )
    assert differing(one, other) == [
        ("network.latency_s", 0.1, 0.2),
        ("devices[0].count", 2, 3),
        ("devices[1].count", None, 3),
    ]
    assert differing(one, one) == []


def test_of_many_keys_that_differ_ten_are_printed(capsys):
    comparison._say_what_differs([(f"key_{place}", place, "x" * 99) for place in range(13)])
    lines = capsys.readouterr().out.splitlines()
    assert "key_9" in lines[-2]
    assert max(map(len, lines)) < 100
    assert lines[-1] == "  and 3 more; all with --json"


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
    page = (tmp_path / "page.html").read_text()
    assert "devices[0].count" in page
    assert '<html lang="en">' in page
    assert "<h1>Which range matters</h1>" in page
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
