import json
import os
import re
import select
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pocketsim import sim
from pocketsim.cli import app, doctor
from pocketsim.sim.devices.numbers import numbers

# One of each kind of mistake: the scenario's text, the rest of the line on stderr.
MISTAKES = {
    "unknown key": (
        "payload =",
        "paylaod =",
        "workload.paylaod: unknown key (did you mean payload?)",
    ),
    "no unit": (
        '"2s"',
        '"2"',
        "run.duration: '2' has no unit; a duration takes ns us ms s min h d",
    ),
    "negative": ('"2s"', '"-2s"', "run.duration: '-2s' is negative"),
    "huge": ('"2s"', '"9e9d"', "run.duration: '9e9d' is more than the largest duration, 3660d"),
    "type": ("seed = 7", 'seed = "x"', "run.seed: must be a whole number, not 'x'"),
    "profile": (
        "moto_g04s",
        "moto",
        "devices[0].profile: no device 'moto'; there is moto_g04s, pocophone_f1, thinkpad_l13 ",
    ),
    "toml": (
        "[run]",
        "[run",
        "line 4, column 5: not TOML: expected ']' at the end of a table declaration",
    ),
    "no seed": ("seed = 7\n", "", "run.seed: is required"),
}


def mess(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.suffix != ".toml")


@pytest.mark.parametrize("kind", MISTAKES)
def test_a_mistake_is_one_line_and_exit_2(cli, tmp_path, scenario, kind):
    old, new, line = MISTAKES[kind]
    scenario.write_text(scenario.read_text().replace(old, new, 1))
    done = cli("run", scenario)
    assert done.returncode == 2
    assert done.stdout == ""
    if kind == "profile":
        line = line.removesuffix(" (did you mean moto_g04s?)")
        assert done.stderr.startswith(f"{scenario}: {line}")
    else:
        assert done.stderr == f"{scenario}: {line}\n"
    assert mess(tmp_path) == []


def test_a_missing_file_is_one_line_and_exit_2(cli, tmp_path):
    done = cli("run", tmp_path / "none.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{tmp_path}/none.toml: no such file\n"
    assert mess(tmp_path) == []


def test_a_bad_profile_names_its_own_file(cli, tmp_path, scenario, root):
    own = tmp_path / "own.toml"
    text = (root / "pocketsim/calibration/profiles/devices/moto_g04s.toml").read_text()
    own.write_text(text.replace('standard_error = "25us"\n', "", 1))
    done = cli("run", scenario, "--set", "devices[0].profile=own.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{own}: operations.sign.standard_error: is required\n"
    assert mess(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--set", "workload.rat=1/s"], "--set: workload.rat: unknown key (did you mean rate?)"),
        (["--jobs", "0"], "--jobs"),
        (["--nonsense"], "nonsense"),
    ],
)
def test_usage_is_exit_2(cli, tmp_path, scenario, arguments, expected):
    done = cli("run", scenario, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert mess(tmp_path) == []


def test_run_prints_directories(cli, scenario, tmp_path):
    done = cli("run", scenario)
    assert done.returncode == 0, done.stderr
    directories = done.stdout.splitlines()
    assert len(directories) == 2
    assert all((tmp_path / directory / "metrics.json").is_file() for directory in directories)
    assert done.stderr.startswith("2 ran in ")
    assert cli("run", scenario).stderr.startswith("2 reused in ")


def test_run_json(cli, scenario, tmp_path):
    once = ("run", scenario, "--json", "--set", "run.repetitions=1")
    one = cli(*once, "--set", "workload.rate=4/s", "--out", "x", "--seed", "9")
    assert json.loads(one.stdout)["rung"]["rate_per_s"] == 4
    (directory,) = (tmp_path / "x" / "small").iterdir()
    assert json.loads((directory / "resolved.json").read_text())["run"]["seed"] == 9
    two = json.loads(cli(*once).stdout)
    assert [rung["rung"]["rate_per_s"] for rung in two["rungs"]] == [4, 8]


def test_dry_run_writes_nothing(cli, scenario, tmp_path):
    done = cli("run", scenario, "--dry-run")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2
    assert mess(tmp_path) == []


def test_an_abort_is_exit_1_with_a_replay_line(fake_cli, scenario):
    done = fake_cli("run", scenario, FAKE_ABORT="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert f"the engine says why\nreplay: {sys.executable} " in done.stderr


@pytest.mark.engine
@pytest.mark.parametrize("command", ["run", "doctor"])
def test_modules_in_the_working_directory_are_not_imported(command, tmp_path, root, scenario):
    for module in ("json", "sim/__init__", "numpy/__init__", "simgrid"):
        path = tmp_path / f"{module}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit('taken from the folder of the user')\n")
    arguments = ["run", str(scenario), "--set", "run.repetitions=1"] if command == "run" else []
    # -P as the installed command has it: its own folder is its path, not the user's.
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pocketsim.cli", *(arguments or [command])],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "MISSING" not in done.stdout


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_says_nothing(fake_cli, scenario, tmp_path, option):
    short = (scenario, "--set", "run.repetitions=1")
    (tmp_path / "sweep.toml").write_text('[sweep]\nscenario = "small.toml"\nseed = 8\n')
    for command in (
        (option, "run", *short),
        ("run", option, *short, "--out", "b"),
        ("run", *short, "--out", "c", option),
        ("sweep", "run", "sweep.toml", option),
        ("check", scenario, option),
    ):
        done = fake_cli(*command)
        assert (done.returncode, done.stderr) == (0, "")


def test_verbose_tells_repetitions(fake_cli, scenario):
    short = (scenario, "--set", "workload.rate=4/s")
    for command in (("-v", "run", *short), ("run", *short, "--verbose", "--out", "b")):
        assert "repetition 1 done" in fake_cli(*command).stderr


def test_every_command_says_as_much_as_it_is_asked_to():
    commands = ("run", "check", "show", "doctor", "report", "export", "validate", "calibrate")
    for command in (
        *([name] for name in commands),
        ["metrics"],
        ["calibrate", "published"],
        *(["sweep", name] for name in ("run", "plan", "collect")),
    ):
        said = CliRunner().invoke(app, [*command, "--help"]).stdout
        assert "-q, --quiet" in said, command
        assert "-v, --verbose" in said, command


def test_the_doctor_knows_every_library(root):
    asked = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    names = [re.match(r"[\w-]+", requirement)[0] for requirement in asked]
    assert sorted(doctor._LIBRARIES) == sorted(names)
    assert [doctor._library(name)[2] for name in names] == [""] * len(names)


def test_version(cli):
    assert cli("--version").stdout == f"{sim.__version__}\n"


def test_check_reports_every_file(cli, scenario, tmp_path, root):
    bad = tmp_path / "bad.toml"
    bad.write_text(scenario.read_text().replace("seed = 7", "sed = 7"))
    profile = root / "pocketsim/calibration/profiles/devices/moto_g04s.toml"
    sweep = root / "pocketsim/scenarios/sweeps/rate_by_transport.toml"
    done = cli("check", scenario, bad, profile, sweep)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"{scenario}: ok",
        f"{bad}: run.sed: unknown key (did you mean seed?)",
        f"{profile}: ok",
        f"{sweep}: ok",
    ]
    assert mess(tmp_path) == []


def test_show_tells_the_roles_of_a_town(cli, root):
    shown = cli("show", root / "pocketsim/scenarios/tokens/market.toml").stdout
    assert [line.split()[-1] for line in shown.splitlines()[5:9]] == [
        "person",
        "person",
        "shop",
        "authority",
    ]


def test_show_tells_what_groups_have_of_their_own(cli, root):
    path = root / "pocketsim/scenarios/own_data/rates_by_group.toml"
    file = "devices[0].churn={file='churn.csv', origin='90s'}"
    lines = cli("show", path, "--set", file).stdout.splitlines()
    law = "lognormal median_s={} sigma={}".format
    start = lines.index("devices") + 1
    assert [line.split(maxsplit=3) for line in lines[start : start + 4]] == [
        ["profile", "count", "access", "rate_per_s  churn"],
        ["moto_g04s", "10", "wifi", "churn.csv from 90 s on"],
        ["pocophone_f1", "2", "wifi", "2           always on"],
        [
            *("moto_g04s", "4", "wifi"),
            f"0           session {law('30', '0.5')}; gap {law('120', '1')}",
        ],
    ]
    without = cli("show", path.with_name("churn_file.toml")).stdout.splitlines()
    assert without[without.index("devices") + 1].split() == ["profile", "count", "access"]


def test_show(cli, scenario, tmp_path):
    done = cli("show", scenario)
    assert "moto_g04s" in done.stdout
    rungs = json.loads(cli("show", scenario, "--json").stdout)
    found = [number["basis"] for _, number in numbers(rungs[0]["profiles"]["moto_g04s"])]
    assert f"{found.count('assumed')} assumed, {found.count('fitted')} fitted" in done.stdout
    assert "every_transport" in done.stdout
    assert [rung["rung"]["rate_per_s"] for rung in rungs] == [4, 8]
    assert mess(tmp_path) == []


def test_report_wants_run_directories(cli, tmp_path):
    done = cli("report", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{tmp_path}: not a run directory (no metrics.json)\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_kills_children_and_leaves_nothing(fake_cli, scenario, tmp_path, number):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*fake_cli.command, "run", scenario, "--jobs", "1"],
        cwd=tmp_path,
        env={**fake_cli.environment, "FAKE_HOLD": str(pipe)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # As soon as it runs, and it ends only if it is ended.
    child = os.pidfd_open(int(pipe.read_text()))
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    said = "interrupted; what was complete is kept, the same command goes on from there\n"
    assert stderr == said
    assert select.select([child], [], [], 60)[0], "it lives"
    os.close(child)
    assert list((tmp_path / "runs" / "small").iterdir()) == []
