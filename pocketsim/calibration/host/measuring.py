"""What is measured on a host: reports, capacities, repetitions; each kept as soon as it is there.

Who interrupts loses one trade. Logs are reduced to figures at once; what is kept is JSON.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pocketsim.calibration.host import computer, ends, figures, prediction
from pocketsim.calibration.host.ends import Asked
from pocketsim.sim.base.errors import EnvironmentMissingError
from pocketsim.sim.export import phone_logs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.calibration.host.computer import Cores
    from pocketsim.calibration.host.design import Effort, Point
    from pocketsim.calibration.host.ends import Traded
    from pocketsim.calibration.host.figures import Figures, Judged


class Kept(Protocol):
    """Where values are kept that an interrupted command finds again."""

    def kept(self, made_from: str) -> Any:
        """Return the value under this name, None where there is none."""

    def keep(self, made_from: str, value: Any) -> None:
        """Keep a value, which JSON can hold."""


@dataclass(frozen=True)
class Bench:
    """A probe, its cores, and how much is measured with it.

    Ramps begin at rates that a device can store which is `slowness` times as slow as others.
    """

    probe: Path
    cores: Cores
    effort: Effort
    kept: Kept
    slowness: float = 1.0

    def report(self, name: str, file: Path, *, only: str | None = None) -> None:
        """Write the probe's report of the cores that trade, unless it is there; `only` a group."""
        if self.kept.kept(f"report {name}") is not None and file.is_file():
            return
        chosen = ["--only", only] if only else []
        run_probe(self.probe, self.cores, file, chosen)
        self.kept.keep(f"report {name}", file.name)

    def capacity_per_s(self, point: Point) -> float:
        """Return the most that a ramp stored at a point, over its own link, 1/s.

        A second of each rate, three times as much each time, until less than 0.6 of what was asked
        for is stored; 20 s where one lost packet stops all for as long as TFTP waits, and 5 s of
        kept connections where losses come in bursts, of which some stop all for a second or longer:
        a rate that meets such a spell is tried again, and three of them end the ramp.
        """
        return float(self._once(f"capacity over the link of {point}", lambda: self._ramp(point)))

    def repetition(self, point: Point, rate_per_s: float, number: int) -> dict[str, Any]:
        """Return the figures of one repetition, what the relay did, and what the host says."""
        made_from = f"repetition {number} of {point} at {rate_per_s}"
        found: dict[str, Any] = self._once(
            made_from, lambda: self._measured(point, rate_per_s, number)
        )
        return found

    def _once(self, made_from: str, make: Callable[[], Any]) -> Any:
        found = self.kept.kept(made_from)
        if found is None:
            found = make()
            self.kept.keep(made_from, found)
        return found

    def _ramp(self, point: Point) -> float:
        through = (point.carrier, point.loss)
        rate_per_s, best_per_s = _RAMP_FROM_PER_S[point.carrier] / self.slowness, 0.0
        while rate_per_s <= _RAMP_MOST_PER_S:
            for number in _TRIES.get(through, (_RAMP,)):
                stored_per_s = self._stored_per_s(point, rate_per_s, number)
                best_per_s = max(best_per_s, stored_per_s)
                if stored_per_s >= _SATURATED * rate_per_s:
                    break
            else:
                break
            rate_per_s *= _RAMP_STEP
        if not best_per_s:
            raise EnvironmentMissingError(f"{point.carrier}: nothing was stored")
        return best_per_s

    def _stored_per_s(self, point: Point, rate_per_s: float, number: int) -> float:
        """Return how much a ramp stores at one of its rates, 1/s, with losses by a number."""
        ramp_s = _STOPPING_RAMPS_S.get((point.carrier, point.loss), _RAMP_S)
        link, losses = ends.link_of(point), ends.losses_of(point, number)
        asked = Asked(point.carrier, rate_per_s, point.payload_bytes, ramp_s, link, losses)
        _, found = self._traded(asked, figures.Judged(ramp_s, 0.0, point.carrier))
        return float(found.store_rate_per_s)

    def _measured(self, point: Point, rate_per_s: float, number: int) -> dict[str, Any]:
        effort, cores = self.effort, self.cores
        asked = Asked(
            point.carrier,
            rate_per_s,
            point.payload_bytes,
            effort.proposing_s,
            ends.link_of(point),
            ends.losses_of(point, number),
        )
        # The relay tells its delay when the trade is over.
        judged = prediction.judged(point, point.delay_s, effort)
        before = computer.ticks_now(cores.ends)
        traded, found = self._traded(asked, judged)
        after = computer.ticks_now(cores.ends)
        return {
            "figures": found.as_json(),
            "relay": _relay(traded),
            "steal_ratio": computer.steal_ratio(before, after),
            "frequency_hz": computer.frequencies_hz(cores.ends),
            "outcome": traded.outcome,
        }

    def _traded(self, asked: Asked, judged: Judged) -> tuple[Traded, Figures]:
        with tempfile.TemporaryDirectory(prefix="pocketsim-host-") as folder:
            traded = ends.trade(self.probe, self.cores, asked, Path(folder))
            events = phone_logs.read(traded.log)
        judged = replace(judged, passage_s=passage_s(traded.relay, judged.passage_s))
        return traded, figures.of(events, judged)


def run_probe(probe: Path, cores: Cores, file: Path, options: Sequence[str] = ()) -> None:
    """Write a quick report of the cores that trade; raises EnvironmentMissingError without one."""
    command = [probe, "run", "--quick", "--quiet", "-o", file, *options]
    with computer.pinned(cores.ends):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode or not file.is_file():
        tail = done.stderr.strip().splitlines()[-1:]
        raise EnvironmentMissingError(": ".join(["`probe run` failed", *tail]))


def _relay(traded: Traded) -> dict[str, Any] | None:
    """Return the relay's own counts, and the share of its core that it had meanwhile."""
    if traded.relay is None:
        return None
    return {**traded.relay, "cpu_ratio": traded.relay_ratio}


def passage_s(relay: dict[str, Any] | None, delay_s: float, quantile: str = "p50_s") -> float:
    """Return what a relay that adds a delay (s) added to a passage in truth, s; 0 without.

    The delay and how late it was, the mean of both ways' quantiles. The relay tells three digits:
    of its delay and lateness together, of 5 ms, that is 4 us for each of a message's passages.
    """
    ways = [relay[way]["lateness"][quantile] for way in ("up", "down")] if relay else []
    known = [way for way in ways if way is not None]
    return delay_s + sum(known) / len(known) if known else 0.0


def forwarding_cpu_s(repetition: dict[str, Any]) -> float | None:
    """Return the core time that the relay of a repetition took for a datagram that came to it, s.

    By its share while the dialler proposed, and as if all datagrams had come then. None without a
    relay, where its share is unknown, or nothing came.
    """
    relay = repetition["relay"]
    if relay is None or relay["cpu_ratio"] is None:
        return None
    count = sum(relay[way]["received_datagrams"] for way in ("up", "down"))
    proposed_s = sum(one["duration_s"] for one in repetition["outcome"]["repetitions"])
    return float(relay["cpu_ratio"] * proposed_s / count) if count else None


_RAMP_FROM_PER_S = {"udp": 1000.0, "quic_keep": 1500.0, "quic_reconnect": 50.0, "tftp": 8.0}
_RAMP_STEP = 3.0
_RAMP_S = 1.0
_STOPPING_RAMPS_S = {
    # Some four times the 5 s that `probe trade` waits for a block of TFTP.
    ("tftp", "independent"): 20.0,
    ("tftp", "bursts"): 20.0,
    # Probe timeouts of QUIC double: six of them in a row are 1.6 s.
    ("quic_keep", "bursts"): 5.0,
}
_RAMP = -1  # the number of no repetition
_TRIES = {("quic_keep", "bursts"): (_RAMP, -2, -3)}  # of a rate that is too high
_RAMP_MOST_PER_S = 1e5  # more than a core can sign
_SATURATED = 0.6
