"""Metrics in words: what a sentence calls them, and their values with units."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pocketsim.report.runs.pooled import Point


def number(value: float) -> str:
    """Return a number for a table, with as many digits as a reader needs."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM or value == int(value) else f"{value:.3g}"


def name(metric: str) -> str:
    """Return what a metric is called within a sentence."""
    if match := _DONE_WITHIN.fullmatch(metric):
        return f"share done within {match[1]} {match[2]}"
    if match := _DONE_AT.fullmatch(metric):
        return f"time until {match[1]} % are done"
    return _NAMES.get(metric, metric)


def title(metric: str) -> str:
    """Return what a chart of a metric is called: "Share stored of what was sent"."""
    said = name(metric)
    return said if said == metric else f"{said[0].upper()}{said[1:]}"


def value(metric: str, amount: float) -> str:
    """Return a value with its unit: "16.2 %", "31 ms"."""
    if metric.endswith("_ratio"):
        return f"{_percent(100 * amount)} %"
    return f"{number(amount)}{_unit(metric)}"


def span(metric: str, low: float, high: float) -> str:
    """Return from where to where values lie: "37 to 237 ms"."""
    bare = _bare(metric, low)
    return (
        value(metric, high) if bare == _bare(metric, high) else f"{bare} to {value(metric, high)}"
    )


def estimate(metric: str, point: Point) -> str:
    """Return a point's value with its 95 % interval: "16.2 % (14 to 18)"."""
    said = value(metric, point.mean(metric) or 0.0)
    bounds = point.bounds(metric)
    if bounds is None:
        return said
    low, high = (_bare(metric, bound) for bound in bounds)
    return f"{said} ({low} to {high})" if low != high else said


def difference(metric: str, amount: float, low: float, high: float) -> str:
    """Return a difference with its interval: "0.8 points (0.3 to 1.2)", "3 ms (1 to 5)"."""
    if metric.endswith("_ratio"):
        bounds = max(low, -1.0), min(high, 1.0)
        mean, least, most = (_points(part) for part in (amount, *bounds))
        return f"{mean} points ({least} to {most})"
    return f"{value(metric, amount)} ({number(low)} to {number(high)})"


def _points(share: float) -> str:
    """Return a difference of shares in points, with two digits or whole."""
    return f"{100 * share:.0f}" if abs(share) >= _WHOLE_POINTS_FROM else f"{100 * share:.2g}"


def in_brackets(metric: str) -> str:
    """Return the unit of a metric for the title of an axis: " (ms)"; nothing where it has none."""
    unit = " %" if metric.endswith("_ratio") else _unit(metric)
    return f" ({unit.strip()})" if unit else ""


def _bare(metric: str, amount: float) -> str:
    return _percent(100 * amount) if metric.endswith("_ratio") else number(amount)


def _percent(share: float) -> str:
    """Return a percentage with as many digits as tell it from 0 and from 100."""
    return f"{share:.2f}".rstrip("0").rstrip(".") if share > _NEAR_ALL else f"{share:.3g}"


def _unit(metric: str) -> str:
    return next((unit for part, unit in _UNITS.items() if part in f"_{metric}_"), "")


_DONE_WITHIN = re.compile(r"done_within_(\d+)(m?s)_ratio")
_DONE_AT = re.compile(r"done_(\d+)_percent_s")
_NEAR_ALL = 99.0
_WHOLE_POINTS_FROM = 0.1
_NAMES = {
    "success_ratio": "share stored of what was sent",
    "settled_success_ratio": "share stored of what was settled",
    "in_flight_ratio": "share in flight at the end",
    "completed_ratio": "share of payments completed",
    "rtt_ms_p50": "median round trip",
    "rtt_ms_p95": "95th percentile of round trips",
    "rtt_ms_p99": "99th percentile of round trips",
    "rtt_ms_mean": "mean round trip",
    "payment_ms_p50": "median time of a payment",
    "payment_ms_p95": "95th percentile of payments",
    "delivery_ms_p95": "95th percentile of deliveries",
    "deliveries_per_transaction": "number of deliveries of a transaction",
    "store_rate_per_s": "rate of stores over all phones",
    "send_rate_per_s": "rate of sends over all phones",
    "goodput_mb_per_s": "goodput",
    "data_rate_mb_per_s": "rate of data",
    "datagram_loss_ratio": "share of datagrams lost",
    "task_rate_per_s": "rate of tasks",
    "task_us_mean": "mean time of a task",
    "token_recipients_mean": "mean number of recipients of a token",
    "energy_mj_per_payment": "energy of a payment",
    "energy_mj_per_transaction": "energy of a transaction",
    "energy_j_per_phone_day": "energy of a phone and day",
    "mb_per_phone_day": "data of a phone and day",
    "core_s_per_phone_day": "core time of a phone and day",
    "chain_bytes_per_phone_day": "growth of a chain in a day",
    "stored_bytes_written_per_phone_day": "bytes that a phone writes in a day",
}
_UNITS = {
    "_mb_per_s_": " MB/s",
    "_per_s_": "/s",
    "_ms_": " ms",
    "_percent_s_": " s",
    "_us_": " µs",
    "_mj_": " mJ",
    "_j_per_": " J",
    "_mb_per_phone_": " MB",
}
"""By a part of a metric's name with a line before and behind it, the first that fits."""
_WHOLE_FROM = 1000
