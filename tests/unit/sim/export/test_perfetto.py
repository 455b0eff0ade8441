"""Traces for Perfetto, read by classes that are generated from Perfetto's own schema."""

import io
import json
import tracemalloc
from collections import Counter
from itertools import pairwise

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    CounterDescriptor,
    Trace,
    TrackDescriptor,
    TrackEvent,
)
from typer.testing import CliRunner

from pocketsim import testing
from pocketsim.cli import app
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.export import perfetto
from pocketsim.sim.run import rundir
from pocketsim.sim.trace import tables, timeline

PHONES = ("phone 0 (moto)", "phone 1 (pixel)")
BEGIN, END = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END
INSTANT = TrackEvent.TYPE_INSTANT
WAITS = ("uplink_from_s", "uplink_until_s", "downlink_from_s", "downlink_until_s")


def work(begin_s, end_s, operation="sign", node=0, lane=1, reason=None):
    return {
        "begin_s": begin_s,
        "end_s": end_s,
        "node": node,
        "lane": lane,
        "operation": operation,
        "size_bytes": 300,
        "peer": None,
        "message_id": None,
        "reason": reason,
        **dict.fromkeys(WAITS),
    }


def datagram(begin_s, end_s, node=0, peer=1, message_id=None, reason=None):
    return {
        **work(begin_s, end_s, None, node, None, reason),
        "peer": peer,
        "message_id": message_id,
    }


def written(*rows):
    """Return what the rows are as a trace; a field that its schema does not know is a mistake."""
    sink = io.BytesIO()
    perfetto.write(rows, PHONES, sink)
    trace = Trace()
    trace.ParseFromString(sink.getvalue())
    trace.DiscardUnknownFields()
    assert len(trace.SerializeToString()) == len(sink.getvalue())
    return trace


def tracks(trace):
    """Return every track by its number, which no two have."""
    found = [
        packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")
    ]
    assert len({track.uuid for track in found}) == len(found)
    return {track.uuid: track for track in found}


def events(trace):
    """Return phone, track, type and name of each event, with its packet."""
    known = tracks(trace)
    for packet in trace.packet:
        if packet.HasField("track_event"):
            event = packet.track_event
            track = known[event.track_uuid]
            process = known[track.parent_uuid].process
            yield process.process_name, track.name, event.type, event.name, packet


def arguments(packet):
    return {
        said.name: said.uint_value if said.HasField("uint_value") else said.string_value
        for said in packet.track_event.debug_annotations
    }


def test_an_operation_is_a_slice_of_its_lane():
    trace = written(work(1.5, 1.75))
    (begin, end) = events(trace)
    assert begin[:4] == ("phone 0 (moto)", "send", BEGIN, "sign")
    assert end[:3] == ("phone 0 (moto)", "send", END)
    assert [packet.timestamp for *_, packet in (begin, end)] == [1_500_000_000, 1_750_000_000]
    assert arguments(begin[-1]) == {"bytes": 300}


def test_a_phone_is_a_process_with_a_track_for_each_lane():
    rows = [work(lane, lane + 1, lane=lane, node=node) for node in (1, 0) for lane in (17, 0, 1)]
    found = tracks(written(*rows))
    phones = [track for track in found.values() if track.HasField("process")]
    assert [(phone.process.pid, phone.process.process_name) for phone in phones] == [
        (2, "phone 1 (pixel)"),
        (1, "phone 0 (moto)"),
    ]
    for phone in phones:
        assert phone.child_ordering == TrackDescriptor.EXPLICIT
        below = [track for track in found.values() if track.parent_uuid == phone.uuid]
        below.sort(key=lambda track: track.sibling_order_rank)
        assert [track.name for track in below] == ["receive", "send", "task 17"]


def test_a_track_is_described_once_and_before_its_events():
    trace = written(*(work(time, time + 1) for time in range(5)), datagram(9, 10))
    seen = set()
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            seen.add(packet.track_descriptor.uuid)
        elif packet.HasField("track_event"):
            assert packet.track_event.track_uuid in seen
    assert len(tracks(trace)) == 5  # two phones, a lane, out and in
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {1}


def test_a_datagram_flows_from_its_sender_to_its_receiver():
    trace = written(work(0, 1), datagram(1, 2, message_id=(1 << 32) + 7), datagram(1, 3, 1, 0))
    found = [event for event in events(trace) if event[2] == INSTANT]
    assert [event[:2] + event[3:4] for event in found] == [
        ("phone 0 (moto)", "datagrams out", "to phone 1"),
        ("phone 1 (pixel)", "datagrams in", "from phone 0"),
        ("phone 1 (pixel)", "datagrams out", "to phone 0"),
        ("phone 0 (moto)", "datagrams in", "from phone 1"),
    ]
    assert arguments(found[0][-1]) == arguments(found[1][-1]) == {"bytes": 300, "message": "1:7"}
    assert arguments(found[2][-1]) == {"bytes": 300}
    flows = [
        (list(packet.track_event.flow_ids), list(packet.track_event.terminating_flow_ids))
        for *_, packet in found
    ]
    assert flows[0][0] == flows[1][1] != flows[2][0] == flows[3][1]
    assert flows[0][1] == flows[1][0] == []
    assert [packet.timestamp for *_, packet in found] == [10**9, 2 * 10**9, 10**9, 3 * 10**9]


def waiting(begin_s, *waits_s, node=0, peer=1):
    return {**datagram(begin_s, begin_s + 9, node, peer), **dict(zip(WAITS, waits_s, strict=True))}


def test_datagrams_waiting_for_a_radio_are_counted():
    trace = written(
        waiting(1.0, 1.0, 1.0, 2.0, 3.0),  # at once, and then behind somebody
        waiting(1.0, 1.0, 1.5, 2.5, None),  # half a second, and then for ever
        waiting(1.25, 1.25, 1.5, 2.5, 2.5),
    )
    found = {}
    for phone, track, kind, _, packet in events(trace):
        if kind == TrackEvent.TYPE_COUNTER:
            change = packet.timestamp / 1e9, packet.track_event.counter_value
            found.setdefault((phone, track), []).append(change)
    assert found == {
        (PHONES[0], "uplink queue (datagrams)"): [(1.0, 1), (1.25, 2), (1.5, 1), (1.5, 0)],
        (PHONES[0], "uplink queue (bytes)"): [(1.0, 300), (1.25, 600), (1.5, 300), (1.5, 0)],
        (PHONES[1], "downlink queue (datagrams)"): [(2.0, 1), (2.5, 2), (3.0, 1)],
        (PHONES[1], "downlink queue (bytes)"): [(2.0, 300), (2.5, 600), (3.0, 300)],
    }
    units = {track.name: track.counter.unit for track in tracks(trace).values()}
    assert units["uplink queue (datagrams)"] == CounterDescriptor.UNIT_COUNT
    assert units["downlink queue (bytes)"] == CounterDescriptor.UNIT_SIZE_BYTES


def test_drops_and_cut_work_have_a_reason():
    trace = written(datagram(1, 2, reason="link_loss"), work(1, 2, reason="sender_off"))
    found = list(events(trace))
    assert found[1][3] == "link_loss: from phone 0"
    assert arguments(found[2][-1]) == {"bytes": 300, "cut off": "sender_off"}


def test_unfinished_work_has_no_end():
    trace = written(work(1, None), datagram(1, None))
    assert [event[2] for event in events(trace)] == [BEGIN, INSTANT]


@pytest.mark.parametrize("size", [0, 1, 127, 128, 300, 16383, 16384, 2**31, 2**32 - 1])
def test_numbers_of_every_length_are_read(size):
    row = {**work(1e-9, 3e6), "size_bytes": size, "lane": 2**31 - 3}
    (begin, end) = events(written(row))
    assert arguments(begin[-1]) == {"bytes": size}
    assert (begin[-1].timestamp, end[-1].timestamp) == (1, 3 * 10**15)


def test_no_rows_are_an_empty_trace():
    assert not written().packet


def test_rows_are_taken_one_after_the_other():
    """Ten times the rows take no more memory."""

    def peak_bytes(count):
        rows = (work(time, time + 0.5) for time in range(count))
        with open("/dev/null", "wb") as sink:  # noqa: PTH123 - a device, not a file of the test's
            tracemalloc.start()
            perfetto.write(rows, PHONES, sink)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        return peak

    peak_bytes(100)
    assert peak_bytes(5000) < peak_bytes(500) + 20_000


WORK = {"trace": "work", "sample_ratio": 1.0, "tokens": False, "blocks": False}


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["export", *map(str, arguments)])


@pytest.fixture
def run(tmp_path):
    """Return a function that makes an invented run of two repetitions, with a timeline."""
    import pyarrow as pa

    def make(output, left_out=0):
        sections = {"protocol": {"kind": "trustchain"}, "output": output}
        resolved = testing.resolved("a", repetitions=2, **sections)
        made = testing.run_dir(tmp_path / "runs", {**resolved, "churn": None}, testing.Shape())
        rows = [
            {"repetition": number, **work(number, number + 1, operation)}
            for number, operation in enumerate(("sign", "verify"))
        ]
        tables.write(pa.Table.from_pylist(rows, schema=timeline.schema()), made / rundir.TIMELINE)
        manifest = json.loads((made / "manifest.json").read_text())
        counters = {"timeline_rows_left_out": left_out} if left_out else {}
        manifest["repetitions"] = [{"counters": {}}, {"counters": counters}]
        (made / "manifest.json").write_text(json.dumps(manifest))
        return made

    return make


def operations(data):
    trace = Trace()
    trace.ParseFromString(data)
    return [event[3] for event in events(trace) if event[2] == BEGIN]


def test_a_repetition_goes_to_stdout_or_a_file(call, run, tmp_path):
    made = run(WORK)
    first = call(made, "--to", "perfetto").stdout_bytes
    assert operations(first) == ["sign"]
    for name in ("out/a.pftrace", "b.PFTRACE"):
        assert call(made, "-o", name).stdout == f"{name}\n"
        assert (tmp_path / name).read_bytes() == first
    assert call(made, "--to", "perfetto", "-o", "a", "--repetition", 1).exit_code == 0
    assert operations((tmp_path / "a").read_bytes()) == ["verify"]


def test_run_without_a_timeline_is_exit_2(call, run, tmp_path):
    for mode in ("full", "sampled"):
        error = call(run({**WORK, "trace": mode}), "--to", "perfetto", "-o", "a").exception
        assert isinstance(error, ScenarioError)
        assert (error.exit_code, error.key_path) == (2, "output.trace")
        assert 'output.trace = "work"' in str(error)
    assert not (tmp_path / "a").exists()


def test_a_damaged_timeline_is_named_and_leaves_nothing(call, run, tmp_path):
    made = run(WORK)
    (made / rundir.TIMELINE).write_bytes(b"PAR1")
    error = call(made, "-o", "a.pftrace").exception
    assert isinstance(error, ScenarioError)
    assert str(made / rundir.TIMELINE) in str(error)
    assert not (tmp_path / "a.pftrace").exists()


def test_rows_that_were_left_out_are_told(call, run):
    made = run(WORK, left_out=5)
    assert call(made, "-o", "a.pftrace").stderr == ""
    assert "5 rows are not there" in call(made, "-o", "a.pftrace", "--repetition", 1).stderr


def slices(trace):
    """Return begin and end of every slice by phone and track; they must close in order."""
    found, opened = {}, {}
    for phone, track, kind, name, packet in events(trace):
        place = (phone, track)
        if kind == BEGIN:
            assert place not in opened
            opened[place] = (name, packet.timestamp)
        elif kind == END:
            found.setdefault(place, []).append((*opened.pop(place), packet.timestamp))
    return found


@pytest.mark.engine
def test_a_run_comes_out_whole(root, tmp_path):
    """Every row of the timeline is in the trace, and lanes do one thing at a time."""
    import pandas as pd

    from pocketsim.sim.run import results, runner

    settings = ["run.duration=20s", "run.repetitions=1", "devices[1].count=50", "output.trace=work"]
    (made,) = runner.run(root / "tests/support/1k_churn.toml", settings, tmp_path)
    done = CliRunner().invoke(app, ["export", str(made), "-o", str(tmp_path / "a.pftrace")])
    assert done.exit_code == 0
    trace = Trace()
    trace.ParseFromString((tmp_path / "a.pftrace").read_bytes())
    rows = pd.read_parquet(made / rundir.TIMELINE)
    ended = rows[rows.lane.notna() & rows.end_s.notna()]
    found = slices(trace)
    names = Counter(name for spans in found.values() for name, _, _ in spans)
    assert names == Counter(ended.operation)
    assert len(names) > 5
    for spans in found.values():
        assert all(one[2] <= other[1] for one, other in pairwise(spans))
    spent_s = sum(end - begin for spans in found.values() for _, begin, end in spans) / 1e9
    assert spent_s == pytest.approx((ended.end_s - ended.begin_s).sum(), abs=1e-6)
    counters = results.read_manifest(made)["repetitions"][0]["counters"]
    flows = Counter(
        flow
        for *_, packet in events(trace)
        for flow in (*packet.track_event.flow_ids, *packet.track_event.terminating_flow_ids)
    )
    assert len(flows) == counters["datagrams_sent"] == rows.peer.notna().sum()
    assert set(flows.values()) <= {1, 2}
    dropped = rows[rows.peer.notna()].reason.notna().sum()
    assert dropped == counters["datagrams_dropped"] > 0


@pytest.mark.engine
def test_a_timeline_changes_nothing_else(scenario, tmp_path):
    """Events and metrics are those of the same run without it."""
    from pocketsim.sim.run import results, runner

    made = {
        mode: runner.run(scenario, [f"output.trace={mode}"], tmp_path / mode)[0]
        for mode in ("full", "work")
    }
    full, with_timeline = made["full"], made["work"]
    # Not their bytes: each file names its own run.
    assert results.read_events(full).equals(results.read_events(with_timeline))
    one, other = (results.read_metrics(run) for run in (full, with_timeline))
    assert (one["metrics"], one["fates"]) == (other["metrics"], other["fates"])
    assert not (full / rundir.TIMELINE).exists()
    assert {path.name for path in with_timeline.iterdir()} == {*rundir.FILES, rundir.TIMELINE}
