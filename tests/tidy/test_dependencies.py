"""The crates that are locked have licences that deny.toml allows.

Vulnerabilities are .github/workflows/audit.yml's: they take a database from the network.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib

import pytest

# `cargo deny` looks at these as well.
MANIFESTS = ["Cargo.toml", "device_probe/fuzz/Cargo.toml", "sim/template/Cargo.toml"]


def is_allowed(licence: str, allowed: list[str]) -> bool:
    """Say whether an SPDX expression can be met; an OR stands in brackets or without an AND."""
    parts = licence.replace("/", " OR ").split(" AND ")
    return all(any(one in allowed for one in part.strip("()").split(" OR ")) for part in parts)


@pytest.fixture(scope="session")
def rules(root):
    return tomllib.loads((root / "deny.toml").read_text())


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_licences_are_allowed(root, rules, manifest):
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo to list the crates")
    command = [cargo, "metadata", "--locked", "--format-version=1", "--manifest-path", manifest]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    licences = {crate["name"]: crate["license"] for crate in json.loads(done.stdout)["packages"]}
    allowed = rules["licenses"]["allow"]
    refused = {
        name: licence
        for name, licence in licences.items()
        if not is_allowed(licence or "", allowed)
    }
    assert not refused


def test_the_rule_on_licences_bites():
    assert is_allowed("MIT/Apache-2.0", ["MIT"])
    assert is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", ["MIT", "Unicode-3.0"])
    assert not is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", ["MIT"])
    assert not is_allowed("GPL-3.0-only", ["MIT"])
    assert not is_allowed("", ["MIT"])


def test_ignored_advisories_have_a_reason(rules):
    assert all(advisory["id"] and advisory["reason"] for advisory in rules["advisories"]["ignore"])
