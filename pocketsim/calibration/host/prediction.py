"""The scenario that is the same as a real trade on this host, and what its simulation comes to.

Each end is a phone of one core. The loopback itself takes no time: what it takes is in the costs of
sending and waking. The relay's own measured delay is a latency of the dialler's network, which
loses what the relay is told to lose. Nothing is fitted to trades. Where the relay runs on the
dialler's core, it is a process there that takes what it took for each datagram, and the two wait
for each other; where it has a core of its own, and of TFTP, what it is later at times is jitter.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.host import figures, jitter
from pocketsim.calibration.host.design import BURST_PACKETS, LOSS_RATIO, SEED
from pocketsim.calibration.host.figures import Judged
from pocketsim.sim.base.build import build_digest
from pocketsim.sim.run import results, runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.trace.columns import split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pocketsim.calibration.host.design import Effort, Point
    from pocketsim.calibration.host.figures import Figures


POSTERIOR, MEAN = "posterior", "mean"


@dataclass(frozen=True)
class Setting:
    """What a simulation takes from the measurement of its point: rate, relay, and its core."""

    rate_per_s: float
    passage_s: float
    forwarding_cpu_s: float
    """Core time that the relay took for a datagram, s; 0 where the dialler's core is not its."""
    late_passage_s: float = 0.0
    """The 99th percentile of what the relay added to a passage, whose median `passage_s` is, s."""
    mean_passage_s: float = 0.0
    """The mean of the same, s."""


@dataclass(frozen=True)
class Documents:
    """The files of this computer's profiles, with one core, and of what `probe trade` takes here.

    `beside_relay` is of an end that has a relay on its core.
    """

    device: Path
    beside_relay: Path
    implementation: Path


def document(
    point: Point,
    setting: Setting,
    documents: Documents,
    effort: Effort,
    draw: str = POSTERIOR,
) -> dict[str, Any]:
    """Return the scenario, as its TOML has it; `draw` is that of a run."""
    radio = {"up": _LOOPBACK, "down": _LOOPBACK}
    listener = {**radio, "latency": _seconds(0.0)}
    dialler = {**radio, **_relayed(point, setting), **_losses(point)}
    near = documents.beside_relay if setting.forwarding_cpu_s else documents.device
    return {
        "title": point.name,
        "implementation": str(documents.implementation),
        "run": {
            "seed": SEED,
            "duration": _seconds(effort.proposing_s),
            "repetitions": effort.draws,
            "draw": draw,
        },
        "devices": [
            {"profile": str(near), "count": 1, "access": "dialler"},
            {"profile": str(documents.device), "count": 1, "access": "listener"},
        ],
        "network": {
            "backbone_latency": "0s",
            "access": {"dialler": dialler, "listener": listener},
        },
        "workload": {
            "kind": "paced",
            "rate": f"{setting.rate_per_s:.6g}/s",
            "payload": f"{point.payload_bytes}B",
        },
        "transport": {"mode": point.carrier},
    }


def on_one_core(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario with all phones as processes of one computer, whose cores they share."""
    devices = [{**group, "computer": "host"} for group in scenario["devices"]]
    return {**scenario, "devices": devices}


def judged(point: Point, passage_s: float, effort: Effort) -> Judged:
    """Return what counts of a point, of its measurement and its simulation alike."""
    return Judged(effort.proposed_s, effort.drained_s, point.carrier, passage_s, effort.warm_up_s)


def made_from(scenario: dict[str, Any], *beside: object) -> str:
    """Return a text of all that figures of a scenario are made from.

    That has the simulator's build in it, and profiles by their digests, not by where they
    happen to be; `beside` is what else it takes, as plain values.
    """
    devices = [{**group, "profile": _digest(group["profile"])} for group in scenario["devices"]]
    documents = {"devices": devices, "implementation": _digest(scenario["implementation"])}
    return json.dumps([build_digest(), {**scenario, **documents}, *beside], sort_keys=True)


def simulate(
    asked: Mapping[str, tuple[dict[str, Any], Judged]],
    jobs: int,
    done: Callable[[str, list[Figures]], None] = lambda _name, _figures: None,
) -> dict[str, list[Figures]]:
    """Return by name the figures of every simulated repetition of scenarios, in order.

    A run goes as soon as it was read, and `done` gets its name and figures, one run at a time.
    Raises what the runner raises.
    """
    import tomli_w

    found: dict[str, list[Figures]] = {}
    turn = threading.Lock()

    def reduce(outcome: runner.Outcome) -> None:
        name = outcome.directory.parent.name
        scenario, counted = asked[name]
        parts = split(results.read_events(outcome.directory), scenario["run"]["repetitions"])
        found[name] = [figures.of(part, counted) for part in parts]
        shutil.rmtree(outcome.directory)
        with turn:
            done(name, found[name])

    with tempfile.TemporaryDirectory(prefix="pocketsim-host-") as folder:
        tasks = []
        for name, (scenario, _) in asked.items():
            file = Path(folder) / f"{name}.toml"
            file.write_text(tomli_w.dumps(scenario), encoding="utf-8")
            tasks += runner.tasks_of(load(file), Path(folder) / "runs")
        runner.run_tasks(tasks, jobs, way=runner.Way(done=reduce))
    return found


def _digest(file: str) -> str:
    """Return that of a document's file, or its name where it is shipped."""
    path = Path(file)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.suffix else file


def _relayed(point: Point, setting: Setting) -> dict[str, Any]:
    """Return the latency of the relay's side, and its work or its jitter: how much later it was.

    On the dialler's core it is a process, and what waiting for that adds to its median is
    simulated. With a core of its own its jitter is by the median and the 99th percentile that it
    measured of itself; at least one datagram goes each way for a message, at the rate of those. Of
    TFTP, whose blocks cross it ten times and more for a message and load no core, it is by its
    mean: that is what many of them take together, and a lognormal law through the 99th percentile
    has a larger one.
    """
    own_s, late_s, mean_s = (
        each - point.delay_s
        for each in (setting.passage_s, setting.late_passage_s, setting.mean_passage_s)
    )
    is_many = point.carrier == "tftp"
    work_s = 0.0 if is_many else setting.forwarding_cpu_s
    if work_s:
        return {"latency": _seconds(setting.passage_s), "forwarding_cpu": _seconds(work_s)}
    if not 0 < own_s < (mean_s if is_many else late_s):
        return {"latency": _seconds(setting.passage_s)}
    median_s, sigma = (
        jitter.of_mean(own_s, mean_s)
        if is_many
        else jitter.drawn(own_s, late_s, 1 / setting.rate_per_s)
    )
    return {
        "latency": _seconds(point.delay_s),
        "jitter_median": _seconds(median_s),
        "jitter_sigma": round(sigma, 4),
    }


def _losses(point: Point) -> dict[str, Any]:
    if point.loss == "bursts":
        return {"bursts": {"share": LOSS_RATIO, "mean_packets": BURST_PACKETS}}
    return {"loss_ratio": LOSS_RATIO} if point.loss == "independent" else {}


def _seconds(value_s: float) -> str:
    return f"{value_s * 1e9:.0f}ns"


_LOOPBACK = "10Gbps"  # nothing waits for it: a block takes 1 us or less
