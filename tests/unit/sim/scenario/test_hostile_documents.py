"""Documents from strangers: cut, damaged, of a later schema, or with values that nobody means.

Whatever is in one, a reader returns what it says or raises a UserError with file and reason: no
traceback, no terminal codes, no page of text. What is read must then be usable as what it is.
"""

from __future__ import annotations

import copy
import json
import tempfile
import tomllib
from pathlib import Path

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pocketsim.calibration.fit import probe_report, split
from pocketsim.calibration.fit.calibration import Calibration
from pocketsim.calibration.fit.write import write_profile
from pocketsim.calibration.inverse import document as fit_document
from pocketsim.calibration.inverse import key_paths
from pocketsim.sim.base.documents import key_path
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.devices import implementation, profile
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

ROOT = Path(__file__).resolve().parents[4]
PROFILES = ROOT / "pocketsim/calibration/profiles"
SCENARIO = """
implementation = "{implementation}"
run = {{ seed = 7, duration = "1s" }}
devices = [{{ profile = "{device}", count = 2, access = "wifi" }}]
network = {{ access = {{ wifi = {{ up = "40Mbps", down = "40Mbps", latency = "1ms" }} }} }}
workload = {{ kind = "paced", rate = "4/s", payload = "100B" }}
transport = {{ mode = "{mode}" }}
"""
LONGEST_CHARACTERS = 2000  # of what is said of one mistake


def read_device(path):
    found = profile.load(path)
    write_profile(found, path.with_name("written.toml"))
    play(path, PROFILES / "implementations/trustchain_latency_2025.toml", "quic_keep")


def read_implementation(path):
    implementation.load(path)
    play(PROFILES / "devices/moto_g04s.toml", path, "udp")


def read_keeping(path):
    implementation.load(path)
    play(PROFILES / "devices/moto_g04s.toml", path, "quic_keep")


def play(device, program, mode):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario.toml"
        path.write_text(SCENARIO.format(device=device, implementation=program, mode=mode))
        for rung in resolve(load(path)):
            build_plan(rung.resolved, 0)


def read_report(path):
    base = profile.load(PROFILES / "devices/moto_g04s.toml")
    calibration = Calibration(("moto_g04s", base), allow_spoiled=True)
    calibration.fit([probe_report.load(path)])
    write_profile(calibration.profile_, path.with_name("written.toml"))


def read_fit(path):
    key_paths.read(fit_document.load(path))


def read_scenario(path):
    for rung in resolve(load(path)):
        build_plan(rung.resolved, 0)


READERS = {
    "device": (read_device, PROFILES / "devices/moto_g04s.toml"),
    "implementation": (read_implementation, PROFILES / "implementations/kotlin_ipv8_2023.toml"),
    "kept": (read_keeping, PROFILES / "implementations/trustchain_latency_2025.toml"),
    "report": (read_report, ROOT / "tests/reports/linux_vm.json"),
    "old profile": (split.split, ROOT / "tests/support/profile_0_1.toml"),
    "fit": (read_fit, ROOT / "pocketsim/calibration/fits/latency.toml"),
    "scenario": (read_scenario, ROOT / "pocketsim/scenarios/throughput/iroh_reconnect_100b.toml"),
}


def refused_or_read(name, content):
    """Read `content` as what `name` says; whatever is refused is refused well."""
    read, example = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"hostile{example.suffix}"
        path.write_bytes(content)
        try:
            read(path)
        except UserError as error:
            refused = error
        else:
            return None
    said = str(refused)
    assert refused.exit_code == 2, said
    assert "hostile" in said or "scenario.toml" in said, said
    assert said.isprintable(), said
    assert len(said) < LONGEST_CHARACTERS, said
    return said


def original(name):
    return READERS[name][1].read_bytes()


def tree(name):
    content = original(name)
    return json.loads(content) if name == "report" else tomllib.loads(content.decode())


def text_of(name, data):
    if name == "report":
        return json.dumps(data).encode()
    return tomli_w.dumps(data).encode()


def paths_in(value, path=()):
    """Yield the path of every value within one, tables and lists, too."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from paths_in(item, (*path, key))


def deep(levels):
    found = []
    for _ in range(levels):
        found = [found]
    return found


VALUES = st.one_of(
    st.sampled_from(
        [
            *(True, -1, 0, 1, 2**53, 2**63, -(2**63), 10**40, 1e308, -1e308, 5e-324),
            *(float("nan"), float("inf"), -0.0, 0.5, 1.0, 1.5),
            *("", " ", "0", "-5ms", "1e400s", "1e-400s", "nan", "infs", "5 parsecs", "1e308ms"),
            *(
                "1ms",
                "3/h",
                "64KiB",
                "9" * 5000 + "ms",
                "x" * 70_000,
                "\x1b[2J\x07",
                "a\nb",
                "../..",
            ),
            *([], {}, [[]], {"": ""}, {"basis": "measured"}, deep(60), ["1ms"] * 3000),
        ]
    ),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40),
)
HOSTILE = VALUES.map(copy.deepcopy)  # a document may be altered within what was put into it
KEYS = st.one_of(
    st.sampled_from(["value", "cpu", "basis", "schema_version", "standard_error", "quic_keep", ""]),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20),
)
SOME = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def damage(draw, name):
    """Draw the bytes of a document that was cut, or has bytes exchanged, doubled or inserted."""
    content = original(name)
    at = draw(st.integers(0, len(content)))
    kind = draw(st.sampled_from(["cut", "exchange", "insert", "repeat"]))
    if kind == "cut":
        return content[:at]
    if kind == "repeat":
        return content[:at] + content[draw(st.integers(0, at)) :]
    inserted = draw(
        st.one_of(st.binary(max_size=8), st.sampled_from([b"\n", b'"', b"[[", b"\xff"]))
    )
    return content[:at] + inserted + content[at + (len(inserted) if kind == "exchange" else 0) :]


@st.composite
def altered(draw, name):
    """Draw a document of which one to three values are gone, renamed, new or hostile."""
    data = tree(name)
    for _ in range(draw(st.integers(1, 3))):
        every = list(paths_in(data))
        *tables, last = draw(st.sampled_from(every))
        inside = data
        for part in tables:
            inside = inside[part]
        kind = draw(st.sampled_from(["hostile", "hostile", "gone", "new", "moved"]))
        if kind == "hostile":
            inside[last] = draw(HOSTILE)
        elif kind == "gone":
            del inside[last]
        elif isinstance(inside, list):
            inside.append(draw(HOSTILE))
        elif kind == "new":
            inside[draw(KEYS)] = draw(HOSTILE)
        else:
            inside[draw(KEYS)] = inside.pop(last)
    return text_of(name, data)


@pytest.mark.parametrize("name", READERS)
def test_the_originals_are_read(name):
    assert refused_or_read(name, original(name)) is None
    assert refused_or_read(name, text_of(name, tree(name))) is None


@pytest.mark.slow
@pytest.mark.parametrize("drawn", [damage, altered])
@pytest.mark.parametrize("name", READERS)
def test_invalid_documents_are_refused_in_one_line(name, drawn):
    @SOME
    @given(drawn(name))
    def check(content):
        refused_or_read(name, content)

    check()


@pytest.mark.parametrize("name", READERS)
def test_no_beginning_of_a_document_is_one(name):
    content = original(name).rstrip()
    if name == "report":
        cuts = range(0, len(content), len(content) // 40)
    else:
        # Of TOML a beginning may be a whole document: within a quoted text none is.
        cuts = [at + 1 for at, byte in enumerate(content) if byte == ord('"')][:40:2]
    for cut in cuts:
        assert refused_or_read(name, content[:cut]) is not None, content[:cut][-80:]


def test_a_later_report_says_which_version_is_read():
    data = tree("report")
    for version in (data["schema_version"] + 1, 0, "1", None, 1e9):
        said = refused_or_read("report", text_of("report", {**data, "schema_version": version}))
        assert said is not None
        assert "schema_version" in said
        assert f"version {data['schema_version']}" in said or "integer" in said


@pytest.mark.parametrize("name", ["a\nb = 1", "a\r\n[device]", "\x1b[2J", "\x7f", "\u2028"])
def test_no_name_of_a_phone_gets_out_of_its_line(name):
    data = tree("report")
    data["device"] |= {"model": name, "manufacturer": name}
    assert refused_or_read("report", text_of("report", data)) is None
    data = tree("device")
    data["device"]["name"] = name
    assert refused_or_read("device", text_of("device", data)) is None


@pytest.mark.parametrize("name", ["device", "implementation", "fit", "scenario"])
def test_a_key_of_a_later_schema_is_named(name):
    data = copy.deepcopy(tree(name))
    table = data.get("device") or data.get("implementation") or data.get("run") or data
    table = table if isinstance(table, dict) else data
    table["a_later_key"] = 1
    said = refused_or_read(name, text_of(name, data))
    assert said is not None
    assert "a_later_key" in said


@SOME
@given(
    st.one_of(
        st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40),
        st.sampled_from(list(paths_in(tree("scenario")))).map(key_path),
        st.sampled_from(["devices[" + "9" * 5000 + "].count", "[]", "=", "run", "devices", "."]),
    ),
    HOSTILE.map(str),
)
def test_hostile_overrides_are_refused_in_a_line(key, value):
    try:
        for rung in resolve(load(READERS["scenario"][1], [f"{key}={value}"])):
            build_plan(rung.resolved, 0)
    except UserError as error:
        refused = error
    else:
        return
    assert str(refused).isprintable()
    assert len(str(refused)) < LONGEST_CHARACTERS
