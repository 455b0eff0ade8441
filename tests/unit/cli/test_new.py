"""`pocketsim new`: what it writes is valid, runs and explains itself; nothing is overwritten."""

import itertools
import os
import re
import tomllib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from pocketsim.api.documents import catalog, schema, templates
from pocketsim.sim.run.sweep import load_sweep
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.toml"))


def led_to(path):
    """Return the schema that the first line of a document leads to."""
    line, _, _ = path.read_text().partition("\n")
    url = urlsplit(line.removeprefix("#:schema "))
    assert url.scheme == "file"
    return Path(unquote(url.path))


def test_new_scenario_is_valid_and_names_its_schema(cli, tmp_path):
    done = cli("new", "mine")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["mine.toml", "mine_sweep.toml"] == files(tmp_path)
    assert done.stderr == "next: pocketsim run mine.toml\n"
    checked = cli("check", *done.stdout.split())
    assert (checked.returncode, checked.stderr) == (0, "mine.toml: ok\nmine_sweep.toml: ok\n")
    assert led_to(tmp_path / "mine.toml") == schema.file("scenario")
    assert led_to(tmp_path / "mine_sweep.toml") == schema.file("sweep")
    texts = [path.read_text() for path in tmp_path.glob("*.toml")]
    assert not any(templates.TEMPLATE.stem in text for text in texts)


@pytest.mark.engine
def test_new_scenario_runs_and_its_sweep_reuses_the_runs(cli, tmp_path):
    cli("new", "mine")
    done = cli("run", "mine.toml")
    assert done.returncode == 0, done.stderr
    directories = set(done.stdout.splitlines())
    assert len(directories) == 3
    shard = cli("sweep", "run", "mine_sweep.toml", "--shard", "3/6")
    assert shard.returncode == 0, shard.stderr
    assert set(shard.stdout.splitlines()) == directories, "the scenario's own loss and seed"


def test_every_value_of_the_template_is_explained():
    keys = []
    for path in templates.TEMPLATE.parent.iterdir():
        lines = [line for line in path.read_text().splitlines() if line]
        for before, line in itertools.pairwise(lines):
            if not line.startswith(("#", "[")):
                key = line.partition(" =")[0]
                keys.append(key)
                # What one comment explains stands together: up and down.
                assert before.startswith(("#", "[axes]")) or key == "down", line
    assert len(keys) >= 18


@pytest.mark.parametrize("name", list(catalog.files("scenario")))
def test_a_copy_of_what_is_shipped_is_the_same(tmp_path, name):
    own, sweep = templates.texts(tmp_path, "copy", name)
    (tmp_path / "copy.toml").write_text(own)
    (tmp_path / "copy_sweep.toml").write_text(sweep)
    shipped = catalog.files("scenario")[name]
    text = shipped.read_text()
    # Files of data are named from the new folder.
    for data in shipped.parent.glob("[!.]*"):
        if data.suffix != ".toml":
            there = os.path.relpath(data, tmp_path)
            text = re.sub(rf'"{re.escape(data.name)}(?=[":])', f'"{there}', text)
    assert tomllib.loads(own) == tomllib.loads(text)
    assert own.partition("\n")[2] == text.partition("\n")[2]
    assert len(load_sweep(tmp_path / "copy_sweep.toml", tmp_path / "runs").points) == 2


def test_a_copy_elsewhere_names_the_same_profiles(cli, tmp_path, scenario):
    profile = catalog.files("device")["moto_g04s"]
    (tmp_path / "own.toml").write_text(profile.read_text())
    scenario.write_text(scenario.read_text().replace('"moto_g04s"', '"own.toml"'))
    done = cli("new", "studies/there/first", "--from", scenario)
    assert done.returncode == 0, done.stderr
    copy = load(tmp_path / "studies/there/first.toml")
    found, before = (
        [{**rung.resolved, "scenario": "", "title": ""} for rung in resolve(document)]
        for document in (copy, load(scenario))
    )
    assert found == before
    assert len(load_sweep(tmp_path / "studies/there/first_sweep.toml", tmp_path).points) == 2


@pytest.mark.parametrize("there", ["mine.toml", "mine_sweep.toml"])
@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_existing_files_are_not_overwritten(cli, tmp_path, there, kind):
    path = tmp_path / there
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("nowhere")
    done = cli("new", "mine")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{there}: is there already; nothing is overwritten\n"
    assert list(tmp_path.iterdir()) == [path]
    assert kind != "file" or path.read_text() == "mine"


@pytest.mark.parametrize("name", ["", ".", "..", "a b", 'a"b', "a\nb", "-a", "folder/..", ".toml"])
def test_invalid_name_is_exit_2(cli, tmp_path, name):
    done = cli("new", "--", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("NAME: ")
    assert list(tmp_path.iterdir()) == []


def test_suggested_command_can_be_pasted(cli):
    assert cli("new", "my studies/first").stderr == "next: pocketsim run 'my studies/first.toml'\n"


def test_name_may_have_the_suffix(cli, tmp_path):
    assert cli("new", "v1.2.toml").stdout.split() == ["v1.2.toml", "v1.2_sweep.toml"]


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("udp_100", "no scenario that comes with the package has this name"),
        ("bad.toml", "bad.toml: run.sed: unknown key (did you mean seed?)"),
        ("lost.toml", "lost.toml: devices[0].profile: no such file"),
        ("rate.toml", "rate.toml: is a sweep"),
    ],
)
def test_unknown_base_is_exit_2(cli, tmp_path, scenario, base, said):
    text = scenario.read_text()
    (tmp_path / "bad.toml").write_text(text.replace("seed", "sed"))
    (tmp_path / "lost.toml").write_text(text.replace('"moto_g04s"', '"gone.toml"'))
    (tmp_path / "rate.toml").write_text('[sweep]\nscenario = "small.toml"\n')
    before = files(tmp_path)
    done = cli("new", "mine", "--from", base)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert files(tmp_path) == before


def test_a_run_directory_is_not_written_to(cli, tmp_path):
    run = tmp_path / "runs" / "one"
    run.mkdir(parents=True)
    for name in ("metrics.json", "resolved.json", "events.parquet"):
        (run / name).touch()
    done = cli("new", "runs/one/mine")
    assert done.returncode == 2
    assert files(tmp_path) == []
