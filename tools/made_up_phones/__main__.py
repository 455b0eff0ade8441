"""`python -m tools.made_up_phones`: make up phones, calibrate each, and say how often it is right.

Prints a row for each operation: how often the interval of 95 % had the truth, the p-value of equal
ranks, the mean of the draws over the truth and the width of the interval. Exit code 3 if a bar is
missed: intervals that have the truth less often than 93.5 % or more than 96.5 %, ranks that are
uneven (Holm, 5 %), a mean that is off by more than 1 %.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import multiprocessing
import signal
import sys
from typing import TYPE_CHECKING

from tools.made_up_phones.checking import Row, calibrated, drawn, rows, uneven
from tools.made_up_phones.phones import made_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.made_up_phones.checking import Array


def main() -> int:
    """Try as many phones as the arguments ask for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.made_up_phones", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="phones")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reports", type=int, help="of each phone; 1 to 5 if left out")
    parser.add_argument(
        "--no-passages", action="store_true", help="reports without udp_wake_up, as older ones"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--no-bar", action="store_true", help="say only, judge nothing")
    asked = parser.parse_args()
    found: list[dict[str, Array]] = []
    ignore = signal.signal, (signal.SIGINT, signal.SIG_IGN)
    # Whoever interrupts it wants to know how far it is: what was found so far is judged.
    with multiprocessing.Pool(asked.jobs, *ignore) as pool, contextlib.suppress(KeyboardInterrupt):
        one = functools.partial(_drawn, asked)
        for each in pool.imap(one, range(asked.count), chunksize=_AT_ONCE):
            found.append(each)
            if len(found) % _SAID_EVERY == 0:
                print(f"{len(found)} phones", file=sys.stderr, flush=True)
    if not found:
        return _EXIT_INTERRUPTED
    judged = rows(found)
    _say(judged)
    missed = _missed(judged)
    for reason in missed:
        print(reason)
    return _EXIT_FAILED if missed and not asked.no_bar else 0


def _drawn(asked: argparse.Namespace, number: int) -> dict[str, Array]:
    phone = made_up(asked.seed, number, asked.reports, passages=not asked.no_passages)
    return drawn(phone, calibrated(phone), asked.seed)


def _say(found: Sequence[Row]) -> None:
    print(f"{found[0].phones} phones\n{'':20} inside  even p    mean  width")
    for row in found:
        print(
            f"{row.name:20} {row.inside_ratio:6.1%} {row.even:7.4f} "
            f"{row.drawn_ratio:+7.2%} {row.width_ratio:6.1%}"
        )


def _missed(found: Sequence[Row]) -> list[str]:
    low, high = _INSIDE
    apart = [
        f"missed: {row.name}: {row.inside_ratio:.1%} of the intervals have the truth"
        for row in found
        if not low <= row.inside_ratio <= high
    ]
    moved = [
        f"missed: {row.name}: draws are off by {row.drawn_ratio:+.2%}"
        for row in found
        if abs(row.drawn_ratio) > _MEAN_OFF
    ]
    return apart + moved + [f"missed: {name}: ranks are uneven" for name in uneven(found, _ALARM)]


_INSIDE = 0.935, 0.965
_MEAN_OFF = 0.01
_ALARM = 0.05
_EXIT_FAILED = 3
_EXIT_INTERRUPTED = 130
_SAID_EVERY = 100
_AT_ONCE = 10

if __name__ == "__main__":
    sys.exit(main())
