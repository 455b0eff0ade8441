"""`bench/devices`: a probe with a quota, in made-up trees of cgroups, and one under an emulator."""

import os
import subprocess

import pytest
from conftest import ROOT

QUOTA = ROOT / "bench" / "devices" / "quota.sh"
V2 = ("cgroup.controllers", "pocketsim-quota-25", {"cpu.max": "25000 100000"})
V1 = (
    "cpu/cpu.cfs_quota_us",
    "cpu/pocketsim-quota-25",
    {"cpu.cfs_quota_us": "25000", "cpu.cfs_period_us": "100000"},
)


def started(root, *words):
    """Return what became of a probe that only says its words and its process."""
    probe = root / "probe"
    probe.write_text('#!/bin/sh\necho "$$ $@"\n')
    probe.chmod(0o755)
    env = {**os.environ, "PROBE": str(probe), "CGROUP_ROOT": str(root), "QUOTA_PERCENT": "25"}
    return subprocess.run([QUOTA, *words], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("mark", "group", "files"), [V2, V1])
def test_a_probe_joins_a_group_with_its_quota(tmp_path, mark, group, files):
    (tmp_path / mark).parent.mkdir(exist_ok=True)
    (tmp_path / mark).touch()
    done = started(tmp_path, "trade", "listen a b")
    assert done.returncode == 0, done.stderr
    number, _, words = done.stdout.strip().partition(" ")
    assert words == "trade listen a b"
    found = {file.name: file.read_text().strip() for file in (tmp_path / group).iterdir()}
    assert found == {**files, "cgroup.procs": number}  # the same process: who started it ends it


def test_where_there_is_no_controller_it_says_so(tmp_path):
    done = started(tmp_path, "run")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"no quota: {tmp_path} has no controller cpu\n"


@pytest.mark.parametrize("is_built", [False, True])
def test_a_build_for_arm64_runs_under_the_emulator(tmp_path, *, is_built: bool):
    for name in ("qemu-aarch64", "probe") if is_built else ("qemu-aarch64",):
        (tmp_path / name).write_text('#!/bin/sh\necho "$@"\n')
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PROBE": str(tmp_path / "probe")}
    call = [QUOTA.with_name("arm64.sh"), "trade", "listen"]
    done = subprocess.run(call, env=env, capture_output=True, text=True, check=False)
    said = f"{tmp_path}/probe trade listen\n" if is_built else ""
    assert (done.returncode, done.stdout) == (0 if is_built else 1, said)
    assert is_built or done.stderr == f"no {tmp_path}/probe: make probe-arm64\n"
