"""From what was measured on a host and its profile to a judgement: terms, simulations, errors."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from pocketsim.calibration.validate.host import figures as of_events
from pocketsim.calibration.validate.host import judging, prediction, terms
from pocketsim.calibration.validate.host.figures import Figures
from pocketsim.calibration.validate.host.judging import Compared, Judgement
from pocketsim.calibration.validate.host.prediction import MEAN, POSTERIOR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.calibration.validate.host.blocks import Measured
    from pocketsim.calibration.validate.host.design import Effort
    from pocketsim.calibration.validate.host.measuring import Kept
    from pocketsim.calibration.validate.host.prediction import Documents

    KernelRtt = Callable[[float], tuple[float, float]]
    """Median and 95th percentile of the round trip of a datagram of so many bytes, s."""


@dataclass(frozen=True)
class Comparison:
    """A judgement, what it was made of in the order of the points, and the term that was fitted.

    `unfitted` are the names of points that could have fitted it, but have no round trip.
    """

    judgement: Judgement
    compared: tuple[Compared, ...]
    hop_s: float
    unfitted: tuple[str, ...] = ()


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
        self, measured: Sequence[Measured], hop_s: float, draws: int, draw: str = POSTERIOR
    ) -> list[tuple[Figures, ...]]:
        """Return the figures of simulated repetitions of points, net of the relay's delay."""
        effort = replace(self.effort, draws=draws)
        asked, found, names = {}, {}, {}
        for one in measured:
            setting = one.setting(shares_core=self.shares_core)
            point = one.point
            scenario = prediction.document(point, setting, self.documents, hop_s, effort, draw)
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
        """Fit the term to the points that may fit, simulate all of them, and judge.

        What is too noisy to be judged by is too noisy to fit by.
        """
        fitted = self.fitted(
            [
                one
                for one in measured
                if one.point.is_fitted
                and not one.point.is_overloaded
                and not judging.is_too_noisy(one.point, one.figures())
            ]
        )
        hop_s = terms.hop_s(fitted)
        compared = []
        draws = self.effort.draws
        simulated = self.simulated(measured, hop_s, draws)
        repeated = self.simulated(measured, hop_s, draws, MEAN)
        for one, predicted, same in zip(measured, simulated, repeated, strict=True):
            real = one.figures()
            size_bytes = of_events.middle(each.proposal_bytes for each in real)
            kernel_s = (math.nan, math.nan) if math.isnan(size_bytes) else kernel_rtt(size_bytes)
            compared.append(Compared(one.point, real, predicted, same, kernel_s))
        unfitted = tuple(one.point for one in fitted if not one.is_known)
        judgement = judging.judge(compared, self.effort)
        return Comparison(judgement, tuple(compared), hop_s, unfitted)

    def fitted(self, measured: Sequence[Measured]) -> list[terms.Fitted]:
        """Return what these points say of the time of a hop."""
        simulated = self.simulated(measured, terms.LEAST_HOP_S, _FITTING_DRAWS)
        return [_fitted(*pair) for pair in zip(measured, simulated, strict=True)]


def _fitted(one: Measured, simulated: Sequence[Figures]) -> terms.Fitted:
    # A repetition that stored nothing has neither round trips nor sizes of answers.
    stored = [each for each in simulated if each.stored_count]
    proposal_bytes = of_events.middle(each.proposal_bytes for each in stored)
    answer_bytes = of_events.middle(each.answer_bytes for each in stored)
    crossed = of_events.passages(one.point.carrier, proposal_bytes, answer_bytes)
    return terms.Fitted(
        one.point.name,
        of_events.middle(each.rtt_p50_s for each in one.figures()),
        of_events.middle(each.rtt_p50_s for each in stored),
        crossed * prediction.hops(one.point),
    )


_FITTING_DRAWS = 8  # of the posterior; the term is fitted to their median
