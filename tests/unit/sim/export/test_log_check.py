"""Logs of trades that contradict themselves are refused, with the line and the reason."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from pocketsim import testing
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.export import app_csv, phone_logs

BEGIN = dt.datetime(2026, 11, 1, 0, 59, 50, tzinfo=dt.UTC)
KINDS = {
    "send": "send_benchmark_sc",
    "receive_back": "block_received_back",
    "store": "store_block_e",
}


def trades(count=4):
    """Return events of trades of phone 0, 1 s apart, each as time, kind, number and more."""
    return [
        {"time_s": number + offset_s, "kind": kind, "number": number}
        for number in range(count)
        for offset_s, kind in ((0.0, "send"), (0.020, "receive_back"), (0.025, "store"))
    ]


def as_csv(path, events):
    lines = [",".join(app_csv.COLUMNS)]
    for event in events:
        moment = (BEGIN + dt.timedelta(seconds=event["time_s"])).isoformat()
        number, kind = event["number"], event["kind"]
        message, turn = event.get("message", number), event.get("turn", number)
        tag, node = event.get("tag", "a"), event.get("node", 0)
        lines.append(f"{KINDS.get(kind, kind)},{moment},UDP,{node},{message},300,{tag},{turn}")
    path.write_text("\n".join(lines) + "\n")
    return path


def as_json_lines(path, events):
    rows = [
        {
            "repetition": event.get("repetition", 0),
            "time_s": event["time_s"],
            "node": event.get("node", 0),
            "kind": event["kind"],
            "message_id": event.get("message", event["number"]),
            "peer": event.get("peer", 1),
            "message_size": 300,
            "reason": None,
            "logged": True,
        }
        for event in events
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def changed(place, **more):
    events = trades()
    events[place] |= more
    return events


def cut(from_place, by_s):
    """Return the events of a phone whose clock is set before one of them."""
    return [
        {**event, "time_s": event["time_s"] + (by_s if place >= from_place else 0)}
        for place, event in enumerate(trades())
    ]


def anew(**more):
    """Return events and those of a second run, an hour later."""
    return [*trades(), *({**one, "time_s": one["time_s"] + 3600, **more} for one in trades())]


CONTRADICTIONS = {
    "came_back_before_sent": (cut(4, -3600), 6, "came back 3599.98 s before it was sent in line 5"),
    "stored_before_sent": (changed(5, time_s=0.5), 7, "is stored 0.5 s before it was sent in line"),
    "stored_before_back": (changed(5, time_s=1.016), 7, "is stored 0.004 s before it came back in"),
    "given_up_before_sent": (changed(4, kind="lose", time_s=0.5), 6, "is given up 0.5 s before it"),
    "clock_set_between": (cut(6, -3600), 8, "is sent 3599 s before line 5, an earlier proposal"),
    "clock_from_1970": (changed(0, time_s=-4e8), 3, "is 4629.63 days after the first line"),
    "file_twice": ([*trades(), *trades()], 14, "the transaction is sent in line 2, too"),
    "ids_restart": (anew(), 14, "the transaction is sent in line 2, too"),
    "stored_twice": ([*trades(), trades()[2]], 14, "the transaction is stored in line 4, too"),
    "back_unsent": (trades()[1:], 2, "the transaction came back and no line says that it was"),
    "stored_unsent": ([*trades(1), trades(2)[5]], 5, "is stored and no line says that it was sent"),
    "stored_by_other": (changed(2, node=1), 4, "is stored at another phone than that which sent"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_csv_that_contradicts_itself_is_refused(tmp_path, name):
    events, line, reason = CONTRADICTIONS[name]
    path = as_csv(tmp_path / "a.csv", events)
    with pytest.raises(ScenarioError) as caught:
        phone_logs.read(path)
    assert str(caught.value).startswith(f"{path}: line {line}: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_json_lines_that_contradict_themselves_are_refused(tmp_path, name):
    events, line, _ = CONTRADICTIONS[name]
    from_s = min(event["time_s"] for event in events)
    since = [{"peer": 7, **event, "time_s": event["time_s"] - from_s} for event in events]
    path = as_json_lines(tmp_path / "a.jsonl", since)
    with pytest.raises(ScenarioError) as caught:
        phone_logs.read(path)
    assert str(caught.value).startswith(f"{path}: line {line - 1}: ")


def test_proposals_that_are_counted_anew_under_one_tag_are_refused(tmp_path):
    second = [{**event, "message": f"second_{event['number']}"} for event in anew()[12:]]
    first = [{**event, "message": f"first_{event['number']}"} for event in trades()]
    path = as_csv(tmp_path / "a.csv", [*first, *second])
    with pytest.raises(ScenarioError, match="line 14: is proposal 0 of the phone, as line 2 is"):
        phone_logs.read(path)
    apart = [*first, *({**event, "tag": "b"} for event in second)]
    table = phone_logs.read(as_csv(path, apart))
    assert table["repetition"].to_pylist() == [0] * 12 + [1] * 12


def test_a_phone_that_sends_to_itself_is_refused(tmp_path):
    path = as_json_lines(tmp_path / "a.jsonl", [{**trades()[0], "peer": 0}])
    with pytest.raises(ScenarioError, match="line 1: is sent by a phone to itself"):
        phone_logs.read(path)


@pytest.mark.parametrize("text", ["", "NaN", "null", "None", "N/A"])
@pytest.mark.parametrize(("column", "name"), [("message", "message_id"), ("node", "node_id")])
def test_missing_id_is_refused(tmp_path, text, column, name):
    path = as_csv(tmp_path / "a.csv", changed(4, **{column: text}))
    with pytest.raises(ScenarioError, match=f"line 6: {name}: must be an id, not '{text}'"):
        phone_logs.read(path)


def test_a_csv_without_an_operation_of_a_trade_is_refused(tmp_path):
    events = [{**event, "kind": "SEND"} for event in trades()]
    with pytest.raises(ScenarioError, match="no operation is of a trade: those are send_benchmark"):
        phone_logs.read(as_csv(tmp_path / "a.csv", events))


def test_rows_in_any_order_are_read(tmp_path):
    events = trades(50)
    expected = phone_logs.read(as_csv(tmp_path / "a.csv", events))
    for mixed in (events[::-1], events[1::3] + events[::3] + events[2::3]):
        assert phone_logs.read(as_csv(tmp_path / "b.csv", mixed)).equals(expected)


def test_two_threads_may_note_two_proposals_the_other_way_round(tmp_path):
    events = [event for event in trades() if event["kind"] == "send"]
    events[2]["time_s"] = 0.9
    times_s = phone_logs.read(as_csv(tmp_path / "a.csv", events))["time_s"].to_pylist()
    assert times_s == [0.0, 0.9, 1.0, 3.0]


def test_two_phones_that_propose_to_each_other_may_have_one_log(tmp_path):
    of_other = [{**one, "node": 1, "number": one["number"] + 100, "peer": 0} for one in trades()]
    path = as_json_lines(tmp_path / "a.jsonl", [*trades(), *of_other])
    assert phone_logs.read(path).num_rows == 24


def test_losses_repeats_and_late_stores_are_accepted(tmp_path):
    lost = {"time_s": 0.01, "kind": "lose", "number": 0}
    again = {"time_s": 0.03, "kind": "receive_back", "number": 0}
    late = {"time_s": 3.5, "kind": "drop", "number": 0}
    path = as_csv(tmp_path / "a.csv", [*trades(), lost, again, late])
    assert phone_logs.read(path).num_rows == 15


def test_sequence_numbers_that_are_all_equal_say_nothing(tmp_path):
    events = [{**event, "turn": 0} for event in trades()]
    assert phone_logs.read(as_csv(tmp_path / "a.csv", events)).num_rows == 12


@pytest.mark.parametrize("lost_ratio", [0.0, 0.5])
def test_exported_simulation_passes_the_check(tmp_path, lost_ratio):
    table = testing.events(testing.resolved(repetitions=3), testing.Shape(lost_ratio=lost_ratio))
    app_csv.write_csv(table, tmp_path / "a.csv", "udp")
    assert phone_logs.read(tmp_path / "a.csv").num_rows == table.num_rows


def test_receiver_may_store_a_message(tmp_path):
    sent, _, stored = trades(1)
    path = as_json_lines(tmp_path / "a.jsonl", [sent, {**stored, "node": 1, "peer": 0}])
    assert phone_logs.read(path).num_rows == 2


def test_the_command_refuses_a_contradiction_and_what_sends_nothing(cli, tmp_path):
    as_csv(tmp_path / "a.csv", cut(4, -3600))
    done = cli("metrics", "a.csv", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("a.csv: line 6: the block came back 3599.98 s before it was sent")
    assert done.stderr.count("\n") == 1
    as_csv(tmp_path / "b.csv", changed(0, kind="processing_message")[:1])
    done = cli("metrics", "b.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("b.csv: nothing is sent in it; of two phones it takes the log of")
