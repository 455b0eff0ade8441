"""What simulated runs cost beside published rows: minus a log-likelihood, 0 where nothing is off.

Pure: takes rows and the contents of metrics.json files. Each `[[rows]]` table of a fit document
gives a term for each row, or one for all. docs/fits.md has the formulas.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.validate import published
from pocketsim.calibration.validate.answers import Rungs, answer, matching
from pocketsim.calibration.validate.block_sizes import Run, outstanding_proposals, runs
from pocketsim.calibration.validate.comparison import GAIN_RATIO
from pocketsim.sim.metrics import classify
from pocketsim.sim.metrics.intervals import Z_95

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pocketsim.calibration.inverse.document import Target
    from pocketsim.calibration.validate.block_sizes import Replay


@dataclass(frozen=True)
class Term:
    """What one row, or several together, cost; what was published and simulated for it."""

    loss: float
    published: float | None
    simulated: float | None
    sections: tuple[str, ...]


Terms = dict[str, Term]
"""By the row's id, or by the first of several."""


def terms(target: Target, rungs: Rungs, replay: Replay) -> Terms:
    """Return the terms of one table of rows for what was simulated."""
    if target.table.loss == "outcome":
        return _outcome(target, rungs)
    found = {}
    for row in target.rows:
        if target.table.loss == "outstanding":
            found[row.id] = _outstanding(row, rungs, replay)
        elif target.table.loss == "stalled_stores":
            term = _stalled(row, rungs)
            found |= {row.id: term} if term else {}
        else:
            found[row.id] = _LOSSES[target.table.loss](row, rungs, target.table.model_error)
    return found


def _mean(row: published.Row, rungs: Rungs, model_error: float) -> Term:
    """Return half of z squared, and what a simulation's own scatter widens it by."""
    found = answer(row, rungs)
    if found.simulated is None or row.value is None:
        return _term(row, NOTHING, None)
    theirs = (row.ci95 or 0.0) / Z_95
    fixed = theirs**2 + (model_error * row.value) ** 2 + row.resolution**2 / 12
    ours = (found.simulated_ci95 or 0.0) / Z_95
    total = fixed + (ours**2 if math.isfinite(ours) else 0.0)
    off = (found.simulated - row.value) ** 2 / total
    return _term(row, off / 2 + math.log(total / fixed) / 2, found.simulated)


def _scatter(row: published.Row, rungs: Rungs, _model_error: float) -> Term:
    """Return what the standard deviation behind a printed interval costs, if runs are normal.

    The ratio of two sample variances is distributed as F: that of the simulation is known no better
    than its number of runs allows, either.
    """
    values = _values(row, rungs)
    if len(values) < _FEWEST or row.ci95 is None:
        return _term(row, NOTHING, None)
    said = row.ci95 / Z_95 * math.sqrt(row.runs)
    rounding = row.resolution**2 / 12
    own = statistics.variance(values)
    ratio = (said**2 + rounding) / (own + rounding)
    theirs, ours = row.runs - 1, len(values) - 1
    both = theirs + ours
    loss = (both * math.log((theirs * ratio + ours) / both) - theirs * math.log(ratio)) / 2
    return Term(loss, said, math.sqrt(own), (row.section,))


def _claim(row: published.Row, rungs: Rungs, model_error: float) -> Term:
    """Return half of z squared of what is lacking for a claim to hold; 0 where it holds."""
    found = answer(row, rungs).simulated
    if found is None:
        return _term(row, NOTHING, None)
    comparison = published.groups()[row.group].comparison
    if comparison == "no_gain":
        lacking = found - 1 - GAIN_RATIO
    elif comparison == "at_least":
        lacking = (row.value or 0.0) - found
    else:
        lacking = found - (row.value or 0.0)
    return _term(row, max(0.0, lacking / (model_error or _CLAIM_SIGMA)) ** 2 / 2, found)


def _outcome(target: Target, rungs: Rungs) -> Terms:
    """Return what a count of runs of one kind costs, binomial with the simulated share."""
    table = target.table
    count, number, kind = table.count, table.runs, table.outcome
    assert count is not None, "the document says so"
    assert number is not None, "the document says so"
    shares = []
    for row in target.played:
        pairs = _stored_and_sent(row, rungs)
        like = sum(classify(stored, sent) == kind for stored, sent in pairs)
        shares.append((like + 0.5) / (len(pairs) + 1))
    share = statistics.fmean(shares)
    sections = tuple(dict.fromkeys(row.section for row in target.rows))
    loss = _binomial(count, number, share) - _binomial(count, number, count / number)
    return {target.rows[0].id: Term(loss, count / number, share, sections)}


def _stalled(row: published.Row, rungs: Rungs) -> Term | None:
    """Return what a published run that stalled costs among the simulated ones that did.

    Its likelihood is a density over stored blocks: a normal one around each simulated run, and
    little everywhere. None for a run that did not stall.
    """
    rung = matching(row.target, rungs)[0]
    rate = rung["metrics"]["send_rate_per_s"]["mean"] or 0.0
    value = row.value or 0.0
    duration_s = published.documents()[row.document]["duration_s"]
    if classify(value, rate * duration_s) != "stalled":
        return None
    pairs = _stored_and_sent(row, rungs)
    had = [stored for stored, sent in pairs if classify(stored, sent) == "stalled"]
    density = _BACKGROUND
    for stored in had:
        sigma = 1 + 0.1 * stored
        kernel = math.exp(-(((value - stored) / sigma) ** 2) / 2) / (sigma * math.sqrt(math.tau))
        density += (1 - _BACKGROUND) * kernel / len(had)
    return _term(row, -math.log(density), statistics.fmean(had) if had else None)


def _outstanding(row: published.Row, rungs: Rungs, replay: Replay) -> Term:
    """Return what the proposals out before the first store cost, normal around the simulated."""
    tables = [other for other in published.rows() if other.section == row.section]
    place = (row.section, row.target.rate_min_per_s, row.run)
    (said,) = [run for run in runs(tables) if (run.section, run.rate_per_s, run.run) == place]
    had = [
        outstanding_proposals(run, replay, within=_EXACT)
        for run in _simulated_runs(said, matching(row.target, rungs)[0])
    ]
    if not had:
        return _term(row, NOTHING, None)
    count, mean = outstanding_proposals(said, replay), statistics.fmean(had)
    variance = statistics.pvariance(had) + 0.25
    loss = ((count - mean) ** 2 / variance + math.log(variance / 0.25)) / 2
    return Term(loss, count, mean, (row.section,))


def _simulated_runs(said: Run, rung: Mapping[str, Any]) -> list[Run]:
    metrics = rung["metrics"]
    pairs = zip(
        metrics["store_count"]["values"],
        metrics["stored_block_bytes_mean"]["values"],
        strict=True,
    )
    return [
        Run(said.section, said.rate_per_s, said.run, said.payload_bytes, int(count), (0, 0, mean))
        for count, mean in pairs
        if count and mean
    ]


def _stored_and_sent(row: published.Row, rungs: Rungs) -> list[tuple[float, float]]:
    metrics = matching(row.target, rungs)[0]["metrics"]
    pairs = zip(metrics["store_count"]["values"], metrics["send_count"]["values"], strict=True)
    return [(stored or 0.0, sent or 0.0) for stored, sent in pairs]


def _values(row: published.Row, rungs: Rungs) -> list[float]:
    found = matching(row.target, rungs)
    values = found[0]["metrics"][row.target.metric]["values"] if found else []
    return [value for value in values if value is not None]


def _binomial(count: int, number: int, share: float) -> float:
    """Return minus the log-likelihood of a share, without what no share changes."""
    missed = number - count
    return -sum(
        many * math.log(chance) for many, chance in ((count, share), (missed, 1 - share)) if many
    )


def _term(row: published.Row, loss: float, simulated: float | None) -> Term:
    return Term(loss, row.value, simulated, (row.section,))


_LOSSES: dict[str, Callable[[published.Row, Rungs, float], Term]] = {
    "mean": _mean,
    "scatter": _scatter,
    "claim": _claim,
}
NOTHING = 1e6  # of what no run answers: far more than any likelihood here
_FEWEST = 3  # runs that have a standard deviation worth the name
_CLAIM_SIGMA = 0.01  # of a share or a ratio, where the document says nothing
_BACKGROUND = 0.01  # the density that any count of blocks has at least
_EXACT = 1e-6  # bytes: a simulated mean is not rounded
