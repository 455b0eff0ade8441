"""Plans without a scenario, and the engine that runs them in a child process, for tests.

A plan of `plan()` has phones that cost nothing, links that delay by LATENCY_S per hop and share
nothing that shows, and nothing to do; a test adds what it is about.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pocketsim.sim.base import streams
from pocketsim.sim.base.build import simgrid_file
from pocketsim.sim.base.engine_facts import operations
from pocketsim.sim.devices.options import UNUSED
from pocketsim.sim.plan import plan as plan_module
from support import forked

ROOT = Path(__file__).resolve().parents[2]
LATENCY_S = 0.010  # one hop; two between phones
WIDE_BYTES_PER_S = 1e15  # sizes do not show
TRANSPORTS = ("udp", "quic_reconnect", "quic_keep", "tftp", "ipv8", "ipv8_sealed", "eva")
# The offline token thesis's, which are the scenario's defaults.
EVA = {
    "variant": "modified",
    "encryption": False,
    "block_bytes": 1200,
    "window_blocks": 256,
    "retransmit_interval_s": 0.15,
    "retransmit_attempts": 3,
    "write_request_retries": 0,
    "timeout_s": 12.0,
    "reduce_window_after_timeout_blocks": 16,
    "min_window_blocks": 16,
    "scheduled_send_interval_s": 5.0,
    "scheduled_tasks_check_delay_s": 1.0,
    "binary_size_limit_bytes": 250 << 20,
    "simultaneous_transfers": None,
    "send_threads": 1,
    "race_window_s": 0.0,
}

CHILD = Path(__file__).with_name("engine_child.py")
COLUMNS = {
    "Floats": plan_module.floats,
    "Numbers": plan_module.numbers,
    "Counts": plan_module.counts,
    "Flags": plan_module.flags,
}
DTYPES = {
    "time_s": "<f8",
    "node": "<u4",
    "kind": "u1",
    "message": "<u8",
    "peer": "<u4",
    "size_bytes": "<u4",
    "reason": "u1",
    "logged": "u1",
}


@dataclass(frozen=True)
class Trace:
    """What a run left: columns of one length, names of kinds and reasons, counters."""

    columns: dict[str, Any]
    kinds: list[str]
    reasons: list[str]
    counters: dict[str, int]
    data: bytes  # the columns as the engine wrote them
    cpu_s: dict[str, float] = field(default_factory=dict)
    energy_j: dict[str, float] = field(default_factory=dict)
    clock_s: float = 0.0
    reach: dict[str, Any] | None = None

    def __getattr__(self, name):
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(name) from None

    def where(self, mask):
        return replace(self, columns={name: column[mask] for name, column in self.columns.items()})

    def of(self, kind, node=None):
        mask = self.kind == self.kinds.index(kind)
        return self.where(mask if node is None else mask & (self.node == node))

    def reason_names(self):
        return [self.reasons[code] for code in self.reason if code < len(self.reasons)]

    def time_of(self, kind, node=None):
        """The time of the only row of that kind."""
        (time_s,) = self.of(kind, node).time_s
        return time_s


def run(plan, **variables):
    """Run a plan in a process of its own."""
    with (
        tempfile.TemporaryFile() as asked,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        pickle.dump(arrays(plan), asked)
        asked.seek(0)
        child = forked.popen(
            [sys.executable, str(CHILD)],
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
            stdin=asked,
            stdout=out,
            stderr=err,
        )
        returncode = child.wait(120)
        for stream in (out, err):
            stream.seek(0)
        assert returncode == 0, err.read().decode()
        first, _, data = out.read().partition(b"\n")
    head = json.loads(first)
    columns, start = {}, 0
    for name, length in head["lengths"].items():
        columns[name] = np.frombuffer(data[start : start + length], DTYPES[name])
        start += length
    names = (head["event_kinds"], head["reasons"], head["counters"])
    spent = (head["cpu_s"], head["energy_j"], head["clock_s"])
    return Trace(columns, *names, data, *spent, head["reach"])


def lists(plan):
    """Return a plan that can be compared and written as JSON: with lists for columns."""
    if isinstance(plan, dict):
        return {key: lists(value) for key, value in plan.items()}
    if isinstance(plan, list):
        return [lists(item) for item in plan]
    return plan.tolist() if isinstance(plan, np.ndarray) else plan


def arrays(plan):
    """Return a plan whose columns, which tests write as lists, are the engine's arrays."""
    return _section(plan_module.Plan, plan)


def _section(kind, values):
    types = {key: hint.__forward_arg__ for key, hint in kind.__annotations__.items()}
    return {key: _value(types[key], value) for key, value in values.items()}


def _value(hint, value):
    if hint in COLUMNS:
        return COLUMNS[hint](value)
    inner = hint.removesuffix(" | None").removeprefix("list[").removesuffix("]")
    kind = getattr(plan_module, inner, None)
    if kind is None or value is None:
        return value
    is_list = hint.startswith("list[")
    return [_section(kind, item) for item in value] if is_list else _section(kind, value)


def from_table(table):
    """Return the rows of an events.parquet of one repetition."""
    names = {"message": "message_id", "size_bytes": "message_size"}
    columns = {
        name: table[names.get(name, name)] for name in DTYPES if name not in ("kind", "reason")
    }
    columns = {name: values.to_numpy() for name, values in columns.items()}
    texts = {}
    for name in ("kind", "reason"):
        array = table[name].unify_dictionaries().combine_chunks()
        texts[name] = array.dictionary.to_pylist()
        columns[name] = array.indices.fill_null(255).to_numpy()
    return Trace(columns, texts["kind"], texts["reason"], {}, b"")


def profile(cores=1):
    """Return a device whose operations cost nothing."""
    count = len(operations())
    return {
        "cores": cores,
        "cpu_s": [0.0] * count,
        "per_byte_s": [0.0] * count,
        "threads": [1] * count,
        "wait_s": [0.0] * count,
        "spread_sigma": [0.0] * count,
        "wake_after": {"rest_s": [], "ratio": []},
        "quic_wake_after": {"rest_s": [], "ratio": []},
        "eevdf": False,
        "tick_core_s": 0.0,
        "pace_after": {"rest_s": [], "ratio": []},
        "own_after": [],
        "socket_buffer_bytes": 212_992,
    }


def access(**changes):
    if changes.get("bursts"):
        changes["bursts"] = bursts(**changes["bursts"])
    return {
        "up_bytes_per_s": WIDE_BYTES_PER_S,
        "down_bytes_per_s": WIDE_BYTES_PER_S,
        "up_queue_bytes": 1e9,
        "down_queue_bytes": 1e9,
        "blocks": False,
        "latency_s": LATENCY_S,
        "jitter_median_s": 0.0,
        "jitter_sigma": 0.0,
        "loss_ratio": 0.0,
        "bursts": None,
        "states": None,
        "up_rate": None,
        "down_rate": None,
        "handover": None,
        "rat_change": None,
        "reorders": False,
        "forwarding_cpu_s": 0.0,
        "wifi": None,
        **changes,
    }


def bursts(*, share, loss_ratio=1.0, mean_packets=None, mean_duration_s=None):
    return {
        "share": share,
        "mean_packets": mean_packets,
        "mean_duration_s": mean_duration_s,
        "loss_ratio": loss_ratio,
    }


def transport(name, phones, **changes):
    """Return a transport; `changes` are options of it, or replace what else it has."""
    options = {
        **UNUSED,
        "connect_timeout_s": 30.0,
        "idle_timeout_s": 30.0,
        "keep_alive_s": 1.0,
        "socket_timeout_s": 5.0,
        **{key: changes.pop(key) for key in UNUSED if key in changes},
    }
    return {
        "mode": name,
        "options": options,
        "threads_first": True,
        "duplicate_dial_s": [math.inf] * phones,
        "connection_break_s": [math.inf] * phones,
        "eva": EVA if name == "eva" else None,
        **changes,
    }


def plan(phones, mode="udp", cores=1, protocol="trustchain", **changes):
    """Return a plan of `phones` equal phones; `changes` replaces whole sections."""
    return {
        "seed": 1,
        "duration_s": 100.0,
        "fidelity": "hybrid",
        "simgrid_library": str(simgrid_file()),
        "profiles": [profile(cores)],
        "access": [access()],
        "sites": {"capacity_bytes_per_s": [0.0]},
        "contention": True,
        "phones": {
            "profile": [0] * phones,
            "access": [0] * phones,
            "site": [0] * phones,
            "first_index": [1] * phones,
            "role": [0] * phones,
            "cores_of": [],
            "mcs": [],
        },
        "proximity": {
            key: [] for key in ("links", "time_s", "duration_s", "phone_a", "phone_b", "link")
        },
        "outages": [],
        "backbone": {"latency_s": 0.0, "relay_latency_s": 0.0},
        "core": None,
        "churn": {"time_s": [], "phone": [], "on": []},
        "workload": {
            "time_s": [],
            "from_phone": [],
            "to_phone": [],
            "payload_bytes": [],
            "amount_cents": [],
            "conduct": [],
            "loops": [],
        },
        "protocol": {
            "kind": protocol,
            "crypto": "counted",
            "duplicate_window_s": 30.0,
            "retries": None,
            "tokens": None,
            "compute": None,
            "own_operations": [],
        },
        "transport": transport(mode, phones),
        "trace": {
            "mode": "full",
            "sample_ratio": 1.0,
            "log_capacity": 0,
            "tokens": False,
            "blocks": False,
        },
        "energy": None,
        "battery": None,
        "nats": None,
        "relay": None,
        "moves": None,
        **changes,
    }


def cost(plan, operation, cpu_s=0.0, per_byte_s=0.0, wait_s=0.0, threads=1, number=0):
    """Set what an operation costs on profile `number`."""
    at, profile = operations().index(operation), plan["profiles"][number]
    profile["cpu_s"][at], profile["per_byte_s"][at] = cpu_s, per_byte_s
    profile["wait_s"][at], profile["threads"][at] = wait_s, threads


def arrive(plan, time_s, sender, receiver, payload_bytes=100):
    """Add a proposal; call in order of time."""
    workload = plan["workload"]
    workload["time_s"].append(time_s)
    workload["from_phone"].append(sender)
    workload["to_phone"].append(receiver)
    workload["payload_bytes"].append(payload_bytes)


def meet(plan, time_s, duration_s, one, other, **link):
    """Add a contact on a link of its own; call in order of time."""
    proximity = plan["proximity"]
    proximity["link"].append(len(proximity["links"]))
    plain = {"rate_bytes_per_s": WIDE_BYTES_PER_S, "latency_s": LATENCY_S}
    proximity["links"].append(
        {**plain, "setup_s": 0.0, "loss_ratio": 0.0, "shares_air": False, **link}
    )
    proximity["time_s"].append(time_s)
    proximity["duration_s"].append(duration_s)
    proximity["phone_a"].append(one)
    proximity["phone_b"].append(other)


def radio(**changes):
    """Return what the radio of an access network draws; nothing but for `changes`."""
    names = ("active_w", "up_per_byte_j", "down_per_byte_j")
    names += ("tail_power_w", "tail_s", "promotion_j")
    return {**dict.fromkeys(names, 0.0), **changes}


def turn(plan, time_s, phone, *, on):
    """Add a transition; call in order of time."""
    plan["churn"]["time_s"].append(time_s)
    plan["churn"]["phone"].append(phone)
    plan["churn"]["on"].append(on)


def wire_bytes(payload_bytes):
    """Bytes of a UDP datagram with its headers: 8 of UDP, 20 of IPv4 for each 1480 of both."""
    return payload_bytes + 8 + 20 * math.ceil((payload_bytes + 8) / 1480)


def busy_town(seed, phones=50, mode="udp", quiet_s=0.0, duration_s=60.0, rate_per_s=0.5):
    """Return a plan of phones with costs, jitter, loss and churn on two kinds of access.

    Before the last `quiet_s` seconds phones propose and come and go; then all come on and stay,
    so that whatever was sent has an end before the run has.
    """
    busy = plan(phones, mode, cores=8, seed=seed, duration_s=duration_s)
    draw = streams.stream(seed, "busy town")
    for name, cpu_s in REALISTIC_CPU_S.items():
        cost(busy, name, cpu_s, 2e-9, wait_s=0.03 if name == "discovery" else 0.0)
    busy["profiles"][0]["spread_sigma"] = [0.2] * len(operations())
    wifi = access(up_bytes_per_s=5e6, down_bytes_per_s=5e6, latency_s=1e-3)
    lte = access(up_bytes_per_s=75e4, down_bytes_per_s=16e5, latency_s=1e-2, loss_ratio=0.03)
    busy["access"] = [
        {**wifi, "jitter_median_s": 2e-3, "jitter_sigma": 1.75},
        {**lte, "jitter_median_s": 1e-2, "jitter_sigma": 0.8},
    ]
    busy["sites"] = {"capacity_bytes_per_s": [5e6, 9e6]}
    busy["phones"]["access"] = busy["phones"]["site"] = [number % 2 for number in range(phones)]
    busy["backbone"] = {"latency_s": 5e-3, "relay_latency_s": 6e-3}
    busy["transport"]["options"] |= {"poll_interval_s": 0.01, "relay_first": True}
    _come_and_go(busy, draw, duration_s - quiet_s)
    _propose(busy, draw, rate_per_s, duration_s - quiet_s)
    return busy


def _come_and_go(plan, draw, until_s):
    changes = []
    for phone in range(len(plan["phones"]["profile"])):
        time_s, on = draw.exponential(10.0), False
        while time_s < until_s:
            changes.append((time_s, phone, on))
            time_s, on = time_s + draw.exponential(10.0 if not on else 5.0), not on
        if on:
            changes.append((until_s, phone, True))
    for time_s, phone, on in sorted(changes):
        turn(plan, time_s, phone, on=on)


def _propose(plan, draw, rate_per_s, until_s):
    phones = len(plan["phones"]["profile"])
    time_s = draw.exponential(1 / (phones * rate_per_s))
    while time_s < until_s:
        sender, step = draw.integers(phones), draw.integers(1, phones)
        arrive(plan, float(time_s), int(sender), int((sender + step) % phones))
        time_s += draw.exponential(1 / (phones * rate_per_s))


# Of the order of a cheap phone of 2024; no test depends on the values.
REALISTIC_CPU_S = {
    "command": 60e-6,
    "sign": 120e-6,
    "verify": 330e-6,
    "encode": 20e-6,
    "decode": 30e-6,
    "store": 2e-3,
    "udp_send": 40e-6,
    "udp_receive": 130e-6,
    "endpoint_setup": 0.1,
    "endpoint_close": 0.02,
    "discovery": 1e-3,
    "handshake_start": 1e-3,
    "handshake_respond": 2e-3,
    "handshake_finish": 2e-3,
    "handshake_confirm": 1e-3,
    "packet_seal": 15e-6,
    "packet_open": 15e-6,
    "stream_open": 15e-6,
    "file_block": 50e-6,
    "sealed_box_seal": 450e-6,
    "sealed_box_open": 330e-6,
    "overlay_send": 60e-6,
    "overlay_receive": 210e-6,
}
