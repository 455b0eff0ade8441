"""A custom protocol in Rust without the library: what a scenario may name, and is told of."""

import hashlib

import pytest

from pocketsim.sim.base.build import engine_file
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario import custom_library
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

OWN = """
[protocol]
kind = "rust"
library = "libmine.so"
"""
MODULE = b"\x7fELF...PyInit_own_protocol\0..."
OTHER = b"pocketsim engine 0.1.0 of sources 0123456789abcdef;"


@pytest.fixture
def document(scenario):
    """A scenario with a library that would pass for one."""
    text = scenario.read_text().replace('rate = ["4/s", "8/s"]', 'rate = "4/s"')
    scenario.write_text(text + OWN)
    scenario.with_name("libmine.so").write_bytes(library())
    return scenario


def library():
    file = engine_file()
    assert file is not None
    engine = file.read_bytes()
    at = engine.index(b"pocketsim engine ")
    return MODULE + engine[at : engine.index(b";", at) + 1]


def test_a_resolved_scenario_has_the_library_and_its_digest_and_no_folder(document):
    (rung,) = resolve(load(document, ["protocol.options.fanout=3"]))
    protocol = rung.resolved["protocol"]
    assert (protocol["library"], protocol["class"]) == ("libmine.so", None)
    assert protocol["digest"] == hashlib.sha256(library()).hexdigest()
    assert protocol["options"] == {"fanout": 3}
    assert "python" not in rung.resolved["versions"]
    folder = document.parent / "deeper"
    folder.mkdir()
    document.with_name("libmine.so").rename(folder / "libmine.so")
    (moved,) = resolve(
        load(document, ["protocol.library=deeper/libmine.so", "protocol.options.fanout=3"])
    )
    assert moved.name == rung.name


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is no library"),
        (b"#!/bin/sh\n", "is no library"),
        (b"\x7fELF" + OTHER, "is no custom protocol"),
        (MODULE, "is no custom protocol"),
        (MODULE + OTHER, "was built from another engine (0.1.0, sources 0123456789abcdef)"),
    ],
)
def test_a_file_that_the_engine_here_cannot_run_with_is_refused(document, content, reason):
    file = document.with_name("libmine.so")
    file.write_bytes(content)
    with pytest.raises(ScenarioError) as caught:
        load(document)
    assert caught.value.file == str(file)
    assert reason in caught.value.reason


def test_a_library_without_end_is_not_read(document, monkeypatch):
    monkeypatch.setattr(custom_library, "_LARGEST_BYTES", 100)
    document.with_name("libmine.so").write_bytes(library() + bytes(100))
    with pytest.raises(ScenarioError, match="is larger than"):
        load(document)


@pytest.mark.parametrize(
    ("overrides", "key_path", "reason", "suggestion"),
    [
        (["protocol.library=libmin.so"], "protocol.library", "no such file", "libmine.so"),
        (["protocol.kind=transfer"], "protocol.library", 'is for protocol "rust", not "tra', None),
        (["protocol.class=a.py:A"], "protocol.class", 'is for protocol "python", not "rust', None),
        (["operations.hash.cpu=1ms"], "operations.hash", "what a device or an impl", None),
        (["protocol.libary=x"], "protocol.libary", "unknown key", "library"),
        (["transport.mode=none"], "transport.mode", "a trade takes a transport", "udp"),
    ],
)
def test_inconsistent_sections_are_refused(document, overrides, key_path, reason, suggestion):
    with pytest.raises(ScenarioError) as caught:
        load(document, overrides)
    found = caught.value
    assert found.key_path.startswith(key_path)
    assert reason in found.reason
    assert suggestion is None or str(found.suggestion).endswith(suggestion)


def test_a_library_has_to_be_named(document):
    document.write_text(document.read_text().replace('library = "libmine.so"\n', ""))
    with pytest.raises(ScenarioError, match=r"protocol\.library: is required, such as"):
        load(document)


def test_options_and_operations_are_for_protocols_of_ones_own(document):
    text = document.read_text().replace('kind = "rust"\nlibrary = "libmine.so"\n', "")
    document.write_text(text)
    with pytest.raises(ScenarioError, match=r'is for protocol "python" or "rust", not "trustch'):
        load(document, ["protocol.options.x=1"])
