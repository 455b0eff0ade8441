"""Logs of real trades become traces and metrics like those of simulations."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim import testing
from pocketsim.sim import metrics, trace
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.export import app_csv, phone_logs
from pocketsim.sim.metrics import per_phone, queues, storage

CSV_HEAD = ",".join(app_csv.COLUMNS) + "\n"
CSV_ROW = "send_benchmark_sc,2025-06-22T10:00:00Z,UDP,1,7,600,x#0,7\n"
ROW = {
    "repetition": 0,
    "time_s": 1.0,
    "node": 1,
    "kind": "send",
    "message_id": 7,
    "peer": 0,
    "message_size": 600,
    "reason": None,
    "logged": True,
}


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
    read = phone_logs.read(path)
    assert read.schema == trace.schema()

    def rows(table):
        return sorted(map(json.dumps, table.to_pylist()))

    assert rows(read) == rows(simulated)
    order = list(zip(read["repetition"].to_pylist(), read["time_s"].to_pylist(), strict=True))
    assert order == sorted(order)


@pytest.mark.parametrize("name", ["events.jsonl", "events.json", "events.csv"])
def test_partial_log_is_read_like_a_whole_one(tmp_path, simulated, name):
    whole, partial = tmp_path / name, tmp_path / f"{name}.partial"
    if whole.suffix == ".csv":
        app_csv.write_csv(simulated, whole, "udp")
    else:
        whole.write_text(json_lines(simulated))
    partial.write_bytes(whole.read_bytes())
    assert phone_logs.read(partial).equals(phone_logs.read(whole))


def without_radios(measured):
    """Return the metrics of a run that a log knows: nothing of radios and storage."""
    unknown = {*queues.METRICS, *per_phone.METRICS, *storage.METRICS}
    return {name: one for name, one in measured["metrics"].items() if name not in unknown}


def assert_same_but_for_seeds(found, expected):
    """Bootstraps are drawn from the seed of a run, which a log has not."""
    assert found.keys() == expected.keys()
    for name, metric in expected.items():
        keys = ("value", "mean", "values") if metric["ci95_method"] == "bootstrap" else metric
        assert [found[name][key] for key in keys] == [metric[key] for key in keys]


def test_a_log_gives_the_metrics_of_its_run(tmp_path, simulated):
    path = tmp_path / "events.jsonl"
    path.write_text(json_lines(simulated))
    expected = metrics.measure(simulated, testing.resolved(repetitions=2))
    found = metrics.of_log(phone_logs.read(path), "mine")
    for longer_than_the_run in ("done_within_60s_ratio", "done_within_600s_ratio"):
        assert expected["metrics"].pop(longer_than_the_run)["mean"] is None
        done = found["metrics"].pop(longer_than_the_run)["mean"]
        assert done == pytest.approx(found["metrics"]["success_ratio"]["mean"])
    assert_same_but_for_seeds(found["metrics"], without_radios(expected))
    assert found["counts"] == expected["counts"]
    assert found["scenario"] == "mine"
    assert "rung" not in found


def test_csv_and_json_lines_of_one_trade_agree(tmp_path, simulated):
    (tmp_path / "a.jsonl").write_text(json_lines(simulated))
    app_csv.write_csv(simulated, tmp_path / "a.csv", "udp")
    files = ("a.jsonl", "a.csv")
    one, other = (metrics.of_log(phone_logs.read(tmp_path / file), "x") for file in files)
    assert one["metrics"]["done_99_percent_s"]["mean"] is None  # more than 1 % is lost
    for name, metric in one["metrics"].items():
        found, expected = other["metrics"][name]["mean"], metric["mean"]
        assert found == (expected and pytest.approx(expected, rel=1e-3)), name
    assert one["counts"]["lost"]["link_loss"] > 0
    assert other["counts"] == one["counts"]


def test_a_csv_tells_of_what_the_app_does_not_log(tmp_path):
    rows = [
        {**ROW, "message_id": number, "time_s": time_s, "kind": kind, "logged": logged, **more}
        for number, time_s, kind, logged, more in (
            (0, 0.0, "send", True, {}),
            (1, 0.1, "send", True, {}),
            (2, 0.2, "send", True, {}),
            (3, 0.3, "send", False, {}),
            (0, 0.4, "store", True, {}),
            (1, 0.5, "drop", True, {"reason": "buffer_full", "peer": -1}),
            (2, 0.6, "lose", True, {"reason": "retries_exhausted"}),
            (3, 0.7, "refuse", True, {"reason": "fork"}),
            (4, 0.8, "send", True, {}),
            (4, 25.5, "store", True, {}),
            (5, 25.6, "connect", True, {}),
        )
    ]
    table = trace.build(**{name: [row[name] for row in rows] for name in trace.COLUMNS})
    app_csv.write_csv(table, tmp_path / "a.csv", "udp", duration_s=25.0)
    head, *lines = (tmp_path / "a.csv").read_text().replace('"', "").splitlines()
    assert head == ",".join((*app_csv.COLUMNS, "peer", "reason"))
    parts = [line.split(",") for line in lines]
    assert [(cells[0], cells[4], cells[8], cells[9]) for cells in parts] == [
        ("send_benchmark_sc", "0", "0", ""),
        ("send_benchmark_sc", "1", "0", ""),
        ("send_benchmark_sc", "2", "0", ""),
        ("send", "3", "0", ""),  # the app's log was full
        ("store_block_e", "0", "0", ""),
        ("drop", "1", "", "buffer_full"),
        ("lose", "2", "0", "retries_exhausted"),
        ("refuse", "3", "0", "fork"),
        ("send_benchmark_sc", "4", "0", ""),
        ("store", "4", "0", ""),  # the measurement was over
    ]
    of_run = metrics.measure(table, testing.resolved(repetitions=1))
    of_file = metrics.of_log(phone_logs.read(tmp_path / "a.csv"), "x")
    # A file does not say when its measurement was over: what it does not say stored, failed.
    shares = [found["metrics"].pop("settled_success_ratio")["mean"] for found in (of_run, of_file)]
    assert shares == [1 / 3, 1 / 4]
    assert of_run["metrics"]["success_ratio"]["mean"] == 1 / 4
    assert_same_but_for_seeds(of_file["metrics"], without_radios(of_run))
    assert of_file["counts"] == of_run["counts"]
    assert of_run["counts"]["lost"] == {"buffer_full": 1, "fork": 1, "retries_exhausted": 1}


def changed(**more):
    return json.dumps({**ROW, **more}) + "\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.jsonl", '{"repetition": 0}\n', "line 1: no 'time_s'"),
        ("a.jsonl", changed() + changed(speed=0), "line 2: unknown key 'speed'"),
        ("a.jsonl", changed(peeer=0), "line 1: unknown key 'peeer' (did you mean peer?)"),
        ("a.jsonl", "\n" + changed(repetition="one"), "line 2: repetition: must be a whole number"),
        ("a.jsonl", "nonsense\n", "line 1: not JSON: expecting value (column 1)"),
        ("a.jsonl", changed() + "null\n", "line 2: is no JSON object"),
        ("a.jsonl", changed()[:-2] + ', "peer": 1}\n', "line 1: not JSON that a log has"),
        ("a.jsonl", changed().strip() + "," + changed(), "line 1: not JSON: extra data"),
        ("a.jsonl", "[" * 30_000, "line 1: not JSON that a log has"),
        ("a.jsonl", "9" * 5000, "line 1: not JSON that a log has"),
        ("a.jsonl", "", "line 1: there is none"),
        ("a.jsonl", " " * 70_000, "line 1: is longer than 65536 bytes"),
        ("a.jsonl", changed() + "x" * 2_000_000, "line 2: is longer than 65536 bytes"),
        ("a.jsonl", changed(repetition=10_000), "line 1: repetition: must be a whole number from"),
        ("a.jsonl", changed(repetition=True), "not True"),
        ("a.jsonl", changed(message_id=2**63), "message_id: must be a whole number"),
        ("a.jsonl", changed(node=10**4000), "node: must be a whole number"),
        ("a.jsonl", changed(time_s=-1), "time_s: must be a number from 0.0 to"),
        ("a.jsonl", changed(time_s=10**400), "time_s: must be a number"),
        ("a.jsonl", changed(time_s=float("nan")), "time_s: must be a number"),
        ("a.jsonl", changed(kind="a\x1b[2J"), "kind: must be a word of letters"),
        ("a.jsonl", changed(kind=None), "kind: must be a word"),
        ("a.jsonl", changed(reason=[[]]), "reason: must be a word"),
        ("a.jsonl", changed(logged=1), "logged: must be true or false, not 1"),
        ("a.csv", "", "line 1: there is none"),
        ("a.csv", "operation\nsend\n", "line 1: no column 'timestamp'"),
        ("a.csv", f"tag,{CSV_HEAD}", "line 1: there are 2 columns 'tag'"),
        ("a.csv", CSV_HEAD + "send\n", "line 2: has 1 fields, not 8"),
        (
            "a.csv",
            CSV_HEAD + CSV_ROW + CSV_ROW.replace("2025-06-22T10:00:00Z", "noon"),
            "line 3: t",
        ),
        ("a.csv", CSV_HEAD + CSV_ROW.replace(",600,", ",,"), "line 2: message_size: must be"),
        ("a.csv", CSV_HEAD + CSV_ROW.replace(",1,7,", f",1,{2**64},"), "line 2: message_id: must"),
        ("a.csv", CSV_HEAD + CSV_ROW.replace(",1,7,", ",-1,7,"), "line 2: node_id: must be"),
        (
            "a.csv",
            CSV_HEAD + CSV_ROW.replace(",1,7,", f",{'9' * 5000},7,"),
            "line 2: node_id: must",
        ),
        ("a.csv", CSV_HEAD + '"' + "x\n" * 200_000, "not CSV: field larger than field limit"),
        ("a.csv", "\udcff", "line 1: not UTF-8 text (byte 0)"),
    ],
)
def test_malformed_log_is_reported(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ScenarioError) as caught:
        phone_logs.read(path)
    assert str(caught.value).startswith(f"{path}: line ")
    assert expected in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV_HEAD + CSV_ROW), ("a.jsonl", changed())])
def test_a_mark_of_byte_order_before_a_log_is_read_over(tmp_path, name, text):
    tables = []
    for mark in ("", "\ufeff"):
        (tmp_path / name).write_text(mark + text, encoding="utf-8")
        tables.append(phone_logs.read(tmp_path / name))
    assert tables[0].num_rows == 1
    assert tables[1].equals(tables[0])


def test_malformed_log_is_exit_2(cli, tmp_path):
    # A reader in C++ ended the process at this.
    (tmp_path / "null.jsonl").write_text("null\n")
    done = cli("metrics", "null.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "null.jsonl: line 1: is no JSON object\n"


def test_a_log_is_a_file_or_a_pipe(tmp_path):
    for path, reason in (("/dev/zero", "is neither a file nor a pipe"), (tmp_path, "is a dir")):
        with pytest.raises(ScenarioError, match=reason):
            phone_logs.read(type(tmp_path)(path))


def test_repetitions_are_renumbered_from_0(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        changed(repetition=9_999) + changed(repetition=5) + changed(repetition=5, message_id=8)
    )
    table = phone_logs.read(path)
    assert table["repetition"].to_pylist() == [0, 0, 1]
    found = metrics.of_log(table, "x")
    assert found["repetitions"] == 2
    assert found["metrics"]["send_count"]["values"] == [2, 1]


def test_more_repetitions_than_make_sense_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV_HEAD + "".join(CSV_ROW.replace("x#0", f"{n}") for n in range(10_001)))
    with pytest.raises(ScenarioError, match="has 10001 repetitions; 10000 are as many as make"):
        phone_logs.read(path)


def test_peers_are_named_as_nodes_are(tmp_path):
    path = tmp_path / "a.csv"
    row = CSV_ROW.strip().replace(",1,7,", ",{},7,") + ",{}\n"
    for nodes, peers, expected in (
        (("4", "5"), ("5", ""), [(4, 5), (5, -1)]),
        (("k5", "7"), ("7", "k5"), [(0, 1), (1, 0)]),
    ):
        pairs = zip(nodes, peers, strict=True)
        rows = [row.format(*pair).replace("x#0", str(n)) for n, pair in enumerate(pairs)]
        path.write_text(CSV_HEAD.strip() + ",peer\n" + "".join(rows))
        table = phone_logs.read(path)
        pairs = zip(table["node"].to_pylist(), table["peer"].to_pylist(), strict=True)
        assert list(pairs) == expected


def measured_or_refused(path):
    """A log is measured, or refused with one short line; there is no third way."""
    try:
        said = json.dumps(metrics.of_log(phone_logs.read(path), path.name), allow_nan=False)
    except ScenarioError as error:
        said = str(error)
        length = len(said.removeprefix(str(path)))
        return said.isprintable() and length < 1500
    return said.startswith("{")


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["send", "store", "drop", "lose", "duplicate", 2**31, 2**63, -1])
    | st.text(max_size=5)
)
OBJECTS = st.dictionaries(st.sampled_from([*trace.COLUMNS, "x"]), SCALARS | st.lists(SCALARS))
LINES = st.builds(lambda more: json.dumps({**ROW, **more}), OBJECTS) | st.builds(
    json.dumps, SCALARS | OBJECTS
)
CELLS = st.sampled_from(
    ["", "0", "-1", "7", "k", str(2**31), str(2**63), "2025-06-22", "send", "store_block_e", '"']
)


@given(st.binary() | st.lists(LINES).map(lambda lines: "\n".join(lines).encode()))
def test_any_json_lines_are_measured_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(content)
    assert measured_or_refused(path)


def spoiled_row(place, cell):
    row = [*CSV_ROW.strip().split(","), "1", "fork"]
    return [*row[:place], cell, *row[place + 1 :]]


@given(
    st.sampled_from([CSV_HEAD, CSV_HEAD.strip() + ",peer,reason\n", ""]),
    st.lists(st.lists(CELLS, max_size=10) | st.builds(spoiled_row, st.integers(0, 9), CELLS)),
    st.binary(max_size=20),
)
def test_any_csv_is_measured_or_refused(tmp_path_factory, head, rows, end):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes((head + "".join(",".join(row) + "\n" for row in rows)).encode() + end)
    assert measured_or_refused(path)


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
    assert by_name["send_count"] == [
        *("400", "399.34", "to", "400.66", "(equal_counts)", "400", "400")
    ]
    assert by_name["stalled_run_ratio"][0] == "0"
    success = said["metrics"]["success_ratio"]
    bounds = [f"{success[key]:.5g}" for key in ("ci95_low", "ci95_high")]
    assert by_name["success_ratio"][1:4] == [bounds[0], "to", bounds[1]]
    assert float(bounds[1]) <= 1
    names = list(by_name)
    assert names.index("in_flight_ratio") == names.index("success_ratio") + 2
    assert by_name["sent"] == ["800"]
    assert float(by_name["rtt_ms_p50"][0]) == pytest.approx(12, rel=0.05)
