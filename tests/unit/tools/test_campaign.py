"""The campaign of drawn scenarios finds what it is for, and goes on after it."""

import argparse
import itertools
import os
import select
import signal
from collections import Counter

import pytest

from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from tools.campaign import __main__ as campaign
from tools.campaign import checking, drawing

pytestmark = pytest.mark.engine


@pytest.fixture
def places(tmp_path):
    return campaign._places(tmp_path)


@pytest.fixture
def worker():
    found = campaign._Worker(argparse.Namespace(limit=60.0))
    yield found
    found.close()


def drawn(number, places, seed=1):
    path = places["contacts"].parent / f"{seed}_{number}.toml"
    path.write_text(drawing.toml(drawing.scenario(seed, number, places)))
    return path


def plain(kind, places):
    """A scenario over UDP in which most of what is sent arrives."""
    access = {"up": "40Mbps", "down": "40Mbps", "latency": "1ms", "loss_ratio": 0.05}
    document = {
        "implementation": str(places["implementation"]),
        "run": {"seed": 1, "duration": "5s"},
        "devices": [{"profile": "moto_g04s", "count": 4, "access": "wifi"}],
        "network": {"access": {"wifi": access}},
        "workload": {"kind": "poisson", "rate": "3/s", "payload": "100B"},
        "protocol": {"kind": kind},
        "transport": {"mode": "udp"},
        "output": {"trace": "work"},
    }
    path = places["contacts"].parent / f"{kind}.toml"
    path.write_text(drawing.toml(document))
    return path


def test_a_number_draws_the_same_scenario(places):
    assert drawing.scenario(1, 5, places) == drawing.scenario(1, 5, places)
    assert drawing.scenario(1, 5, places) != drawing.scenario(1, 6, places)
    assert drawing.scenario(1, 5, places) != drawing.scenario(2, 5, places)


def test_most_are_valid_and_of_every_kind(places):
    kinds = Counter()
    for number in range(200):
        document = drawing.scenario(3, number, places)
        kinds[document["protocol"]["kind"]] += 1
        kinds[document["transport"]["mode"]] += 1
    assert set(kinds) == {*drawing.FAMILIES, *drawing.MODES, "none"}
    for number in range(40):
        assert len(resolve(load(drawn(number, places, seed=3)))) == 1


def test_passed_scenario_is_reported_by_protocol_and_transport(places, worker):
    path = plain("trustchain", places)
    assert worker.fate(path, 0) == ("trustchain udp", [])


def test_a_scenario_that_is_refused_is_told_by_its_key(places, worker):
    path = drawn(0, places)
    path.write_text(path.read_text().replace('"seed" = ', '"sead" = '))
    assert worker.fate(path, 1) == ("refused for run.sead", [])


@pytest.mark.parametrize(
    ("patched", "name", "wrong"),
    [
        (lambda *_, **__: os._exit(7), "crashed", "its process ended with 7"),
        (lambda *_, **__: signal.pause(), "hung", "did not end within 0.5 s"),
    ],
)
def test_after_a_process_that_ends_or_hangs_there_is_another(
    places, monkeypatch, patched, name, wrong
):
    path = plain("transfer", places)
    worker = campaign._Worker(argparse.Namespace(limit=0.5))
    with monkeypatch.context() as patching:
        patching.setattr(checking, "fate", patched)
        assert worker.fate(path, 1) == (name, [wrong])
    worker._limit_s = 60.0
    assert worker.fate(path, 1) == ("transfer udp", [])
    worker.close()


def test_a_fork_that_hangs_ends_with_its_process(places, tmp_path, monkeypatch):
    path = plain("transfer", places)
    path.write_text(path.read_text().replace('"seed"', '"fidelity" = "flow", "seed"'))
    pid_file = tmp_path / "pid"

    def hang(*_, **__):
        pid_file.write_text(str(os.getpid()))
        signal.pause()

    worker = campaign._Worker(argparse.Namespace(limit=5.0))
    monkeypatch.setattr(checking, "fate", hang)
    assert worker.fate(path, 1)[0] == "hung"
    try:
        fork = os.pidfd_open(int(pid_file.read_text()))
    except ProcessLookupError:
        return  # it is gone already
    assert select.select([fork], [], [], 30.0)[0]


def altered(change):
    """Return what runs a plan as ever and then changes what came."""
    run = checking._run

    def call(plan, resolved, files):
        result = run(plan, resolved, files)
        change(result)
        return result

    return call


def forget(kind):
    """Return what makes one row of a kind one of another."""

    def change(result):
        kinds = bytearray(result["columns"]["kind"])
        kinds[kinds.index(result["event_kinds"].index(kind))] = result["event_kinds"].index("begin")
        result["columns"]["kind"] = bytes(kinds)

    return change


def deliver(result):
    result["counters"]["datagrams_delivered"] += 1_000_000


@pytest.mark.parametrize(
    ("change", "wrong"),
    [(deliver, "more ended than were sent"), (forget("send"), "1 messages ended and were never")],
)
def test_unaccounted_messages_are_reported(places, monkeypatch, change, wrong):
    path = plain("trustchain", places)
    monkeypatch.setattr(checking, "_run", altered(change))
    _, found = checking.fate(path, twice=False)
    assert wrong in "; ".join(found)


def test_two_traces_of_one_scenario_are_told(places, monkeypatch):
    seeds = itertools.count()
    run = checking._run

    def call(plan, resolved, files):
        return run({**plan, "seed": next(seeds)}, resolved, files)

    monkeypatch.setattr(checking, "_run", call)
    assert "two runs, two traces" in checking.fate(plain("trustchain", places), twice=True)[1]
