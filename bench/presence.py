"""How well a presence law that is fitted to some phones predicts other phones of the same trace.

The phones of a trace are dealt in turn to two sets. The law is fitted to the first. Of the second,
the percentiles of availability and of sessions and the share of phones never on in a day stand
beside what the law draws, watched for as long; and beside those of the first set itself, which
is what a table without a law would predict. Then the second set drives `SCENARIO` for 24 h as a
file of churn, and so does the law, for several seeds.

Usage: presence.py TRACE [--out FOLDER]. TRACE is JSON: a list of `phone`, `trace_start_s`,
`trace_end_s` and `ready_s`, pairs of when it was on; without a start it was never on.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pocketsim as ps
from pocketsim.calibration.fit.people import presence_fit
from pocketsim.calibration.fit.people.presence_fit import Settings
from pocketsim.calibration.fit.people.presence_sources import Source, as_toml
from pocketsim.calibration.fit.people.presence_summary import summary
from pocketsim.calibration.fit.people.watched_phones import WatchedPhones
from pocketsim.sim.plan.presence import DAY_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pocketsim.sim.scenario.presence_summary import PresenceSummary

ROOT = Path(__file__).resolve().parents[1]
SCENARIO, SEEDS = ROOT / "tests/support/1k_churn.toml", 10
PERCENTILES = ("p25", "p50", "p75", "p90")


def main() -> int:
    """Print the table; return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--out", default="build/bench/presence", help="Folder for run directories.")
    asked = parser.parse_args()
    every = read(asked.trace)
    in_first = np.arange(every.begin_s.size) % 2 == 0
    first, second = every.of_phones(in_first), every.of_phones(~in_first)
    known, other = summary(first), summary(second)
    found = presence_fit.fit(known, "first set", "bench/presence.py")
    drawn = presence_fit.watch(found.law, other, Settings(seed=2))
    print("| what | second set | law | first set |\n|---|---|---|---|")
    for line in lines(other, summary(drawn), known):
        print(line)
    print(line_of("never on in a day", *(of_a_day(one) for one in (second, drawn, first))))
    with tempfile.TemporaryDirectory() as folder:
        law, file = Path(folder, "law.toml"), Path(folder, "second.csv")
        law.write_text(as_toml(found, Source(known, "first set", "")), encoding="utf-8")
        write_day(second, file)
        phones = second.begin_s.size
        by_trace = stored(asked.out, {"kind": "file", "file": str(file)}, phones)
        by_law = stored(asked.out, {"kind": "law", "law": str(law)}, phones)
    print(f"| stored in 24 h, {phones} phones | {told(by_trace)} | {told(by_law)} | |")
    return 0


def read(path: Path) -> WatchedPhones:
    """Return the phones of a trace."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        phones: list[dict[str, Any]] = json.load(file)
    ready = [(number, *pair) for number, one in enumerate(phones) for pair in one["ready_s"]]
    phone, on_s, off_s = (np.array(column) for column in zip(*ready, strict=True))
    begin_s = np.array([one["trace_start_s"] or 0.0 for one in phones])
    end_s = np.array([one["trace_end_s"] or DAY_S for one in phones])
    return WatchedPhones.of_intervals(phone, on_s, off_s, begin_s, end_s)


def lines(other: PresenceSummary, drawn: PresenceSummary, known: PresenceSummary) -> Iterator[str]:
    """Yield the rows of percentiles."""
    for name in ("availability", "session_s", "gap_s"):
        tables = [getattr(one, name) for one in (other, drawn, known)]
        for at in PERCENTILES:
            yield line_of(f"{name} {at}", *(table[at] for table in tables))
    yield line_of("never on", other.never_ratio, drawn.never_ratio, known.never_ratio)


def line_of(what: str, wanted: float, drawn: float, known: float) -> str:
    """Return a row: a figure of the second set, and what the others predict."""
    said = [f"{value:.4g} ({100 * (value / wanted - 1):+.0f} %)" for value in (drawn, known)]
    return f"| {what} | {wanted:.4g} | {said[0]} | {said[1]} |"


def of_a_day(seen: WatchedPhones) -> float:
    """Return the share of days without a session, of all phones that were watched for one."""
    return 1 - float(seen.came_on().mean()) * (1 - seen.days_without())


def write_day(seen: WatchedPhones, file: Path) -> None:
    """Write the first day of every phone, at the hours of the day at which it was."""
    end_s = np.minimum(seen.end_s, seen.begin_s + DAY_S)
    day = WatchedPhones.of_intervals(seen.phone, seen.on_s, seen.off_s, seen.begin_s, end_s)
    rows = [f"{phone},{2 * DAY_S},{2 * DAY_S + 1}" for phone in range(day.begin_s.size)]
    for phone, on_s, off_s in zip(day.phone, day.on_s, day.off_s, strict=True):
        since_s, until_s = on_s % DAY_S, on_s % DAY_S + off_s - on_s
        rows.append(f"{phone},{since_s},{min(until_s, DAY_S)}")
        if until_s > DAY_S:
            rows.append(f"{phone},0,{until_s - DAY_S}")
    file.write_text("\n".join(["phone,on_s,off_s", *rows]) + "\n", encoding="utf-8")


def stored(out: str, churn: Mapping[str, Any], phones: int) -> list[float]:
    """Return how many trades were stored in each repetition of 24 h."""
    changes = {
        **{f"devices[{number}].count": count for number, count in enumerate(split(phones))},
        "run.duration": "24h",
        "run.repetitions": SEEDS,
        "workload.rate": "18/h",
        "churn": dict(churn),
    }
    (run,) = ps.run(SCENARIO, changes, out=out, progress=False)
    return [float(fates["stored"]) for fates in run.metrics["fates"]]


def split(phones: int) -> tuple[int, int]:
    """Return how many phones each group has."""
    return phones - phones * 2 // 5, phones * 2 // 5


def told(values: list[float]) -> str:
    """Return a mean, and how far repetitions are apart."""
    return f"{np.mean(values):.0f} (sd {np.std(values, ddof=1):.0f})"


if __name__ == "__main__":
    raise SystemExit(main())
