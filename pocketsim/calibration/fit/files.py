"""What TFTP takes for a file and for a block of it, by reports.

`tftp_turn` times an end's answer to a block. Without the passages of both datagrams, as waking is
priced, it is what the block takes. Of `tftp_file`, a file of one block without that and without
passages leaves what beginning it takes at either end. Both are priced after as long a rest as
waking is; other rests tell how many times as long each takes after them, since an end that has
slept finds its caches cold. Ends that work on one file over loopback hardly rest between blocks;
of reports without turns, what a block more takes there is the price.
What does not live here: which step of the program each is (`calibration.fit.own`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from pocketsim.calibration.fit.by_rest import Part, part
from pocketsim.calibration.fit.looks import estimate_of
from pocketsim.calibration.fit.samples import Sigma, mean_estimate
from pocketsim.calibration.fit.wakes import (
    PRICED_REST_S,
    by_asked_s,
    left,
    of_a_part,
    passage_s,
    rested_s,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.samples import Estimate

FILE, TURN = "tftp_file", "tftp_turn"


def block(reports: Sequence[Report]) -> Part:
    """Return what an end takes for a block.

    After the rest that prices it where most reports have timed turns, else hardly after any.
    """
    said = f"{TURN}: mean of taken_s and given_s, less passages"
    told = part(reports, [_turns(report) for report in reports], said, rested_s)
    if told is not None:
        return told
    row = f"{FILE}: half of a block more, less its datagrams' passages"
    return Part([_in_a_row(report) for report in reports], row, [])


def opening(reports: Sequence[Report]) -> Part:
    """Return what beginning a file takes at one end."""
    said = f"{FILE}: half of a file of one block, less a block more and a passage"
    by_rest = [_openings(report) for report in reports]
    return part(reports, by_rest, said, rested_s) or Part([None for _ in reports], said, [])


def _turns(report: Report) -> dict[float, Estimate]:
    """Return what a block takes, by how long an end was asked to rest before it, s."""
    found = {}
    for asked_s, case in by_asked_s(report, TURN, "taken_s").items():
        each = [estimate_of(case, quantity, report) for quantity in ("taken_s", "given_s")]
        turn_s = mean_estimate(each).mean
        there_s = passage_s(report, rested_s(report, asked_s))
        back_s = passage_s(report, turn_s)  # who waits for it rests for most of the turn
        if there_s is not None and back_s is not None and turn_s > there_s + back_s:
            turn = replace(each[0], mean=turn_s)
            found[asked_s] = replace(left(turn, 1.0, there_s + back_s, 0.0), rounds=())
    return found


def _openings(report: Report) -> dict[float, Estimate]:
    """Return what beginning a file takes at one end, by how long both were asked to rest, s.

    Both ends vary on their own, so that each has half of the file's variance.
    """
    found = {}
    each_s = _each_s(report)
    for asked_s, one in _files(report, _BLOCKS[0]).items():
        passed_s = passage_s(report, rested_s(report, asked_s))
        if passed_s is None or each_s <= 0 or one.mean <= passed_s + each_s:
            continue
        sigma = of_a_part(Sigma(one.sample_sigma, 0.0), math.sqrt(2)).value
        varied = replace(one, sample_sigma=sigma)
        found[asked_s] = replace(left(varied, 0.5, (passed_s + each_s) / 2, 0.0), rounds=())
    return found


def _in_a_row(report: Report) -> Estimate | None:
    """Return what is left of half of a block more without its datagrams' passages."""
    few, many = (_files(report, blocks).get(PRICED_REST_S) for blocks in _BLOCKS)
    each_s = _each_s(report)
    short_s = passage_s(report, each_s / 2)
    if few is None or many is None or short_s is None or each_s <= 0:
        return None
    error = math.hypot(few.standard_error, many.standard_error) / (_BLOCKS[1] - _BLOCKS[0])
    left_s = max(0.0, each_s / 2 - short_s)
    found = replace(many, mean=left_s, standard_error=error / 2, rounds=())
    if not left_s:
        return found
    # All blocks of a file, at both ends, vary on their own.
    ratio = many.mean / left_s / math.sqrt(2 * _BLOCKS[1])
    sigma = of_a_part(Sigma(many.sample_sigma, 0.0), ratio).value
    return replace(found, sample_sigma=sigma)


def _each_s(report: Report) -> float:
    """Return what a block more takes, s: with the passages of two datagrams; 0 if untimed."""
    few, many = (_files(report, blocks).get(PRICED_REST_S) for blocks in _BLOCKS)
    if few is None or many is None:
        return 0.0
    return (many.mean - few.mean) / (_BLOCKS[1] - _BLOCKS[0])


def _files(report: Report, blocks: float) -> dict[float, Estimate]:
    """Return what a file of so many blocks takes, by how long both ends were asked to rest, s."""
    told = by_asked_s(report, FILE, "file_s", (("blocks", blocks),))
    return {asked_s: estimate_of(case, "file_s", report) for asked_s, case in told.items()}


_BLOCKS = (1.0, 5.0)
