"""From a scenario to its rungs: one plain, JSON-able dictionary in SI units for each run.

A resolved dictionary says everything that a run depends on (numbers, profile contents, versions,
engine options), so its digest names the run. It holds nothing random: that is `sim.plan`.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sim
from sim.base.build import build_digest
from sim.base.engine_facts import model_options
from sim.base.errors import ScenarioError
from sim.devices import draws
from sim.devices import profile as profiles
from sim.scenario import app_faults, energy, ladders
from sim.scenario import resolved_town as town
from sim.scenario.compute import Compute
from sim.scenario.model import Access, Churn, Lognormal, Paced, Weibull
from sim.scenario.town import Town

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sim.scenario import Document, Scenario
    from sim.scenario.model import Eva, Output


@dataclass(frozen=True)
class Rung:
    """One combination of the scenario's lists; with all its repetitions it is one run.

    `name` is the run directory's name, unique by the digest of `resolved`. `previous` is the name
    of the rung whose chains this one continues, if any. `at` are the values of the scenario's lists
    by their keys in the document; what of them matters is in `resolved`.
    """

    name: str
    resolved: dict[str, Any]
    previous: str | None
    at: Mapping[str, Any]


Profiles = dict["Path", dict[str, Any]]
"""Device profiles by their files, as a resolved dictionary holds them."""


def resolve(document: Document, read: Profiles | None = None) -> list[Rung]:
    """Return the rungs of `document` in order of its lists, the last fastest.

    Device profiles in `read` are not read again, those that are read are added to it. Raises
    ScenarioError when a device profile is missing or invalid.
    """
    scenario = document.scenario
    common = _common(document, {} if read is None else read)
    rungs: list[Rung] = []
    for at in ladders.combinations(scenario):
        continues = scenario.run.app == "continued" and rungs
        previous = rungs[-1].name if continues else None
        resolved = {
            **common,
            "rung": ladders.rung(scenario, at),
            "protocol": {**common["protocol"], **town.protocol(scenario.protocol, at)},
            "workload": _workload(scenario, at),
            "transport": _transport(scenario, at),
            **_app_faults(scenario, at),
            "continues": previous,
        }
        name = f"{ladders.slug(resolved['rung'])}-{digest(resolved)[:_DIGEST_DIGITS]}"
        rungs.append(Rung(name, resolved, previous, at))
    # A value that a list holds twice is one run.
    return list({rung.name: rung for rung in rungs}.values())


def canonical_json(value: Any) -> str:
    """Return `value` as JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, in hex."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _common(document: Document, read: Profiles) -> dict[str, Any]:
    scenario = document.scenario
    devices, profile_contents = _devices(document, read)
    return {
        "schema": 1,
        "scenario": document.path.stem,
        "title": scenario.title or document.path.stem,
        "versions": {"pocketsim": sim.__version__, "build": build_digest()},
        "run": {
            "seed": scenario.run.seed,
            "duration_s": scenario.run.duration,
            "repetitions": scenario.run.repetitions,
            "draw": scenario.run.draw,
            "app": scenario.run.app,
        },
        "devices": devices,
        "profiles": profile_contents,
        "network": {
            "backbone_latency_s": scenario.network.backbone_latency,
            "relay_latency_s": scenario.network.relay_latency,
            "access": {name: _access(of) for name, of in scenario.network.access.items()},
        },
        "churn": _churn(scenario.churn) if scenario.churn else None,
        **town.sections(scenario),
        **energy.section(scenario.energy),
        "protocol": {
            "kind": scenario.protocol.kind,
            "crypto": scenario.protocol.crypto,
            "duplicate_window_s": scenario.protocol.duplicate_window,
            "benchmark_log_entries": scenario.protocol.benchmark_log_entries,
        },
        "output": _output(scenario.output),
        "engine_options": model_options(),
    }


def _output(output: Output) -> dict[str, Any]:
    """Return what is kept; a run that keeps no tokens has no word of them, so it keeps its name."""
    return output.model_dump(exclude=None if output.tokens else {"tokens"})


def _devices(document: Document, read: Profiles) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    groups: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    for number, group in enumerate(document.scenario.devices):
        try:
            path = profiles.find(group.profile, document.path.parent)
        except LookupError as error:
            reason, suggestion = error.args
            place = f"devices[{number}].profile"
            raise ScenarioError(document.source_of(place), place, reason, suggestion) from None
        # By path, the stem names the profile: run directories must not depend on where it lies.
        name = path.stem
        if path not in read:
            read[path] = {
                **profiles.contents(profiles.load(path)),
                "digest": profiles.digest(path),
                "drawn_as": name,  # factors give a group a profile of its own, but no other draws
            }
        loaded = read[path]
        if group.cost_factors:
            name = f"{name} in devices[{number}]"
            factors = {key: of.model_dump(mode="json") for key, of in group.cost_factors.items()}
            loaded = draws.scaled(loaded, factors)
        if found.setdefault(name, loaded) != loaded:
            place = f"devices[{number}].profile"
            raise ScenarioError(
                document.source_of(place), place, f"another profile is called {name!r} too"
            )
        groups.append(
            {
                "profile": name,
                "count": group.count,
                "access": dict(group.access),
                **town.role(document.scenario, group),
            }
        )
    return groups, found


def _access(access: Access) -> dict[str, Any]:
    return {
        "up_bytes_per_s": access.up,
        "down_bytes_per_s": access.down,
        "latency_s": access.latency,
        "jitter_median_s": access.jitter_median,
        "jitter_sigma": access.jitter_sigma,
        "loss_ratio": access.loss_ratio,
        "reorders": access.reorders,
        "site_bytes_per_s": access.site_capacity or 0.0,
        "phones_per_site": access.phones_per_site or 0,
    }


def _churn(churn: Churn) -> dict[str, Any]:
    return {"session": _lengths(churn.session), "gap": _lengths(churn.gap)}


def _lengths(lengths: Weibull | Lognormal) -> dict[str, Any]:
    longest = {"longest_s": lengths.longest}
    if isinstance(lengths, Weibull):
        return {
            "distribution": "weibull",
            "shape": lengths.shape,
            "scale_s": lengths.scale,
            **longest,
        }
    return {
        "distribution": "lognormal",
        "median_s": lengths.median,
        "sigma": lengths.sigma,
        **longest,
    }


def _workload(scenario: Scenario, at: Mapping[str, Any]) -> dict[str, Any]:
    workload = scenario.workload
    resolved: dict[str, Any] = {
        "kind": workload.kind,
        "rate_per_s": at["workload.rate"],
        "payload_bytes": at["workload.payload"],
        "start_s": workload.start,
    }
    if isinstance(workload, Compute):
        resolved |= {"count": workload.count, "tokens": workload.tokens}
        resolved |= {key: at[f"workload.{key}"] for key in ("task", "threads", "recipients")}
    if isinstance(workload, Paced):
        resolved["pacing"] = workload.pacing
        resolved["interval_s"] = interval_s(workload.pacing, at["workload.rate"])
    if isinstance(workload, Town):
        resolved |= town.workload(workload)
    return resolved


def interval_s(pacing: str, rate_per_s: float) -> float:
    """Return the sleep that the benchmark app asks for between two proposals, in seconds.

    The first version of the app divides 1000 ms by the rate in whole milliseconds; the second
    spreads the rate over 1024 ms (Chirila 2025, section 4.2.5).
    """
    if pacing == "unpaced":
        return _NO_SLEEP_S
    if pacing == "floored_ms":
        return math.floor(1000 / rate_per_s) / 1000
    return 1.024 / rate_per_s


def _transport(scenario: Scenario, at: Mapping[str, Any]) -> dict[str, Any]:
    transport = scenario.transport
    kind, _, variant = at["transport.mode"].partition("_")
    default_buffer_bytes = _QUIC_SOCKET_BUFFER_BYTES if kind == "quic" else 0
    asked = at["transport.socket_buffer"]
    return {
        "kind": kind,
        "mode": variant,
        "poll_interval_s": transport.poll_interval,
        "connect_timeout_s": transport.connect_timeout,
        "idle_timeout_s": transport.idle_timeout,
        "keep_alive_s": transport.keep_alive,
        "relay_first": transport.relay_first,
        "answer_on_same_connection": transport.answer_on_same_connection,
        "socket_timeout_s": transport.socket_timeout,
        "socket_buffer_bytes": default_buffer_bytes if asked is None else asked,
        "eva": _eva(transport.eva, at) if kind == "eva" else None,
    }


def _app_faults(scenario: Scenario, at: Mapping[str, Any]) -> dict[str, bool]:
    """Return whether the kept connection has the app's faults; who keeps none has no word of it."""
    keeps = at["transport.mode"] == app_faults.KEPT
    return {"app_faults": app_faults.act(scenario)} if keeps else {}


def _eva(eva: Eva, at: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "variant": eva.variant,
        "encryption": at["transport.eva.encryption"],
        "block_bytes": at["transport.eva.block"],
        "window_blocks": at["transport.eva.window"],
        "retransmit_interval_s": eva.retransmit_interval,
        "retransmit_attempts": eva.retransmit_attempts,
        "write_request_retries": eva.write_request_retries,
        "timeout_s": eva.timeout,
        "reduce_window_after_timeout_blocks": eva.reduce_window_after_timeout,
        "min_window_blocks": eva.min_window,
        "scheduled_send_interval_s": eva.scheduled_send_interval,
        "scheduled_tasks_check_delay_s": eva.scheduled_tasks_check_delay,
        "binary_size_limit_bytes": eva.binary_size_limit,
        "simultaneous_transfers_max": eva.simultaneous_transfers or _NO_LIMIT,
        "send_threads": eva.send_threads,
        "race_window_s": eva.race_window,
    }


_DIGEST_DIGITS = 12
_NO_SLEEP_S = 1e-9  # not 0: where proposals cost nothing, time would stand still
_NO_LIMIT = 2**32 - 1
_QUIC_SOCKET_BUFFER_BYTES = 7 << 20  # netwatch udp.rs, SOCKET_BUFFER_SIZE: iroh 0.35 asks for it
