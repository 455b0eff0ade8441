"""What datagrams wait for on radios that sleep, and what links of varying rates deliver.

One phone, whose network is the scenario's with a radio that sleeps, is interrupted or follows a
file, sends to another or hears from it; the other's network does none of it. The table has each
mean beside its closed form (docs/models.md). Promotions that delay a datagram are counted in the
trace, those that cost energy in the accounts. Exit code 3 when a figure is off by more than its
bar.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pocketsim_pairwise

from pocketsim.sim import _engine
from pocketsim.sim.base import streams
from pocketsim.sim.plan import arrivals, build_plan

ROOT = Path(__file__).resolve().parents[1]
VECTORS = ROOT / "tests" / "vectors"
MESSAGES = 400_000
PAYLOAD_BYTES = 1472  # with its headers, one of 1500 B
PROMOTION_J = 0.5
EXIT_CHECK_FAILED = 3

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A figure as put in and as found, and how far it may be off, relative to what was put in."""

    what: str
    put_in: float
    found: float
    bar: float

    @property
    def off(self) -> float:
        """How far it is off."""
        return abs(self.found / self.put_in - 1)

    def text(self) -> str:
        """Return the row of a table."""
        return f"| {self.what} | {self.put_in:.5g} | {self.found:.5g} | {self.off:.2%} |"


@dataclass(frozen=True)
class Sent:
    """When messages were sent, and how long each was under way; one promotion costs 0.5 J."""

    time_s: Floats
    taken_s: Floats
    promotions: float


def simulated(access: dict[str, Any], time_s: Floats, *, to_radio: bool) -> Sent:
    """Return what became of messages at these times, on a network that a scenario says so.

    A process has one engine, for good.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(replayed, (access, time_s, to_radio))


def replayed(access: dict[str, Any], time_s: Floats, to_radio: bool) -> Sent:  # noqa: FBT001
    """Return the same of the engine of this process."""
    made = planned(access)
    made["duration_s"] = float(time_s[-1]) + 1e6
    made["protocol"]["kind"] = "transfer"
    first = np.full(time_s.size, int(not to_radio), np.uint32)
    found = arrivals.Arrivals(time_s, first, 1 - first)
    made["workload"] = arrivals.proposals(found, PAYLOAD_BYTES)
    free = dict.fromkeys(
        ("active_w", "up_per_byte_j", "down_per_byte_j", "tail_power_w", "tail_s", "promotion_j"),
        0.0,
    )
    radio = {**free, "promotion_j": PROMOTION_J}
    made["energy"] = {"core_w": 0.0, "access": [free, radio], "contact_w": np.zeros(0)}
    result = _engine.run(made)
    columns = result["columns"]
    kind, message = (
        np.frombuffer(columns[name], dtype) for name, dtype in (("kind", "u1"), ("message", "<u8"))
    )
    at_s = np.frombuffer(columns["time_s"], "<f8")
    sent, got = (kind == result["event_kinds"].index(name) for name in ("send", "store"))
    begun_s = dict(zip(message[sent].tolist(), at_s[sent].tolist(), strict=True))
    ends = zip(message[got].tolist(), at_s[got].tolist(), strict=True)
    pairs = np.array([(begun_s[number], end_s - begun_s[number]) for number, end_s in ends])
    promotions = result["energy_j"]["access_promotion"] / PROMOTION_J
    return Sent(pairs[:, 0], pairs[:, 1], promotions)


def planned(access: dict[str, Any]) -> Any:
    """Return the plan of two phones, of which the second has a radio as `access` says."""
    document = pocketsim_pairwise.document(2, 1.0)
    plain = {"up": "1000Gbps", "down": "1000Gbps", "latency": "1ms"}
    queues = {"up_queue": "1000MB", "down_queue": "1000MB"}
    document["network"]["backbone_latency"] = "0s"
    document["network"]["access"] = {
        "clean": {**plain, **queues},
        "radio": {**plain, **queues, **access},
    }
    (phone,) = document["devices"]
    document["devices"] = [{**phone, "count": 1, "access": name} for name in ("clean", "radio")]
    found, files = pocketsim_pairwise.resolved(document)
    return build_plan.build_plan(found, 0, files=files)


def poisson(rate_per_s: float, count: int) -> Floats:
    """Return times of independent messages."""
    chance = streams.stream(1, "bench/radio/poisson")
    return np.cumsum(chance.exponential(1 / rate_per_s, count))


def spaced(least_s: float, most_s: float, count: int) -> Floats:
    """Return times whose distances are uniform."""
    return np.cumsum(streams.stream(1, "bench/radio/spaced").uniform(least_s, most_s, count))


def idle_then_send(count: int) -> list[Row]:
    """Return waits for promotions, and promotions that delay beside those that cost."""
    timer_s, promotion_s, rows = 10.0, 0.25, []
    access = {"states": {"promotion": "250ms", "inactivity_timer": "10s"}}
    for rate_per_s in (0.02, 0.1, 0.3):
        found = simulated(access, poisson(rate_per_s, count), to_radio=False)
        waits_s = found.taken_s - BASE_S
        share = 1 / (rate_per_s * promotion_s + math.exp(rate_per_s * timer_s))
        mean_s = (promotion_s + rate_per_s * promotion_s**2 / 2) * share
        what = f"idle then send, {rate_per_s}/s"
        delayed = int((waits_s > promotion_s - ROUNDING_S).sum())
        rows += [
            Row(f"{what}: mean wait, s", mean_s, float(waits_s.mean()), 0.02),
            Row(f"{what}: promotions a message", share, delayed / count, 0.02),
            Row(f"{what}: promotions charged, of those that delay", delayed, found.promotions, 0),
        ]
    return rows


def waits(count: int) -> list[Row]:
    """Return waits for grants, on-durations, pages, HARQ and beacons."""
    lte = {"promotion": "255ms", "inactivity_timer": "10.2s"}
    drx = {"drx_cycle": "320ms", "on_duration": "10ms", "drx_inactivity_timer": "100ms"}
    grant = {"sr_periodicity": "10ms", "grant_delay": "8ms"}
    harq = {"bler": 0.1, "harq_delay": "8ms"}

    def mean_s(states: dict[str, Any], time_s: Floats, *, to_radio: bool) -> float:
        found = simulated({"states": {**lte, **states}}, time_s, to_radio=to_radio)
        return float((found.taken_s[1:] - BASE_S).mean())  # the first wakes it

    now_and_then, seldom = spaced(1, 9, count), spaced(13, 30, count)
    rows = [
        Row(
            "to send, connected: mean wait for a grant, s",
            0.013,
            mean_s(grant, now_and_then, to_radio=False),
            0.02,
        ),
        Row(
            "to receive, DRX of 320 and 10 ms: mean wait, s",
            0.31**2 / 0.64,
            mean_s(drx, now_and_then, to_radio=True),
            0.02,
        ),
        Row(
            "to receive, idle, paged every 1.28 s: mean wait, s",
            0.64 + 0.255,
            mean_s({**drx, "paging_cycle": "1.28s"}, seldom, to_radio=True),
            0.02,
        ),
        Row(
            "HARQ, 10 % and 8 ms: mean, s",
            0.1 * 0.008 / 0.9,
            mean_s(harq, now_and_then, to_radio=True),
            0.02,
        ),
    ]
    rate_per_s, awake_s, wait_s = 2.0, 0.2, 0.3072
    doze = {"power_save": {"awake": "200ms", "dtim_periods": 3}}
    found = simulated(doze, poisson(rate_per_s, count), to_radio=True)
    first_s, second_s2 = wait_s / 2, wait_s**2 / 3
    put_in_s = (first_s + rate_per_s * second_s2 / 2) / (
        rate_per_s * first_s + math.exp(rate_per_s * awake_s)
    )
    what = "Wi-Fi that dozes, each third beacon, 2/s: mean wait, s"
    # Not quite: a phone that a beacon woke dozes at a fixed time before another.
    return [*rows, Row(what, put_in_s, float((found.taken_s - BASE_S).mean()), 0.03)]


def rates() -> list[Row]:
    """Return what links deliver that follow files, step by step."""
    rows = []
    for name, form, periods in (
        ("made_drive.mahimahi.txt", "mahimahi", 3),
        ("made_drive.csv", "columns", 1),
    ):
        given = {"down": str(VECTORS / name), "format": form}
        count = 6000 if form == "mahimahi" else 4000
        found = simulated({"rate_file": given}, np.zeros(count), to_radio=True)
        ends_s = np.sort(found.time_s + found.taken_s)  # the radio comes last
        for period in range(periods):
            for begin_s, end_s, mbps in STEPS:
                edges_s = np.array([begin_s, end_s]) + 4 * period
                # What ends with a step belongs to it; the rest of one goes out after the gap.
                within_s = edges_s + ROUNDING_S * np.array([1, 1 if mbps else -1])
                messages = np.diff(np.searchsorted(ends_s, within_s))[0]
                found_mbps = messages * 1500 * 8e-6 / (end_s - begin_s)
                what = f"{name}, {edges_s[0]:.1f} to {edges_s[1]:.1f} s: Mbit/s"
                if mbps:
                    rows.append(Row(what, mbps, found_mbps, 0.05))
                elif messages:
                    sys.exit(f"{what} {found_mbps}, in a gap")
    return rows


def interruptions(count: int) -> list[Row]:
    """Return how often a link is interrupted, and for how long, of one that is nearly saturated."""
    gap_s, length_s = 3600 / 71.6, 0.05
    given = {"handover": {"rate": "71.6/h", "interruption": "50ms"}}
    # A millisecond apart: who waits longest came as the link went.
    time_s = np.arange(min(20 * count, 8_000_000)) * 0.001
    found = simulated(given, time_s, to_radio=False)
    waits_s = found.taken_s - BASE_S
    begun = (waits_s[1:] > length_s - 0.002) & (waits_s[:-1] < ROUNDING_S)
    expected = time_s[-1] / (gap_s + length_s)
    # From a first wait w to 0 in steps of a millisecond: about 50 of them.
    return [
        Row(
            "handovers an hour",
            3600 / (gap_s + length_s),
            begun.sum() / time_s[-1] * 3600,
            4 / math.sqrt(expected),
        ),
        Row("messages delayed by each", 50, (waits_s > ROUNDING_S).sum() / begun.sum(), 0.05),
    ]


def main() -> int:
    """Compare, print, say whether bars are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--no-bar", action="store_true", help="exit code 0 beyond it, too")
    given = parser.parse_args()
    rows = [
        *idle_then_send(given.messages),
        *waits(given.messages),
        *rates(),
        *interruptions(given.messages),
    ]
    print("| | put in | found | off |\n|---|---|---|---|")
    for row in rows:
        print(row.text())
    is_met = all(row.off <= row.bar for row in rows)
    print(f"\nbars: {'met' if is_met else 'missed'}")
    return 0 if is_met or given.no_bar else EXIT_CHECK_FAILED


BASE_S = 0.002
"""What a message takes without waits."""
ROUNDING_S = 1e-6
STEPS = ((0.0, 1.0, 12.0), (1.0, 1.5, 0.0), (1.5, 3.0, 6.0), (3.0, 4.0, 3.0))
"""Of the made files: begin and end in seconds, and Mbit/s."""

if __name__ == "__main__":
    sys.exit(main())
