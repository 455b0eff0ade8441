"""Faults of the theses' kept connection act in their experiment, elsewhere only when asked for."""

import math

import pytest

from pocketsim.sim.plan import build_plan as building
from pocketsim.sim.scenario import app_faults
from pocketsim.sim.scenario import warnings as of_documents
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans as plans


def warnings(document):
    """Return what is warned of, beside phones that have nothing to do."""
    return [one for one in of_documents.warnings(document) if one[0] != "devices"]


def build_plan(*arguments):
    return plans.lists(building.build_plan(*arguments))


SHIPPED = ("throughput/iroh_keep_100b", "throughput/iroh_keep_128b", "latency/rate")
KEEP = "transport.mode=quic_keep"
POISSON = 'workload={kind="poisson", rate="4/s", payload="100B"}'
NOT_THE_EXPERIMENT = (
    [KEEP, POISSON],
    [KEEP, "devices[0].count=3"],
    [KEEP, "run.duration=26s"],
    [KEEP, "protocol.kind=transfer"],
)


def resolved(path, *overrides):
    return resolve(load(path, overrides))[0].resolved


def faults(resolved):
    """Return whether any of twenty repetitions has a fault of a kept connection."""
    drawn = [build_plan(resolved, repetition)["transport"] for repetition in range(20)]
    times_s = [plan[key] for plan in drawn for key in ("duplicate_dial_s", "connection_break_s")]
    return any(math.isfinite(time_s) for some_s in times_s for time_s in some_s)


@pytest.mark.parametrize("name", SHIPPED)
def test_faults_are_active_in_published_experiments(root, name):
    path = root / f"pocketsim/scenarios/{name}.toml"
    document = load(path)
    assert document.scenario.transport.app_faults is None
    assert app_faults.act(document)
    assert not warnings(document)
    asked = build_plan(resolved(path, KEEP, "transport.app_faults=true"), 0)
    assert build_plan(resolved(path, KEEP), 0) == asked


@pytest.mark.parametrize("overrides", NOT_THE_EXPERIMENT)
def test_faults_are_inactive_elsewhere_by_default(scenario, overrides):
    assert faults(resolved(scenario, KEEP))
    assert not faults(resolved(scenario, *overrides))
    assert not warnings(load(scenario, overrides))


@pytest.mark.parametrize("overrides", NOT_THE_EXPERIMENT)
def test_faults_asked_for_elsewhere_are_warned_of(scenario, overrides):
    overrides = [*overrides, "transport.app_faults=true"]
    assert faults(resolved(scenario, *overrides))
    ((key_path, text),) = warnings(load(scenario, overrides))
    assert key_path == "transport.app_faults"
    assert "two paced phones that trade for 25 s" in text


def test_faults_can_be_switched_off(scenario):
    off = [KEEP, "transport.app_faults=false"]
    assert not faults(resolved(scenario, *off))
    assert not warnings(load(scenario, off))
    # What else is drawn stays as it was.
    with_, without = (build_plan(resolved(scenario, *settings), 0) for settings in ([KEEP], off))
    assert {**with_, "transport": 0} == {**without, "transport": 0}


def test_faults_change_nothing_without_kept_connections(scenario):
    asked = ["transport.app_faults=true", POISSON]
    for mode in ("udp", "quic_reconnect", "tftp"):
        settings = [POISSON, f"transport.mode={mode}"]
        assert resolved(scenario, *settings) == resolved(scenario, *settings, *asked)
        assert not warnings(load(scenario, [*settings, *asked]))


def test_the_command_line_warns_once_and_show_says_whether_they_act(cli, scenario):
    text = scenario.read_text().replace('mode = "udp"', 'mode = ["udp", "quic_keep"]')
    text = text.replace('duration = "2s"', 'duration = "26s"')
    scenario.write_text(text + "app_faults = true\n")
    warning = f"warning: {scenario}: transport.app_faults: kept connections stall and break as"
    for command in (("check", scenario), ("show", scenario), ("run", scenario, "--dry-run")):
        done = cli(*command)
        assert done.returncode == 0
        assert done.stderr.count("warning") == 1
        assert done.stderr.startswith(warning)
        assert cli("-q", *command).stderr == ""
    acts = "kept connections stall and break as often as the implementation says"
    acts += " (transport.app_faults)"
    assert acts in cli("show", scenario).stdout.splitlines()
    done = cli("show", scenario, "--set", "transport.app_faults=false")
    assert done.stderr == ""
    assert "kept connections do not stall or break (transport.app_faults)" in done.stdout
    assert "kept connections" not in cli("show", scenario, "--set", "transport.mode=udp").stdout


def test_a_sweep_warns_once_for_all_of_its_points(cli, scenario, tmp_path):
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        f'[sweep]\nscenario = "{scenario.name}"\n[axes]\n"run.duration" = ["26s", "27s", "28s"]\n'
        '"transport.mode" = ["quic_keep"]\n"transport.app_faults" = [true]\n'
    )
    done = cli("check", sweep)
    assert done.returncode == 0
    assert [line.split(": ")[0] for line in done.stderr.splitlines()] == ["warning", f"{sweep}"]
