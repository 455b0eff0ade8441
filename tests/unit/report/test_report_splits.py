"""What came of trades by profile and access of who proposed them, counted another way."""

from __future__ import annotations

import re
from collections import Counter

import pytest

import pocketsim as ps
from pocketsim.report import write_report
from pocketsim.report.runs.run import load
from pocketsim.report.sections import splits
from pocketsim.sim.plan.build_plan import build_plan


@pytest.fixture(scope="module")
def mixed(root, tmp_path_factory):
    changes = {
        "run.duration": "20s",
        "run.repetitions": 2,
        "run.first_repetition": 3,
        "workload.rate": "0.5/s",
        "devices[0].count": 30,
        "devices[1].count": 20,
    }
    scenario, out = root / "tests/support/1k_churn.toml", tmp_path_factory.mktemp("runs")
    return ps.run(scenario, changes, out=out, progress=False)[0]


@pytest.mark.engine
def test_proposals_are_split_by_their_proposer(mixed):
    (run,) = load([mixed.directory])
    assert splits.has_splits(run)
    found = dict(splits.split(run))
    events = mixed.events
    sent = events[events["kind"] == "send"]
    # The plan that the engine got says who is on which network, and of which profile.
    profiles, networks = (
        sorted(mixed.resolved["profiles"]),
        sorted(mixed.resolved["network"]["access"]),
    )
    counted: Counter[tuple[str, str]] = Counter()
    for repetition, own in sent.groupby("repetition"):
        phones = build_plan(mixed.resolved, repetition)["phones"]
        for node in own["node"]:
            counted[profiles[phones["profile"][node]], networks[phones["access"][node]]] += 1
    assert {place: int(cells[0]) for place, cells in found.items()} == dict(counted)
    assert sum(counted.values()) == len(sent)
    # Among all, as many are stored as metrics.json says.
    stored = sum(float(cells[1].split()[0]) / 100 * int(cells[0]) for cells in found.values())
    assert stored == pytest.approx(mixed.metrics["counts"]["stored"], rel=0.02)
    for cells in found.values():
        percentiles = [float(cell.replace(",", "")) for cell in cells[2:] if cell]
        assert percentiles == sorted(percentiles)


@pytest.mark.engine
def test_split_is_shown_only_where_phones_differ(mixed, tmp_path):
    changes = {"run.duration": "1s", "run.repetitions": 1, "workload.rate": "8/s"}
    (same,) = ps.run("udp_100b", changes, out=tmp_path, progress=False)
    for run, expected in ((mixed, 1), (same, 0)):
        write_report([run.directory], tmp_path / "report.html")
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert len(re.findall("by profile and access of who proposed", page)) == expected
