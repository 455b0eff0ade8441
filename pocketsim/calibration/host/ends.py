"""One real trade on one computer: a listener, `probe link` if asked for, a dialler; and their ends.

Processes are ended by whoever started them, and only those. What they say goes into files of the
folder that a trade is given.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.host import computer
from pocketsim.calibration.host.design import BURST_PACKETS, LOSS_RATIO, SEED
from pocketsim.sim.base.errors import EnvironmentMissingError
from pocketsim.sim.base.streams import stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pocketsim.calibration.host.computer import Cores
    from pocketsim.calibration.host.design import Point

    Command = Sequence[str | Path]


@dataclass(frozen=True)
class Asked:
    """A trade: at least `proposing_s` of proposals over a relay or none.

    The stream named `losses` draws a seed for the relay of each attempt.
    """

    carrier: str
    rate_per_s: float
    payload_bytes: int
    proposing_s: float
    link: tuple[str, ...] | None
    """Options of `probe link`, but for its seed; None for no relay."""
    losses: str = "validate/host/losses"


@dataclass(frozen=True)
class Traded:
    """What came of a trade: the dialler's outcome, its log, the relay's counts and share.

    `relay_ratio` is the share of its core that the relay had while the dialler proposed; None
    without a relay.
    """

    outcome: dict[str, Any]
    log: Path
    relay: dict[str, Any] | None
    relay_ratio: float | None


def losses_of(point: Point, repetition: int) -> str:
    """Return the name of the stream of a relay's losses, which are a point's and repetition's own.

    Points with the same losses would be off together, as if they said one thing.
    """
    return f"validate/host/losses/{point.name}/{repetition}"


def link_of(point: Point) -> tuple[str, ...] | None:
    """Return the options of the relay of a point, but for its seed; None where there is none."""
    if not point.is_relayed:
        return None
    share = f"{100 * LOSS_RATIO:g}%"
    losses = {
        "none": (),
        "independent": ("--loss", share),
        "bursts": ("--bursts-share", share, "--bursts-mean-packets", f"{BURST_PACKETS:g}"),
    }
    return ("--delay", f"{1000 * point.delay_s:g}ms", *losses[point.loss])


def trade(probe: Path, cores: Cores, asked: Asked, folder: Path) -> Traded:
    """Trade, and return when all three processes have ended.

    Raises EnvironmentMissingError where a process does not do what it should.
    """
    lead_s = _LEAD_S
    seeds = stream(SEED, asked.losses)
    for _ in range(_ATTEMPTS):
        # With the same losses, control's first questions would be lost again.
        seed = int(seeds.integers(2**32))
        with contextlib.ExitStack() as running:
            traded = _attempt(probe, cores, asked, folder, lead_s, seed, running)
        # A lost question of control is repeated, and proposing begins that much later.
        if _proposed_s(traded.outcome) >= asked.proposing_s:
            return traded
        lead_s *= 2
    what = f"the dialler proposed for less than {asked.proposing_s:g} s"
    raise EnvironmentMissingError(f"{what}, {_ATTEMPTS} times: is the computer overloaded?")


def repeated(probe: Path, cores: Cores, asked: Asked, repetitions: int, log: Path) -> None:
    """Trade so many times, without a relay, and write the dialler's events to `log`.

    Each repetition ends by itself, when what it proposed is stored or given up. Raises
    EnvironmentMissingError where a process does not do what it should.
    """
    assert asked.link is None, "there is no relay"
    with tempfile.TemporaryDirectory(prefix="pocketsim-trade-") as name:
        folder = Path(name)
        listen: Command = [*(probe, "trade", "listen", "--bind", _ANY_PORT), *_STORED, "--json"]
        with _started(listen, cores.listener, folder / "listener") as listener:
            address = _first_line(listener, folder / "listener").split()[2]
            dial: Command = [
                *_dialling(probe, address, asked),
                *("--duration", f"{asked.proposing_s:g}s", "--repetitions", str(repetitions)),
                *("--pause", _PAUSE, *_STORED, "--json", "-o", log.absolute()),
            ]
            with _started(dial, cores.dialler, folder / "dialler") as dialler:
                said, _ = dialler.communicate()
            _outcome(said, folder / "dialler")


def _attempt(
    probe: Path,
    cores: Cores,
    asked: Asked,
    folder: Path,
    lead_s: float,
    seed: int,
    running: contextlib.ExitStack,
) -> Traded:
    listen: Command = [probe, "trade", "listen", "--bind", _ANY_PORT, "--json"]
    listener = running.enter_context(_started(listen, cores.listener, folder / "listener"))
    address = _first_line(listener, folder / "listener").split()[2]
    relay = None
    if asked.link is not None:
        command: Command = [
            probe,
            "link",
            "--listen",
            _ANY_PORT,
            "--to",
            address,
            "--json",
            *("--seed", str(seed)),
            *asked.link,
        ]
        relay = running.enter_context(_started(command, cores.relay, folder / "relay"))
        address = _first_line(relay, folder / "relay").strip()
    log = folder / "events.jsonl"
    watched = None if relay is None else relay.pid
    outcome, relay_ratio = _dial(probe, cores.dialler, address, asked, log, lead_s, watched)
    counts = None if relay is None else json.loads(_end(relay))
    return Traded(outcome, log, counts, relay_ratio)


def _dial(
    probe: Path,
    core: int,
    address: str,
    asked: Asked,
    log: Path,
    lead_s: float,
    watched: int | None,
) -> tuple[dict[str, Any], float | None]:
    """Propose, interrupt it when its time is over, and return the outcome, and a process's share.

    The share is of a core, that the `watched` process had from when proposing has begun until it is
    interrupted. What it does before and after that takes no time from what is judged.

    An interrupted dialler waits for answers until nothing has moved for 1 s, another for 5 s or
    more, in which nothing is judged.
    """
    until_s = asked.proposing_s + lead_s
    command: Command = [
        *_dialling(probe, address, asked),
        *("--duration", f"{until_s + _SPARE_S:g}s", "--repetitions", "1", "--json", "-o", log),
    ]
    with _started(command, core, log.parent / "dialler") as dialler:
        _wait(dialler, lead_s)
        before = None if watched is None else computer.spent(watched)
        _wait(dialler, asked.proposing_s)
        after = None if watched is None else computer.spent(watched)
        said = _end(dialler)
    outcome = _outcome(said, log.parent / "dialler")
    return outcome, computer.core_ratio(before, after) if before and after else None


def _dialling(probe: Path, address: str, asked: Asked) -> Command:
    return [
        *(probe, "trade", "dial", address, "--carrier", asked.carrier),
        *("--rate", f"{asked.rate_per_s:.6g}", "--payload", str(asked.payload_bytes)),
    ]


def _outcome(said: str, errors: Path) -> dict[str, Any]:
    """Return what a dialler has printed; raises EnvironmentMissingError where that is no trade."""
    try:
        outcome: dict[str, Any] = json.loads(said)
    except ValueError:
        raise _failed("dialler", errors) from None
    if outcome["error"]:
        raise EnvironmentMissingError(f"probe trade dial: {outcome['error']}")
    return outcome


def _wait(process: subprocess.Popen[str], timeout_s: float) -> None:
    """Wait for the end of a process, but for no longer than so."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout_s)


def _proposed_s(outcome: dict[str, Any]) -> float:
    repetitions = outcome["repetitions"]
    return float(repetitions[0]["duration_s"]) if repetitions else 0.0


@contextlib.contextmanager
def _started(command: Command, core: int, errors: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a program on one core until the block ends; it is killed if it does not end then."""
    with errors.open("w", encoding="utf-8") as stderr, computer.pinned({core}):
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=stderr, text=True
        )
    with process:
        try:
            yield process
            _end(process)
        finally:
            process.kill()  # nothing, if it has ended


def _end(process: subprocess.Popen[str]) -> str:
    """Interrupt a process if it lives, and return what it has printed since its first line.

    Empty where it was asked before, or does not end.
    """
    if process.stdout is None or process.stdout.closed:
        return ""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=_PATIENCE_S)[0]
    return ""


def _first_line(process: subprocess.Popen[str], errors: Path) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise _failed(errors.name, errors)
    return line


def _failed(what: str, errors: Path) -> EnvironmentMissingError:
    tail = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    return EnvironmentMissingError(": ".join([f"the probe's {what} failed", *tail]))


_ANY_PORT = "127.0.0.1:0"
_STORED = ("--store", "append")  # as a profile prices it by default
_PAUSE = "100ms"  # between repetitions that end by themselves
_LEAD_S = 0.4  # from the dialler's start to its first proposal; 0.2 s unless the computer is busy
_SPARE_S = 2.0  # by which the dialler would go on: an interrupt after its end has no effect
_ATTEMPTS = 3
_PATIENCE_S = 45.0  # a dialler waits up to 30 s while answers come, then 5 s for the last word
