"""A sweep on a SLURM of one node: elements that are requeued, and that would not end in time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from conftest import ROOT

from support.one_node_slurm import one_node
from support.patience import PATIENCE_S, patiently

pytestmark = [pytest.mark.interop, pytest.mark.slow]
RUNS = 12


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with one_node(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture
def at_slurm(place, slurm):
    """The study in a folder from which SLURM is reached."""
    place.cli.environment |= {**slurm.environment, "PYTHONPATH": str(ROOT)}
    return place


def submit(place, *options):
    return place("sweep", "slurm", "sweep.toml", *options, "--submit").stdout.strip()


def status(place, *options):
    return json.loads(place.cli("sweep", "status", "sweep.toml", "--json", *options).stdout)


def until_ended(slurm, job):
    deadline = time.monotonic() + PATIENCE_S
    while slurm.states(job):
        assert time.monotonic() < deadline, slurm("squeue", "--array")
        time.sleep(0.1)


def logs(place, job, element):
    return (place.folder / f"slurm-{job}_{element}.out").read_text()


def account(place, slurm, job, element):
    """Return what is known of an element that did not end as it should have."""
    told = slurm.told(job, element)
    state = {name: told[name] for name in ("JobState", "Reason", "Restarts", "ExitCode")}
    return f"{state}\n{logs(place, job, element)}\n{slurm.said(told['JobId'])}"


def counts(said):
    """Return the numbers of the last line of an element's log that has them."""
    *_, line = (line for line in said.splitlines() if " left for want of time" in line)
    words = line.replace(",", "").split()
    return {name: int(number) for number, name in zip(words[:9:2], words[1:10:2], strict=True)}


@pytest.mark.parametrize("keep", ["metrics", "events"])
def test_a_requeued_element_goes_on_where_it_was(at_slurm, slurm, alone, keep):
    plan = at_slurm("sweep", "plan", "sweep.toml", "--shard", "1/2", "--json").stdout
    firsts = [at_slurm.folder / row["directory"] for row in json.loads(plan)["rows"]]
    journal = at_slurm.folder / "runs" / "sweep.packs" / "shard-1-of-2.journal"

    def has_made_one():
        # Status would say so, too, but not soon enough.
        return (journal.exists() and journal.stat().st_size) or any(map(Path.exists, firsts))

    job = submit(at_slurm, "--array", "2%2", "--time", "10", "--keep", keep)
    patiently(has_made_one, "a run")
    slurm("scontrol", "requeue", f"{job}_0")
    until_ended(slurm, job)
    assert slurm.told(job, 0)["Restarts"] == "1", account(at_slurm, slurm, job, 0)
    for element in (0, 1):
        ended = slurm.told(job, element)["JobState"]
        assert ended == "COMPLETED", account(at_slurm, slurm, job, element)
    said = logs(at_slurm, job, 0)
    assert "DUE TO JOB REQUEUE" in said
    again = counts(said)
    assert again["ran"] >= 1, "it was requeued half way"
    assert again["reused"] >= 1, "what was there is not made again"
    assert again["ran"] + again["reused"] == len(firsts) == RUNS // 2
    assert status(at_slurm)["runs"]["there"] == RUNS
    assert at_slurm.collected() == alone
    kept = [path for path in (at_slurm.folder / "runs" / "small").glob("*") if path.is_dir()]
    assert len(kept) == (RUNS if keep == "events" else 0), [path.name for path in kept]


def test_an_element_begins_nothing_that_would_not_end_and_says_so(at_slurm, slurm):
    plan = json.loads(at_slurm("sweep", "plan", "sweep.toml", "--json").stdout)
    names = [row["directory"].split("/")[-1] for row in plan["rows"]]
    # Of other runs of this study, elsewhere: all but the first take longer than the limit.
    notes = [
        {"scenario": "small", "run": name, "repetitions": 1, "core_s": 1e4 if number else 0.1}
        for number, name in enumerate(names)
    ]
    (at_slurm.folder / "runs").mkdir()
    (at_slurm.folder / "runs" / ".durations.jsonl").write_text(
        "".join(f"{json.dumps(note)}\n" for note in notes)
    )
    job = submit(at_slurm, "--array", "1", "--time", "10")
    until_ended(slurm, job)
    # It went back once, since a run was made, and not again, since none was.
    assert slurm.told(job, 0)["Restarts"] == "1", account(at_slurm, slurm, job, 0)
    assert slurm.told(job, 0)["ExitCode"] == "4:0", account(at_slurm, slurm, job, 0)
    said = logs(at_slurm, job, 0)
    assert "1 ran, 0 reused, 0 failed, 0 busy, 11 left for want of time" in said
    assert "this element goes back to the queue" in said
    assert said.splitlines()[-1] == (
        "submit it again for what is left, with a longer --time if nothing ran"
    )
    assert status(at_slurm)["runs"] == {"all": 12, "there": 1, "missing": 11, "busy": 0}


def test_what_slurm_refuses_is_said_as_it_says_it(at_slurm):
    options = ["--array", "2", "--partition", "nowhere", "--submit"]
    done = at_slurm("sweep", "slurm", "sweep.toml", *options, code=2)
    assert "Invalid partition name" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_that_a_shell_would_read_are_names(at_slurm, slurm):
    folder = at_slurm.folder / 'it\'s $(a) "name" %j; & *'
    folder.mkdir()
    for name in ("small.toml", "sweep.toml"):
        (at_slurm.folder / name).rename(folder / name)
    out = folder / "runs $HOME"
    file = folder / "sweep.toml"
    options = ["--array", "1", "--time", "10", "--out", out]
    job = at_slurm("sweep", "slurm", file, *options, "--submit").stdout.strip()
    until_ended(slurm, job)
    at_slurm("sweep", "status", file, "--out", out)
