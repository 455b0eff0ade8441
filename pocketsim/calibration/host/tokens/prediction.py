"""What the simulator's machine takes for batches, and what a command does beside it.

The machine is that of `protocol.kind = "token_batch"`: an authority and two phones in a ring, on
the profile of this host. Each signature that it makes or checks is drawn work of the simulator;
what else a command does, which no machine does, is priced by the probe.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pocketsim.calibration.host.prediction import made_from
from pocketsim.calibration.host.tokens import design
from pocketsim.calibration.host.tokens.design import CHECK, SIGN, Stage
from pocketsim.sim.base import token_bytes
from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.run import results, runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.trace import origin
from pocketsim.sim.trace.columns import Columns, split, times_by_message

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from pocketsim.calibration.host.measuring import Kept
    from pocketsim.calibration.host.tokens.design import Batch, Command, Effort
    from pocketsim.calibration.host.tokens.measuring import Costs

Stages = dict[Stage, float]
"""How long the stages of one simulated ring took, s."""


class Prices(Protocol):
    """What the probe says of what commands do beside the machine, in seconds each."""

    def bookkeeping_s(self, kernel: str, tokens: int) -> float:
        """Return the time of what a command does in memory beside its signatures."""

    def sign_s(self, size_bytes: int) -> float:
        """Return the time of a signature."""

    def check_s(self, size_bytes: int) -> float:
        """Return the time that a signature takes to be checked."""

    def open_s(self, size_bytes: int) -> float:
        """Return the time of a file that is opened, read whole and closed again."""

    def append_s(self, place: str, size_bytes: int) -> float:
        """Return the time of an append that reaches the disk, or the memory, of files there."""

    def replace_s(self, place: str, size_bytes: int) -> float:
        """Return the time of a file that is put in the place of another."""

    def create_s(self, place: str, size_bytes: int) -> float:
        """Return the time of a file that gets a name which no other has."""

    def destination_s(self) -> float:
        """Return the time in which a command finds out where its output goes."""


def at_that_time(profile: Path, to: Path, prices: Prices) -> None:
    """Write a device profile again, with signatures as in the reports around the batches."""
    import tomli_w

    _, device = read_toml(profile)
    for operation, price_s in (("sign", prices.sign_s), ("verify", prices.check_s)):
        per_byte_s = max(0.0, price_s(_LONG_BYTES) - price_s(0)) / _LONG_BYTES
        device["operations"][operation] |= {
            "cpu": f"{1e9 * price_s(0):.3f}ns",
            "per_byte": f"{1e9 * per_byte_s:.6f}ns",
        }
    to.write_text(tomli_w.dumps(device), encoding="utf-8")


def simulate(
    profile: Path, effort: Effort, jobs: int, kept: Kept, report: Callable[[str], None]
) -> dict[int, list[Stages]]:
    """Return by the size of a batch the stages of every simulated ring, on a profile of one core.

    What `kept` has is not simulated again; `report` gets a line for each batch that is. Raises what
    the runner raises.
    """
    import tomli_w

    found: dict[int, list[Stages]] = {}
    turn = threading.Lock()
    asked = {tokens: document(tokens, profile, effort) for tokens in effort.sizes}
    names = {tokens: made_from(scenario) for tokens, scenario in asked.items()}
    for tokens, name in names.items():
        told = kept.kept(name)
        if told is not None:
            found[tokens] = [
                {Stage(stage, count): time_s for stage, count, time_s in one} for one in told
            ]
            del asked[tokens]
    if not asked:
        return _in_order(found)

    def reduce(outcome: runner.Outcome) -> None:
        events = results.read_events(outcome.directory)
        tokens = int(outcome.directory.parent.name)
        found[tokens] = [stages(part) for part in split(events, effort.draws)]
        shutil.rmtree(outcome.directory)
        told = [
            [(stage.name, stage.recipients, time_s) for stage, time_s in one.items()]
            for one in found[tokens]
        ]
        with turn:
            kept.keep(names[tokens], told)
            report(f"{tokens} tokens: simulated {effort.draws} times")

    with tempfile.TemporaryDirectory(prefix="pocketsim-host-") as folder:
        tasks = []
        for tokens, scenario in asked.items():
            file = Path(folder) / f"{tokens}.toml"
            file.write_text(tomli_w.dumps(scenario), encoding="utf-8")
            tasks += runner.tasks_of(load(file), Path(folder) / "runs")
        runner.run_tasks(tasks, jobs, way=runner.Way(done=reduce))
    return _in_order(found)


def _in_order(found: dict[int, list[Stages]]) -> dict[int, list[Stages]]:
    """Return them by size: what was kept is the same as what was simulated, to the byte."""
    return {tokens: found[tokens] for tokens in sorted(found)}


def document(tokens: int, profile: Path, effort: Effort) -> dict[str, Any]:
    """Return the scenario of one batch, as its TOML has it.

    The transport only has to take the largest of them: stages are timed between its passages.
    """
    radio = {"up": "10Gbps", "down": "10Gbps", "latency": "1us"}
    return {
        "title": f"{tokens} tokens",
        "implementation": "probe",
        "run": {
            "seed": design.SEED,
            "duration": "60s",
            "repetitions": effort.draws,
            "draw": "posterior",
        },
        "devices": [{"profile": str(profile), "count": _RING, "access": "here"}],
        "network": {"backbone_latency": "0s", "access": {"here": radio}},
        "workload": {
            "kind": "paced",
            "rate": "0.001/s",
            "payload": f"{tokens * token_bytes.size(1)}B",
        },
        "protocol": {"kind": "token_batch"},
        "transport": {"mode": "tftp"},
    }


def stages(events: pa.Table) -> Stages:
    """Return how long a simulated ring signed and checked, by recipients."""
    part = Columns.of(events)
    begun = part.of_kind("begin")
    begun = begun.where(begun.node == origin(begun.message))
    sent, stored = part.of_kind("send"), part.of_kind("store")
    signed_s = sent.time_s - times_by_message(begun, sent)
    checked_s = stored.time_s - times_by_message(part.of_kind("process"), stored)
    # The message of the phone with number k has tokens of k + 1 recipients.
    found = {
        Stage(SIGN, int(origin(one)) + 1): float(time_s)
        for one, time_s in zip(sent.message, signed_s, strict=True)
    }
    return found | {
        Stage(CHECK, int(origin(one)) + 1): float(time_s)
        for one, time_s in zip(stored.message, checked_s, strict=True)
    }


def machine_s(commands: tuple[Command, ...], simulated: Stages) -> float:
    """Return how long the machine of the simulator takes for these commands, s."""
    return sum(simulated[stage] for command in commands for stage in command.stages)


def beside_s(command: Command, batch: Batch, prices: Prices) -> float:
    """Return how long a command takes beside the machine, and longer than an idle one, s."""
    idle = design.idle_of(command)
    return _beside_s(command, batch.tokens, batch.place, prices) - _beside_s(
        idle, 0, batch.place, prices
    )


def idle_s(command: Command, costs: Costs) -> float:
    """Return what the idle command took of a command's kind of folder, as measured, s."""
    return costs[design.idle_of(command).name]["duration_s"]


def _beside_s(command: Command, tokens: int, place: str, prices: Prices) -> float:
    """Return the price of what a command does beside the machine, s; of none if it is idle."""
    found = prices.bookkeeping_s(command.bookkeeping, tokens)
    times = tokens or 1  # an idle command's sizes are in all
    if command.signed_bytes:
        found += prices.sign_s(times * command.signed_bytes)
    if command.checked_bytes:
        found += prices.check_s(times * command.checked_bytes)
    found += sum(prices.open_s(times * each) for each in command.opened)
    found += sum(prices.replace_s(place, times * each) for each in command.replaced)
    found += sum(prices.create_s(place, times * each) for each in command.created)
    if command.appended:
        found += prices.append_s(place, times * command.appended)
    return found + (prices.destination_s() if command.has_output else 0.0)


_RING = 3  # the authority, alice and bob
_LONG_BYTES = 4096  # any size beyond the fixed part
