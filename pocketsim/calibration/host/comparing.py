"""From what was measured on a host and its profile to a judgement: simulations, errors."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from pocketsim.calibration.host import figures as of_events
from pocketsim.calibration.host import judging, prediction
from pocketsim.calibration.host.figures import Figures
from pocketsim.calibration.host.judging import Compared, Judgement
from pocketsim.calibration.host.prediction import MEAN, POSTERIOR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.calibration.host.blocks import Measured
    from pocketsim.calibration.host.design import Effort
    from pocketsim.calibration.host.measuring import Kept
    from pocketsim.calibration.host.prediction import Documents

    KernelRtt = Callable[[float], tuple[float, float]]
    """Median and 95th percentile of the round trip of a datagram of so many bytes, s."""


@dataclass(frozen=True)
class Comparison:
    """A judgement, and what it was made of in the order of the points."""

    judgement: Judgement
    compared: tuple[Compared, ...]


@dataclass(frozen=True)
class Host:
    """How points are simulated: by which documents, whether the relay shares a core, processes.

    What `kept` has is not simulated again. `is_one_core` says that both ends share theirs.
    """

    documents: Documents
    shares_core: bool
    effort: Effort
    jobs: int
    kept: Kept
    told: Callable[[str], None]
    is_one_core: bool = False

    def simulated(
        self, measured: Sequence[Measured], draws: int, draw: str = POSTERIOR
    ) -> list[tuple[Figures, ...]]:
        """Return the figures of simulated repetitions of points, net of the relay's delay."""
        effort = replace(self.effort, draws=draws)
        asked, found, names = {}, {}, {}
        for one in measured:
            setting = one.setting(shares_core=self.shares_core)
            point = one.point
            scenario = prediction.document(point, setting, self.documents, effort, draw)
            if self.is_one_core:
                scenario = prediction.on_one_core(scenario)
            counted = prediction.judged(point, setting.passage_s, effort)
            names[point.name] = prediction.made_from(scenario, asdict(counted))
            kept = self.kept.kept(names[point.name])
            if kept is None:
                asked[point.name] = (scenario, counted)
            else:
                found[point.name] = [Figures.from_json(each) for each in kept]

        def done(name: str, several: list[Figures]) -> None:
            self.kept.keep(names[name], [each.as_json() for each in several])
            self.told(f"{name}: simulated {draws} times")

        if asked:
            found |= prediction.simulate(asked, self.jobs, done)
        return [tuple(found[one.point.name]) for one in measured]

    def compare(self, measured: Sequence[Measured], kernel_rtt: KernelRtt) -> Comparison:
        """Simulate all points, and judge."""
        compared = []
        draws = self.effort.draws
        simulated = self.simulated(measured, draws)
        repeated = self.simulated(measured, draws, MEAN)
        for one, predicted, same in zip(measured, simulated, repeated, strict=True):
            real = one.figures()
            size_bytes = of_events.middle(each.proposal_bytes for each in real)
            kernel_s = (math.nan, math.nan) if math.isnan(size_bytes) else kernel_rtt(size_bytes)
            compared.append(Compared(one.point, real, predicted, same, kernel_s))
        return Comparison(judging.judge(compared, self.effort), tuple(compared))
