"""The computer that trades with itself: which core has which end, and what took time from them.

Frequencies are None where the system tells none, as in many virtual machines.
"""

from __future__ import annotations

import os
import platform
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True)
class Cores:
    """The processor of each process; `relay` is that of the dialler where there are only two cores.

    `ends_share` says that dialler and listener are threads of one core.
    """

    dialler: int
    listener: int
    relay: int
    ends_share: bool = False

    @property
    def relay_shares(self) -> bool:
        """Whether the relay takes time from the dialler."""
        return self.relay == self.dialler

    @property
    def ends(self) -> set[int]:
        """Those of the two that trade."""
        return {self.dialler, self.listener}


@dataclass(frozen=True)
class Ticks:
    """What /proc/stat counts of some cores together, in the system's ticks."""

    total: int
    steal: int


_CPUS = Path("/sys/devices/system/cpu")


def cores(allowed: Iterable[int], root: Path = _CPUS) -> Cores:
    """Return who gets which of the processors that this process may use.

    Threads of one core count as one, where the system tells them: the relay takes time from the
    dialler's thread, which is simulated, rather than from its core, which is not. Where there is
    one core, the ends share it. Raises EnvironmentMissingError with fewer than two processors:
    phones share no core in a simulation.
    """
    every = sorted(allowed)
    if len(every) < _ENDS:
        raise EnvironmentMissingError("one core alone: the two ends need one each")
    apart: list[int] = []
    for number in every:
        if not _siblings(number, root) & set(apart):
            apart.append(number)
    if len(apart) < _ENDS:
        return Cores(every[0], every[1], every[0], ends_share=True)
    return Cores(apart[0], apart[1], apart[2] if len(apart) > _ENDS else apart[0])


def _siblings(number: int, root: Path) -> set[int]:
    """Return the processors that are threads of the same core; itself where the system tells none.

    The file has numbers and ranges, as in "0-1,4".
    """
    found = {number}
    with suppress(OSError, ValueError):
        file = root / f"cpu{number}/topology/thread_siblings_list"
        for part in file.read_text(encoding="ascii").strip().split(","):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return found


@contextmanager
def pinned(chosen: set[int]) -> Iterator[None]:
    """Let what is started in the block run on these cores alone; children inherit it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, chosen)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def ticks(stat: str, chosen: set[int]) -> Ticks:
    """Return the sums over some cores in the text of /proc/stat (proc(5))."""
    rows = [line.split() for line in stat.splitlines()]
    names = {f"cpu{number}" for number in chosen}
    # Guests' time, at the end, is in that of users already.
    kept = [[int(word) for word in row[1:9]] for row in rows if row and row[0] in names]
    return Ticks(sum(map(sum, kept)), sum(row[_STEAL] for row in kept if len(row) > _STEAL))


def ticks_now(chosen: set[int]) -> Ticks:
    """Return the sums over some cores since the system began."""
    return ticks(Path("/proc/stat").read_text(encoding="ascii"), chosen)


def steal_ratio(before: Ticks, after: Ticks) -> float | None:
    """Return the share of time that the hypervisor gave to others."""
    total = after.total - before.total
    return (after.steal - before.steal) / total if total > 0 else None


def frequencies_hz(chosen: set[int], root: Path = _CPUS) -> list[Any]:
    """Return the frequency of each core, in Hz, in order; None where the system tells none."""
    found: list[Any] = []
    for number in sorted(chosen):
        hz = None
        with suppress(OSError, ValueError):
            text = (root / f"cpu{number}/cpufreq/scaling_cur_freq").read_text(encoding="ascii")
            hz = int(text) * 1000
        found.append(hz)
    return found


@dataclass(frozen=True)
class Spent:
    """The core time that a process has had at a moment of the system's uptime, both in s."""

    cpu_s: float
    at_s: float


def spent(pid: int, root: Path = Path("/proc")) -> Spent:
    """Return what a process has had of cores until now.

    By its threads' `schedstat`, in ns, or where the kernel has none, by ticks of 10 ms (proc(5),
    utime and stime). The uptime is in steps of 10 ms: of 5 s between two readings, 0.2 %.
    """
    at_s = float((root / "uptime").read_text(encoding="ascii").split()[0])
    files = list((root / f"{pid}/task").glob("*/schedstat"))
    if files:
        ran_ns = sum(int(file.read_text(encoding="ascii").split()[0]) for file in files)
        return Spent(ran_ns / 1e9, at_s)
    text = (root / f"{pid}/stat").read_text(encoding="utf-8")
    fields = text.rpartition(")")[2].split()
    return Spent((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), at_s)


def core_ratio(before: Spent, after: Spent) -> float | None:
    """Return the share of one core that a process had between; None where no time went by."""
    between_s = after.at_s - before.at_s
    if between_s <= 0:
        return None
    # More than all of a core is an uptime that was rounded, as each process has one core.
    return min(1.0, max(0.0, after.cpu_s - before.cpu_s) / between_s)


def said(chosen: Cores) -> dict[str, Any]:
    """Return what identifies the computer, and its use, as JSON has it."""
    system = os.uname()
    return {
        "kernel": f"{system.sysname} {system.release} {system.machine}",
        "processor": _processor() or platform.processor(),
        "cores": os.cpu_count(),
        "cores_of": {"dialler": chosen.dialler, "listener": chosen.listener, "relay": chosen.relay},
        "relay_shares_core": chosen.relay_shares,
        "ends_share_core": chosen.ends_share,
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return ""


_ENDS = 2
_STEAL = 7
