"""Every target of the Makefile is exercised, in a short form.

Those that build, download or measure are lines of .ci/run, and this file sees to it that they are;
the others run here. Nothing that make would build is built: `-n` prints, `-o` takes for granted.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
CI = (ROOT / ".ci" / "run").read_text()

PACKAGED = "make -j2 -Otarget test-cluster container test-wheel QUICK=1"
SHORT = (
    "make -j2 -Otarget test-android docs fuzz campaign demo QUICK=1 SECONDS=2 COUNT=200 "
    "SUBSET=latency"
)
BENCHES = "make bench bench-probe bench-bursts repeat-probe QUICK=1"
# The lines of .ci/run that exercise each target.
IN_CI = {
    "setup": "make -j2 setup lint",
    "simgrid": "MAKEFLAGS=-j2 make test",
    "lint": "make -j2 setup lint",
    "lint-rust": "make -j2 setup lint",
    "lint-python": "make -j2 setup lint",
    "fmt": "make fmt",
    "test": "MAKEFLAGS=-j2 make test",
    "test-rust": "MAKEFLAGS=-j2 make test",
    "test-python": "MAKEFLAGS=-j2 make test",
    "test-programs": "MAKEFLAGS=-j2 make test",
    "fuzz": SHORT,
    "campaign": SHORT,
    "demo": SHORT,
    "bench": BENCHES,
    "bench-probe": BENCHES,
    "bench-bursts": BENCHES,
    "repeat-probe": BENCHES,
    "probe": "make -j2 probe probe-arm64 apk probe-slow",
    "probe-slow": "make -j2 probe probe-arm64 apk probe-slow",
    "probe-arm64": "make -j2 probe probe-arm64 apk probe-slow",
    "apk": "make -j2 probe probe-arm64 apk probe-slow",
    "test-android": SHORT,
    "docs": SHORT,
    "notebooks": "make notebooks",
    "test-cluster": PACKAGED,
    "wheel": PACKAGED,
    "test-wheel": PACKAGED,
    "container": PACKAGED,
}
HERE = {
    "check": "test_check_is_what_tests_make_without_what_is_slow",
    "clean": "test_clean_removes_what_was_built",
    "help": "test_help_lists_every_target",
}
DESCRIBED = re.findall(r"^([a-z0-9-]+):.*## ", MAKEFILE, re.MULTILINE)
TARGETS = {
    name for line in re.findall(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE) for name in line.split()
}

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")


def make(*arguments, folder=ROOT):
    program = shutil.which("make")
    assert program is not None
    done = subprocess.run(
        [program, "--no-print-directory", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ci_lines():
    return {line.partition(" #")[0].strip() for line in CI.splitlines()}


def test_every_target_is_exercised():
    assert set(DESCRIBED) <= TARGETS
    assert set(IN_CI) | set(HERE) == TARGETS, "say above how each target is exercised"
    assert all(name in globals() for name in HERE.values())


@pytest.mark.parametrize("line", sorted(set(IN_CI.values())))
def test_ci_runs(line):
    assert line in ci_lines()


def test_the_targets_of_readme_and_commands_exist():
    text = "\n".join((ROOT / page).read_text() for page in ("README.md", "docs/commands.md"))
    lines = re.findall(r"^make ([a-z0-9 -]+?) *(?:#|$)", text, re.MULTILINE)
    lines += re.findall(r"`make ([a-z0-9 -]+)", text)
    named = {word for line in lines for word in line.split()}
    assert len(named) >= 8
    assert named <= TARGETS


# `commands` of a target with a knob, without those of what it builds on.
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["demo", "SUBSET=latency"], ["--subset 'latency'"]),
        (["bench", "QUICK=1"], ["--hosts 20 ", "--seconds 2 ", "--repetitions 1", "--no-bar"]),
        (["bench"], ["--hosts 100 1000 10000 100000"]),
        (["bench", "RIVALS=1", "-W", "bench/ns3_star.cpp"], ["-o build/bench/ns3_star", "run.py"]),
        (["bench", "BENCH_HOSTS=100 1000"], ["--hosts 100 1000"]),
        (["bench-probe", "QUICK=1"], ["--rounds 1 ", "--no-bar"]),
        (["bench-probe", "ROUNDS=2"], ["--rounds 2"]),
        (["bench-bursts", "QUICK=1"], ["--packets 20000 ", "--no-bar"]),
        (["repeat-probe"], ["run --full --quiet -o build/repeat_1.json"]),
        (["repeat-probe", "QUICK=1"], ["run --quick --only ", "--no-bar"]),
        (["fuzz", "SECONDS=5"], ["fuzz/run.sh 5"]),
        (["probe-slow"], ["--profile slow-crypto ", "target/slow-crypto/probe build/bin/"]),
        (["container"], ["tools/container.py  "]),
        (["container", "QUICK=1"], ["tools/wheel.py ", "container.py --wheel dist pocketsim"]),
    ],
)
def test_a_knob_reaches_the_command(arguments, expected):
    granted = (
        "setup",
        "probe",
        "build/.system",
        "build/bench/bare_loop",
        "build/bench/bare_queues",
        "build/bench/bare_queues_o2",
    )
    output = make("-n", *(word for target in granted for word in ("-o", target)), *arguments) + " "
    assert all(text in output.replace("\n", " ") for text in expected), output


def test_check_is_what_tests_make_without_what_is_slow():
    granted = ("lint", "setup", "simgrid", "test-programs")
    said = make("-n", *(word for target in granted for word in ("-o", target)), "check", "test")
    rust, python, all_rust, all_python = said.splitlines()
    assert rust == f"{all_rust} --lib"
    options = all_python.partition(" --ignore ")[0]
    assert python == f"{options} tests/tidy tests/unit -m 'not slow'"


def test_help_lists_every_target():
    text = make("help")
    assert all(re.search(rf"^  make {name} +\S", text, re.MULTILINE) for name in DESCRIBED)


def test_clean_removes_what_was_built(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    built = ["build/bin/probe", "target/release/probe", ".venv/bin/python", ".mypy_cache/x"]
    built += ["device_probe/fuzz/target/debug/x", "device_probe/android/tests/target/x"]
    built += ["sim/template/target/release/x"]
    kept = [
        "runs/udp/metrics.json",
        "pocketsim/sim/plan/build_plan.py",
        "tools/x",
        "device_probe/android/app/x",
    ]
    for name in [*built, *kept, "pocketsim/sim/_engine.abi3.so", "sim/engine/a", "sim/protocols/a"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    make("clean", folder=tmp_path)
    assert not any((tmp_path / name).exists() for name in [*built, "pocketsim/sim/_engine.abi3.so"])
    assert all((tmp_path / name).exists() for name in kept)


def test_the_app_has_a_size_and_a_digest(tmp_path):
    shutil.copy(ROOT / "Makefile", tmp_path)
    app = tmp_path / "build" / "android" / "probe.apk"
    app.parent.mkdir(parents=True)
    app.write_bytes(b"an app")
    said = make("-o", "build/android/probe.apk", "apk", folder=tmp_path)
    digest = f"{hashlib.sha256(b'an app').hexdigest()}  probe.apk\n"
    assert said == f"build/android/probe.apk: 6 bytes\n{digest}"
    assert (app.parent / "probe.apk.sha256").read_text() == digest


@pytest.mark.parametrize(("code", "succeeds"), [(0, True), (6, True), (3, False), (1, False)])
def test_demo_succeeds_where_only_known_misses_are(tmp_path, *, code: int, succeeds: bool):
    command = tmp_path / "pocketsim"
    command.write_text(f"#!/bin/sh\nexit {code}\n")
    command.chmod(0o755)
    line = ["make", "-o", "setup", "demo", f"BIN={tmp_path}"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is succeeds, done.stderr
    assert succeeds or f"Error {code}" in done.stderr
