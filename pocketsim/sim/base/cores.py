"""How many cores a process may use: of those that it may run on, what a container's quota leaves.

Linux tells both: the affinity of the process, and the limits of its control group and of those that
this one is in, of version 1 (`cpu.cfs_quota_us`) and 2 (`cpu.max`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


def usable_cores(root: Path = Path("/")) -> int:
    """Return how many cores this process may use, at least 1; of a quota the whole ones.

    `/proc` and control groups are looked for below `root`.
    """
    limits = [float(len(os.sched_getaffinity(0)))]
    limits += [quota for folder in _folders(root) if (quota := _quota(folder)) is not None]
    return max(1, int(min(limits)))


class _Mount(NamedTuple):
    """A hierarchy of control groups: which group lies where, and its controllers, none of v2."""

    group: str
    folder: Path
    controllers: frozenset[str]


def _folders(root: Path) -> Iterator[Path]:
    """Yield the folder of each control group that this process is in and that may limit cores."""
    own = dict(_own_groups(root))
    for mount in _mounts(root):
        named = next(
            (group for controllers, group in own.items() if controllers == mount.controllers), None
        )
        if named is None:
            continue
        # In a container, a name may be that which the group has outside: then it is the mount.
        inside = os.path.relpath(named, mount.group)
        folder = mount.folder if inside.startswith("..") else mount.folder / inside
        while folder != mount.folder:
            yield folder
            folder = folder.parent
        yield folder


def _own_groups(root: Path) -> Iterator[tuple[frozenset[str], str]]:
    """Yield the group of this process in each hierarchy, by its controllers."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, group = line.split(":", 2)
        yield frozenset(filter(None, controllers.split(","))), group


def _mounts(root: Path) -> Iterator[_Mount]:
    """Yield the hierarchies that may limit cores: version 2, and that of version 1 with `cpu`."""
    for line in _lines(root / "proc/self/mountinfo"):
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        _, _, _, group, folder, *_ = before.split(" ")
        controllers = frozenset(options.split(",")) & _CONTROLLERS
        if kind == "cgroup2" or (kind == "cgroup" and "cpu" in controllers):
            where = root / folder.lstrip("/")
            yield _Mount(group, where, frozenset() if kind == "cgroup2" else controllers)


def _quota(folder: Path) -> float | None:
    """Return how many cores a control group leaves, None where it limits none."""
    told = [*_lines(folder / "cpu.max")]
    words = told[0].split() if told else [*_words_of_v1(folder)]
    if len(words) != len(_QUOTA_AND_PERIOD) or words[0] in {"max", "-1"}:
        return None
    quota_us, period_us = map(float, words)
    return quota_us / period_us


def _words_of_v1(folder: Path) -> Iterator[str]:
    for name in _QUOTA_AND_PERIOD:
        yield from _lines(folder / name)


def _lines(path: Path) -> list[str]:
    """Return the lines of a file; none where this system has no such file."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


_QUOTA_AND_PERIOD = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
_CONTROLLERS = frozenset({"cpu", "cpuacct"})  # those that are mounted together, if at all
