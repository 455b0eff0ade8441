"""A page about people who trade for a while: deadlines first, and what was asked for."""

from __future__ import annotations

import pytest

import pocketsim as ps
from pocketsim.report.answer import limits, opening
from pocketsim.report.page_layout import arranged
from pocketsim.report.runs.asked import Asked
from pocketsim.report.runs.run import load

FEW = {
    "run.duration": "20min",
    "run.repetitions": 2,
    "devices[0].count": 30,
    "devices[1].count": 20,
    "devices[2].count": 10,
    "workload.rate": "6/h",
    "metrics": {"deadlines": ["90s"]},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    (found,) = ps.run("1k", FEW, out=tmp_path_factory.mktemp("people"), progress=False)
    return found


def test_the_finding_begins_with_the_deadlines(run):
    said = opening.finding_of([run.directory], Asked())
    first, second, *_ = said.split(". The ")
    assert first.startswith("Of what was sent, ")
    assert first.endswith(" within 10 min are done")
    for deadline in ("10 s", "1 min", "90 s"):
        assert f"within {deadline}" in first
    assert second.startswith("share stored")


def test_the_page_has_what_was_asked_for_beside_the_baseline(run):
    page = arranged(load([run.directory])).html()
    assert "What was asked for, and who was on" in page
    assert "baseline: both on" in page


def test_the_limits_say_why_phones_are_on(run):
    said = limits.sentences(None, load([run.directory]))
    assert any("while their owners trade or pay" in sentence for sentence in said)
    assert not any("not by what their owners do" in sentence for sentence in said)
