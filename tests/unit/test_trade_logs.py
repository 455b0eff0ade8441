"""Logs of real trades become traces and metrics like those of simulations."""

from __future__ import annotations

import json

import pytest

from sim import export, metrics, testing, trace


def json_lines(table):
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist())


@pytest.fixture
def simulated():
    return testing.events(testing.resolved(repetitions=2), testing.Shape(lost_ratio=0.2))


def test_json_lines_are_the_trace(tmp_path, simulated):
    path = tmp_path / "events.jsonl"
    # Phones write as they observe, from several threads.
    lines = json_lines(simulated).splitlines(keepends=True)
    path.write_text("".join(reversed(lines)))
    read = export.read(path)
    assert read.schema == trace.schema()

    def rows(table):
        return sorted(map(json.dumps, table.to_pylist()))

    assert rows(read) == rows(simulated)
    order = list(zip(read["repetition"].to_pylist(), read["time_s"].to_pylist(), strict=True))
    assert order == sorted(order)


@pytest.mark.parametrize("name", ["events.jsonl", "events.json", "events.csv"])
def test_what_is_not_finished_is_read_like_the_whole(tmp_path, simulated, name):
    whole, partial = tmp_path / name, tmp_path / f"{name}.partial"
    if whole.suffix == ".csv":
        export.write_csv(simulated, whole, "udp")
    else:
        whole.write_text(json_lines(simulated))
    partial.write_bytes(whole.read_bytes())
    assert export.read(partial).equals(export.read(whole))


def test_a_log_gives_the_metrics_of_its_run(tmp_path, simulated):
    path = tmp_path / "events.jsonl"
    path.write_text(json_lines(simulated))
    expected = metrics.compute(simulated, testing.resolved(repetitions=2))
    found = metrics.of_log(export.read(path), "mine")
    assert found["metrics"] == expected["metrics"]
    assert found["counts"] == expected["counts"]
    assert found["scenario"] == "mine"
    assert "rung" not in found


def test_csv_and_json_lines_of_one_trade_agree(tmp_path, simulated):
    (tmp_path / "a.jsonl").write_text(json_lines(simulated))
    export.write_csv(simulated, tmp_path / "a.csv", "udp")
    one, other = (metrics.of_log(export.read(tmp_path / of), "x") for of in ("a.jsonl", "a.csv"))
    # The CSV does not say that a transaction was lost, so there it is in flight.
    assert (
        other["metrics"].pop("in_flight_ratio")["mean"]
        > one["metrics"].pop("in_flight_ratio")["mean"]
    )
    for name, of in one["metrics"].items():
        assert other["metrics"][name]["mean"] == pytest.approx(of["mean"], rel=1e-3), name
    assert other["counts"]["stored"] == one["counts"]["stored"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.jsonl", '{"repetition": 0}\n', "no 'time_s' in some line"),
        ("a.jsonl", '{"speed": 0}\n', "unknown column 'speed'"),
        ("a.jsonl", '{"repetition": "one"}\n', "JSON parse error"),
        ("a.jsonl", "nonsense\n", "JSON parse error"),
        ("a.csv", "operation\nsend\n", "no column 'timestamp'"),
        ("a.csv", ",".join(export.COLUMNS) + "\nsend,noon,UDP,0,1,600,x#0,1\n", "noon"),
    ],
)
def test_what_is_no_log_is_said(cli, tmp_path, name, text, expected):
    (tmp_path / name).write_text(text)
    done = cli("metrics", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{name}: ")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_log(cli):
    done = cli("metrics", "none.csv")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "none.csv: no such file\n")


def test_the_command(cli, tmp_path, simulated):
    (tmp_path / "a.jsonl").write_text(json_lines(simulated))
    said = json.loads(cli("metrics", "a.jsonl", "--json").stdout)
    assert said["counts"]["sent"] == 800
    done = cli("metrics", "a.jsonl")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line]
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["send_count"] == ["400", "400", "to", "400", "400", "400"]
    assert by_name["stalled_run_ratio"][0] == "0"
    success = said["metrics"]["success_ratio"]
    bounds = [f"{success[key]:.5g}" for key in ("ci95_low", "ci95_high")]
    assert by_name["success_ratio"][1:4] == [bounds[0], "to", bounds[1]]
    assert float(bounds[1]) <= 1
    names = list(by_name)
    assert names.index("in_flight_ratio") == names.index("success_ratio") + 1
    assert by_name["sent"] == ["800"]
    assert float(by_name["rtt_ms_p50"][0]) == pytest.approx(12, rel=0.05)
