"""What the benchmark found, as tables on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rivals import HEAPQ, LIMIT, OWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    Row = dict[str, Any]


def print_table(hosts: int, turns: int, rows: Mapping[str, Row]) -> None:
    """Print one size, pocketsim first."""
    print(
        f"\n{hosts} hosts, {turns} turns; tx/s: median, of wall time; us: of wall time for a "
        f"transaction;\nratio: pocketsim's rate to this; limit: this rate to that of {LIMIT}"
    )
    print(
        f"{'':<23}{'T, s':>5}{'tx/s':>11}{'us':>7}{'ratio':>7} {'(range)':<13}"
        f"{'limit':>8} {'(range)':<19}{'mean latency, ms':<18} MB"
    )
    for name, row in rows.items():
        ratio = "" if name == OWN else spread_text(row["pocketsim_times_faster"], 7)
        limit = "" if name == LIMIT else spread_text(row["to_limit"], 8)
        rate_per_s = row["rate_per_s"]["median"]
        mean_ms, expected_ms, tolerance_ms = (row[key] * 1e3 for key in LATENCY)
        latency = f"{mean_ms:.1f} of {expected_ms:.1f}+-{tolerance_ms:.1f}"
        print(
            f"{name:<23}{row['simulated_s']:>5g}{rate_per_s:>11,.0f}{digits(1e6 / rate_per_s):>7}"
            f"{ratio:<21}{limit:<28}{latency:<18} {row['memory_mb']:.0f}"
        )


def print_summary(report: Mapping[str, Any]) -> None:
    """Print ratios of all sizes in one table each, and in what the simulators differ."""
    by_hosts = report["hosts"]
    names = names_of(by_hosts)
    for key, base, title in (
        ("pocketsim_times_faster", OWN, "how many times as fast as the other pocketsim is"),
        ("to_limit", LIMIT, f"which part of the rate of {LIMIT} each reaches"),
        ("to_heapq", HEAPQ, f"how many times as fast as {HEAPQ} each is"),
    ):
        print(f"\n{title}, by hosts")
        print(f"{'':<23}" + "".join(f"{hosts:>9}" for hosts in by_hosts))
        for name in names:
            if name != base:
                cells = [median_of(rows.get(name), key) for rows in by_hosts.values()]
                print(f"{name:<23}" + "".join(f"{cell:>9}" for cell in cells))
    print("\nall run the same workload within what chance explains, but:")
    for name, differs in report["differs"].items():
        print(f"  {name}: {differs}")


def print_memory(found: Mapping[str, Any]) -> None:
    """Print what phones and transactions take, and whether phones stay below their bars."""
    small, large = found["phones"]
    print(f"\nbytes of memory in pocketsim, between {small} and {large} phones")
    print(f"{'':<23}" + "".join(f"{title:>20}" for title in TAKERS.values()))
    for name, taken in found["bytes"].items():
        print(f"{name:<23}" + "".join(f"{taken[key]:>20,.0f}" for key in TAKERS))
    for key, bar in found["bars_bytes"].items():
        is_met = all(taken[key] < bar for taken in found["bytes"].values())
        print(f"bar: {TAKERS[key]} below {bar:,}: {'met' if is_met else 'missed'}")


def names_of(by_hosts: Mapping[Any, Mapping[str, Row]]) -> list[str]:
    """Return who was measured at any size, in order."""
    return list(dict.fromkeys(name for rows in by_hosts.values() for name in rows))


def median_of(row: Mapping[str, Any] | None, key: str) -> str:
    """Return the median of one ratio, or what is said in its place."""
    return digits(row[key]["median"]) if row and row[key] else "not run"


def spread_text(found: Mapping[str, float] | None, wide: int) -> str:
    """Return a median, `wide` letters, and in brackets its range."""
    if found is None:
        return ""
    low, high = digits(found["low"]), digits(found["high"])
    return f"{digits(found['median']):>{wide}} ({low}-{high})"


def digits(value: float) -> str:
    """Return `value` with two digits, or all before the point."""
    return f"{value:,.0f}" if value >= _ROUND_FROM else f"{value:.2g}"


TAKERS = {
    "idle_phone_bytes": "idle phone",
    "used_phone_bytes": "phone that traded",
    "transaction_bytes": "transaction",
}
LATENCY = ("mean_latency_s", "expected_latency_s", "latency_tolerance_s")
_ROUND_FROM = 10
