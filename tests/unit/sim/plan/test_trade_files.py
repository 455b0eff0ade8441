"""Trades of a file: who may bring what, and the plan and the run that come of it."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

from pocketsim.sim.base.errors import ScenarioError, UserError
from pocketsim.sim.plan import plan as typed
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.scenario.warnings import warnings
from support import typed_sections

HEADER = "time_s,from,to,payload_bytes\n"
PHONES, DURATION_S = 4, 30.0
TRADES = st.lists(
    st.tuples(
        st.floats(0, DURATION_S, exclude_max=True),
        st.integers(0, PHONES - 1),
        st.integers(1, PHONES - 1),
        st.integers(4, 2**30),
    ),
    min_size=1,
    max_size=50,
)


@pytest.fixture(scope="session")
def bring(root, tmp_path_factory):
    """Return a function that writes a scenario and its trades, and loads it."""
    shipped = root / "pocketsim/scenarios/own_data/own_trades.toml"

    def loaded(trades, *overrides, name="trades.csv"):
        folder = tmp_path_factory.mktemp("own")
        path = folder / "own_trades.toml"
        path.write_text(shipped.read_text())
        write(folder / name, trades)
        settings = [f"workload.file={name}", f"devices[0].count={PHONES}"]
        return load(path, [*settings, f"run.duration={DURATION_S}s", *overrides])

    return loaded


def write(path, trades):
    if isinstance(trades, str):
        path.write_text(trades)
        return
    table = pa.table(trades)
    csv.write_csv(table, path) if path.suffix == ".csv" else parquet.write_table(table, path)


def planned(document, repetition=0):
    rung = resolve(document)[0]
    return build_plan(rung.resolved, repetition, None, document.paths())


@settings(max_examples=25)
@given(TRADES, st.sampled_from(["trades.csv", "trades.parquet"]))
def test_every_row_becomes_an_arrival(bring, trades, name):
    time_s, sender, step, payload_bytes = map(list, zip(*sorted(trades), strict=True))
    receiver = [(one + more) % PHONES for one, more in zip(sender, step, strict=True)]
    rows = {"time_s": time_s, "from": sender, "to": receiver, "payload_bytes": payload_bytes}
    plan = planned(bring(rows, name=name))
    typed_sections.check(plan, typed.Plan, typed_sections.PLAN, "plan")
    work = plan["workload"]
    found = {key: work[key].tolist() for key in ("time_s", "from_phone", "to_phone")}
    assert found == {"time_s": time_s, "from_phone": sender, "to_phone": receiver}
    assert work["payload_bytes"].tolist() == payload_bytes
    assert work["payload_bytes"].dtype == np.uint32
    assert not work["loops"]
    assert not work["amount_cents"].size


def test_every_repetition_and_transport_has_the_same_trades(bring):
    document = bring(HEADER + "0.5,0,1,100\n1,2,3,20\n", "run.repetitions=2")
    one, other = (planned(document, number)["workload"] for number in (0, 1))
    for name in ("time_s", "from_phone", "to_phone", "payload_bytes"):
        assert one[name].tolist() == other[name].tolist()
    works = [rung.resolved["workload"] for rung in resolve(document)]
    assert works[0] == works[1]
    assert [rung.name.rpartition("-")[0] for rung in resolve(document)] == [
        "udp-trace",
        "quic_keep-trace",
    ]


# What stands below the header, the row that is refused and a part of the reason.
MISTAKES = {
    "none": ("", "", "has no rows"),
    "a stranger": ("1,4,0,9\n", "row 2", "from is 4; phones are numbered from 0 to 3"),
    "to a stranger": ("1,0,1,9\n2,0,99,9\n", "row 3", "to is 99; phones are numbered"),
    "to oneself": ("1,0,1,9\n2,3,3,9\n", "row 3", "from and to are both phone 3"),
    "after the end": ("1,0,1,9\n30,0,1,9\n", "row 3", "time_s is 30; the run is from 0 to before"),
    "before the start": ("-0.1,0,1,9\n", "row 2", "time_s is -0.1; a time is 0 or more"),
    "not in order": ("2,0,1,9\n1,0,1,9\n", "row 3", "less than 2 in the row before"),
    "too little": ("1,0,1,3\n", "row 2", "a payload has 4 to 1,073,741,824 bytes"),
    "too much": ("1,0,1,1073741825\n", "row 2", "a payload has 4 to 1,073,741,824 bytes"),
    "a half byte": ("1,0,1,4.5\n", "row 2", "payload_bytes is 4.5, which is not whole"),
    "nothing": ("1,0,,9\n", "row 2", "to is empty or no number"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named_by_file_and_row(bring, mistake):
    rows, place, reason = mistake
    with pytest.raises(ScenarioError) as caught:
        bring(HEADER + rows)
    assert caught.value.file.endswith("/trades.csv")
    assert caught.value.key_path == place
    assert reason in caught.value.reason


def test_another_column_suggests_ours(bring):
    with pytest.raises(ScenarioError, match=r"unknown column 'time'.*did you mean time_s"):
        bring("time,from,to,payload_bytes\n1,0,1,9\n")


def test_a_file_that_is_not_there_suggests_its_neighbour(bring):
    with pytest.raises(ScenarioError, match=r"no such file .*trade\.csv \(did you mean .*trades"):
        bring(HEADER + "1,0,1,9\n", "workload.file=trade.csv")


def test_other_protocols_take_no_trades(bring):
    with pytest.raises(ScenarioError) as caught:
        bring(HEADER + "1,0,1,9\n", "protocol.kind=transfer")
    assert caught.value.key_path == "workload.kind"
    assert (
        '"transfer" takes workload "paced" or "poisson" or "python", not "trace"'
        in caught.value.reason
    )


@pytest.mark.parametrize("name", ["cheat_ratio", "double_spend_ratio", "replay_ratio"])
def test_trades_have_no_cheats(bring, name):
    with pytest.raises(ScenarioError) as caught:
        bring(HEADER + "1,0,1,9\n", f"workload.{name}=0.5")
    assert caught.value.key_path == f"workload.{name}"
    assert caught.value.reason == 'is for protocol "tokens", not "trustchain"'


def test_the_content_names_the_run_and_the_folder_does_not(bring):
    def resolved(rows):
        return resolve(bring(HEADER + rows))[0]

    one, same, other = (resolved(rows) for rows in ("1,0,1,9\n", "1,0,1,9\n", "1,0,1,8\n"))
    assert one.name == same.name != other.name
    ratios = {"cheat_ratio", "double_spend_ratio", "replay_ratio"}
    assert set(one.resolved["workload"]) == {"kind", "file", "digest", *ratios}
    assert one.resolved["workload"]["file"] == "trades.csv"
    assert one.resolved["rung"]["rate_per_s"] == one.resolved["rung"]["payload_bytes"] == 0


def test_a_payload_that_no_datagram_holds_is_warned_of(bring):
    rows = HEADER + "1,0,1,9\n2,0,1,66000\n3,2,3,9\n"
    ((key, text),) = warnings(bring(rows, "transport.mode=udp"))
    assert key == "workload.file"
    assert "66,000 B makes messages" in text
    assert warnings(bring(rows, "transport.mode=quic_keep")) == []


def test_a_file_that_has_changed_since_is_refused(bring):
    document = bring(HEADER + "1,0,1,9\n")
    (file,) = document.files.values()
    file.path.write_text(HEADER + "1,0,1,8\n")
    with pytest.raises(ScenarioError, match="has changed since the run was resolved"):
        planned(document)


@pytest.mark.engine
def test_a_run_whose_file_changes_meanwhile_leaves_nothing(bring, tmp_path):
    document = bring(HEADER + "1,0,1,9\n", "transport.mode=udp")
    tasks = runner.tasks_of(document, tmp_path)
    (file,) = document.files.values()
    file.path.write_text(HEADER + "1,0,1,8\n")
    with pytest.raises(UserError, match=r"trades\.csv: has changed"):
        runner.run_tasks(tasks, 1)
    assert not list(tmp_path.glob("*/udp*"))


@pytest.mark.engine
def test_the_shipped_trades_are_what_is_sent(root, tmp_path):
    path = root / "pocketsim/scenarios/own_data/own_trades.toml"
    (directory,) = runner.run(path, ["transport.mode=udp"], tmp_path)
    rows = csv.read_csv(path.with_name("trades.csv")).to_pydict()
    events = parquet.read_table(directory / "events.parquet").to_pylist()
    sent = sorted((row["node"], row["peer"]) for row in events if row["kind"] == "send")
    assert sent == sorted(zip(rows["from"], rows["to"], strict=True))
    stored = [row["message_size"] for row in events if row["kind"] == "store"]
    # What a block has around its payload varies by the digits of its index and by its chain.
    assert sum(stored) == pytest.approx(sum(rows["payload_bytes"]) + 500 * len(stored), rel=0.1)
    assert max(stored) > max(rows["payload_bytes"])
    metrics = json.loads((directory / "metrics.json").read_text())
    assert metrics["metrics"]["send_count"]["values"] == [len(rows["time_s"])]
    assert "workload.rate" not in metrics["point"]


@pytest.mark.engine
def test_the_command_line_takes_a_file_from_where_one_is(cli, tmp_path):
    (tmp_path / "mine.csv").write_text(HEADER + "1,0,1,9\n2,1,25,9\n")
    mine = ["--set", "workload.file=mine.csv", "--set", "transport.mode=udp"]
    done = cli("run", "own_trades", *mine)
    assert done.returncode == 2
    assert "mine.csv: row 3: to is 25; phones are numbered from 0 to 19" in done.stderr
    assert not (tmp_path / "runs").exists()
    done = cli("run", "own_trades", *mine, "--set", "devices[0].count=26")
    assert done.returncode == 0, done.stderr
    assert "own_trades/udp-trace-" in done.stdout
    report = cli("report", "runs", "-o", "page.html")
    assert report.returncode == 0, report.stderr
