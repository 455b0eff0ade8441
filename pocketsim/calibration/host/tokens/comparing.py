"""From batches that were measured on a host to a judgement: prices, errors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.host.tokens import judging
from pocketsim.calibration.host.tokens.design import DISK

if TYPE_CHECKING:
    from pocketsim.calibration.host.tokens.design import Batch
    from pocketsim.calibration.host.tokens.judging import TokenJudgement
    from pocketsim.calibration.host.tokens.measuring import Costs
    from pocketsim.calibration.host.tokens.prediction import Prices, Stages


@dataclass(frozen=True)
class TokenComparison:
    """A judgement, and what it was made of."""

    judgement: TokenJudgement
    measured: dict[Batch, tuple[Costs, ...]]
    simulated: dict[int, list[Stages]]

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was not measured, and why, in sentences."""
        has_disk = any(batch.place == DISK for batch in self.measured)
        return () if has_disk else (_NO_DISK,)

    def as_json(self) -> dict[str, Any]:
        """Return bars, rows and all raw figures as JSON has them."""
        rings = {
            str(tokens): [
                {f"{stage.name} {stage.recipients}": time_s for stage, time_s in draw.items()}
                for draw in draws
            ]
            for tokens, draws in self.simulated.items()
        }
        return {
            "bars": [{**asdict(bar), "met": bar.is_met} for bar in self.judgement.bars],
            "rows": [{**asdict(row), "dropped": row.is_dropped} for row in self.judgement.rows],
            "batches": [
                {**asdict(batch), "repetitions": several}
                for batch, several in self.measured.items()
            ],
            "left_out": list(self.left_out),
            "rings_s": rings,
        }


def compare(
    measured: dict[Batch, tuple[Costs, ...]],
    simulated: dict[int, list[Stages]],
    prices: Prices,
    *,
    is_judged: bool,
) -> TokenComparison:
    """Judge what was measured of batches by what was simulated of the same."""
    judgement = judging.judge(measured, simulated, prices, is_judged=is_judged)
    return TokenComparison(judgement, measured, simulated)


_NO_DISK = (
    "Nothing was measured on the disk: the folder of what is written is in memory, as the other is."
)
