"""How far predicted rates of tokens are from real ones, and whether that is close enough.

Pure: costs and stages in, rows and bars out. Nothing that was measured is left out of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from pocketsim.calibration.host.judging import (
    DROPPED_MAX,
    FLOOR_MAX,
    INTERVAL,
    NULLS_WORSE,
    Bar,
    floor,
)
from pocketsim.calibration.host.tokens import prediction
from pocketsim.calibration.host.tokens.design import OPERATIONS
from pocketsim.sim.base import token_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.calibration.host.tokens.design import Batch
    from pocketsim.calibration.host.tokens.measuring import Costs
    from pocketsim.calibration.host.tokens.prediction import Prices, Stages

ERROR_MAX = 0.10
"""The largest |log ratio| of a rate, predicted to real."""
SIGNATURES, LINE = "signatures", "line"
NULLS = (SIGNATURES, LINE)
"""Who needs no simulator.

`signatures`: idle commands as measured, and as many signatures as are made and checked, at their
prices in the probe's report. `line`: a straight line through what the operation took with other
numbers of tokens in the same place.
"""


@dataclass(frozen=True)
class Rate:
    """Tokens per second of one repetition."""

    rate_per_s: float


@dataclass(frozen=True)
class Row:
    """One operation of a batch: seconds and tokens per second, medians over repetitions.

    `machine_s` is the part of the simulator's machine in `predicted_s`, `empty_s` that of commands
    without tokens. `low_per_s` and `high_per_s` bound 90 % of the draws. `error` is the log ratio
    of predicted to real rates, `floor` that of real to real; `nulls` are errors of `NULLS`.
    """

    operation: str
    batch: Batch
    measured_s: float
    predicted_s: float
    machine_s: float
    empty_s: float
    rate_per_s: float
    predicted_per_s: float
    low_per_s: float
    high_per_s: float
    error: float
    floor: float
    nulls: dict[str, float]

    @property
    def is_dropped(self) -> bool:
        """Whether real and real are too far apart to judge by."""
        return self.floor > FLOOR_MAX


@dataclass(frozen=True)
class TokenJudgement:
    """All rows, and all bars, if there are any."""

    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]

    @property
    def is_met(self) -> bool:
        """Whether every bar is; one that nothing could be asked of is not."""
        return all(bar.is_met for bar in self.bars)


def judge(
    measured: Mapping[Batch, Sequence[Costs]],
    simulated: Mapping[int, Sequence[Stages]],
    prices: Prices,
    *,
    is_judged: bool,
) -> TokenJudgement:
    """Return how far every operation of every batch is off, and which bars are met."""
    idle_s = _idle_s(measured)
    rows = tuple(
        _row(name, batch, measured, simulated, prices, idle_s)
        for batch in measured
        for name in OPERATIONS
    )
    return TokenJudgement(rows, _bars(rows) if is_judged else ())


def operation_s(costs: Costs, operation: str) -> float:
    """Return how long the commands of an operation took in one repetition, s."""
    return sum(costs[command.name]["duration_s"] for command in OPERATIONS[operation])


def _idle_s(measured: Mapping[Batch, Sequence[Costs]]) -> dict[tuple[str, str], float]:
    """Return for each place and command how long that takes which it does without tokens, s."""
    return {
        (place, command.name): median(
            prediction.idle_s(command, costs)
            for batch, several in measured.items()
            if batch.place == place
            for costs in several
        )
        for place in dict.fromkeys(batch.place for batch in measured)
        for commands in OPERATIONS.values()
        for command in commands
    }


def _row(
    operation: str,
    batch: Batch,
    measured: Mapping[Batch, Sequence[Costs]],
    simulated: Mapping[int, Sequence[Stages]],
    prices: Prices,
    idle_s: Mapping[tuple[str, str], float],
) -> Row:
    commands = OPERATIONS[operation]
    took_s = [operation_s(costs, operation) for costs in measured[batch]]
    machine_s = [prediction.machine_s(commands, draw) for draw in simulated[batch.tokens]]
    empties_s = sum(idle_s[batch.place, command.name] for command in commands)
    beside_s = sum(prediction.beside_s(command, batch, prices) for command in commands)
    whole_s = [each + empties_s + beside_s for each in machine_s]
    measured_s, predicted_s = median(took_s), median(whole_s)
    null_s = {
        SIGNATURES: empties_s + _signatures_s(operation, batch.tokens, prices),
        LINE: _line_s(operation, batch, measured, empties_s),
    }
    early_s, late_s = (float(bound) for bound in np.quantile(whole_s, INTERVAL))
    return Row(
        operation,
        batch,
        measured_s,
        predicted_s,
        machine_s=median(machine_s),
        empty_s=empties_s,
        rate_per_s=batch.tokens / measured_s,
        predicted_per_s=batch.tokens / predicted_s,
        low_per_s=batch.tokens / late_s,
        high_per_s=batch.tokens / early_s,
        error=math.log(measured_s / predicted_s),
        floor=floor(list(map(Rate, [batch.tokens / each_s for each_s in took_s])), "rate_per_s"),
        nulls={name: math.log(measured_s / whole_s) for name, whole_s in null_s.items()},
    )


def _signatures_s(operation: str, tokens: int, prices: Prices) -> float:
    """Return how long the signatures of an operation take by their prices alone, s."""
    both = [command.signatures(tokens) for command in OPERATIONS[operation]]
    made, checked = sum(one[0] for one in both), sum(one[1] for one in both)
    # That of a first proof is over nine bytes more, which cost nothing beside a signature.
    proof_bytes = token_bytes.RECIPIENT_BYTES
    return made * prices.sign_s(proof_bytes) + checked * prices.check_s(proof_bytes)


def _line_s(
    operation: str, batch: Batch, measured: Mapping[Batch, Sequence[Costs]], empties_s: float
) -> float:
    """Return what a straight line through batches of other sizes says of this one, s.

    The least relative squares; never less than idle commands take. NaN without two others.
    """
    others = [one for one in measured if one.place == batch.place and one != batch]
    if len(others) < _FEWEST_ON_LINE:
        return math.nan
    took_s = np.array(
        [median(operation_s(each, operation) for each in measured[one]) for one in others]
    )
    slope_s, none_s = np.polyfit([one.tokens for one in others], took_s, 1, w=1 / took_s)
    return max(empties_s, float(none_s + slope_s * batch.tokens))


def _bars(rows: Sequence[Row]) -> tuple[Bar, ...]:
    found = []
    for place in dict.fromkeys(row.batch.place for row in rows):
        here = [row for row in rows if row.batch.place == place]
        calm = [row for row in here if not row.is_dropped]
        largest = max((abs(row.error) for row in calm), default=math.nan)
        found.append(Bar(f"largest error, tokens/s, {place}", largest, (0.0, ERROR_MAX), len(calm)))
        for null in NULLS:
            times = _times([row.nulls[null] for row in calm], [row.error for row in calm])
            called = f"median error of null {null} in those predicted, tokens/s, {place}"
            found.append(Bar(called, times, (NULLS_WORSE, math.inf), len(calm)))
    share = sum(row.is_dropped for row in rows) / len(rows)
    return (*found, Bar("rates dropped", share, (0.0, DROPPED_MAX), len(rows)))


def _times(nulls: Sequence[float], errors: Sequence[float]) -> float:
    if not errors:
        return math.nan
    error = median(map(abs, errors))
    return median(map(abs, nulls)) / error if error else math.inf


_FEWEST_ON_LINE = 2
