"""How many cores a process may use, by made folders of /proc and of control groups."""

import os

import pytest

from pocketsim.sim.base.cores import usable_cores

V2 = "30 24 0:26 {group} {folder} rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = "33 32 0:29 {group} {folder} rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
OTHER = (
    "34 32 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n36 1 8:1 / / rw - ext4 / rw\n"
)


@pytest.fixture(autouse=True)
def many_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(16)))


def machine(root, own, mounts, files):
    """Make /proc and the files of control groups below `root`."""
    made = {"proc/self/cgroup": own, "proc/self/mountinfo": OTHER + mounts, **files}
    for name, text in made.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_control_groups_it_is_what_the_process_may_run_on(tmp_path):
    assert usable_cores(tmp_path) == 16
    assert usable_cores(machine(tmp_path, "0::/\n", "", {})) == 16


@pytest.mark.parametrize(
    ("own", "above", "cores"),
    [
        ("max 100000", "max 100000", 16),
        ("300000 100000", "max 100000", 3),
        ("max 100000", "200000 100000", 2),
        ("300000 100000", "200000 100000", 2),
        ("250000 100000", "max 100000", 2),
        ("50000 100000", "max 100000", 1),
        ("6400000 100000", "max 100000", 16),
        ("garbage", "", 16),
    ],
)
def test_a_quota_of_version_2_holds_for_its_own_group_and_those_within(tmp_path, own, above, cores):
    group = "sys/fs/cgroup/user.slice/job.scope"
    files = {f"{group}/cpu.max": f"{own}\n", "sys/fs/cgroup/user.slice/cpu.max": f"{above}\n"}
    mounts = V2.format(group="/", folder="/sys/fs/cgroup")
    assert usable_cores(machine(tmp_path, "0::/user.slice/job.scope\n", mounts, files)) == cores


def test_a_group_beside_does_not_count(tmp_path):
    files = {"sys/fs/cgroup/other/cpu.max": "100000 100000\n"}
    mounts = V2.format(group="/", folder="/sys/fs/cgroup")
    assert usable_cores(machine(tmp_path, "0::/mine\n", mounts, files)) == 16


@pytest.mark.parametrize(("quota", "cores"), [("-1", 16), ("400000", 4), ("150000", 1)])
def test_a_quota_of_version_1(tmp_path, quota, cores):
    group = "sys/fs/cgroup/cpu,cpuacct/docker/abc"
    files = {f"{group}/cpu.cfs_quota_us": quota, f"{group}/cpu.cfs_period_us": "100000\n"}
    own = "9:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/\n"
    mounts = V1.format(group="/", folder="/sys/fs/cgroup/cpu,cpuacct")
    assert usable_cores(machine(tmp_path, own, mounts, files)) == cores


@pytest.mark.parametrize(
    ("own", "mounted"), [("/docker/abc", "/docker/abc"), ("/", "/"), ("/../x", "/")]
)
def test_in_a_container_the_mount_is_its_group(tmp_path, own, mounted):
    files = {"sys/fs/cgroup/cpu.max": "200000 100000\n"}
    mounts = V2.format(group=mounted, folder="/sys/fs/cgroup")
    assert usable_cores(machine(tmp_path, f"0::{own}\n", mounts, files)) == 2


def test_affinity_counts_where_it_is_less_than_the_quota(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {3})
    files = {"sys/fs/cgroup/cpu.max": "400000 100000\n"}
    mounts = V2.format(group="/", folder="/sys/fs/cgroup")
    assert usable_cores(machine(tmp_path, "0::/\n", mounts, files)) == 1
