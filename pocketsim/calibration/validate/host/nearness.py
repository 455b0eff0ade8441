"""Whether the cores of the two ends are near each other while something is measured.

Pinning holds a process on a virtual core, and nothing holds that one: its hypervisor migrates it,
also to a core that shares no cache with the other end's. What the ends do together then takes up
to three times as long, for seconds or minutes. So `probe cores` says how far apart they are before
each trade and at its end, lets them come near first, and a trade during which they moved apart is
set aside and traded again. What was set aside is kept beside what counts.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

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


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """A trade, and how far apart the cores were before it and at its end; None where not known."""

    traded: T
    before: Apart | None
    after: Apart | None

    @property
    def was_near(self) -> bool:
        """Whether they were near, both times."""
        return all(one is not None and one.is_near for one in (self.before, self.after))

    @property
    def has_moved(self) -> bool:
        """Whether they were near before, and known not to be at the end."""
        before, after = self.before, self.after
        return before is not None and after is not None and before.is_near > after.is_near

    @property
    def core_to_core_s(self) -> list[float | None]:
        """Both times, s."""
        return [one.latency_s if one else None for one in (self.before, self.after)]


@dataclass
class Nearness:
    """The cores of both ends, and the patience that is left to have them near each other.

    `repeats_left` trades may be traded again, and for `patience_s` all in all cores may be waited
    for by `clock_s`; when that is over, as where they never are near, all goes on as it comes.
    """

    probe: Path
    cores: Cores
    idle: Idle
    repeats_left: int
    patience_s: float
    clock_s: Callable[[], float]
    _knows: bool | None = field(default=None, init=False)
    _not_before_s: float = field(default=-float("inf"), init=False)

    def knows(self) -> bool:
        """Whether the probe has `cores`."""
        if self._knows is None:
            self._said()
        return bool(self._knows)

    def now(self) -> Apart | None:
        """Return how far the cores are apart; None where that cannot be known.

        A probe that has no such command is not asked again.
        """
        return None if self._knows is False else self._said()

    def bring_near(self) -> Apart | None:
        """Let the cores come near, if there is patience, and return how far apart they are then."""
        apart = self.now()
        begun_s = self.clock_s()
        if apart is None or apart.is_near or self.patience_s <= 0 or begun_s < self._not_before_s:
            return apart
        for_s = min(_PATIENCE_S, self.patience_s)
        # A core that polls is never placed anew.
        with self.idle.resting():
            apart = self._said("--bring-near", f"{for_s:.3f}s")
        ended_s = self.clock_s()
        self.patience_s -= ended_s - begun_s
        if apart is None or not apart.is_near:
            self._not_before_s = ended_s + _PAUSE_S
        return apart

    def during(self, trade: Callable[[Callable[[], None]], T]) -> list[Attempt[T]]:
        """Trade while they are near, and return all attempts, of which the last one counts.

        `trade` calls what it is given when nothing that counts happens any more. A trade before
        which they were near, and at whose end they are not, is repeated.
        """
        attempts: list[Attempt[T]] = []
        while True:
            attempts.append(self._attempt(trade))
            if not attempts[-1].has_moved or self.repeats_left == 0:
                return attempts
            self.repeats_left -= 1

    def _attempt(self, trade: Callable[[Callable[[], None]], T]) -> Attempt[T]:
        at_the_end: list[Apart | None] = [None]
        before = self.bring_near()
        traded = trade(lambda: at_the_end.append(self.now()))
        return Attempt(traded, before, at_the_end[-1])

    def _said(self, *options: str) -> Apart | None:
        """Return what `probe cores` says; None from one that does not know, or may not."""
        command = [str(self.probe), "cores", "--json", *options]
        told, knows = None, self._knows
        with computer.pinned(self.cores.ends):
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
                )
            except subprocess.TimeoutExpired:
                pass
            else:
                told = json.loads(done.stdout) if done.returncode == 0 else None
                knows = done.returncode != _NO_SUCH_COMMAND
        self._knows = knows
        return Apart(float(told["latency_s"]), bool(told["near"])) if told else None


def sentence(repetitions: list[dict[str, Any]]) -> str | None:
    """Return at how many repetitions the cores were near; None where that is known of none."""
    told = [one["cores"] for one in repetitions if one.get("cores")]
    unknown = sum(None in one["core_to_core_s"] for one in told)
    if unknown == len(told):
        return None
    near, aside = (sum(one["near"] for one in told), sum(len(one["set_aside"]) for one in told))
    return (
        f"The ends' cores were near each other before and after {near} of {len(told)} repetitions"
        f"{f', unknown of {unknown}' if unknown else ''};"
        f" trades set aside, as the cores had moved apart meanwhile: {aside}."
    )


_PATIENCE_S = 5.0
"""Of one attempt to bring them near: most take less than a second."""
_PAUSE_S = 30.0
"""After one that came to nothing: a hypervisor leaves cores apart for so long, or longer."""
_NO_SUCH_COMMAND = 2
_TIMEOUT_S = 60.0
"""Of a probe that hangs; it waits for a core for a second at most."""
