"""Limits: what is begun before one, going by how long runs took."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pocketsim.sim.run import durations

NOW_S = 1000.0


@pytest.fixture
def note(tmp_path):
    def add(run, core_s, repetitions=1, scenario="small"):
        durations.note(tmp_path / scenario / run, repetitions, core_s)

    return add


def limit(out, in_s, jobs=1):
    return durations.Limit(NOW_S + in_s, out, jobs, lambda: NOW_S)


def has_room(out, in_s, run="this", repetitions=1, jobs=1):
    return limit(out, in_s, jobs).has_room_for(out / "small" / run, repetitions)


def test_run_of_unknown_length_starts_before_the_limit(tmp_path):
    assert has_room(tmp_path, 0)
    assert not has_room(tmp_path, -1)


@pytest.mark.parametrize(("in_s", "fits"), [(12.6, True), (12.4, False)])
def test_a_run_takes_what_it_took_and_a_quarter_more(tmp_path, note, in_s, fits):
    note("this", 10)
    note("another", 99)
    assert has_room(tmp_path, in_s) is fits


@pytest.mark.parametrize(("in_s", "fits"), [(25.1, True), (24.9, False)])
def test_another_run_takes_what_the_longest_of_its_scenario_took(tmp_path, note, in_s, fits):
    note("short", 1)
    note("long", 40, repetitions=2)
    note("other", 99, scenario="large")
    assert has_room(tmp_path, in_s) is fits


@pytest.mark.parametrize(
    ("jobs", "in_s", "fits"), [(1, 99, False), (1, 101, True), (4, 25.1, True), (99, 12.4, False)]
)
def test_repetitions_share_the_cores_that_there_are(tmp_path, note, jobs, in_s, fits):
    note("this", 10)
    assert has_room(tmp_path, in_s, repetitions=8, jobs=jobs) is fits


def test_durations_noted_by_other_processes_count(tmp_path, note):
    soon = limit(tmp_path, 10)
    assert soon.has_room_for(tmp_path / "small" / "this", 1)
    note("another", 9)
    assert not soon.has_room_for(tmp_path / "small" / "this", 1)
    note("this", 1)
    assert soon.has_room_for(tmp_path / "small" / "this", 1)


def test_half_a_line_is_read_when_it_is_whole_and_nonsense_never(tmp_path, note):
    note("this", 1)
    file = tmp_path / durations.FILE
    line = json.dumps({"scenario": "small", "run": "this", "repetitions": 1, "core_s": 99})
    soon = limit(tmp_path, 10)
    with file.open("a") as notes:
        notes.write(f'nonsense\n{{"scenario": 1}}\n{line[:20]}')
    assert soon.has_room_for(tmp_path / "small" / "this", 1)
    with file.open("a") as notes:
        notes.write(f"{line[20:]}\n")
    assert not soon.has_room_for(tmp_path / "small" / "this", 1)


def test_notes_are_of_a_folder_of_runs(tmp_path, note):
    note("a", 10, repetitions=4)
    assert durations.per_repetition_s(tmp_path) == {("small", "a"): 2.5}
    assert durations.per_repetition_s(tmp_path / "elsewhere") == {}


def test_where_nothing_can_be_noted_nothing_is(tmp_path):
    durations.note(Path(tmp_path / "missing" / "small" / "this"), 1, 1.0)
    assert not (tmp_path / "missing").exists()
