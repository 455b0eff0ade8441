"""Documents as they come: what is no document is refused by name, and in the user's words."""

import json
import math
import os
import threading
import tracemalloc

import pytest
from pydantic import ValidationError

import pocketsim.calibration.fit.probe_report
import pocketsim.calibration.inverse.document
import pocketsim.sim.devices.implementation
import pocketsim.sim.devices.profile
import pocketsim.sim.run.sweep
import pocketsim.sim.scenario
from pocketsim.sim.base import documents, files
from pocketsim.sim.base.errors import ScenarioError

NINES = "9" * 5000
DEEP = 1000

# By file name: what is in it, and what is said about it.
NO_DOCUMENTS = {
    "deep.toml": (f"a = {'[' * DEEP}{']' * DEEP}", "is nested too deeply"),
    "deeper.toml": (f"a = {'[' * 100_000}{']' * 100_000}", "is nested too deeply"),
    "dotted.toml": (f"{'a.' * DEEP}a = 1", "is nested too deeply"),
    "deep.json": (f'{{"a": {"[" * DEEP}{"]" * DEEP}}}', "is nested too deeply"),
    "deeper.json": (f'{{"a": {"[" * 100_000}{"]" * 100_000}}}', "is nested too deeply"),
    "long.toml": (f"a = {NINES}", "has a number of thousands of digits"),
    "long.json": (f'{{"a": {NINES}}}', "has a number of thousands of digits"),
    "hexadecimal.toml": (f"a = [0, 0x{NINES}]", "a[1]: takes more than 64 bits"),
    "large.toml": ("#" * (16 << 20) + "\n", "is larger than 16 MiB, which no document is"),
}


def read(path):
    with pytest.raises(ScenarioError) as caught:
        (documents.read_json if path.suffix == ".json" else documents.read_toml)(path)
    return str(caught.value)


@pytest.mark.parametrize("name", NO_DOCUMENTS)
def test_documents_beyond_the_limits_are_refused(tmp_path, name):
    text, reason = NO_DOCUMENTS[name]
    path = tmp_path / name
    path.write_text(text)
    said = read(path)
    assert said.startswith(f"{path}: ")
    assert said.endswith(reason)
    assert len(said) < 400 + len(str(path))


def test_only_files_and_pipes_are_documents(tmp_path):
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "folder.toml").mkdir()
    assert read(tmp_path / "zero.toml").endswith("zero.toml: is neither a file nor a pipe")
    assert read(tmp_path / "loop.toml").endswith("loop.toml: too many levels of symbolic links")
    assert read(tmp_path / "folder.toml").endswith("folder.toml: is a directory")
    assert read(tmp_path / "a\0b.toml").endswith("a\\x00b.toml: no such file")


def test_a_pipe_is_read_to_its_end(tmp_path):
    path = tmp_path / "pipe.toml"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("a = 1\r\nb = 2\n",))
    writer.start()
    text, data = documents.read_toml(path)
    writer.join()
    assert (text, data) == ("a = 1\nb = 2\n", {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("given", "there", "hint"),
    [
        ("nothere.toml", ["share.toml", "other.json"], None),
        ("smal.toml", ["small.toml", "smell.toml"], "small.toml"),
        ("small.tml", ["small.toml"], "small.toml"),
        ("r3.json", ["r2.json", "x.json"], "r2.json"),
        ("a.toml", ["b.toml"], None),
        ("gone.toml", ["gone.toml"], None),
        ("runs.toml", ["runs/"], None),
    ],
)
def test_missing_file_suggests_one_of_a_similar_name(tmp_path, given, there, hint):
    for name in there:
        if name == given:  # it dangles, so it is no file to name
            (tmp_path / name).symlink_to(tmp_path / "nowhere")
        elif name.endswith("/"):
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).touch()
    said = read(tmp_path / given)
    expected = f" (did you mean {tmp_path / hint}?)" if hint else ""
    assert said == f"{tmp_path / given}: no such file{expected}"


def sections(base=documents.Section):
    """Every model of every document that is shipped.

    Their modules are imported above, all of them: else what is looked at would depend on what
    other tests have imported.
    """
    for model in base.__subclasses__():
        yield model
        yield from sections(model)


SECTIONS = sorted(set(sections()), key=str)
WRONG = (
    *(None, True, -1, 0, 3, 10**18, 0.5, -0.5, 1e300, math.nan, math.inf, "", "x", "x" * 5000),
    *([], [None], [[]], [-1], [0.5], [""], ["x"] * 300, [0.5] * 2000, {}, {"": 0}, {"x": None}),
    *({"x": []}, {"x": -1}, {"x": {"y": "z"}}, {"kind": "x"}, [{"kind": 5}], "2025-13-01"),
)


def complaints(model):
    """What pydantic says about wrong values in each field."""
    for name, field in model.model_fields.items():
        for value in WRONG:
            data = {field.alias or name: value}
            try:
                model.model_validate(data)
            except ValidationError as error:
                for details in error.errors():
                    yield data, details


def test_all_models_of_documents_are_checked():
    names = {f"{model.__module__.split('.')[1]}.{model.__name__}" for model in SECTIONS}
    assert {"sim.Scenario", "sim.SweepDocument", "sim.Profile"} <= names
    assert {"calibration.Document", "sim.Town"} & names
    assert len(SECTIONS) > 50
    assert pocketsim.calibration.inverse.document.Parameter in SECTIONS
    assert pocketsim.sim.scenario.document.Scenario in SECTIONS


@pytest.mark.parametrize("model", SECTIONS, ids=lambda model: model.__name__)
def test_messages_of_pydantic_are_translated(model):
    for data, details in complaints(model):
        error = documents._translate(details, data, "a.toml")
        ours = details["type"] in {
            "unknown_key",
            "missing",
            "value_error",
            "union_tag_not_found",
        } or error.reason.startswith(("must be ", "must have ", "must not be ", "should be "))
        assert ours, details
        for raw in ("nput should", "ist should", "tring should", "ictionary should", "validation"):
            assert raw not in error.reason, details
        assert len(str(error)) < 700, details


def test_a_name_that_no_parameter_may_have_is_refused_with_what_it_may_be():
    given = {"document": "a.toml", "key": "b", "name": "Sleep"}
    with pytest.raises(ScenarioError) as caught:
        documents.validate(pocketsim.calibration.inverse.document.Parameter, given, "fit.toml")
    said = "fit.toml: name: must be text that matches ^[a-z][a-z0-9_]*$, not 'Sleep'"
    assert str(caught.value) == said


def test_lengths_are_said_as_a_person_would(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text('[sweep]\nscenario = ""\n')
    with pytest.raises(ScenarioError, match=r"sweep\.scenario: must not be empty$"):
        pocketsim.sim.run.sweep.load_sweep(path, tmp_path)
    path.write_text('[sweep]\nscenario = "a.toml"\n[axes]\n"workload.rate" = []\n')
    with pytest.raises(ScenarioError, match=r"axes\.workload\.rate: must not be empty$"):
        pocketsim.sim.run.sweep.load_sweep(path, tmp_path)


def test_a_large_value_is_cut_in_the_middle(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"schema_version": 1, "made": "x" * 1_000_000}))
    with pytest.raises(ScenarioError) as caught:
        pocketsim.calibration.fit.probe_report.load(path)
    assert "must be a table, not 'xxx" in str(caught.value)
    assert "...(1000002 characters)...xxx" in str(caught.value)
    assert len(str(caught.value)) < 300 + len(str(path))


def test_profiles_are_bounded_as_scenarios_are():
    assert pocketsim.sim.devices.profile.read_toml is documents.read_toml is files.read_toml


def test_the_memory_of_a_check_does_not_grow_with_keys_times_values(tmp_path):
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps({"k" * 2**20: [0] * 3000}))
    tracemalloc.start()
    documents.read_json(path)
    _, most_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most_bytes < 50e6  # with the place of each value spelled out it is 3 GB


def test_where_a_refused_value_stands_is_spelled_out(tmp_path):
    path = tmp_path / "large.json"
    path.write_text('{"a": {"b": [0, {"c": 99999999999999999999}]}}')
    with pytest.raises(ScenarioError) as caught:
        documents.read_json(path)
    assert caught.value.key_path == "a.b[1].c"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_documents_are_read_as_editors_of_windows_leave_them(tmp_path, encoding):
    told = {"name.toml": 'a = "\u20ac"\r\nb = 1\r\n', "name.json": '{"a": "\u20ac",\r\n"b": 1}'}
    for name, text in told.items():
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        reader = documents.read_toml if path.suffix == ".toml" else documents.read_json
        assert reader(path)[1] == {"a": "\u20ac", "b": 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("a = 1\n".encode("utf-16-le"), "is UTF-16 without a mark, or no text; save it as UTF-8"),
        ('a = "caf\xe9"\n'.encode("cp1252"), "not UTF-8 text (byte 8); save it as UTF-8"),
    ],
)
def test_text_that_is_not_utf_8_is_named_for_what_it_is(tmp_path, data, reason):
    for name in ("a.toml", "a.json"):
        (tmp_path / name).write_bytes(data)
        assert reason in read(tmp_path / name)
