"""What is asked of a trace: counts within a time, transactions that tell much, their steps."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pocketsim import testing
from pocketsim.report.runs.asked import BY_RULE
from pocketsim.sim import trace
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import rundir
from pocketsim.sim.trace import tables, timeline
from pocketsim.sim.trace.columns import Columns
from pocketsim.view.pages import phone_graph, run_page, sequence_chart
from pocketsim.view.recorded import activity, repetition, steps, transactions
from pocketsim.view.recorded.repetition import Repetition
from pocketsim.view.recorded.run_folder import RunFolder

COLUMNS = ("time_s", "node", "kind", "message_id", "peer", "message_size", "reason")
FROM_1 = 1 << 32
EVENTS = [
    (0.0, 2, "phone_off", 3 << 32 | 0xFFFFFFFF, 2, 0, None),
    (1.0, 0, "send", 0, 1, 100, None),
    (1.1, 1, "process", 0, 0, 100, None),
    (1.2, 0, "store", 0, 1, 300, None),
    (2.0, 1, "send", FROM_1, 0, 100, None),
    (2.0, 1, "store", FROM_1, 0, 300, None),
    (3.0, 0, "send", 1, 2, 100, None),
    (3.0, 0, "drop", 1, 2, 100, "receiver_off"),
    (4.0, 2, "phone_on", 3 << 32 | 0xFFFFFFFF, 2, 0, None),
    (5.0, 2, "send", 2 << 32, 1, 100, None),
]
# Of the transaction 0:0: another's work, then its own, two datagrams, of which one is not its own.
TIMELINE = [
    (0.90, 0.95, 0, 1, "store", 10, None, None, None),
    (0.95, 0.98, 0, 1, "command", 10, None, None, None),
    (0.98, 1.00, 0, 1, "sign", 10, None, None, None),
    (1.00, 1.09, 0, None, None, 100, 1, 0, None),
    (1.00, 1.30, 0, None, None, 50, 1, None, None),
    (1.05, 1.15, 2, 0, "verify", 10, None, None, None),
    (1.09, None, 1, 0, "verify", 10, None, None, None),
]


def columns(rows):
    named = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    count = len(rows)
    return trace.build(repetition=np.zeros(count, int), logged=np.ones(count, bool), **named)


@pytest.fixture
def recorded(tmp_path):
    return Repetition(tmp_path, 0, Columns.of(columns(EVENTS)))


@pytest.fixture
def worked(recorded):
    import pyarrow as pa

    names = tuple(timeline.COLUMNS)[1:10]
    order = ("begin_s", "end_s", "node", "lane", "operation", "size_bytes", "peer", "message_id")
    rows = [dict(zip((*order, "reason"), row, strict=True)) for row in TIMELINE]
    assert set(order) < set(names)
    table = pa.Table.from_pylist(
        [{"repetition": 0, **row} for row in rows], schema=timeline.schema()
    )
    tables.write(table, recorded.directory / rundir.TIMELINE)
    return recorded


def test_counts_are_of_the_time_alone(recorded):
    found = activity.of(recorded, 3, 1.0, 2.0)
    assert found.kinds == {"send": 2, "store": 2, "process": 1}
    assert found.sent.tolist() == [1, 1, 0]
    assert found.done.tolist() == [1, 1, 0]
    assert found.fates == {"sent": 2, "stored": 2, "lost": {}, "in_flight": 0}
    assert found.is_on.tolist() == [True, True, False]


def test_a_fate_is_that_of_the_end_of_the_time(recorded):
    assert activity.of(recorded, 3, 0.0, 1.1).fates["in_flight"] == 1
    whole = activity.of(recorded, 3, 0.0, 9.0)
    assert whole.fates == {"sent": 4, "stored": 2, "lost": {"receiver_off": 1}, "in_flight": 1}
    assert whole.is_on.all()


def test_pairs_have_no_direction_and_the_busiest_are_first(recorded):
    found = activity.of(recorded, 3, 0.0, 9.0).pairs
    assert found.one.tolist() == [0, 0]
    assert found.other.tolist() == [1, 2]
    assert found.done.tolist() == [2, 0]
    assert found.failed.tolist() == [0, 1]
    assert found.first(1).other.tolist() == [1]


def test_counts_over_time_add_up(recorded):
    found = activity.over_time(recorded, 9.0)
    assert found["from_s"].size == activity.PARTS
    assert [int(found[name].sum()) for name in ("sent", "done", "failed")] == [4, 2, 1]


def test_transactions_have_round_trips_and_fates(recorded):
    found = transactions.of(recorded)
    assert [transactions.name(int(one)) for one in found.message] == ["0:0", "1:0", "0:1", "2:0"]
    assert found.round_trip_s[:2] == pytest.approx([0.2, 0.0])
    assert np.isnan(found.round_trip_s[2:]).all()
    assert found.fate.tolist() == ["stored", "stored", "receiver_off", "in flight"]


def test_slow_usual_and_lost_transactions_are_named(recorded):
    found = transactions.of(recorded)
    names = [transactions.name(int(one)) for one in found.message]
    why = [(said, names[row]) for said, row in transactions.telling(found)]
    assert why == [
        *(("slowest", "0:0"), ("slowest, 2.", "1:0"), ("median", "1:0"), ("quickest", "1:0")),
        *(("in flight", "2:0"), ("lost: receiver_off", "0:1")),
    ]


def test_a_proposal_that_is_sent_again_is_one(tmp_path):
    rows = [(0.0, 0, "send", 0, 1, 1, None), (1.0, 0, "send", 0, 1, 1, None)]
    found = transactions.of(Repetition(tmp_path, 0, Columns.of(columns(rows))))
    assert found.sent_s.tolist() == [0.0]


@pytest.mark.parametrize("said", ["", "3", "3:", ":3", "-1:2", "1:2:3", "1:x", "٣:1", f"{9**20}:1"])
def test_what_is_no_name_of_a_transaction_is_none(said):
    assert transactions.message(said) is None


def test_a_name_leads_back_to_its_transaction():
    assert transactions.name(transactions.message("7:12")) == "7:12"


def test_steps_begin_with_the_work_for_the_proposal(worked):
    found = steps.of(worked, 0)
    assert (found.begin_s, found.end_s, found.phones) == (0.95, 1.2, (0, 1))
    assert [event.kind for event in found.events] == ["send", "process", "store"]
    # Neither what was done before, nor what a phone without a part does.
    assert [one.operation for one in found.work] == ["command", "sign", "verify"]
    assert [one.is_own for one in found.datagrams] == [True, False]
    assert found.work[-1].end_s is None


def test_steps_are_events_alone_where_no_timeline_is(recorded):
    found = steps.of(recorded, 1)
    assert (found.work, found.datagrams) == ((), ())
    assert [(event.kind, event.reason) for event in found.events][-1] == ("drop", "receiver_off")


def test_rows_on_tokens_are_no_steps(tmp_path):
    rows = [(0.0, 0, "send", 5, 1, 1, None), (1.0, 3, "take", 5, 2, 1, None)]
    found = steps.of(Repetition(tmp_path, 0, Columns.of(columns(rows))), 5)
    assert found.phones == (0, 1)


def test_too_many_steps_are_counted(tmp_path):
    rows = [(0.0, 0, "send", 5, 1, 1, None)]
    rows += [(1.0 + at, 0, "drop", 5, 1, 1, "link_loss") for at in range(100)]
    found = steps.of(Repetition(tmp_path, 0, Columns.of(columns(rows))), 5)
    assert len(found.events) + found.left_out == 101


def test_a_diagram_has_every_bar_and_arrow(worked):
    drawn = sequence_chart.chart(steps.of(worked, 0), 1.0)
    said = [text for bar in drawn.data if bar.type == "bar" for text in bar.text]
    assert said == ["command 30 ms", "sign 20 ms", "verify not ended"]
    arrows = [one for one in drawn.layout.annotations if one.showarrow]
    assert [(arrow.ax < arrow.x, arrow.ay < arrow.y) for arrow in arrows] == [(True, True)] * 2
    assert [one.text for one in drawn.layout.annotations if one.text] == ["100 B, 90 ms"]
    assert drawn.layout.yaxis.ticktext[0] == "-50.000"


def test_a_diagram_of_events_joins_them(recorded):
    drawn = sequence_chart.chart(steps.of(recorded, 0), 1.0)
    assert len([one for one in drawn.layout.annotations if one.showarrow]) == 2


def test_work_at_a_time_is_beside_each_other():
    def work(begin_s, end_s):
        return steps.Work(begin_s, end_s, 0, 0, "sign", 1, "")

    found = sequence_chart._slots([work(0, 2), work(1, 3), work(2, 4)])
    assert [[one.begin_s for one in slot] for slot in found] == [[0, 2], [1]]


def many(tmp_path, phones, trades):
    """Return a run with so many phones and trades between any two of them, one after the other."""
    draw = np.random.Generator(np.random.Philox(1))
    node, peer = draw.integers(0, phones, (2, trades))
    rows = []
    for at, (one, other) in enumerate(zip(node.tolist(), peer.tolist(), strict=True)):
        message = (one << 32) + at
        rows.append((at / trades, one, "send", message, other, 100, None))
        rows.append((at / trades, one, "store", message, other, 300, None))
    group = {"role": "person", "profile": "invented", "count": phones, "access": {"wifi": 1.0}}
    resolved = testing.resolved("many", repetitions=1, devices=[group], run={"duration_s": 1.0})
    path = testing.run_dir(tmp_path, resolved, testing.Shape())
    trace.write(columns(rows), path / "events.parquet")
    return path


def test_what_is_sent_of_a_large_run_is_small(tmp_path):
    folder = RunFolder(tmp_path, lambda: [many_path])
    many_path = many(tmp_path, 3000, 40_000)
    ((name, run),) = folder.listed().by_name.items()
    shown = run_page.Shown(name, run, 0)
    found = run_page.window(shown, 1.0, 0.0)
    assert len(json.dumps(found)) < 600_000
    assert "2,000 of 3,000 phones and the busiest, 2,000 of 3" in found["counts"]
    assert found["shown"] == "0 s to 1 s"
    edges = [one for one in found["phones"]["data"] if one["mode"] == "lines"]
    assert sum(len(one["x"]) for one in edges) == 3 * phone_graph.PAIRS_MAX
    half = run_page.window(shown, 1.0, 0.5)
    assert half["shapes"][0]["x0"] == 0.5


def test_phones_stand_apart_and_within_the_picture(tmp_path):
    path = many(tmp_path, 40, 60)
    where = phone_graph.places(path, 0, 1, 40)
    assert sorted(where.phone.tolist()) == list(range(40))
    assert len({*zip(where.x.tolist(), where.y.tolist(), strict=True)}) == 40
    assert np.hypot(where.x, where.y).max() <= 1 + 1e-9


def test_a_run_without_events_says_so(tmp_path):
    path = testing.run_dir(tmp_path, testing.resolved(), testing.Shape())
    (path / "events.parquet").rename(path / rundir.HISTOGRAMS)
    with pytest.raises(ScenarioError, match="keeps no events"):
        repetition.read(path, 0, 5)
    folder = RunFolder(tmp_path, lambda: rundir.runs_in(tmp_path), BY_RULE)
    ((name, run),) = folder.listed().by_name.items()
    assert "This run keeps no events" in run_page.html(run_page.Shown(name, run, 0))
