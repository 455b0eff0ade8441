import csv
import json
import types

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pocketsim.cli.sweep import collect as command
from pocketsim.sim.base.errors import NoRoomError
from pocketsim.sim.run import collect, runner, sweep

SWEEP = """
[sweep]
scenario = "small.toml"

[axes]
"devices[0].count" = [2, 3]
"network.access.home_wifi.latency" = ["1ms", "20ms"]
"workload.rate" = ["4/s"]
"""


@pytest.fixture
def sweep_file(scenario, tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(SWEEP)
    return path


@pytest.fixture
def points(sweep_file, tmp_path, fake_engine, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return sweep.load_sweep(sweep_file, tmp_path / "runs").points


def frame(path):
    return pd.read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)


@pytest.mark.parametrize("name", ["all.parquet", "new/all.CSV"])
def test_a_row_for_each_run_and_repetition(cli, sweep_file, points, tmp_path, name):
    runner.run_tasks(sweep.unique_tasks(points), 2)
    done = cli("sweep", "collect", sweep_file, "-o", name)
    assert (done.returncode, done.stdout) == (0, f"{name}\n"), done.stderr
    found = frame(tmp_path / name)
    assert found.columns[:6].tolist() == [
        *("scenario", "directory", "repetition"),
        *("payload_bytes", "rate_per_s", "transport"),
    ]
    assert found["devices[0].count"].tolist() == [2, 2, 2, 2, 3, 3, 3, 3]
    assert found["network.access.home_wifi.latency_s"].tolist() == [0.001, 0.001, 0.02, 0.02] * 2
    assert found["workload.rate_per_s"].tolist() == [4.0] * 8
    assert found["repetition"].tolist() == [0, 1] * 4
    assert found["directory"].nunique() == 4
    metrics = json.loads((tmp_path / found["directory"][2] / "metrics.json").read_text())
    rates = metrics["metrics"]["send_rate_per_s"]["values"]
    assert found["send_rate_per_s"][2:4].tolist() == rates
    assert found["sent"].sum() == 4 * metrics["counts"]["sent"]
    assert (found["sent"] == found["stored"] + found["in_flight"] + found["lost"]).all()
    assert sorted(path.name for path in (tmp_path / name).parent.glob(".*")) == []


def test_the_point_is_that_of_the_sweep(sweep_file, points, scenario, tmp_path):
    # The same run by another route, so that its own files do not name the keys of the sweep.
    (directory,) = runner.run(
        scenario, ["network.access.home_wifi={up='40Mbps',down='40Mbps',latency='1ms'}",
                   "workload.rate=4/s"], tmp_path / "runs",
    )  # fmt: skip
    own = json.loads((directory / "metrics.json").read_text())["point"]
    assert "devices[0].count" not in own
    found, missing = collect.table(sweep.load_sweep(sweep_file, tmp_path / "runs"))
    assert found["directory"].unique().to_pylist() == [str(directory)]
    assert found["devices[0].count"].to_pylist() == [2, 2]
    assert len(missing) == 3


def test_missing_runs_are_exit_4(cli, sweep_file, points, tmp_path):
    done = cli("sweep", "collect", sweep_file, "-o", "all.parquet")
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        f"4 of 4 runs are missing; `pocketsim sweep run {sweep_file}` makes them\n"
    )
    assert not (tmp_path / "all.parquet").exists()
    runner.run_tasks(points[0].tasks, 2)
    done = cli("sweep", "collect", sweep_file, "-o", "all.parquet")
    assert (done.returncode, done.stdout) == (4, "all.parquet\n")
    assert done.stderr.startswith("3 of 4 runs are missing; ")
    assert len(frame(tmp_path / "all.parquet")) == 2


def test_a_table_is_not_written_into_a_run(cli, sweep_file, points, tmp_path):
    (outcome,) = runner.run_tasks(points[0].tasks, 2)
    before = sorted(outcome.directory.iterdir())
    done = cli("sweep", "collect", sweep_file, "-o", outcome.directory / "all.parquet")
    assert (done.returncode, done.stdout) == (2, "")
    assert "never written to again" in done.stderr
    assert sorted(outcome.directory.iterdir()) == before


@pytest.mark.parametrize(("name", "meant"), [("all.tsv", ".csv"), ("all.parqet", ".parquet")])
def test_a_suffix_of_no_table_is_refused(cli, sweep_file, points, tmp_path, name, meant):
    runner.run_tasks(points[0].tasks, 2)
    done = cli("sweep", "collect", sweep_file, "-o", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f'{name}: no format is called "')
    assert done.stderr.endswith(f"name one by .parquet, .csv (did you mean {meant}?)\n")
    assert not (tmp_path / name).exists()


def test_points_that_are_the_same_have_their_rows_once(scenario, points, tmp_path):
    text = SWEEP.replace("[2, 3]", "[2]").replace('["1ms", "20ms"]', '["1.5ms", "0.0015s"]')
    path = tmp_path / "same.toml"
    path.write_text(text)
    same = sweep.load_sweep(path, tmp_path / "runs")
    (task,) = sweep.unique_tasks(same.points)
    runner.run_tasks([task], 2)
    found, missing = collect.table(same)
    assert (len(same.points), found["repetition"].to_pylist(), missing) == (2, [0, 1], [])


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    def full(_table, file):
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    target = tmp_path / "all.parquet"
    target.write_bytes(b"before")
    monkeypatch.setattr(command, "study_of", lambda *_: types.SimpleNamespace(sweep=None))
    monkeypatch.setattr(collect, "table", lambda _: (pa.table({"one": [1]}), []))
    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(NoRoomError):
        command.collect(tmp_path / "sweep.toml", target)
    assert target.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["all.parquet"]


def test_a_column_of_numbers_and_words_becomes_words():
    assert collect._column([1, "a", None, True]).to_pylist() == ["1", "a", None, "true"]
    assert collect._column([1, 2.5, None]).to_pylist() == [1.0, 2.5, None]
    assert collect._column([None, None]).type == pa.float64()


FORMULAS = ["=1+1", "+1+1", "-cmd|'/C calc'!A0", "@SUM(A1)", "\t=1", " =1", "\uff1d1"]


def test_no_text_of_a_csv_is_a_formula_and_numbers_stay_numbers(tmp_path):
    harmless = ["udp", "-1.5e3", "+2", "", None, "a=1", "'=1"]
    found = pa.table(
        {
            "text": FORMULAS + harmless,
            "=name": range(len(FORMULAS + harmless)),
            "number": [-1.5] * len(FORMULAS + harmless),
        }
    )
    collect.write(found, tmp_path / "all.csv", as_csv=True)
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["text", "'=name", "number"]
    expected = [f"'{text}" for text in FORMULAS] + [text or "" for text in harmless]
    assert [row["text"] for row in rows] == expected
    assert {row["number"] for row in rows} == {"-1.5"}
    collect.write(found, tmp_path / "all.parquet", as_csv=False)
    assert pq.read_table(tmp_path / "all.parquet").equals(found)
