"""SimGrid is loaded by runs with flows and by nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pocketsim.sim.run import child
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

pytestmark = pytest.mark.engine

MAPPED = "from pathlib import Path; print('libsimgrid' in Path('/proc/self/maps').read_text())"
COMMAND = "import sys; from pocketsim.cli import app; app(sys.argv[1:], standalone_mode=False)"
SIMULATION = """
import json, sys
from pocketsim.sim import _engine
from pocketsim.sim.plan.build_plan import build_plan
_engine.run(build_plan(json.load(sys.stdin), 0))
"""


def loads_simgrid(code, *arguments, given=""):
    """Return whether a process has SimGrid in its memory once it has run `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{MAPPED}", *map(str, arguments)],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return {"True": True, "False": False}[done.stdout.splitlines()[-1]]


def resolved(scenario, fidelity):
    overrides = ["run.repetitions=1", f'run.fidelity="{fidelity}"', "workload.rate=4/s"]
    return resolve(load(scenario, overrides))[0].resolved


def test_an_import_and_commands_that_simulate_nothing_load_no_simgrid(scenario):
    assert not loads_simgrid("import pocketsim; from pocketsim.sim import _engine")
    for command in ("check", "show"):
        assert not loads_simgrid(COMMAND, command, scenario)


@pytest.mark.parametrize(("fidelity", "loads"), [("hybrid", False), ("flow", True)])
def test_runs_with_flows_alone_load_simgrid(scenario, fidelity, loads):
    given = json.dumps(resolved(scenario, fidelity))
    assert loads_simgrid(SIMULATION, given=given) is loads


def test_manifests_name_simgrid_only_where_it_computes(scenario):
    hybrid, flow = resolved(scenario, "hybrid"), resolved(scenario, "flow")
    assert "simgrid" not in hybrid["versions"]
    assert not hybrid["engine_options"]
    assert flow["versions"] == {**hybrid["versions"], "simgrid": "4.1"}
    assert flow["engine_options"]["network/model"] == "CM02"


def test_a_run_with_flows_says_how_to_build_simgrid_where_it_is_not(
    scenario, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(child, "simgrid_file", lambda: tmp_path / "_simgrid.so")
    job = {"resolved": resolved(scenario, "flow"), "repetition": 0, "first_index": None}
    out = tmp_path / "out"
    assert child.perform({**job, "out_dir": str(out)}, print) == 5
    assert "needs SimGrid, which is not built: run `make simgrid`" in capsys.readouterr().err
    assert not out.exists()
