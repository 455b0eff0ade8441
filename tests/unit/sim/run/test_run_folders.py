"""A scenario's runs lie in a folder of its name, below the folder that was asked for."""

import pytest
from typer.testing import CliRunner

from pocketsim.cli import app
from pocketsim.sim.scenario.load import load


@pytest.mark.parametrize("command", [("check",), ("run", "--out", "runs/mine")])
def test_a_scenario_whose_runs_would_lie_beside_the_folder_asked_for_is_refused(
    tmp_path, monkeypatch, root, command
):
    monkeypatch.chdir(tmp_path)
    text = (root / "pocketsim/scenarios/latency/payload.toml").read_text()
    (tmp_path / "...toml").write_text(text)
    done = CliRunner().invoke(app, [*command, "...toml"])
    assert done.exit_code
    assert 'is called ".." without its suffix' in f"{done.output}{done.exception}"
    assert not (tmp_path / "runs").exists()


def test_a_name_with_other_dots_stays_one(tmp_path, root):
    path = tmp_path / "..a.toml"
    path.write_text((root / "pocketsim/scenarios/latency/payload.toml").read_text())
    assert load(path).path == path
