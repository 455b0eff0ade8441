"""`pocketsim profile lint`: each rule bites, shipped profiles are clean or explained."""

import json
import re
from pathlib import Path

import pytest

from pocketsim.api.documents import catalog
from pocketsim.sim.devices import lint, profile

BASE = profile.DEVICES / "thinkpad_l13.toml"
AFTER_PER_BYTE = 'wait = "0s"\nspread_sigma = 0.1\nstandard_error'
# Of each rule a slip: what is replaced (the first of it), by what, and where it is found.
SLIPS = {
    "error_above_value": (
        'standard_error = "3us"\nbasis = "fitted"\nfitted_to = ["F3_verify"]',
        'standard_error = "99us"\nbasis = "fitted"\nfitted_to = ["F3_verify"]',
        "operations.verify",
    ),
    "sure_guess": ('standard_error = "0.5us"', 'standard_error = "1ns"', "operations.hash"),
    "surer_than_clocks": (
        'standard_error = "1us"\nbasis = "fitted"\nfitted_to = ["F3_sign"]',
        'standard_error = "1ns"\nbasis = "measured"\nsamples = 9',
        "operations.sign",
    ),
    "no_error": (
        f'cpu = "1us"\nper_byte = "0.6ns"\n{AFTER_PER_BYTE} = "0.5us"',
        f'cpu = "0s"\nper_byte = "0.6ns"\n{AFTER_PER_BYTE} = "0s"',
        "operations.hash",
    ),
    "thin_source": ('source = "as on the Moto G04s"', 'source = "TODO: look up"', "repetition"),
    "proxy_of_what": (
        'source = "as on the Moto G04s"',
        'source = "similar hardware"',
        "repetition",
    ),
    "thin_claim": ('"anything about phones"', '"phones"', "device.does_not_claim[3]"),
    "nobody": (
        '"Koning (Ed25519 of libsodium, packets of UDP and IPv8); the rest by nobody"',
        '"not stated"',
        "device.measured_by",
    ),
    "free_bytes": ('per_byte = "0.6ns"', 'per_byte = "0ns"', "operations.hash"),
    "free": (
        'cpu = "4us"\nper_byte = "0ns"\nwait = "0s"\nspread_sigma = 0.3\nstandard_error = "4us"',
        'cpu = "0s"\nper_byte = "0ns"\nwait = "0s"\nspread_sigma = 0.3\nstandard_error = "4us"',
        "operations.store",
    ),
    "no_spread": ("spread_sigma = 0.1", "spread_sigma = 0.0", "operations.sign"),
    "swapped": ('cpu = "56.6us"', 'cpu = "5.66us"', "operations.verify"),
    "too_many_cores": (
        'socket_buffer = "212992B"',
        'socket_buffer = "212992B"\ncore_classes = { big = 2 }',
        "device.cores",
    ),
    "far_away": ('cpu = "25.2us"', 'cpu = "25.2ms"', "operations.sign"),
}


def found(text, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(text)
    return {(one.rule, one.path) for one in lint.lint(path)}


def test_every_rule_has_an_example():
    source = Path(lint.__file__).read_text()
    assert set(re.findall(r'Finding\("(\w+)"', source)) == set(SLIPS)


@pytest.mark.parametrize("rule", SLIPS)
def test_each_example_breaks_its_rule_alone(rule, tmp_path):
    old, new, where = SLIPS[rule]
    text = BASE.read_text()
    assert old in text
    more = found(text.replace(old, new, 1), tmp_path) - found(text, tmp_path)
    places = [path for name, path in more if name == rule]
    assert len(places) == 1
    assert where in places[0]
    # An error beyond its value, or a time a thousandfold, is seen by other rules, too.
    assert {name for name, _ in more} <= {rule, "swapped", "free_bytes"}


@pytest.mark.parametrize("size", ["212992kB", "200B"])
def test_a_socket_buffer_of_another_size_is_far_away(size, tmp_path):
    text = BASE.read_text().replace('"212992B"', f'"{size}"')
    assert ("far_away", "device.socket_buffer_bytes") in found(text, tmp_path)


def test_the_same_device_in_another_file_is_not_far_from_itself(tmp_path):
    assert not {rule for rule, _ in found(BASE.read_text(), tmp_path)} & {"far_away"}


@pytest.mark.parametrize("kind", ["device", "implementation"])
def test_shipped_profiles_are_clean_or_explained(kind):
    for path in catalog.files(kind).values():
        assert not [one for one in lint.lint(path) if not one.explained], path


def test_every_explanation_is_needed():
    needed = {
        (path.stem, one.rule, one.path)
        for kind in ("device", "implementation")
        for path in catalog.files(kind).values()
        for one in lint.lint(path)
    }
    given = [
        (one["profile"], one["rule"], path)
        for one in lint.explanations()
        for path in one["path"].split()
    ]
    assert len(given) == len(set(given)) > 10
    assert set(given) == needed
    assert all(len(one["why"].split()) > 5 for one in lint.explanations())


def test_copy_of_a_shipped_profile_has_no_explanations(tmp_path):
    path = tmp_path / "thinkpad_l13.toml"
    path.write_text(BASE.read_text())
    findings = lint.lint(path)
    assert findings
    assert not any(one.explained for one in findings)


def test_the_command_says_what_is_found_with_exit_3(cli, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(BASE.read_text().replace('cpu = "25.2us"', 'cpu = "25.2ms"'))
    done = cli("profile", "lint", "own.toml", "moto_g04s")
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    assert all(line.startswith("own.toml: ") for line in lines)
    (far,) = [line for line in lines if line.endswith("[far_away]")]
    assert "operations.sign: 25.2 ms" in far
    assert "207 times what the slowest shipped device takes" in far
    assert "is the unit right?" in far
    assert "moto_g04s: ok" in done.stderr
    told = json.loads(cli("profile", "lint", "own.toml", "moto_g04s", "--json").stdout)
    assert told["open"] == len(lines)
    assert set(told["findings"][0]) == {"profile", "rule", "path", "reason", "explained"}
    assert {one["profile"] for one in told["findings"]} == {"own.toml", "moto_g04s"}


def test_clean_profile_is_exit_0(cli):
    done = cli("profile", "lint", "pocophone_f1", "probe")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("moto_g04", "did you mean moto_g04s?"),
        ("none.toml", "none.toml: no such file"),
        ("broken.toml", "operations.sign.standard_error: is required"),
    ],
)
def test_invalid_profile_is_exit_2(cli, tmp_path, name, said):
    broken = BASE.read_text().replace('standard_error = "1us"\n', "", 1)
    (tmp_path / "broken.toml").write_text(broken)
    done = cli("profile", "lint", "moto_g04s", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_of_the_cost_per_byte_alone_is_one():
    device = profile.contents(profile.load(BASE))
    found = {**device["operations"]["hash"], "cpu_s": 0.0, "standard_error_s": 0.0}
    beside = {**device["operations"], "hash": found}
    rules = [one.rule for one in lint.of_device({**device, "operations": beside}, [])]
    assert "no_error" in rules
    beside["hash"] = {**found, "per_byte_standard_error_s": found["per_byte_s"] / 10}
    rules = [one.rule for one in lint.of_device({**device, "operations": beside}, [])]
    assert "no_error" not in rules
    beside["hash"] = {**found, "per_byte_standard_error_s": found["per_byte_s"] * 2}
    assert "error_above_value" in [
        one.rule for one in lint.of_device({**device, "operations": beside}, [])
    ]
