"""Runs without run directories: the same figures as with them, and a crash that can be replayed."""

from __future__ import annotations

import json

import pytest

from pocketsim.sim.base.errors import EngineError
from pocketsim.sim.run import runner
from pocketsim.sim.run.forks import Forks
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

pytestmark = pytest.mark.engine


def test_forks_measure_what_run_directories_hold(scenario, tmp_path):
    runs = [rung.resolved for rung in resolve(load(scenario))]
    with Forks(2) as forks:
        forked = forks.measure(runs)
        again = forks.measure(runs[:1])
    assert again == forked[:1]
    directories = runner.run(scenario, out=tmp_path, jobs=2)
    for found, directory in zip(forked, directories, strict=True):
        kept = json.loads((directory / "metrics.json").read_text())
        del kept["point"]
        assert found == kept


def test_a_crash_is_told_with_a_line_that_replays_it(scenario):
    (good, bad) = [rung.resolved for rung in resolve(load(scenario))]
    broken = {**bad, "workload": {}}
    with Forks(2) as forks:
        with pytest.raises(EngineError) as caught:
            forks.measure([good, broken])
        assert forks.measure([good])
    assert "pocketsim.sim.run.child < " in caught.value.replay
    assert "KeyError" in caught.value.stderr_tail
