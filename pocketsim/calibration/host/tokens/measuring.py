"""One batch for real: minted, paid on, verified and redeemed by `probe tokens` on one core.

What a command took is the probe's own figure, from when it opens the folder: the start of a
process, in which nothing of tokens happens, is not in it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pocketsim.calibration.host import computer
from pocketsim.calibration.host.tokens import design
from pocketsim.calibration.host.tokens.design import Batch
from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pocketsim.calibration.host.measuring import Kept
    from pocketsim.calibration.host.tokens.design import Command, Effort

Costs = dict[str, dict[str, float]]
"""By a command's name what the probe says that it cost: `duration_s`, `cpu_s` and counts."""
_Read = TypeVar("_Read")


@dataclass(frozen=True)
class Counter:
    """A probe on one core, and for each place the folder in which folders are made."""

    probe: Path
    core: int
    places: Mapping[str, Path]
    kept: Kept

    def try_out(self) -> None:
        """Do one batch of a token in each place, so that what cannot be done is known at once.

        Raises what `repetition` raises.
        """
        for place in self.places:
            self.repetition(Batch(1, place), _TRIAL)

    def report(self, name: str, file: Path) -> None:
        """Write the probe's report of all that commands do beside the machine, unless it is there.

        On the core of the batches, at every size that the probe knows (half a minute); what files
        there are on the disk of the batches.
        """
        if self.kept.kept(f"report {name}") is not None and file.is_file():
            return
        words: list[object] = ["run", "--full", "--quiet", "--threads", 1, "-o", file.resolve()]
        disk = self.places.get(design.DISK)
        words += [word for kernel in _KERNELS for word in ("--only", kernel)]
        words += ["--scratch", disk] if disk else []
        _run(self.probe, self.core, "run", words, file.parent)
        if not file.is_file():
            raise EnvironmentMissingError(f"`probe run` wrote no {file}")
        self.kept.keep(f"report {name}", file.name)

    def measure(
        self, effort: Effort, told: Callable[[str], None]
    ) -> dict[Batch, tuple[Costs, ...]]:
        """Return the repetitions of every batch, which are interleaved."""
        several = design.batches(effort, tuple(self.places))
        found: dict[Batch, list[Costs]] = {batch: [] for batch in several}
        for turn in range(effort.repetitions):
            for batch in design.order(several, turn):
                found[batch].append(self.repetition(batch, turn))
            told(f"tokens, turn {turn + 1} of {effort.repetitions}: {len(several)} batches")
        return {batch: tuple(costs) for batch, costs in found.items()}

    def repetition(self, batch: Batch, number: int) -> Costs:
        """Return what each command of one batch cost; kept, so that nothing is measured twice.

        Raises EnvironmentMissingError where the probe refuses something, or signs and checks
        other than the machines of the simulator.
        """
        made_from = f"tokens {batch.name} {number}"
        found: Costs | None = self.kept.kept(made_from)
        if found is None:
            with tempfile.TemporaryDirectory(
                prefix="pocketsim-tokens-", dir=self.places[batch.place]
            ) as folder:
                found = _Round(self.probe, self.core, batch, Path(folder)).costs()
            self.kept.keep(made_from, found)
        return found


class _Round:
    """The way of one batch through an authority and two clients."""

    def __init__(self, probe: Path, core: int, batch: Batch, folder: Path) -> None:
        self._probe, self._core, self._batch, self._folder = probe, core, batch, folder
        self._found: Costs = {}

    def costs(self) -> Costs:
        bank = self._named("new-authority", "bank")
        alice = self._named("new-client", "alice", "--authority", bank)
        bob = self._named("new-client", "bob", "--authority", bank)
        (self._folder / "garbage").write_bytes(design.GARBAGE)
        refused = ("bank", "garbage", "-o", "none")
        self._idle(design.REFUSE, self._said(design.REFUSE.step, refused, _cost, _REFUSED))
        amount = ("--amount", f"{design.AMOUNTS_CENTS[self._batch.tokens] / 100:.2f}")
        asked = ("--challenge", self._challenge("alice", bank))
        self._do(design.MINT, "bank", "--for", alice, *amount, *asked, "-o", "minted")
        self._do(design.TAKE, "alice", "minted")
        asked = ("--challenge", self._challenge("bob", alice))
        self._do(design.PAY, "alice", "--to", bob, *amount, *asked, "-o", "paid")
        self._do(design.RECEIVE, "bob", "paid")
        self._do(design.SUBMIT, "bob", "-o", "asked")
        self._do(design.VERIFY, "bank", "asked", "-o", "answer")
        self._do(design.SETTLE, "bob", "answer")
        self._do(design.CASH_IN, "bob", "--redeem", "-o", "asked")
        self._do(design.REDEEM, "bank", "asked", "-o", "answer")
        self._do(design.PAID_OUT, "bob", "answer")
        return self._found

    def _named(self, step: str, *words: str) -> str:
        return self._said(step, words, lambda told: str(told["key"]))

    def _challenge(self, who: str, giver: str) -> str:
        words = (who, "--from", giver)
        asked = design.REQUEST
        told, cost = self._said(
            asked.step, words, lambda told: (str(told["challenge"]), _cost(told))
        )
        self._idle(asked, cost)
        return told

    def _idle(self, command: Command, cost: dict[str, float]) -> None:
        self._compare(command, 0, 0, cost)
        # The first: a wallet of another that is as empty costs the same again.
        self._found.setdefault(command.name, cost)

    def _do(self, command: Command, *words: str) -> None:
        told, cost = self._said(command.step, words, lambda told: (told["tokens"], _cost(told)))
        self._compare(command, self._batch.tokens, told, cost)
        self._found[command.name] = cost

    def _compare(self, command: Command, tokens: int, told: int, cost: dict[str, float]) -> None:
        seen = (told, cost["signatures_made"], cost["signatures_checked"])
        expected = (tokens, *command.signatures(tokens))
        if seen != expected:
            what = "tokens, signatures made, signatures checked"
            said = f"{what} {seen} instead of {expected}: another version of the probe?"
            raise EnvironmentMissingError(f"probe tokens {command.name}: {said}")

    def _said(
        self, step: str, words: tuple[str, ...], read: Callable[[Any], _Read], code: int = 0
    ) -> _Read:
        """Return what `read` finds in the answer of a step; the one place that reads answers."""
        call = ("tokens", step, *words, "--json")
        text = _run(self._probe, self._core, f"tokens {step}", call, self._folder, code)
        try:
            return read(json.loads(text))
        except (ValueError, LookupError, TypeError) as error:
            raise _unknown(f"tokens {step}", text) from error


def _cost(answer: Any) -> dict[str, float]:
    """Return the cost in an answer; raises ValueError where it has no time that ends."""
    cost = dict(answer["cost"])
    if not all(isinstance(cost[name], int) for name in ("signatures_made", "signatures_checked")):
        raise ValueError("signatures are whole")
    if not (math.isfinite(cost["duration_s"]) and cost["duration_s"] > 0):
        raise ValueError("no time")
    return cost


def _unknown(name: str, text: str) -> EnvironmentMissingError:
    said = textwrap.shorten(text, _SHOWN) or "nothing"
    return EnvironmentMissingError(f"`probe {name}` said {said}: another version of the probe?")


def _run(
    probe: Path, core: int, name: str, words: Sequence[object], folder: Path, code: int = 0
) -> str:
    """Return what the probe says on one core before it ends with an exit code.

    Raises EnvironmentMissingError where it ends with another.
    """
    with computer.pinned({core}):
        done = subprocess.run(
            [str(probe), *map(str, words)],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    if done.returncode != code:
        tail = done.stderr.strip().splitlines()[-1:]
        failed = f"`probe {name}` failed with exit code {done.returncode}"
        raise EnvironmentMissingError(": ".join([failed, *tail]))
    return done.stdout


def places(folder: Path) -> dict[str, Path]:
    """Return where folders of tokens are made: in memory, and in `folder`, if it is on a disk.

    Raises EnvironmentMissingError where the system has no files in memory.
    """
    if not os.access(_SHARED_MEMORY, os.W_OK):
        raise EnvironmentMissingError(f"{_SHARED_MEMORY}: no folder in memory for tokens")
    found = {design.MEMORY: _SHARED_MEMORY}
    table = _MOUNTS.read_text(encoding="utf-8")
    device = folder.stat().st_dev
    if device != _SHARED_MEMORY.stat().st_dev and not is_memory(device, table):
        found[design.DISK] = folder.resolve()
    return found


def is_memory(device: int, mounts: str) -> bool:
    """Tell whether a device's files are in memory, by the text of proc(5)'s mountinfo."""
    number = f"{os.major(device)}:{os.minor(device)}"
    rows = (line.split() for line in mounts.splitlines())
    kinds = {row[row.index("-") + 1] for row in rows if "-" in row and row[_DEVICE] == number}
    return not kinds.isdisjoint(_IN_MEMORY)


_SHARED_MEMORY = Path("/dev", "shm")  # Linux: files that no disk ever has (tmpfs(5))
_MOUNTS = Path("/proc/self/mountinfo")
_DEVICE = 2  # its third column: major and minor number
_IN_MEMORY = {"tmpfs", "ramfs"}
_SHOWN = 80  # characters of an answer that nobody understands
# What `Prices` needs.
_KERNELS = (
    "ed25519_sign",
    "ed25519_verify",
    "token_*_bookkeeping",
    "file_open_read",
    "output_destination",
    "memory_file_*_fsync",
    "file_*_fsync",
)
_REFUSED = 3  # the probe's exit code after it has refused a token or a file
_TRIAL = -1  # the number of no repetition
