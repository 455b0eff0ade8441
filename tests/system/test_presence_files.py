"""Runs of scenarios with files of the user's, and with groups that differ: all do as told."""

import csv
import shutil

import numpy as np
import pytest

from pocketsim.api.documents import catalog
from pocketsim.report.runs.run import load as load_runs
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.trace import read
from support import engine_plans as plans

pytestmark = pytest.mark.engine

ACTS = ("send", "process", "receive_back", "store", "store_peer")


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(catalog.PACKAGE / "scenarios/own_data", tmp_path / "own_data")


def run(path, *overrides):
    """Run a scenario of one rung; return its directory and its trace."""
    (directory,) = runner.run(path, overrides, path.parent / "runs")
    return directory, plans.from_table(read(directory / "events.parquet"))


def test_phones_are_off_when_the_file_says_so(folder):
    with (folder / "churn.csv").open() as lines:
        rows = [tuple(map(float, row.values())) for row in csv.DictReader(lines)]
    _, trace = run(folder / "churn_file.toml")
    for kind, place in (("phone_on", 1), ("phone_off", 2)):
        turned = trace.of(kind)
        found = {turn for turn in zip(turned.node, turned.time_s, strict=True) if turn[1] > 0}
        assert found == {(row[0], row[place]) for row in rows if 0 < row[place] < 600}
    off = trace.of("phone_off")
    assert set(off.node[off.time_s == 0]) == set(range(10)) - {
        row[0] for row in rows if row[1] == 0
    }
    acted = 0
    for kind in ACTS:
        done = trace.of(kind)
        for phone, time_s in zip(done.node, done.time_s, strict=True):
            own = [row for row in rows if row[0] == phone]
            assert not own or any(on_s <= time_s <= off_s for _, on_s, off_s in own)
            acted += bool(own)
    assert acted > 1000
    assert set(trace.of("drop").reason_names()) == {"receiver_off"}


def test_only_phones_in_contact_reach_each_other(folder):
    lines = [line.split() for line in (folder / "contacts.dat").read_text().splitlines()]
    ids = sorted({int(name) for _, *pair in lines for name in pair})
    windows = {}
    for end_s, *names in lines:
        pair = tuple(sorted(ids.index(int(name)) for name in names))
        windows.setdefault(pair, []).append(float(end_s))

    def near(row, later_s=0.0):
        ends_s = windows.get(tuple(sorted(row[:2])), [])
        return any(end_s - 20 <= row[2] + later_s <= end_s for end_s in ends_s)

    _, trace = run(folder / "contacts_file.toml")
    processed = trace.of("process")
    reached = list(zip(processed.node, processed.peer, processed.time_s, strict=True))
    assert len(reached) > 50
    assert all(map(near, reached))
    # What is asked for between two who met before the slowest link's set-up, and stay, is stored.
    sent, stored = trace.of("send"), set(trace.of("store").message)
    asked = zip(sent.node, sent.peer, sent.time_s, sent.message, strict=True)
    sure = {row[3] for row in asked if near(row, -3.1) and near(row) and near(row, 1.0)}
    assert len(sure) > 30
    assert sure <= stored


def test_only_phones_whom_a_law_lets_meet_reach_each_other(folder):
    path = folder / "contacts_file.toml"
    text = path.read_text().replace('format = "tij"', 'law = "office_2015"\norigin = "9h"')
    path.write_text(text.replace('file = "contacts.dat"', 'kind = "law"'))
    more = ["devices[0].count=120", "run.duration=2h", "outages[0].end=2h", "workload.rate=0.2/s"]
    near = build_plan(resolve(load(path, more))[0].resolved, 0)["proximity"]
    columns = (near[key].tolist() for key in ("phone_a", "phone_b", "time_s", "duration_s"))
    windows = {}
    for one, other, time_s, duration_s in zip(*columns, strict=True):
        windows.setdefault((one, other), []).append((time_s, time_s + duration_s))
    _, trace = run(path, *more)
    processed = trace.of("process")
    reached = list(zip(processed.node, processed.peer, processed.time_s, strict=True))
    assert len(reached) > 30
    assert all(
        any(begin_s <= time_s <= end_s for begin_s, end_s in windows[tuple(sorted(pair))])
        for *pair, time_s in reached
    )


def test_groups_have_their_own_rates_and_presence(folder):
    directory, trace = run(folder / "rates_by_group.toml")
    by_phone = np.bincount(trace.of("send").node, minlength=16)
    assert by_phone[10:12].min() > 5 * by_phone[:10].max()
    assert (by_phone[12:] == 0).all()
    off = set(trace.of("phone_off").node)
    assert off & {10, 11} == set()
    assert off >= {12, 13, 14, 15}
    (shown,) = load_runs([directory])
    assert shown.asked_per_s == pytest.approx(10 * 0.2 + 2 * 2)


def test_a_file_that_changes_under_a_run_ends_it(folder):
    tasks = runner.tasks_of(load(folder / "churn_file.toml"), folder / "runs")
    file = folder / "churn.csv"
    file.write_text(file.read_text() + "9,950,960\n")
    with pytest.raises(UserError, match=r"churn\.csv: has changed since the run was resolved"):
        runner.run_tasks(tasks, 1)
    assert not list((folder / "runs/churn_file").glob("udp*"))
