"""Bursts of loss as put in and as measured, on a simulated link and through `probe link`.

Both carry datagrams of one IP packet each, one after the other; what does not arrive is lost. The
table has the mean of these losses, the autocorrelation of neighbours, and quantiles of how many are
lost in a row, each beside its closed form. Independent losses of the same mean stand below: were
they near it, too, the comparison could not fail. Exit code 3 when a figure is off by more than the
bar, or when independent losses are not.

The chains are those of tests/vectors/bursts.json.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pocketsim_pairwise
import workload

from pocketsim.sim import _engine
from pocketsim.sim.base import streams
from pocketsim.sim.base.units import DURATION
from pocketsim.sim.plan import arrivals

ROOT = Path(__file__).resolve().parents[1]
VECTORS = ROOT / "tests" / "vectors" / "bursts.json"
BAR = 0.05
"""How far apart, relative to what was put in, a figure may be."""
QUANTILES = (0.5, 0.9, 0.99)
PACKETS = 1_000_000
INTERVAL_S = 0.1  # longer than a proposal and its answer take
BATCH = 100  # datagrams that fit any socket's buffer
PATIENCE_S = 10.0
EXIT_CHECK_FAILED = 3

Flags = npt.NDArray[np.bool_]
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Figures:
    """What is said of losses: mean, neighbours' autocorrelation, quantiles of runs in packets."""

    loss_ratio: float
    autocorrelation: float
    p50_packets: float
    p90_packets: float
    p99_packets: float


def chains() -> list[dict[str, Any]]:
    """Return the chains to compare, as a network of a scenario has them."""
    rows = json.loads(VECTORS.read_text(encoding="utf-8"))["chains"]
    return [{key: row[key] for key in ("loss_ratio", "bursts")} for row in rows]


def expected(chain: dict[str, Any]) -> Figures:
    """Return the closed forms for a network's `loss_ratio` and `bursts`.

    Of a chain with two states, of which each loses with a probability of its own, neighbours'
    covariance is share (1 - share) (difference)^2 (1 - enter - leave); the length of a run has a
    phase-type law (Neuts, Matrix-Geometric Solutions in Stochastic Models, 1981, chapter 2).
    """
    share, loss = chain["bursts"]["share"], losses(chain)
    moves, states = transitions(chain), np.array([1 - share, share])
    mean = float(states @ loss)
    kept = moves[0, 0] + moves[1, 1] - 1
    covariance = share * (1 - share) * (loss[1] - loss[0]) ** 2 * kept
    begins = (states * (1 - loss)) @ moves * loss
    quantiles = [quantile(begins / begins.sum(), moves * loss, level) for level in QUANTILES]
    return Figures(mean, covariance / (mean * (1 - mean)), *quantiles)


def losses(chain: dict[str, Any]) -> Matrix:
    """Return the probabilities of loss outside bursts and in them."""
    return np.array([chain["loss_ratio"], chain["bursts"]["loss_ratio"]])


def transitions(chain: dict[str, Any]) -> Matrix:
    """Return the probabilities of going from outside or inside a burst to either."""
    share, leave = chain["bursts"]["share"], 1 / mean_packets(chain["bursts"])
    enter = share * leave / (1 - share)
    return np.array([[1 - enter, enter], [leave, 1 - leave]])


def mean_packets(bursts: dict[str, Any]) -> float:
    """Return how long bursts are in packets; if they last for a time, in those that meet them."""
    if "mean_packets" in bursts:
        return float(bursts["mean_packets"])
    outside, duration_s = 1 - bursts["share"], DURATION.parse(bursts["mean_duration"])
    left = -math.expm1(-INTERVAL_S / (outside * duration_s))
    return 1 / (outside * left)


def quantile(begins: Matrix, goes_on: Matrix, level: float) -> float:
    """Return the least length that a share `level` of all runs does not exceed."""
    packets, longer = 0, begins
    while longer.sum() > 1 - level:
        packets, longer = packets + 1, longer @ goes_on
    return float(packets)


def measured(lost: Flags) -> Figures:
    """Return the same of a sequence of losses."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], lost, [False]]).astype(int)))
    runs = edges[1::2] - edges[::2]
    neighbours = float(np.corrcoef(lost[:-1], lost[1:])[0, 1])
    quantiles = np.quantile(runs, QUANTILES, method="inverted_cdf")
    return Figures(float(lost.mean()), neighbours, *map(float, quantiles))


def apart(found: Figures, put_in: Figures) -> dict[str, float]:
    """Return how far each figure is from what was put in, relative to that."""
    names = [field.name for field in fields(Figures)]
    pairs = {name: (getattr(found, name), getattr(put_in, name)) for name in names}
    return {name: abs(one / other - 1) for name, (one, other) in pairs.items()}


def independent(loss_ratio: float, packets: int) -> Flags:
    """Return losses without memory."""
    return streams.stream(1, "bench/independent").random(packets) < loss_ratio


def simulated(chain: dict[str, Any], packets: int) -> Flags:
    """Return what a simulated link loses of `packets` proposals, each in one packet.

    A process has one engine, for good.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(replayed, (chain, packets))


def replayed(chain: dict[str, Any], packets: int) -> Flags:
    """Return the same of the engine of this process.

    One phone, whose network is the scenario's with these bursts, proposes to another, whose network
    loses nothing.
    """
    document = pocketsim_pairwise.document(2, 1.0)
    clean = document["network"]["access"].pop("radio")
    document["network"]["access"] = {"bursty": {**clean, **chain}, "clean": clean}
    (phone,) = document["devices"]
    document["devices"] = [
        {**phone, "count": 1, "access": access} for access in ("bursty", "clean")
    ]
    made = pocketsim_pairwise.planned(document)
    made["duration_s"] = (packets + 1) * INTERVAL_S
    times_s, first = np.arange(packets) * INTERVAL_S, np.zeros(packets, np.uint32)
    regular = arrivals.Arrivals(times_s, first, first + 1)
    made["workload"] = arrivals.proposals(regular, workload.MESSAGE_BYTES)
    result = _engine.run(made)
    kind, message = (
        np.frombuffer(result["columns"][name], dtype)
        for name, dtype in (("kind", "u1"), ("message", "<u8"))
    )
    sent, got = (message[kind == result["event_kinds"].index(name)] for name in ("send", "process"))
    return np.isin(sent, got, invert=True)


def relayed(chain: dict[str, Any], packets: int, probe: Path) -> Flags:
    """Return what `probe link` loses between sockets of this process."""
    with bound() as server, bound() as client:
        host, port = server.getsockname()
        command = [probe, "link", "--listen", "127.0.0.1:0", "--to", f"{host}:{port}"]
        command += ["--ports", "1", "--json", *options(chain)]
        with subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            link = process.stdout.readline().strip().rpartition(":")
            lost = np.ones(packets, np.bool_)
            for first in range(0, packets, BATCH):
                last = min(first + BATCH, packets)
                send(client, range(first, last), (link[0], int(link[2])))
                lost[arrived(server)] = False
            process.send_signal(signal.SIGTERM)
            counts = json.loads(process.stdout.read())["up"]
        lost[arrived(server)] = False
    dropped = counts["dropped_datagrams"]
    if counts["missed_datagrams"] or dropped != {"loss": int(lost.sum())}:
        sys.exit(f"the link lost what it should not: {counts}")
    return lost


def options(chain: dict[str, Any]) -> list[str]:
    """Return the options of `probe link` that are called as in a scenario; ratios are in %."""
    bursts = chain["bursts"]
    return [
        *("--loss", f"{100 * chain['loss_ratio']}%"),
        *("--bursts-share", f"{100 * bursts['share']}%"),
        *("--bursts-mean-packets", str(bursts["mean_packets"])),
        *("--bursts-loss", f"{100 * bursts['loss_ratio']}%"),
    ]


def bound() -> socket.socket:
    """Return a socket on loopback."""
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    found.bind(("127.0.0.1", 0))
    found.settimeout(0)
    return found


def send(client: socket.socket, numbers: range, to: tuple[str, int]) -> None:
    """Send numbers, and wait until the link has read them."""
    for number in numbers:
        client.sendto(number.to_bytes(4, "big"), to)
    deadline_s = time.monotonic() + PATIENCE_S
    while unread_bytes(to[1]):
        if time.monotonic() > deadline_s:
            sys.exit("the link no longer reads")


def unread_bytes(port: int) -> int:
    """Return the bytes that wait in the socket of this port, as the kernel sees it."""
    for row in Path("/proc/net/udp").read_text(encoding="ascii").splitlines()[1:]:
        fields_ = row.split()
        if fields_[1].endswith(f":{port:04X}"):
            return int(fields_[4].partition(":")[2], 16)
    return 0


def arrived(server: socket.socket) -> list[int]:
    """Return the numbers that wait at the server."""
    found = []
    with suppress(BlockingIOError):
        while True:
            found.append(int.from_bytes(server.recv(4), "big"))
    return found


def show(name: str, found: Figures, put_in: Figures) -> float:
    """Print one row; return the largest distance in it."""
    off = apart(found, put_in)
    cells = [f"{value:.4g} ({off[key]:.1%})" for key, value in vars(found).items()]
    print(f"| {name} | " + " | ".join(cells) + " |")
    return max(off.values())


def compare(chain: dict[str, Any], packets: int, probe: Path | None) -> bool:
    """Print the rows of one chain; return whether the bar is met where it should be."""
    put_in = expected(chain)
    print(f"\n{json.dumps(chain)}, {packets} packets\n")
    print(
        "| | mean loss | autocorrelation | in a row, p50 | p90 | p99 |\n|---|---|---|---|---|---|"
    )
    print("| put in | " + " | ".join(f"{value:.4g}" for value in vars(put_in).values()) + " |")
    met = show("simulated link", measured(simulated(chain, packets)), put_in) <= BAR
    if probe:
        met &= show("`probe link`", measured(relayed(chain, packets, probe)), put_in) <= BAR
    null = measured(independent(put_in.loss_ratio, packets))
    return met & (show("independent", null, put_in) > BAR)


def main() -> int:
    """Compare every chain, print, say whether the bar is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packets", type=int, default=PACKETS)
    parser.add_argument("--probe", type=Path, help="build/bin/probe; without it the link only")
    parser.add_argument("--no-bar", action="store_true", help="exit code 0 beyond it, too")
    given = parser.parse_args()
    met = [compare(chain, given.packets, given.probe) for chain in chains()]
    verdict = "met" if all(met) else "missed"
    print(f"\nbar: within {BAR:.0%}, and independent losses are not: {verdict}")
    return 0 if all(met) or given.no_bar else EXIT_CHECK_FAILED


if __name__ == "__main__":
    sys.exit(main())
