"""Studies: designs, intervals that are narrow enough, packs, and what is asked of all of it."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter

from pocketsim.api.study import Study, _estimates
from pocketsim.sim.base.errors import RunInProgressError, ScenarioError
from pocketsim.sim.run import runner, store, sweep, sweep_document

GRID = """
[sweep]
scenario = "small.toml"
repetitions = 2

[axes]
"workload.rate" = ["2/s", "4/s"]
"devices[0].count" = [2, 3]
"""
DESIGN = """
[sweep]
scenario = "small.toml"
repetitions = 1

[axes]
"workload.rate" = ["4/s"]

[design]
kind = "{kind}"
{size}
seed = 3

[design.ranges]
"network.access.home_wifi.latency" = {{ from = "1ms", to = "100ms", scale = "log" }}
"devices[0].count" = {{ from = 2, to = 9 }}
"""
KINDS = {
    "latin_hypercube": ("points = 6", 6),
    "sobol": ("points = 8", 8),
    "saltelli": ("samples = 4", 16),
    "morris": ("trajectories = 3", 9),
}


@pytest.fixture
def study(scenario, tmp_path, monkeypatch):
    """Return a function that writes a sweep file and makes a study of it."""
    monkeypatch.chdir(tmp_path)

    def make(text, shard=(1, 1)):
        (tmp_path / "sweep.toml").write_text(text)
        return Study("sweep.toml", shard=shard)

    make.scenario = scenario
    return make


def designed(kind):
    return DESIGN.format(kind=kind, size=KINDS[kind][0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_design_draws_points_between_its_bounds(study, kind):
    points = study(designed(kind)).sweep.points
    assert len(points) == KINDS[kind][1]
    latencies_s = [
        point.tasks[0].rungs[0].resolved["network"]["access"]["home_wifi"]["latency_s"]
        for point in points
    ]
    counts = [point.tasks[0].rungs[0].resolved["devices"][0]["count"] for point in points]
    assert 0.001 <= min(latencies_s) < 0.01 < max(latencies_s) <= 0.1
    assert 2 <= min(counts) < max(counts) <= 9
    assert [point.values for point in study(designed(kind)).sweep.points] == [
        point.values for point in points
    ]
    other = study(designed(kind).replace("seed = 3", "seed = 4")).sweep.points
    assert [point.values for point in other] != [point.values for point in points]


def test_a_design_is_at_each_point_of_the_axes(study):
    text = designed("sobol").replace('["4/s"]', '["4/s", "8/s"]')
    points = study(text).sweep.points
    assert len(points) == 16
    latency = "network.access.home_wifi.latency"
    of_rate = {
        rate: [point.values[latency] for point in points if point.values["workload.rate"] == rate]
        for rate in ("4/s", "8/s")
    }
    assert of_rate["4/s"] == of_rate["8/s"]


@pytest.mark.parametrize(
    ("old", "new", "place", "reason"),
    [
        ('"1ms", to = "100ms"', '"1ms", to = "9B"', "design.ranges", "are not of one unit"),
        ('"1ms", to = "100ms"', '"1", to = "9"', "design.ranges", "'1' is no quantity, such as"),
        ("from = 2, to = 9", "from = 9, to = 2", "design.ranges", "from 9 to 2 is no range"),
        ('"1ms", to', '"0ms", to', "design.ranges", "a log scale begins above zero, not at '0ms'"),
        ("points = 8", "points = 9", "design.points", "must be a power of 2, such as 16, not 9"),
        ('kind = "sobol"', 'kind = "sobel"', "design.kind", "(did you mean sobol?)"),
        ("points = 8", "samples = 8", "design.samples", "unknown key"),
        ("seed = 3\n", "", "design.seed", "is required"),
        ("repetitions = 1", 'until = "x ci95 < 2%"', "sweep", "until and most_repetitions go"),
        ("repetitions = 1", 'until = "x < 2%"\nmost_repetitions = 9', "sweep.until", "write it as"),
        ('"devices[0].count" =', '"workload.rate" =', "design.ranges", "has its values from axes"),
        ('"devices[0].count" =', '"devices[0].cuont" =', "devices[0].cuont", "unknown key"),
    ],
)
def test_mistakes_in_a_design_are_found(study, old, new, place, reason):
    text = designed("sobol")
    assert old in text
    with pytest.raises(ScenarioError) as caught:
        study(text.replace(old, new))
    assert caught.value.key_path.startswith(place)
    assert reason in str(caught.value)
    assert caught.value.exit_code == 2


def test_several_scenarios_are_swept_alike(study, tmp_path):
    (tmp_path / "other.toml").write_text(study.scenario.read_text().replace("seed = 7", "seed = 8"))
    made = study(GRID.replace('"small.toml"', '["small.toml", "other.toml"]'))
    assert [task.folder.name for point in made.sweep.points for task in point.tasks] == [
        *["small"] * 4,
        *["other"] * 4,
    ]


def test_shards_of_several_scenarios_are_a_partition(study, tmp_path):
    (tmp_path / "other.toml").write_text(study.scenario.read_text().replace("seed = 7", "seed = 8"))
    text = GRID.replace('"small.toml"', '["small.toml", "other.toml"]')
    names = [
        task.rungs[0].name
        for number in (1, 2, 3)
        for point in study(text, (number, 3)).sweep.points
        for task in point.tasks
    ]
    assert len(names) == len(set(names)) == 8


UNTIL = """
[sweep]
scenario = "small.toml"
repetitions = 2
until = "{until}"
most_repetitions = 16

[axes]
"workload.rate" = ["4/s"]
"""


@pytest.mark.engine
def test_a_run_is_repeated_until_its_interval_is_narrow(study):
    made = study(UNTIL.format(until="rtt_ms_p50 ci95 < 0.2%"))
    assert [run.repetitions for run in made.sweep.runs()] == [2]
    made.run()
    runs = list(made.sweep.runs())
    frame = made.to_frame()
    assert len(runs) > 1
    assert [run.first_repetition for run in runs[1:]] == np.cumsum(
        [run.repetitions for run in runs[:-1]]
    ).tolist()
    assert frame["repetition"].tolist() == list(range(len(frame)))
    # Those repetitions that one run of as many has.
    whole = study.scenario.with_name("whole.toml")
    whole.write_text(study.scenario.read_text())
    (directory,) = runner.run(whole, ["workload.rate=4/s", f"run.repetitions={len(frame)}"])
    found = json.loads((directory / "metrics.json").read_text())["metrics"]["rtt_ms_p50"]
    assert frame["rtt_ms_p50"].tolist() == found["values"]
    again = study(UNTIL.format(until="rtt_ms_p50 ci95 < 0.2%"))
    assert {outcome.status for outcome in again.run().values()} == {"reused"}
    assert again.status().runs == {"all": len(runs), "there": len(runs), "missing": 0, "busy": 0}


def test_a_goal_that_is_not_reached_ends_at_the_ceiling(study, fake_engine):
    made = study(UNTIL.format(until="store_rate_per_s ci95 < 1e-9"))
    fake_engine.setattr(
        sweep.Sweep,
        "_values",
        lambda _self, there: {"store_rate_per_s": list(range(sum(r.repetitions for r in there)))},
    )
    made.run()
    assert len(made.to_frame()) <= 16
    total = sum(run.repetitions for run in made.sweep.runs())
    assert total == 16


def test_a_goal_of_no_metric_is_told_before_anything_runs(study):
    with pytest.raises(
        ScenarioError, match=r"no metric 'store_rate' \(did you mean store_rate_per_s"
    ):
        study(UNTIL.format(until="store_rate ci95 < 2%"))


@pytest.mark.parametrize(
    ("until", "count"),
    [
        # 64 of 64 stored in every repetition: an interval with a width, which 20 make narrow.
        ("success_ratio ci95 < 2%", 20),
        # None of 20 runs stalled leaves up to 0.16, none of 45 0.08.
        ("stalled_run_ratio ci95 < 0.05", 45),
        # Equal values of another metric are no evidence: it goes on to the ceiling.
        ("store_rate_per_s ci95 < 2%", 60),
    ],
)
def test_equal_values_end_a_study_of_shares_alone(study, fake_engine, until, count):
    text = UNTIL.format(until=until).replace("most_repetitions = 16", "most_repetitions = 60")
    made, equal = study(text), {"success_ratio": 1.0, "send_count": 64.0, "stalled_run_ratio": 0.0}

    def values(_self, there):
        number = sum(run.repetitions for run in there)
        return {
            name: [value] * number for name, value in {**equal, "store_rate_per_s": 4.0}.items()
        }

    fake_engine.setattr(sweep.Sweep, "_values", values)
    made.run()
    assert len(made.to_frame()) == count


def test_more_repetitions_than_at_most_are_refused(study):
    text = UNTIL.format(until="store_rate_per_s ci95 < 2%").replace(
        "repetitions = 2", "repetitions = 20", 1
    )
    with pytest.raises(ScenarioError, match="repetitions 20 are more than most_repetitions"):
        study(text)


def test_scenarios_of_one_name_are_refused(study, tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "small.toml").write_text(study.scenario.read_text())
    with pytest.raises(ScenarioError, match="small is the name of several") as caught:
        study(GRID.replace('"small.toml"', '["small.toml", "b/small.toml"]'))
    assert caught.value.key_path == "sweep.scenario"


def test_equal_points_are_one_shards(study):
    text = designed("morris").replace("trajectories = 3", "trajectories = 12")
    text = text.replace('"network.access.home_wifi.latency" =', '"run.repetitions" =')
    text = text.replace('{ from = "1ms", to = "100ms", scale = "log" }', "{ from = 1, to = 2 }")
    text = text.replace("repetitions = 1\n", "", 1)
    shards = [study(text, (number, 3)).sweep for number in (1, 2, 3)]
    names = [{run.directory.name for run in shard.runs()} for shard in shards]
    assert not names[0] & names[1]
    assert not names[0] & names[2]
    assert not names[1] & names[2]
    assert sum(len(shard.points) for shard in shards) == len(study(text).sweep.points) == 36


@pytest.mark.parametrize(("low", "high"), [(1, 2), (1, 3), (2, 4), (2, 7), (10, 1000)])
def test_effects_of_whole_numbers_are_those_of_their_range(low, high):
    table = {
        "kind": "morris",
        "trajectories": 20,
        "seed": 1,
        "ranges": {"a": {"from": low, "to": high}, "b": {"from": 0.0, "to": 1.0}},
    }
    design = TypeAdapter(sweep_document.Design).validate_python(table)
    values = np.array([[step["a"]] for step in design.steps()], float)
    assert set(values.ravel()) <= set(range(low, high + 1))
    found = _estimates(design, values)
    assert np.allclose(found["mu_star"].value, [[high - low, 0]])


def test_each_whole_number_is_as_likely_as_another():
    span = sweep_document.Range.model_validate({"from": 1, "to": 4})
    drawn = [span.at(share) for share in np.linspace(0, 1, 4001)]
    assert [round(drawn.count(value) / 1000, 1) for value in (1, 2, 3, 4)] == [1, 1, 1, 1]


def test_chains_that_go_on_have_no_further_repetitions(study):
    text = UNTIL.format(until="store_rate_per_s ci95 < 2%") + '"run.app" = ["continued"]\n'
    with pytest.raises(ScenarioError, match="continues chains over its repetitions"):
        study(text)


def test_packed_runs_leave_one_table_and_are_not_made_again(study, tmp_path, fake_engine):
    log = tmp_path / "log"
    fake_engine.setenv("FAKE_LOG", str(log))
    kept = study(GRID)
    kept.run()
    expected = kept.to_frame()
    assert len(log.read_text().splitlines()) == 8
    shutil.rmtree(tmp_path / "runs" / "small")
    made = study(GRID)
    made.run(keep="metrics")
    assert len(log.read_text().splitlines()) == 16
    assert list((tmp_path / "runs" / "small").iterdir()) == []
    (pack,) = (tmp_path / "runs" / "sweep.packs").iterdir()
    assert pack.name == "shard-1-of-1.parquet"
    pd.testing.assert_frame_equal(made.to_frame(), expected)
    again = study(GRID)
    assert {outcome.status for outcome in again.run(keep="metrics").values()} == {"reused"}
    assert len(log.read_text().splitlines()) == 16
    pd.testing.assert_frame_equal(again.to_frame(), expected)
    assert again.status().runs["there"] == 4


def test_shards_pack_apart_and_are_collected_together(study, tmp_path, fake_engine):
    for number in (1, 2, 3):
        study(GRID, (number, 3)).run(keep="metrics")
    assert len(list((tmp_path / "runs" / "sweep.packs").iterdir())) == 3
    frame = study(GRID).to_frame()
    assert frame["devices[0].count"].tolist() == [2, 2, 3, 3] * 2
    assert frame["repetition"].tolist() == [0, 1] * 4


def test_half_a_line_of_a_killed_shard_is_cut_off(study, tmp_path, fake_engine):
    first = study(GRID, (1, 2))
    first.run(keep="metrics")
    packs = tmp_path / "runs" / "sweep.packs"
    (packs / "shard-2-of-2.journal").write_bytes(b'{"run": "small/x", "metr')
    second = study(GRID, (2, 2))
    assert second.status().runs["there"] == 0
    second.run(keep="metrics")
    assert sorted(path.name for path in packs.iterdir()) == [
        "shard-1-of-2.parquet",
        "shard-2-of-2.parquet",
    ]
    assert len(study(GRID).to_frame()) == 8


def test_existing_run_directories_are_packed_and_kept(study, tmp_path, fake_engine):
    log = tmp_path / "log"
    fake_engine.setenv("FAKE_LOG", str(log))
    study(GRID).run()
    made = study(GRID)
    made.run(keep="metrics")
    assert len(log.read_text().splitlines()) == 8
    assert len(list((tmp_path / "runs" / "small").iterdir())) == 4
    shutil.rmtree(tmp_path / "runs" / "small")
    assert len(study(GRID).to_frame()) == 8


def test_packed_runs_get_directories_when_they_are_asked_for(study, tmp_path, fake_engine):
    study(GRID).run(keep="metrics")
    made = study(GRID)
    assert {outcome.status for outcome in made.run().values()} == {"ran"}
    assert len(made.runs) == 4


def test_a_study_sees_what_another_packed_meanwhile(study, fake_engine):
    seen = study(GRID)
    assert seen.status().runs["there"] == 0
    study(GRID).run(keep="metrics")
    assert seen.status().runs["there"] == 4


def test_a_shard_is_packed_by_one_process_at_a_time(study, tmp_path):
    made = study(GRID)
    with (
        store.Packing(made.packs, "shard-1-of-1", made.sweep.store),
        pytest.raises(RunInProgressError, match="shard-1-of-1 is being run by another process"),
    ):
        made.run(keep="metrics")
    assert list(made.packs.iterdir()) == []


@pytest.mark.parametrize("name", ["shard-1-of-1.parquet", "shard-1-of-1.journal"])
def test_a_damaged_pack_is_told(study, name):
    made = study(GRID)
    made.packs.mkdir(parents=True)
    (made.packs / name).write_text("no pack\n")
    with pytest.raises(ScenarioError, match="is damaged") as caught:
        made.status()
    assert str(made.packs / name) in str(caught.value)


def test_continued_chains_keep_their_directories(study):
    text = GRID + '"run.app" = ["continued"]\n'
    made = study(text.replace('"workload.rate" = ["2/s", "4/s"]\n', ""))
    with pytest.raises(ScenarioError, match="directories have to be kept"):
        made.run(keep="metrics")


def test_a_status_tells_what_is_there_and_what_the_rest_will_take(study, fake_engine):
    whole, half = study(GRID), study(GRID, (1, 2))
    assert whole.status().expected_s is None, "nothing ran yet"
    half.run()
    found = whole.status(jobs=2)
    assert (found.points, found.runs) == (4, {"all": 4, "there": 2, "missing": 2, "busy": 0})
    assert found.repetitions == {"all": 8, "there": 4, "missing": 4, "busy": 0}
    assert found.expected_s > 0
    assert whole.status(jobs=1).expected_s == pytest.approx(2 * found.expected_s)


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["saltelli", "morris"])
def test_sensitivity_says_which_range_matters(study, kind):
    made = study(designed(kind))
    made.run(keep="metrics")
    frame = made.sensitivity("rtt_ms_p50")
    assert frame["factor"].tolist() == ["network.access.home_wifi.latency", "devices[0].count"]
    name = "total_order" if kind == "saltelli" else "mu_star"
    latency, count = frame[name]
    assert latency > 5 * abs(count), "a round trip is mostly latency here"
    assert (frame[f"{name}_ci95_low"] <= frame[name]).all()
    assert (frame[name] <= frame[f"{name}_ci95_high"]).all()
    pd.testing.assert_frame_equal(frame, study(designed(kind)).sensitivity("rtt_ms_p50"))


def test_sensitivity_wants_a_design_for_it_and_all_of_its_runs(study, fake_engine):
    with pytest.raises(ScenarioError, match="has no design of kind saltelli or morris"):
        study(designed("sobol")).sensitivity("rtt_ms_p50")
    made = study(designed("morris"))
    with pytest.raises(ScenarioError, match="is not there; run the sweep"):
        made.sensitivity("rtt_ms_p50")
    made.run()
    with pytest.raises(ScenarioError, match=r"no metric 'rtt_ms_p51' \(did you mean rtt_ms_p"):
        made.sensitivity("rtt_ms_p51")
