"""Whether the cores of the two ends are near each other while something is measured.

Pinning holds a process on a virtual core, and nothing holds that one: its hypervisor moves it, also
to another chip of caches than the other end's. While they are apart, a datagram over the loopback
takes 1.4 times as long, after rests up to 3 times, and that lasts for seconds or minutes. So
`probe cores` says how far apart they are before and after each trade, lets them come near first,
and a trade during which they moved apart is traded again. That asks nothing of what was measured.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pocketsim.calibration.validate.host import computer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pocketsim.calibration.validate.host.computer import Cores, Idle

    T = TypeVar("T")


@dataclass(frozen=True)
class Apart:
    """How far two cores are apart, by a cache line's time one way, and whether that is near."""

    latency_s: float
    is_near: bool


@dataclass
class Nearness:
    """The cores of both ends, and the patience that is left to have them near each other.

    `repeats` trades may be repeated because cores moved meanwhile, and as many attempts to have
    them near may come to nothing, as where they never are: then all goes on as it comes.
    """

    probe: Path
    cores: Cores
    idle: Idle
    repeats: int
    waits: int = field(init=False)

    def __post_init__(self) -> None:
        self.waits = self.repeats

    @property
    def report_options(self) -> list[str]:
        """What `probe run` is told, which then has cores near and awake by itself."""
        if self._said() is None:
            return []
        return ["--near", *(["--awake"] if self.idle.is_awake else [])]

    def gather(self) -> Apart | None:
        """Let the cores come near, and say how far apart they are; None where nobody knows."""
        apart = self._said()
        if apart is None or apart.is_near or self.waits == 0:
            return apart
        # A core that polls is never placed anew.
        with self.idle.resting():
            apart = self._said("--gather", f"{_PATIENCE_S:g}s")
        if apart is None or not apart.is_near:
            self.waits -= 1
        return apart

    def during(self, trade: Callable[[], T]) -> tuple[T, dict[str, Any]]:
        """Trade while they are near, and say how far apart they were, and how often it took.

        A trade before which they were near, and after which they are not, is repeated.
        """
        attempts = 0
        while True:
            attempts += 1
            before, traded, after = self.gather(), trade(), self._said()
            moved = before is not None and after is not None and before.is_near > after.is_near
            if not moved or self.repeats == 0:
                break
            self.repeats -= 1
        ends = [one.latency_s if one else None for one in (before, after)]
        near = bool(before and after and before.is_near and after.is_near)
        return traded, {"core_to_core_s": ends, "near": near, "attempts": attempts}

    def _said(self, *options: str) -> Apart | None:
        """Return what `probe cores` says; None from one that does not know, or may not."""
        command = [str(self.probe), "cores", "--json", *options]
        with computer.pinned(self.cores.ends):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        said = json.loads(done.stdout)
        return Apart(float(said["latency_s"]), bool(said["near"]))


def sentence(repetitions: list[dict[str, Any]]) -> str | None:
    """Return how many repetitions had cores near each other; None where nobody knows."""
    told = [one["cores"] for one in repetitions if one.get("cores")]
    known = [one for one in told if None not in one["core_to_core_s"]]
    if not known:
        return None
    near, again = (sum(one["near"] for one in known), sum(one["attempts"] - 1 for one in known))
    return (
        f"The ends' cores were near each other in {near} of {len(known)} repetitions; "
        f"{again} were traded again, as their cores had moved apart meanwhile."
    )


_PATIENCE_S = 5.0
"""Most attempts take less than a second."""
