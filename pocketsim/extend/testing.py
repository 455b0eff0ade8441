"""Traces and run directories without an engine, for tests of what reads them.

The numbers are invented; they have the shape of a paced run: sends at a steady rate, stores after
a lognormal round trip, some transactions lost, and a run that may end early. What drives a protocol
of one's own without an engine is `pocketsim.extend.harness`'s, and offered here, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pocketsim.extend.harness import Harness, Said
from pocketsim.sim import metrics, trace
from pocketsim.sim.base import streams
from pocketsim.sim.base.axes import slug
from pocketsim.sim.devices.transport_options import UNUSED, TransportValues
from pocketsim.sim.scenario.resolve import digest
from pocketsim.sim.scenario.resolved import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from pocketsim.sim.devices.contents import (
        Cost,
        Number,
        OwnCost,
        Provenance,
        Shipped,
        ShippedImplementation,
    )
    from pocketsim.sim.scenario.resolved import Paced, Protocol, Resolved, Run, Rung, Transport

__all__ = [
    "Harness",
    "Said",
    "Shape",
    "events",
    "implementation",
    "manifest",
    "profile",
    "resolved",
    "run_dir",
]


@dataclass(frozen=True)
class Shape:
    """What an invented run does: round trip in s, share lost, when each repetition breaks in s."""

    rtt_s: float = 0.012
    sigma: float = 0.25
    lost_ratio: float = 0.0
    breaks_s: tuple[float, ...] = ()


def resolved(
    scenario: str = "invented",
    rate_per_s: float = 16.0,
    payload_bytes: int = 100,
    transport: str = "udp",
    repetitions: int = 5,
    axes: Mapping[str, Any] | None = None,
    **sections: Any,
) -> Resolved:
    """Return an invented resolved scenario of two phones that trade.

    `sections` stand in for sections of it; of one that is a table, those keys alone that they have.
    """
    rung: Rung = {
        "rate_per_s": rate_per_s,
        "payload_bytes": payload_bytes,
        "transport": transport,
    }
    workload: Paced = {
        "kind": "paced",
        "rate_per_s": rate_per_s,
        "payload_bytes": payload_bytes,
        "pacing": "floored_ms",
        "start_s": 0.0,
        "interval_s": 1 / rate_per_s if rate_per_s else 0.0,
    }
    run: Run = {
        "seed": 1,
        "duration_s": 25.0,
        "repetitions": repetitions,
        "fidelity": "hybrid",
        "draw": "mean",
        "app": "restarted",
    }
    whole: Resolved = {
        "schema": SCHEMA,
        "scenario": scenario,
        "title": f"Invented: {scenario}",
        "rung": {**rung, "axes": dict(axes)} if axes else rung,
        "run": run,
        "versions": {"pocketsim": "0", "build": "0" * 12},
        "devices": [{"role": "person", "profile": "invented", "count": 2, "access": {"wifi": 1.0}}],
        "profiles": {"invented": profile()},
        "implementation": implementation(),
        "network": {"backbone_latency_s": 0.0, "relay_latency_s": 0.0, "access": {}},
        "churn": None,
        "contacts": None,
        "outages": [],
        "workload": workload,
        "protocol": _protocol(),
        "transport": _transport(transport),
        "energy": None,
        "output": {
            "trace": "full",
            "sample_ratio": 0.1,
            "tokens": False,
            "blocks": False,
            "metrics": [],
        },
        "operations": {},
        "engine_options": {},
        "continues": None,
    }
    return cast("Resolved", {**whole, **_merged(whole, sections)})


def _merged(whole: Mapping[str, Any], sections: Mapping[str, Any]) -> dict[str, Any]:
    def one(key: str, value: Any) -> Any:
        both_tables = isinstance(value, dict) and isinstance(whole.get(key), dict)
        return {**whole[key], **value} if both_tables and key != "workload" else value

    return {key: one(key, value) for key, value in sections.items()}


def _protocol() -> Protocol:
    return {
        "kind": "trustchain",
        "crypto": "counted",
        "duplicate_window_s": 30.0,
        "benchmark_log_entries": 0,
        "tokens": None,
        "class": None,
        "library": None,
        "options": {},
        "adversary": None,
        "digest": None,
    }


def _transport(mode: str) -> Transport:
    names = TransportValues.__annotations__
    unused = {name: off for name, off in UNUSED.items() if name in names}
    return {
        "mode": mode,
        **cast("TransportValues", unused),
        "poll_interval_s": 0.01,
        "connect_timeout_s": 30.0,
        "idle_timeout_s": 30.0,
        "keep_alive_s": 1.0,
        "answer_on_same_connection": True,
        "relay_first": True,
        "socket_timeout_s": 5.0,
        "app_faults": False,
        "eva": None,
        "policy": None,
    }


def profile() -> Shipped:
    """Return the content of an invented device profile, with one number of each basis."""

    def known(basis: str) -> Provenance:
        return {"samples": 0, "basis": basis, "source": "invented for tests", "fitted_to": []}

    number: Number = {**known("assumed"), "value": 0.5, "standard_error": 0.1}
    bases = ("fitted", "proxy", "assumed", "published")
    names = ("sign", "verify", "store", "encode")
    return {
        "device": {
            "name": "Invented phone",
            "soc": "none",
            "os": "none",
            "measured_on": "2025-06-22",
            "measured_by": "nobody",
            "probe": "none",
            "does_not_claim": ["anything about a real phone"],
            "cores": {**number, "value": 8.0},
            "core_classes": {},
            "priced_on": None,
            "socket_buffer_bytes": 212_992,
        },
        "operations": {
            name: _cost(1e-4 * (place + 1), basis)
            for place, (name, basis) in enumerate(zip(names, bases, strict=True))
        },
        "scheduler": {
            "sleep_overshoot": {
                "base_s": number,
                "slope_s": number,
                "spread_sigma": number,
                "repetition_sigma": number,
            },
        },
        "digest": "0" * 64,
        "drawn_as": "invented",
        "own_cost_factors": {},
        "speed_factors": {"native_call": 1.0},
    }


def implementation() -> ShippedImplementation:
    """Return the content of an invented implementation profile that has plain UDP alone."""
    known: Provenance = {
        "samples": 0,
        "basis": "assumed",
        "source": "invented for tests",
        "fitted_to": [],
    }
    own_cost = cast(
        "OwnCost",
        {
            **_cost(5e-5, "assumed"),
            "step": "command",
            "scales_with": None,
            "reference_s": None,
        },
    )
    return {
        "implementation": {
            "name": "Invented app",
            "described_on": "2025-06-22",
            "described_by": "nobody",
            "does_not_claim": ["anything about a real app"],
        },
        "pacing": {**known, "value": "floored_ms"},
        "log_entries": None,
        "duplicate_window_s": {**known, "value": 30.0, "standard_error": 1.0},
        "threads_first": {**known, "value": True},
        "steps": {},
        "own_costs": {"native_call": own_cost},
        "udp": {"socket_timeout_s": {**known, "value": 5.0, "standard_error": 1.0}},
        "quic_keep": None,
        "quic_reconnect": None,
        "tftp": None,
        "ipv8": None,
        "ipv8_sealed": None,
        "eva": None,
        "digest": "0" * 64,
        "called": "invented",
    }


def _cost(cpu_s: float, basis: str) -> Cost:
    return {
        "samples": 0,
        "basis": basis,
        "source": "invented for tests",
        "fitted_to": [],
        "cpu_s": cpu_s,
        "per_byte_s": 1e-9,
        "wait_s": 0.0,
        "threads": 1,
        "spread_sigma": 0.0,
        "repetition_sigma": 0.0,
        "standard_error_s": cpu_s / 5,
    }


def events(resolved: Resolved, shape: Shape) -> pa.Table:
    """Return an invented trace for a resolved scenario, from streams of its seed."""
    repetitions = range(resolved["run"]["repetitions"])
    return trace.concatenate(
        [_repetition(resolved, shape, repetition) for repetition in repetitions]
    )


def run_dir(
    folder: Path, resolved: Resolved, shape: Shape, settings: Mapping[str, Any] | None = None
) -> Path:
    """Write an invented run directory into `folder` and return its path.

    `settings` are values of its scenario by key, as a manifest has them, that were asked for.
    """
    rung, told = resolved["rung"], manifest(resolved, settings or {})
    parts = [f"{rung['transport']}-{rung['payload_bytes']}B-{rung['rate_per_s']:g}ps"]
    parts += [slug(rung["axes"])] if "axes" in rung else []
    path: Path = folder / resolved["scenario"] / "-".join([*parts, digest([resolved, told])[:12]])
    path.mkdir(parents=True)
    table = events(resolved, shape)
    trace.write(table, path / "events.parquet")
    (path / "resolved.json").write_text(json.dumps(resolved), encoding="utf-8")
    (path / "manifest.json").write_text(json.dumps(told), encoding="utf-8")
    found = {**metrics.measure(table, resolved), "point": told["point"]}
    (path / "metrics.json").write_text(json.dumps(found), encoding="utf-8")
    return path


def manifest(resolved: Resolved, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a manifest what is read back, of an invented run: its values and its point."""
    run, rung = resolved["run"], resolved["rung"]
    asked = {
        "transport.mode": _plain(rung["transport"]),
        "workload.payload": _plain(rung["payload_bytes"], "B"),
        "workload.rate": _plain(rung["rate_per_s"], "/s"),
        **{key: _plain(value) for key, value in rung.get("axes", {}).items()},
        **settings,
    }
    groups = {
        f"devices[{number}].{key}": _plain(group[key])
        for number, group in enumerate(resolved["devices"])
        for key in ("profile", "count")
    }
    return {
        "scenario": {
            **{f"run.{key}": _plain(run[key]) for key in ("seed", "repetitions", "draw")},
            "run.duration": _plain(run["duration_s"], "s"),
            **groups,
            **asked,
        },
        "point": asked,
        "profiles": {name: digest(content) for name, content in resolved["profiles"].items()},
        "implementation": {
            resolved["implementation"]["called"]: digest(resolved["implementation"])
        },
        "repetitions": [{"repetition": number} for number in range(run["repetitions"])],
        "final_index": None,
    }


def _plain(value: Any, unit: str = "") -> dict[str, Any]:
    return {"value": value, "unit": unit}


def _repetition(resolved: Resolved, shape: Shape, repetition: int) -> pa.Table:
    rung, duration_s = resolved["rung"], resolved["run"]["duration_s"]
    name = f"{rung}/{repetition}"
    draw = streams.stream(resolved["run"]["seed"], name)
    sent_s = np.arange(0.0, duration_s, 1 / rung["rate_per_s"])
    rtt_s = shape.rtt_s * np.exp(shape.sigma * draw.standard_normal(sent_s.size))
    ends_s = shape.breaks_s[repetition] if shape.breaks_s else duration_s
    kept = (draw.random(sent_s.size) >= shape.lost_ratio) & (sent_s + rtt_s <= ends_s)
    number = np.arange(1, sent_s.size + 1)
    rows: list[tuple[str, Any, Any, str | None]] = [
        ("send", sent_s, number, None),
        ("process", (sent_s + rtt_s / 3)[kept], number[kept], None),
        ("receive_back", (sent_s + 0.9 * rtt_s)[kept], number[kept], None),
        ("store", (sent_s + rtt_s)[kept], number[kept], None),
        ("drop", (sent_s + rtt_s / 5)[~kept], number[~kept], "link_loss"),
    ]
    return _table(rows, repetition, rung["payload_bytes"] + 538)


def _table(rows: list[tuple[str, Any, Any, str | None]], repetition: int, size: int) -> pa.Table:
    time_s = np.concatenate([times for _, times, _, _ in rows])
    order = np.argsort(time_s, kind="stable")
    kinds = np.concatenate([np.full(times.size, kind, object) for kind, times, _, _ in rows])
    reasons = np.concatenate([np.full(times.size, why, object) for _, times, _, why in rows])
    return trace.build(
        repetition=np.full(order.size, repetition),
        time_s=time_s[order],
        node=(kinds == "process")[order].astype(np.int32),
        kind=kinds[order],
        message_id=np.concatenate([numbers for _, _, numbers, _ in rows])[order],
        peer=(kinds != "process")[order].astype(np.int32),
        message_size=np.full(order.size, size),
        reason=reasons[order],
        logged=np.ones(order.size, dtype=bool),
    )
