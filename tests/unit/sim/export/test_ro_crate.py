"""A crate of runs has what RO-Crate 1.1 and the Process Run Crate profile 0.5 demand."""

import hashlib
import json
from datetime import date

import pytest
from rocrate.rocrate import ROCrate
from typer.testing import CliRunner

import pocketsim as ps
from pocketsim import testing
from pocketsim.cli import app
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.export import ro_crate
from pocketsim.sim.scenario.resolved import digest

DAY = date(2026, 1, 2)
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"


@pytest.fixture
def runs(tmp_path):
    """Two runs, whose names and values are awkward in an address."""
    return [
        testing.run_dir(
            tmp_path / "runs",
            testing.resolved("a town", rate, repetitions=1),
            testing.Shape(),
            {"x.name": {"value": "<b> & #1", "unit": ""}},
        )
        for rate in (4.0, 8.0)
    ]


@pytest.fixture
def crate(runs, tmp_path):
    ro_crate.write(runs, tmp_path / "crate", DAY)
    return tmp_path / "crate"


def graph(crate):
    whole = json.loads((crate / "ro-crate-metadata.json").read_text())
    assert whole["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    found = {one["@id"]: one for one in whole["@graph"]}
    assert len(found) == len(whole["@graph"]), "each entity is there once"
    return found


def of_type(crate, kind):
    return [one for one in graph(crate).values() if one["@type"] == kind]


def references(value):
    if isinstance(value, dict) and set(value) == {"@id"}:
        yield value["@id"]
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from references(one)


def test_the_descriptor_names_the_root_and_the_version(crate):
    about = graph(crate)["ro-crate-metadata.json"]
    assert about["@type"] == "CreativeWork"
    assert about["about"] == {"@id": "./"}
    assert about["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}


def test_the_root_has_what_it_must_have(crate):
    found = graph(crate)
    root = found["./"]
    assert root["@type"] == "Dataset"
    assert root["datePublished"] == "2026-01-02"
    assert root["name"]
    assert root["description"]
    assert "states no licence" in found[root["license"]["@id"]]["description"]
    assert root["conformsTo"] == {"@id": PROFILE}
    assert (found[PROFILE]["@type"], found[PROFILE]["version"]) == ("CreativeWork", "0.5")


def test_every_reference_leads_somewhere(crate):
    found = graph(crate)
    outside = {"https://w3id.org/ro/crate/1.1"}
    assert {to for one in found.values() for to in references(list(one.values()))} <= {
        *found,
        *outside,
    }


def test_each_run_is_an_action_of_the_program(crate, runs):
    found = graph(crate)
    actions = of_type(crate, "CreateAction")
    assert [{"@id": one["@id"]} for one in actions] == found["./"]["mentions"]
    assert len(actions) == 2
    for action, run in zip(actions, runs, strict=True):
        program = found[action["instrument"]["@id"]]
        resolved = json.loads((run / "resolved.json").read_text())
        assert program["@type"] == "SoftwareApplication"
        assert program["softwareVersion"] == resolved["versions"]["pocketsim"]
        assert program["license"] == {"@id": "https://spdx.org/licenses/Apache-2.0"}
        inputs = [found[one["@id"]] for one in action["object"]]
        results = [found[one["@id"]]["name"] for one in action["result"]]
        assert "resolved.json" in [one["name"] for one in inputs]
        assert {"run.seed", "workload.rate", "x.name"} <= {one["name"] for one in inputs}
        assert {"events.parquet", "metrics.json", "manifest.json"} <= set(results)
        assert not {"startTime", "endTime"} & set(action)


def test_files_are_all_there_with_their_digests_and_the_runs_as_they_were(crate, runs):
    whole = ROCrate(crate)  # its addresses are decoded as any reader does
    described = {one.id for one in whole.get_entities() if one.type == "File"}
    there = [path for path in crate.rglob("*") if path.is_file() and path.name != ro_crate.METADATA]
    assert len(described) == len(there) == sum(1 for run in runs for _ in run.iterdir())
    for path in there:
        name = path.relative_to(crate).as_posix().replace(" ", "%20")
        one = whole.get(name)
        assert one["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest(), name
        assert one["contentSize"] == str(path.stat().st_size)
        original = next(run for run in runs if run.name == path.parent.name) / path.name
        assert original.read_bytes() == path.read_bytes()
    assert ps.load(crate).to_frame().shape[0] == 2


def test_a_run_has_the_digest_that_names_it(crate, runs):
    found = graph(crate)
    values = [found[one["identifier"]["@id"]] for one in found.values() if "identifier" in one]
    resolved = [json.loads((run / "resolved.json").read_text()) for run in runs]
    assert [one["value"] for one in values] == [digest(one) for one in resolved]


def test_the_same_runs_and_day_give_the_same_bytes(runs, crate, tmp_path):
    ro_crate.write(runs, tmp_path / "again", DAY)
    files = [one.relative_to(crate) for one in crate.rglob("*") if one.is_file()]
    for file in files:
        assert (crate / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


@pytest.mark.parametrize(
    ("named", "address"),
    [
        ("CC-BY-4.0", "https://spdx.org/licenses/CC-BY-4.0"),
        ("https://example.org/terms", "https://example.org/terms"),
    ],
)
def test_a_licence_is_an_identifier_or_an_address(runs, tmp_path, named, address):
    ro_crate.write(runs[:1], tmp_path / "crate", DAY, named)
    assert graph(tmp_path / "crate")["./"]["license"] == {"@id": address}


def test_another_licence_is_refused_and_nothing_written(runs, tmp_path):
    with pytest.raises(ScenarioError, match="no SPDX identifier and no address"):
        ro_crate.write(runs, tmp_path / "crate", DAY, "do what you like")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_damaged_run_is_refused_and_nothing_written(runs, tmp_path):
    (runs[1] / "resolved.json").write_text("{}")
    with pytest.raises(ScenarioError, match="made by another version"):
        ro_crate.write(runs, tmp_path / "crate", DAY)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def call(*arguments):
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_the_command_takes_a_run_or_a_folder_and_needs_a_new_one(runs, tmp_path, monkeypatch):
    for source, count in ((runs[0], 1), (tmp_path / "runs", 2)):
        out = tmp_path / f"crate_{count}"
        done = call(source, "--to", "ro-crate", "-o", out)
        assert (done.exit_code, done.stdout) == (0, f"{out}\n"), done.exception
        assert len(of_type(out, "CreateAction")) == count
    for place, source in ((runs[0], "."), (runs[0].parent, runs[0].name)):
        monkeypatch.chdir(place)
        out = tmp_path / f"crate_of_{len(source)}"
        assert call(source, "--to", "ro-crate", "-o", out).exit_code == 0
        (only,) = (path.parent for path in out.rglob("manifest.json"))
        assert only.relative_to(out).parts == runs[0].parts[-2:]
    again = call(runs[0], "--to", "ro-crate", "-o", tmp_path / "crate_1")
    assert "is there already; name a new folder" in str(again.exception)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "ro-crate"], "a crate is a folder of files"),
        (["--to", "ro-crate", "-o", "x", "--repetition", 0], "a crate has whole runs"),
        (["--to", "json", "--licence", "CC0-1.0"], "is of a crate alone"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(runs, options, said, tmp_path):
    assert said in str(call(runs[0], *options).exception)


def test_a_crate_is_not_written_into_a_run(runs):
    done = call(runs[0], "--to", "ro-crate", "-o", runs[1] / "crate")
    assert "never written to again" in str(done.exception)
    assert not (runs[1] / "crate").exists()
