"""The pairwise workload on pocketsim: a scenario made for it, and its plan with three changes.

Usage: HOSTS SECONDS. Scenario and device profile are documents like a user's, and the plan is the
one that `pocketsim run` would make of them. What no document can say is changed in the plan: the
protocol of two messages, and an access latency for each phone. The clock counts the replay;
arrivals, platform and machines are set-up. The trace keeps every event, as that of a run does.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import tomllib
from json import dumps
from pathlib import Path
from typing import Any

from pocketsim.sim.run import children

os.environ |= children.ENVIRONMENT  # before numpy is loaded, as in every child

import numpy as np
import tomli_w
import workload
from report import peak_memory_mb

from pocketsim.sim import _engine
from pocketsim.sim.base import streams
from pocketsim.sim.base.engine_facts import device_operations
from pocketsim.sim.base.units import BANDWIDTH, DURATION, RATE, SIZE
from pocketsim.sim.devices import profile as profiles
from pocketsim.sim.plan import build_plan as plan
from pocketsim.sim.scenario import resolve
from pocketsim.sim.scenario.load import load

SEED = 1


def build_plan(count: int, end_s: float) -> dict[str, Any]:
    """Return the plan of `count` phones that propose for `end_s` simulated seconds."""
    made = on_links(planned(document(count, end_s)), count)
    made["protocol"]["kind"] = "pairwise"
    return made


def on_links(made: dict[str, Any], count: int) -> dict[str, Any]:
    """Return a plan with an access latency for each phone."""
    # One access network for each phone: a plan gives latencies to networks only.
    (radio,) = made["access"]
    made["access"] = [{**radio, "latency_s": latency_s} for latency_s in access_latencies_s(count)]
    made["phones"]["access"] = np.arange(count, dtype=np.uint32)
    return made


def planned(document: dict[str, Any]) -> dict[str, Any]:
    """Return the plan of a scenario whose phones are `phone()`."""
    found, _ = resolved(document)
    return plan.build_plan(found, repetition=0)


def resolved(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a scenario whose phones are `phone()`, resolved, and its files by their digests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairwise.toml"
        path.write_text(tomli_w.dumps(document), encoding="utf-8")
        path.with_name(PHONE).write_text(tomli_w.dumps(phone()), encoding="utf-8")
        loaded = load(path)
        (rung,) = resolve.resolve(loaded)
    return rung.resolved, loaded.paths()


def document(count: int, end_s: float) -> dict[str, Any]:
    """Return the scenario."""
    radio = BANDWIDTH.write(workload.ACCESS_BYTES_PER_S)
    return {
        # Its steps are one operation each, and nothing else.
        "implementation": "probe",
        "run": {"seed": SEED, "duration": DURATION.write(end_s)},
        "devices": [{"profile": PHONE, "count": count, "access": "radio"}],
        "network": {
            "access": {
                "radio": {
                    "up": radio,
                    "down": radio,
                    "latency": DURATION.write(workload.ACCESS_LATENCY_MEDIAN_S),
                }
            }
        },
        "workload": {
            "kind": "poisson",
            "rate": RATE.write(workload.RATE_PER_S),
            "payload": SIZE.write(workload.MESSAGE_BYTES),
        },
        "transport": {"mode": "udp", "socket_buffer": "1MiB"},
    }


def phone() -> dict[str, Any]:
    """Return a device profile on whose one core only answering and confirming cost anything.

    A shipped profile gives what profiles have beside costs.
    """
    found = tomllib.loads(profiles.find("moto_g04s", Path()).read_text(encoding="utf-8"))
    found["device"]["cores"]["value"] = 1
    costs_s = {"verify": workload.ANSWER_CPU_S, "store": workload.CONFIRM_CPU_S}
    found["operations"] = {name: cost(costs_s.get(name, 0.0)) for name in device_operations()}
    return found


def cost(cpu_s: float) -> dict[str, Any]:
    """Return what an operation costs; without posterior draws its error changes nothing."""
    exactly = dict.fromkeys(("cpu", "standard_error"), DURATION.write(cpu_s))
    return {**exactly, "basis": "assumed", "source": "the definition of the workload"}


def access_latencies_s(count: int) -> list[float]:
    """Return the access latency of each phone."""
    chance = streams.stream(SEED, "bench/access_latency")
    factors = chance.lognormal(0.0, workload.ACCESS_LATENCY_SIGMA, count)
    return [float(latency_s) for latency_s in workload.ACCESS_LATENCY_MEDIAN_S * factors]


def latencies_s(result: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the time from send to store of each transaction that was stored."""
    columns = result["columns"]
    time_s = np.frombuffer(columns["time_s"], "<f8")
    kind = np.frombuffer(columns["kind"], "u1")
    message = np.frombuffer(columns["message"], "<u8")
    stored = kind == result["event_kinds"].index("store")
    sent = kind == result["event_kinds"].index("send")
    sent_order = np.argsort(message[sent])
    position = np.searchsorted(message[sent][sent_order], message[stored])
    return time_s[stored] - time_s[sent][sent_order][position]


def main(count: int, end_s: float) -> None:
    """Run the workload on `count` hosts for `end_s` simulated seconds."""
    start = time.perf_counter()
    result = _engine.run(build_plan(count, end_s))
    whole_s = time.perf_counter() - start
    taken_s = latencies_s(result)
    line = {
        "transactions": taken_s.size,
        "mean_latency_s": float(taken_s.mean()),
        "latency_sd_s": float(taken_s.std()),
        "setup_s": whole_s - result["wall_s"],
        "run_s": result["wall_s"],
        "memory_mb": peak_memory_mb(),
    }
    print(dumps(line))


PHONE = "phone.toml"

if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
