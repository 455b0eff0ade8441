"""What somebody writes as "~" is their home folder, on the command line, in Python and in TOML."""

import pytest

import pocketsim as ps
from pocketsim.api.documents.catalog import document_file
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import at_home
from pocketsim.sim.run.sweep import load_sweep
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a home folder; we stand in another."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.usefixtures("fake_engine")
def test_runs_of_python_lie_in_the_home_folder(home, scenario, tmp_path):
    (run,) = ps.run(scenario, {"workload.rate": "4/s"}, out="~/x", progress=False)
    assert run.directory.is_relative_to(home / "x")
    assert [one.directory for one in ps.load("~/x/**")] == [run.directory]
    assert not (tmp_path / "~").exists()


def test_runs_of_the_command_line_lie_in_the_home_folder(home, scenario, fake_cli, tmp_path):
    done = fake_cli("run", scenario, "--out=~/x", "-q", HOME=str(home))
    assert done.returncode == 0, done.stderr
    directories = done.stdout.split()
    assert directories
    assert all(path.startswith(f"{home / 'x'}/") for path in directories)
    assert not (tmp_path / "~").exists()


def test_every_path_of_a_command_may_begin_with_the_home_folder(home, cli):
    (home / "a.csv").write_text("operation\n")
    done = cli("metrics", "~/a.csv", HOME=str(home))
    assert done.stderr.startswith(f"{home / 'a.csv'}: line 1: no column 'timestamp'")
    done = cli("check", "~/none.toml", "~/none_either.toml", HOME=str(home))
    assert f"{home / 'none.toml'}: no such file" in done.stderr
    assert f"{home / 'none_either.toml'}: no such file" in done.stderr


def test_files_of_a_scenario_may_lie_in_the_home_folder(home, scenario_text, tmp_path):
    (home / "on.csv").write_text("phone,on_s,off_s\n0,0,1\n")
    (home / "mine.py").write_text("def count(run):\n    return {}\n")
    (home / "mine.toml").write_text(document_file("moto_g04s", "device").read_text())
    text = scenario_text.replace('"moto_g04s"', '"~/mine.toml"')
    text += '[churn]\nfile = "~/on.csv"\n[output]\nmetrics = ["~/mine.py:count"]\n'
    (tmp_path / "s.toml").write_text(text)
    document = load(tmp_path / "s.toml")
    assert document.tables["churn.file"].path == home / "on.csv"
    assert document.code["output.metrics[0]"].path == home / "mine.py"
    assert "mine" in resolve(document)[0].resolved["profiles"]


def test_scenarios_of_a_sweep_may_lie_in_the_home_folder(home, scenario_text, tmp_path):
    (home / "small.toml").write_text(scenario_text)
    (tmp_path / "sweep.toml").write_text('[sweep]\nscenario = "~/small.toml"\nseed = [1, 2]\n')
    assert len(load_sweep(tmp_path / "sweep.toml", tmp_path).points) == 2


def test_a_home_folder_that_nobody_has_is_refused(home, scenario_text, tmp_path):
    del home
    with pytest.raises(ScenarioError, match="~nobody_is_called_so/x: there is no home folder ~nob"):
        at_home("~nobody_is_called_so/x")
    text = scenario_text + '[churn]\nfile = "~nobody_is_called_so/on.csv"\n'
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path / "s.toml")
    assert caught.value.key_path == "churn.file"
    assert caught.value.file == str(tmp_path / "s.toml")


def test_a_folder_that_is_called_so_is_named_from_here():
    assert str(at_home("./~/x")) == "~/x"
    assert str(at_home("a~b")) == "a~b"
