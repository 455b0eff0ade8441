"""One batch for real: minted, paid on, verified and redeemed by `probe tokens` on one core.

What a command took is the probe's own figure, from when it opens the folder: the start of a
process, in which nothing of tokens happens, is not in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.validate.host import computer
from pocketsim.calibration.validate.host.tokens import design, judging
from pocketsim.sim.base.errors import EnvironmentMissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pocketsim.calibration.validate.host.measuring import Kept
    from pocketsim.calibration.validate.host.tokens.design import Batch, Command, Effort

Costs = dict[str, dict[str, float]]
"""By a command's name what the probe says that it cost: `duration_s`, `cpu_s` and counts."""
Blocks = tuple[tuple[Costs, ...], ...]
"""Repetitions of a batch, measured together."""


@dataclass(frozen=True)
class Counter:
    """A probe on one core, and for each place the folder in which folders are made."""

    probe: Path
    core: int
    places: Mapping[str, Path]
    kept: Kept

    def measure(self, effort: Effort, told: Callable[[str], None]) -> dict[Batch, Blocks]:
        """Return the blocks of repetitions of every batch, of which the last is what counts."""
        found: dict[Batch, Blocks] = {}
        left = design.batches(effort, tuple(self.places))
        for number in range(effort.rounds + 1):
            for batch, block in self._block(left, number, effort, told).items():
                found[batch] = (*found.get(batch, ()), block)
            left = [batch for batch in left if judging.is_too_noisy(found[batch][-1])]
        return found

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

    def _block(
        self, several: list[Batch], number: int, effort: Effort, told: Callable[[str], None]
    ) -> dict[Batch, tuple[Costs, ...]]:
        """Return the repetitions of some batches, which are interleaved."""
        found: dict[Batch, list[Costs]] = {batch: [] for batch in several}
        for turn in range(effort.repetitions if several else 0):
            place = number * effort.repetitions + turn
            for batch in design.order(several, place):
                found[batch].append(self.repetition(batch, place))
            told(f"tokens, turn {turn + 1} of {effort.repetitions}: {len(several)} batches")
        return {batch: tuple(costs) for batch, costs in found.items()}


class _Round:
    """The way of one batch through an authority and two clients."""

    def __init__(self, probe: Path, core: int, batch: Batch, folder: Path) -> None:
        self._probe, self._core, self._batch, self._folder = probe, core, batch, folder
        self._found: Costs = {}

    def costs(self) -> Costs:
        bank = self._named("new-authority", "bank")
        alice = self._named("new-client", "alice", "--authority", bank)
        bob = self._named("new-client", "bob", "--authority", bank)
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
        return str(self._say(step, *words)["key"])

    def _challenge(self, who: str, giver: str) -> str:
        told = self._say(design.EMPTY.step, who, "--from", giver)
        # The first: a wallet of another that is as empty costs the same again.
        self._found.setdefault(design.EMPTY.name, told["cost"])
        return str(told["challenge"])

    def _do(self, command: Command, *words: str) -> None:
        told = self._say(command.step, *words)
        cost = told["cost"]
        seen = (told["tokens"], cost["signatures_made"], cost["signatures_checked"])
        tokens = self._batch.tokens
        expected = (tokens, *command.signatures(tokens))
        if seen != expected:
            what = "tokens, signatures made, signatures checked"
            said = f"{what} {seen} instead of {expected}: another version of the probe?"
            raise EnvironmentMissingError(f"probe tokens {command.name}: {said}")
        self._found[command.name] = cost

    def _say(self, step: str, *words: str) -> dict[str, Any]:
        call = [str(self._probe), "tokens", step, *words, "--json"]
        with computer.pinned({self._core}):
            done = subprocess.run(
                call, cwd=self._folder, capture_output=True, text=True, check=False
            )
        if done.returncode:
            tail = done.stderr.strip().splitlines()[-1:]
            raise EnvironmentMissingError(": ".join([f"`probe tokens {step}` failed", *tail]))
        said: dict[str, Any] = json.loads(done.stdout)
        return said


def places(folder: Path) -> dict[str, Path]:
    """Return where folders of tokens are made: in memory, and in `folder`, which is on the disk.

    Raises EnvironmentMissingError where the system has no files in memory.
    """
    if not os.access(_SHARED_MEMORY, os.W_OK):
        raise EnvironmentMissingError(f"{_SHARED_MEMORY}: no folder in memory for tokens")
    return {design.MEMORY: _SHARED_MEMORY, design.DISK: folder}


_SHARED_MEMORY = Path("/dev", "shm")  # Linux: files that no disk ever has (tmpfs(5))
