"""Trades on this computer, predicted by commands alone and then measured: the recipe of the docs.

The commands are those of docs/profiles.md ("A trade on one computer, predicted"); each is printed
as it is run. `predictions.json` is written before the first trade begins. Points are a carrier and
a rate; proposals that the dialler has no room for count as not done, at both. Exit code 3 when a
bar is missed. What does not live here: `pocketsim validate host`, whose points nobody has chosen.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RTT_BAR = 0.15
"""How far off, relative to what was measured, the median of the errors of p50 may be."""
SUCCESS_BAR = 0.1
"""How far off success may be at any point."""
CARRIERS = ("udp", "quic_keep", "quic_reconnect")
RATES_PER_S = (37, 210, 700)
PAYLOAD_BYTES = 100
PAUSE_S = 1
EXIT_CHECK_FAILED = 3
SCENARIO = """\
title = "Two processes over the loopback"
implementation = "program.toml"

[run]
seed = 1
duration = "{duration_s:g}s"
repetitions = {repetitions}

[[devices]]
profile = "one_core.toml"
count = 2
access = "loopback"

[network]
backbone_latency = "0s"

[network.access.loopback]
up = "10Gbps"
down = "10Gbps"
latency = "0s"

[workload]
kind = "paced"
rate = "{rate_per_s}/s"
payload = "{payload_bytes}B"

[transport]
mode = "{carrier}"
"""


@dataclass(frozen=True)
class Point:
    """A carrier and a rate, with the name of its files."""

    carrier: str
    rate_per_s: int

    @property
    def name(self) -> str:
        """Return what the point's scenario and log are called."""
        return f"{self.carrier}_{self.rate_per_s}ps"


@dataclass(frozen=True)
class Figures:
    """The median round trip, ms, and how much of what was asked for was stored."""

    rtt_ms_p50: float
    success_ratio: float


def main() -> int:
    """Predict all points, trade at all points, print both; say whether the bars are met."""
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    loads = [os.getloadavg()[0]]
    points = [Point(carrier, rate) for carrier in options.carriers for rate in options.rates]
    make_profiles(options)
    loads.append(os.getloadavg()[0])
    predicted = {point.name: predict(point, options) for point in points}
    write(options.out / "predictions.json", predicted)
    measured = {}
    for point in points:
        measured[point.name] = trade(point, options)
        loads.append(os.getloadavg()[0])
    write(options.out / "measured.json", measured)
    show(points, predicted, measured)
    print(f"\nload of the computer, 1 min, from before the report: {words_of(loads)}")
    met = judge(predicted, measured)
    return 0 if met or options.no_bar else EXIT_CHECK_FAILED


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = ROOT / "build" / "own_points"
    parser.add_argument("--probe", type=Path, default=ROOT / "build" / "bin" / "probe")
    parser.add_argument("-o", "--out", type=Path, default=folder, help="folder of all files")
    parser.add_argument("--carriers", nargs="+", choices=CARRIERS, default=CARRIERS)
    parser.add_argument("--rates", nargs="+", type=int, default=RATES_PER_S, help="a second")
    parser.add_argument("--duration", type=float, default=5.0, help="s, of each repetition")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--no-bar", action="store_true", help="exit code 0 beyond them, too")
    options = parser.parse_args()
    options.probe = options.probe.resolve()
    return options


def make_profiles(options: argparse.Namespace) -> None:
    """Measure this computer, and write its profile, the program's costs and a pinned process."""
    base = ["--base", "thinkpad_l13", "--allow-spoiled", "--name", "mine"]
    run([options.probe, "run", "--quick", "--quiet", "-o", "report.json"], options.out)
    pocketsim(["calibrate", "report.json", *base, "-o", "machine.toml"], options.out)
    made = ["implementation", "report.json", "--device", "machine.toml", "-o", "program.toml"]
    pocketsim(["calibrate", *made], options.out)
    pinned = ["machine.toml", "--report", "report.json", "-o", "one_core.toml"]
    pocketsim(["profile", "pin", *pinned], options.out)


def predict(point: Point, options: argparse.Namespace) -> Figures:
    """Return what the simulation of a point says."""
    text = SCENARIO.format(
        **asdict(point),
        duration_s=options.duration,
        repetitions=options.repetitions,
        payload_bytes=PAYLOAD_BYTES,
    )
    (options.out / f"{point.name}.toml").write_text(text, encoding="utf-8")
    told = pocketsim(["run", f"{point.name}.toml", "--json"], options.out)
    return figures(json.loads(told), point, options)


def trade(point: Point, options: argparse.Namespace) -> Figures:
    """Trade for real at a point, both ends pinned to a core each, and return what came of it."""
    log = f"{point.name}.jsonl"
    near, far = sorted(os.sched_getaffinity(0))[:2]
    listen = [options.probe, "trade", "listen", "--bind", "127.0.0.1:0", "--json"]
    dial = ["--carrier", point.carrier, "--rate", point.rate_per_s, "--payload", PAYLOAD_BYTES]
    dial += ["--duration", f"{options.duration:g}s", "--repetitions", options.repetitions]
    dial += ["--pause", f"{PAUSE_S}s", "--json", "-o", log]
    command = pinned_to(far, listen)
    print(f"$ {shlex.join(command)} &", flush=True)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as listener:
        try:
            assert listener.stdout is not None
            address = listener.stdout.readline().split()[2]
            run(pinned_to(near, [options.probe, "trade", "dial", address, *dial]), options.out)
        finally:
            listener.send_signal(signal.SIGINT)
    return figures(json.loads(pocketsim(["metrics", log, "--json"], options.out)), point, options)


def figures(told: dict[str, Any], point: Point, options: argparse.Namespace) -> Figures:
    """Return the figures of what `run --json` or `metrics --json` has printed."""
    metrics = told["metrics"]
    asked_count = point.rate_per_s * options.duration
    success = metrics["store_count"]["value"] / asked_count
    return Figures(metrics["rtt_ms_p50"]["value"], min(success, 1.0))


def show(points: list[Point], predicted: dict[str, Figures], measured: dict[str, Figures]) -> None:
    """Print both figures of each point, and how far they are apart."""
    print(f"\n{'point':22}{'p50 ms: predicted':>18}{'measured':>10}{'ratio':>7}", end="")
    print(f"{'success: predicted':>20}{'measured':>10}")
    for point in points:
        said, was = predicted[point.name], measured[point.name]
        ratio = said.rtt_ms_p50 / was.rtt_ms_p50
        print(f"{point.name:22}{said.rtt_ms_p50:18.3f}{was.rtt_ms_p50:10.3f}{ratio:7.2f}", end="")
        print(f"{said.success_ratio:20.2f}{was.success_ratio:10.2f}")


def words_of(loads: list[float]) -> str:
    """Return loads in words, and whether others had the cores that were measured."""
    text = f"{min(loads):.1f} to {max(loads):.1f}"
    if max(loads) <= (os.cpu_count() or 1):
        return text
    return f"{text}; others want the cores: what was measured is theirs, too"


def judge(predicted: dict[str, Figures], measured: dict[str, Figures]) -> bool:
    """Print both bars, and return whether they are met."""
    pairs = [(predicted[name], was) for name, was in measured.items()]
    rtt = statistics.median(abs(said.rtt_ms_p50 / was.rtt_ms_p50 - 1) for said, was in pairs)
    success = max(abs(said.success_ratio - was.success_ratio) for said, was in pairs)
    words = {True: "met", False: "missed"}
    print(f"error of p50, median of {len(pairs)} points: {rtt:.3f}", end="")
    print(f", bar {RTT_BAR}: {words[rtt <= RTT_BAR]}")
    print(f"error of success, largest: {success:.3f}, bar {SUCCESS_BAR}: ", end="")
    print(words[success <= SUCCESS_BAR])
    return rtt <= RTT_BAR and success <= SUCCESS_BAR


def write(path: Path, found: dict[str, Figures]) -> None:
    """Write the figures of all points."""
    rows = {name: asdict(each) for name, each in found.items()}
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def pinned_to(core: int, command: list[Any]) -> list[str]:
    """Return the command on one core."""
    return ["taskset", "-c", str(core), *map(str, command)]


def pocketsim(arguments: list[Any], folder: Path) -> str:
    """Run `pocketsim` in the folder, as a user would, and return what it prints."""
    return run([sys.executable, "-m", "pocketsim.cli", "--quiet", *arguments], folder, "pocketsim")


def run(command: list[Any], folder: Path, named: str = "") -> str:
    """Run a command in the folder and return what it prints; end with what it says if it fails."""
    words = [str(word) for word in command]
    shown = [named, *words[4:]] if named else words
    print(f"$ {shlex.join(shown)}", flush=True)
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stderr}exit code {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
