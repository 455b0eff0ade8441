"""Traces and run directories without an engine, for tests of what reads them.

The numbers are invented; they have the shape of a paced run: sends at a steady rate, stores after
a lognormal round trip, some transactions lost, and a run that may end early. What drives a protocol
of one's own without an engine is `pocketsim.extend.harness`'s, and offered here, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pocketsim.extend.harness import Harness, Said
from pocketsim.sim import metrics, trace
from pocketsim.sim.base import streams
from pocketsim.sim.base.axes import slug
from pocketsim.sim.devices.options import UNUSED
from pocketsim.sim.devices.transport_options import TransportValues
from pocketsim.sim.scenario.resolved import SCHEMA, digest, identity
from pocketsim.sim.trace import fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from pocketsim.sim.devices.contents import Shipped, ShippedImplementation
    from pocketsim.sim.scenario.resolved import Resolved

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
    whole = _invented()
    rung = {"rate_per_s": rate_per_s, "payload_bytes": payload_bytes, "transport": transport}
    whole["rung"] = {**rung, "axes": dict(axes)} if axes else rung
    whole["workload"] |= {"rate_per_s": rate_per_s, "payload_bytes": payload_bytes}
    whole["workload"]["interval_s"] = 1 / rate_per_s if rate_per_s else 0.0
    whole["run"]["repetitions"] = repetitions
    names = TransportValues.__annotations__
    unused = {name: off for name, off in UNUSED.items() if name in names}
    whole["transport"] = {**unused, **whole["transport"], "mode": transport}
    about = {"schema": SCHEMA, "scenario": scenario, "title": f"Invented: {scenario}"}
    return cast("Resolved", {**about, **whole, **_merged(whole, sections)})


def _invented() -> dict[str, Any]:
    """Return what is the same of every invented scenario, with a phone and an app that are none."""
    text = Path(__file__).with_name("invented.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _merged(whole: Mapping[str, Any], sections: Mapping[str, Any]) -> dict[str, Any]:
    def one(key: str, value: Any) -> Any:
        both_tables = isinstance(value, dict) and isinstance(whole.get(key), dict)
        return {**whole[key], **value} if both_tables and key != "workload" else value

    return {key: one(key, value) for key, value in sections.items()}


def profile() -> Shipped:
    """Return the content of an invented device profile, with one number of each basis."""
    found: Shipped = _invented()["profiles"]["invented"]
    return found


def implementation() -> ShippedImplementation:
    """Return the content of an invented implementation profile that has plain UDP alone."""
    found: ShippedImplementation = _invented()["implementation"]
    return found


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
    trace.write(fields.with_about(table, identity(resolved)), path / "events.parquet")
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
