"""Batches of tokens on a made-up host, by what its commands cost, and their prediction."""

from __future__ import annotations

from pocketsim.calibration.host.tokens import design, judging, prediction
from pocketsim.calibration.host.tokens.comparing import TokenComparison
from pocketsim.calibration.host.tokens.design import (
    CHECK,
    DISK,
    FULL,
    MEMORY,
    OPERATIONS,
    REFUSE,
    REQUEST,
    SIGN,
    Stage,
)

SIGN_S, CHECK_S, BOOK_S, EMPTY_S = 20e-6, 50e-6, 10e-6, 1e-3
FILE_S, NEW_FILE_S = 2e-3, 1.5e-3
BENT_S = 50e-6  # of each stage, times the root of the number of tokens: no line has that


class Free:
    """Prices of a host on which nothing beside the machine takes time, but what is given."""

    def __init__(self, **prices_s):
        self.prices_s = prices_s

    def __getattr__(self, name):
        return lambda *_sizes: self.prices_s.get(name, 0.0)

    def replace_s(self, place, _size):
        return self.prices_s.get("replace_s", 0.0) if place == DISK else 0.0

    def create_s(self, place, _size):
        return self.prices_s.get("create_s", 0.0) if place == DISK else 0.0

    def bookkeeping_s(self, _kernel, tokens):
        return tokens * self.prices_s.get("bookkeeping_s", 0.0)


def simulated(tokens, factor=1.0):
    """Return the stages of a ring whose signatures take `factor` as long as real ones."""
    bent_s = BENT_S * tokens**0.5
    signing = {Stage(SIGN, count): factor * (bent_s + tokens * SIGN_S) for count in (1, 2, 3)}
    checking = {
        Stage(CHECK, count): factor * (bent_s + tokens * count * CHECK_S) for count in (1, 2, 3)
    }
    return signing | checking


def real(batch, factor=1.0):
    """Return what commands cost: signatures, books, an idle command, and files on the disk."""
    files_s, new_files_s = (FILE_S, NEW_FILE_S) if batch.place == DISK else (0.0, 0.0)

    def cost(core_s, waited_s, made=0, checked=0):
        counts = {"signatures_made": made, "signatures_checked": checked}
        times = {"duration_s": factor * (core_s + waited_s), "cpu_s": factor * core_s}
        return times | counts

    costs = {idle.name: cost(EMPTY_S, files_s) for idle in (REQUEST, REFUSE)}
    for command in (one for several in OPERATIONS.values() for one in several):
        whole_s = prediction.machine_s((command,), simulated(batch.tokens)) + EMPTY_S
        whole_s += batch.tokens * bool(command.bookkeeping) * BOOK_S
        whole_s += SIGN_S * bool(command.signed_bytes) + CHECK_S * bool(command.checked_bytes)
        waited_s = files_s * len(command.replaced) + new_files_s * len(command.created)
        costs[command.name] = cost(whole_s, waited_s, *command.signatures(batch.tokens))
    return costs


PRICED = Free(
    bookkeeping_s=BOOK_S, sign_s=SIGN_S, check_s=CHECK_S, replace_s=FILE_S, create_s=NEW_FILE_S
)


def judged(factor=1.0, spread=0.0, *, prices=PRICED, is_judged=True):
    several = design.batches(FULL, (MEMORY, DISK))
    turns = [1.0 + spread * turn for turn in range(-2, 3)]
    measured = {batch: tuple(real(batch, turn) for turn in turns) for batch in several}
    rings = {tokens: [simulated(tokens, factor)] * 3 for tokens in FULL.sizes}
    return measured, rings, judging.judge(measured, rings, prices, is_judged=is_judged)


def compared():
    """Return the comparison of a prediction that is right."""
    measured, rings, judgement = judged()
    return TokenComparison(judgement, measured, rings)
