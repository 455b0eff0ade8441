"""`bench/own_points.py`: commands of the docs, predictions before trades, and its bars.

The probe is one that makes up what it says, at once.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))  # scripts, not a package

import own_points  # noqa: E402

PROFILES = (ROOT / "docs" / "profiles.md").read_text()
RECIPE = PROFILES.split("### A trade on one computer, predicted")[1].split("\n### ")[0]
NOTEBOOK = ROOT / "pocketsim" / "notebooks" / "05_close_the_loop.ipynb"
PROBE = ROOT / "tests" / "support" / "fake_probe.py"


def blocks(language, text):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def making_profiles(text):
    """Return the commands of the first block of a shell but for the last, which runs."""
    return [line for line in blocks("sh", text)[0].splitlines() if "pocketsim run" not in line]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own_points")
    log = folder / "calls"
    log.touch()
    command = [sys.executable, ROOT / "bench" / "own_points.py", "--probe", PROBE, "-o", folder]
    command += ["--carriers", "udp", "--rates", "37", "100", "--duration", "1"]
    command += ["--repetitions", "1", "--no-bar"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.engine
def test_own_points_are_predicted_before_any_is_traded(printed):
    commands = [line for line in printed.splitlines() if line.startswith("$ ")]
    predicting = [number for number, line in enumerate(commands) if "pocketsim run" in line]
    trading = [number for number, line in enumerate(commands) if " trade " in line]
    assert len(predicting) == 2
    assert max(predicting) < min(trading)


@pytest.mark.engine
def test_own_points_are_made_by_the_commands_of_the_docs(printed):
    said = printed.replace(str(PROBE), "probe").replace(" --quiet", "")
    assert all(f"$ {command}\n" in said for command in making_profiles(RECIPE))


def test_the_notebook_has_the_commands_of_the_docs():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    assert making_profiles(text) == making_profiles(RECIPE)


def test_own_points_simulate_the_scenario_of_the_docs():
    (documented,) = blocks("toml", RECIPE)
    ours = own_points.SCENARIO.format(
        carrier="udp", rate_per_s=37, payload_bytes=100, duration_s=5.0, repetitions=3
    )
    assert tomllib.loads(ours) == tomllib.loads(documented)


@pytest.mark.parametrize(
    ("rtt_ms", "success", "met"),
    [(1.1, 0.95, True), (1.2, 0.95, False), (1.1, 0.85, False)],
)
def test_own_points_have_bars_for_round_trips_and_success(rtt_ms, success, met):
    predicted = {"a": own_points.Figures(rtt_ms, success), "b": own_points.Figures(rtt_ms, 1.0)}
    measured = dict.fromkeys("ab", own_points.Figures(1.0, 1.0))
    assert own_points.judge(predicted, measured) is met
