"""Draws small scenarios over every protocol, transport and kind of network, each by its number.

They are as odd as documents may be (a radio of a kilobit, a queue of a packet, every packet lost),
and small: some phones, some hundred proposals, a minute. What becomes of them is `checking`'s.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.streams import stream
from pocketsim.sim.devices.options import TRANSPORT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

MODES = ("udp", "quic_reconnect", "quic_keep", "tftp", "ipv8", "ipv8_sealed", "eva")
FAMILIES = ("trustchain", "transfer", "token_batch", "tokens", "compute", "python")


def scenario(seed: int, number: int, places: Mapping[str, Path]) -> dict[str, Any]:
    """Return scenario `number` as the content of a document; the same for the same numbers.

    `places` are files that documents name: an `implementation` with every transport, a `class` of
    a protocol in Python, a `presence` law, and a `contacts` file between phones 0 to 3.
    """
    return _Draw(stream(seed, f"campaign {number}"), places).document()


def toml(document: Mapping[str, Any]) -> str:
    """Return a document as TOML, a line for each section."""
    return "".join(f"{_text(key)} = {_value(value)}\n" for key, value in document.items())


class _Draw:
    """One scenario's draws."""

    def __init__(self, random: np.random.Generator, places: Mapping[str, Path]) -> None:
        self._random = random
        self._places = places
        self._family = self._one_of(FAMILIES, (5, 3, 2, 2, 0.3, 1))
        self._duration_s = float(self._one_of((1, 5, 20, 60)))
        self._fidelity = self._one_of(("hybrid", "flow"), (15, 1))
        # Where a thousand flows share a slow link, each that begins or ends takes SimGrid long. In
        # overload their number grows with the duration.
        is_flow = self._fidelity == "flow"
        if is_flow:
            self._duration_s = min(self._duration_s, _FLOW_S)
        self._bandwidths = _BANDWIDTHS[2:] if is_flow else _BANDWIDTHS
        self._rates_per_s = (1, 30) if is_flow or self._duration_s > _SHORT_S else (1, 30, 1000)
        self._sizes_bytes = _SIZES_BYTES[:4] if is_flow else _SIZES_BYTES

    def document(self) -> dict[str, Any]:
        """Return the document of its family."""
        sections: dict[str, Any] = {
            "implementation": str(self._places["implementation"]),
            "run": self._run(),
            "devices": self._devices(),
            "network": self._network(),
            "workload": self._workload(),
            "protocol": self._protocol(),
            "transport": self._transport(),
            "output": {"trace": self._one_of(("full", "work"), (3, 1))},
        }
        if self._family == "python":
            sections["operations"] = {"my_hash": _MY_HASH}
        if self._chance(0.5):
            sections["churn"] = {"session": self._lengths(), "gap": self._lengths()}
        if self._chance(0.3):
            sections["outages"] = [self._outage() for _ in range(self._whole(1, 3))]
        if self._family != "compute" and self._chance(0.3):
            sections["contacts"] = self._contacts()
        return sections | self._people(sections)

    def _people(self, sections: Mapping[str, Any]) -> dict[str, Any]:
        """Return what people make of some sections: laws of presence, open apps, walks, retries."""
        found: dict[str, Any] = {}
        if "churn" in sections and self._chance(0.4):
            hour = self._whole(0, 24)
            found["churn"] = {"kind": "law", "law": str(self._places["presence"])}
            found["churn"]["time_of_day"] = f"{hour}h"
        by_people = sections["workload"]["kind"] in {"poisson", "town"}
        if "churn" in sections and by_people and self._chance(0.4):
            whose = self._one_of(("asker", "both"))
            found["foreground"] = {"stay": self._lengths(), "whose": whose}
        if self._family == "trustchain" and self._chance(0.4):
            wait, deadline = self._one_of(("100ms", "2s")), self._one_of(("1s", "30s", "10min"))
            found["protocol"] = {
                **sections["protocol"],
                "retries": {
                    "attempts": self._whole(1, 12),
                    "first_wait": wait,
                    "deadline": deadline,
                    "while_off": self._one_of(("kept", "lost")),
                },
            }
        if sections.get("contacts", {}).get("kind") == "file" and self._chance(0.5):
            found["contacts"] = self._walk(sections["contacts"]["links"])
            if sections["workload"]["kind"] == "poisson" and self._chance(0.5):
                found["workload"] = {**sections["workload"], "partners": {"near": True}}
        if self._fidelity == "hybrid" and self._chance(0.25):
            found |= self._days(sections, found)
        if sections["workload"]["kind"] in {"poisson", "town"} and self._chance(0.2):
            hours = {"hours": self._one_of(([1.0] * 24, [2.0] * 12 + [0.0] * 12))}
            found["workload"] = {**found.get("workload", sections["workload"]), **hours}
        return found

    def _days(self, sections: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
        """Return days of persons, and who is near at places in place of a file of contacts."""
        stay = {"distribution": "lognormal", "median": self._one_of(("1s", "1min")), "sigma": 1.0}
        days: dict[str, Any] = {
            "kind": "days",
            "width": "300m",
            "height": "300m",
            "household": self._one_of((1.0, 2.1, 5.0)),
            "outside": self._one_of(("one", "two")),
            "speed": self._one_of(("5m/s", "100m/s")),
            "before_paying": stay,
            "interruption": self._one_of(("0s", "500ms")),
        }
        network = sections["network"]
        made: dict[str, Any] = {"mobility": days}
        if self._chance(0.5):
            days["work"] = {
                "places": 2,
                "begins": "1s",
                "access": {"work": 0.5, days["outside"]: 0.5},
            }
            access = {**network["access"], "work": self._access()}
            made["network"] = {**network, "access": access}
        still = [
            {key: value for key, value in group.items() if key != "moves"}
            for group in sections["devices"]
        ]
        made["devices"] = still
        contacts = found.get("contacts", sections.get("contacts"))
        if contacts is not None and (contacts.get("kind") == "walk" or self._chance(0.5)):
            made["contacts"] = {"kind": "places", "links": contacts["links"]}
            if sections["workload"]["kind"] == "town":
                made["workload"] = {**sections["workload"], "near": True}
        return made

    def _walk(self, links: Mapping[str, Any]) -> dict[str, Any]:
        side = self._one_of(("30m", "300m"))
        found = {"kind": "walk", "width": side, "height": side, "range": "10m", "links": links}
        if self._chance(0.5):
            return {**found, "model": "levy_walk"} | self._levy()
        speeds = {"slowest": "0.5m/s", "fastest": self._one_of(("0.5m/s", "15m/s"))}
        return {**found, "model": "random_waypoint", **speeds, "pause": "5s"}

    def _levy(self) -> dict[str, Any]:
        return {
            "alpha": self._one_of((0.6, 1.6)),
            "beta": self._one_of((0.5, 1.5)),
            "shortest_leg": "1m",
            "longest_leg": "20m",
            "shortest_pause": "100ms",
            "longest_pause": self._one_of(("1s", "1min")),
        }

    def _run(self) -> dict[str, Any]:
        return {
            "seed": self._whole(0, 2**31),
            "duration": f"{self._duration_s:g}s",
            "fidelity": self._fidelity,
            "draw": self._one_of(("mean", "posterior"), (3, 1)),
        }

    def _devices(self) -> list[dict[str, Any]]:
        groups = [self._group(self._whole(4, 13)) for _ in range(self._whole(1, 3))]
        if self._family == "tokens":
            groups.append({**self._group(self._whole(1, 3)), "role": "shop"})
            authority = {**self._group(1), "role": "authority", "profile": "thinkpad_l13"}
            authority.pop("moves", None)
            groups.append(authority)
        return groups

    def _group(self, count: int) -> dict[str, Any]:
        share = self._one_of((0.0, 0.3, 0.5, 1.0))
        shares = {"one": share, "two": 1 - share}
        found = {
            "profile": self._one_of(("moto_g04s", "pocophone_f1", "thinkpad_l13")),
            "count": count,
            "access": {name: part for name, part in shares.items() if part},
        }
        if self._fidelity == "hybrid" and self._chance(0.2):
            found["moves"] = self._moves()
        return found

    def _moves(self) -> dict[str, Any]:
        times_s = sorted({self._whole(1, 61) for _ in range(self._whole(1, 4))})
        found: dict[str, Any] = {
            "schedule": [{"at": f"{at}s", "to": self._one_of(("one", "two"))} for at in times_s],
            "spread": self._one_of(("0s", "3s")),
            "interruption": self._one_of(("0s", "100ms", "5s")),
            "interruption_sigma": self._one_of((0.0, 1.0)),
        }
        if self._chance(0.5):
            found["every"] = self._one_of(("61s", "300s"))
        return found

    def _network(self) -> dict[str, Any]:
        between = {
            "backbone_latency": self._one_of(("0s", "5ms", "200ms")),
            "relay_latency": self._one_of(("0s", "6ms", "1s")),
        }
        access = {"one": self._access(), "two": self._access()}
        if self._chance(0.3):
            attach = self._one_of(("weighted", "round_robin", ["zwolle"]))
            core = {"platform": "netherlands", "relay": "amsterdam", "attach": attach}
            return {"core": core, "access": access}
        return {**between, "access": access}

    def _access(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "up": self._one_of(self._bandwidths),
            "down": self._one_of(self._bandwidths),
            "latency": self._one_of(("0s", "1us", "1ms", "30ms", "1s")),
            "loss_ratio": self._one_of((0.0, 0.01, 0.3, 1.0), (4, 4, 2, 0.2)),
            "reorders": self._chance(0.5),
        }
        if self._chance(0.5):
            found["jitter_median"] = self._one_of(("1us", "2ms", "300ms"))
            found["jitter_sigma"] = self._one_of((0.0, 0.8, 3.0))
        for way in ("up_queue", "down_queue"):
            if self._chance(0.4):
                found[way] = self._one_of(("1B", "100B", "2kB", "50kB"))
        if self._chance(0.4):
            found["site_capacity"] = self._one_of(self._bandwidths)
            found["phones_per_site"] = self._whole(1, 5)
        if self._chance(0.3):
            found["bursts"] = {
                "share": self._one_of((0.0, 0.05, 0.5)),
                "mean_packets": self._one_of((2.0, 10.0, 1000.0)),
                "loss_ratio": self._one_of((0.5, 1.0)),
            }
        if self._fidelity == "hybrid" and self._chance(0.3):
            found["when_full"] = "block"
        if self._fidelity == "hybrid" and self._chance(0.3):
            found["states"] = self._states()
        if self._fidelity == "hybrid" and "site_capacity" not in found and self._chance(0.3):
            rate, length = self._one_of(("1/s", "6/min")), self._one_of(("50ms", "4s"))
            found["handover"] = {"rate": rate, "interruption": length}
        return found

    def _states(self) -> dict[str, Any]:
        found = {
            "promotion": self._one_of(("0s", "255ms")),
            "inactivity_timer": self._one_of(("1ms", "500ms", "10s")),
            "paging_cycle": self._one_of(("0s", "1.28s")),
            "sr_periodicity": self._one_of(("0s", "10ms")),
        }
        if self._chance(0.5):
            found |= {"drx_cycle": "320ms", "on_duration": self._one_of(("0s", "10ms", "320ms"))}
        if self._chance(0.5):
            found |= {"bler": self._one_of((0.1, 0.9)), "harq_delay": "8ms"}
        return found

    def _lengths(self) -> dict[str, Any]:
        scale = self._one_of(("300ms", "2s", "10s", "1min"))
        law: dict[str, Any] = {"distribution": "weibull", "shape": 1.0, "scale": scale}
        if self._chance(0.5):
            sigma = self._one_of((0.1, 1.0, 2.0))
            law = {"distribution": "lognormal", "median": scale, "sigma": sigma}
        if self._chance(0.2):
            law["longest"] = "2min"
        return law

    def _outage(self) -> dict[str, Any]:
        start_s = self._random.uniform(0, self._duration_s)
        length_s = self._one_of((0.001, 1.0, 30.0))
        found = {"start": f"{start_s:.6f}s", "end": f"{start_s + length_s:.6f}s"}
        return {**found, "access": "one"} if self._chance(0.5) else found

    def _contacts(self) -> dict[str, Any]:
        share = self._one_of((0.3, 1.0))
        links = {"ble": self._link(share)}
        if share < 1:
            links["nfc"] = self._link(1 - share)
        if self._family != "tokens":
            return {"kind": "file", "file": str(self._places["contacts"]), "links": links}
        law = {"alpha": 1.87, "shortest": self._one_of(("1s", "20s")), "longest": "440s"}
        return {"duration": law, "lead": self._one_of(("0s", "500ms")), "links": links}

    def _link(self, share: float) -> dict[str, Any]:
        return {
            "share": share,
            "rate": self._one_of(("1kbps", "59kBps", "40Mbps")),
            "latency": self._one_of(("0s", "30ms")),
            "setup": self._one_of(("0s", "1s")),
            "loss_ratio": self._one_of((0.0, 0.05)),
        }

    def _workload(self) -> dict[str, Any]:
        if self._family == "compute":
            return self._computing()
        if self._family == "tokens":
            return self._paying()
        smallest = 287 if self._family == "token_batch" else 8
        sizes = [size for size in self._sizes_bytes if size >= smallest]
        payload = f"{self._one_of(sizes)}B"
        if self._chance(0.25):
            pacing = self._one_of(("floored_ms", "batch_1024ms", "by_clock", "unpaced"))
            rate = f"{self._one_of(self._rates_per_s)}/s"
            is_small = self._duration_s <= 1 and self._fidelity == "hybrid"
            if pacing == "unpaced" and not is_small:
                pacing = "by_clock"
            return {"kind": "paced", "rate": rate, "payload": payload, "pacing": pacing}
        rate = self._one_of((0.05, 0.5, 3.0))
        return {"kind": "poisson", "rate": f"{rate:g}/s", "payload": payload}

    def _computing(self) -> dict[str, Any]:
        tasks = ("sign", "verify", "sign_token", "verify_token", "verify_packet", "handle_packet")
        return {
            "kind": "compute",
            "task": self._one_of(tasks),
            "threads": self._whole(1, 20),
            "count": self._whole(1, 300),
            "tokens": self._whole(1, 100),
            "recipients": self._whole(1, 5),
            "payload": self._one_of(("1B", "100B", "1kB")),
        }

    def _paying(self) -> dict[str, Any]:
        cheat = self._one_of((0.0, 0.3))
        return {
            "kind": "town",
            "payments": self._one_of(("0.05/s", "1/s")),
            "to_shop_ratio": self._one_of((0.0, 0.5, 1.0)),
            "shops_visited": 1,
            "acquaintances": 1,
            "amount": {"mean": "5EUR", "sigma": 1.0, "largest": "20EUR", "rounding": "5ct"},
            "cheat_ratio": cheat,
            "double_spend_ratio": 0.5,
            "replay_ratio": 0.25,
        }

    def _protocol(self) -> dict[str, Any]:
        crypto = self._one_of(("counted", "real"), (9, 1))
        found: dict[str, Any] = {"kind": self._family, "crypto": crypto}
        if self._family == "tokens":
            # The prototype reads no tokens with challenges.
            rules = self._one_of(("thesis", "prototype"))
            handshakes = ("challenge", "none") if rules == "thesis" else ("none",)
            found["tokens"] = {
                "rules": rules,
                "handshake": self._one_of(handshakes),
                "acceptance": self._one_of(("offline", "online")),
                "settle_interval": self._one_of(("2s", "10min")),
            }
        if self._family == "python":
            found |= {"class": f"{self._places['class']}:Gossip", "options": {"fanout": 3}}
            found["crypto"] = "counted"
        return found

    def _transport(self) -> dict[str, Any]:
        if self._family == "compute":
            return {"mode": "none"}
        # EVA takes a transaction for one message; a protocol in Python may send several.
        modes = [mode for mode in MODES if (mode, self._family) != ("eva", "python")]
        found: dict[str, Any] = {"mode": self._one_of(modes)}
        for name, values in _OPTIONS.items():
            if self._chance(0.3):
                found[name] = self._one_of(values)
        if found["mode"] == "eva":
            found["eva"] = {name: self._one_of(values) for name, values in _EVA.items()}
        return found

    def _one_of(self, values: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        shares = None if weights is None else [weight / sum(weights) for weight in weights]
        return values[self._random.choice(len(values), p=shares)]

    def _whole(self, low: int, high: int) -> int:
        return int(self._random.integers(low, high))

    def _chance(self, ratio: float) -> bool:
        return bool(self._random.random() < ratio)


def _text(value: str) -> str:
    return json.dumps(value)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)} = {_value(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value)


_BANDWIDTHS = ("1kbps", "100kbps", "1Mbps", "40Mbps", "1Gbps")
_SHORT_S = 5.0
_FLOW_S = 20.0
_SIZES_BYTES = (8, 100, 600, 2_000, 20_000, 70_000)
_OPTIONS: dict[str, tuple[Any, ...]] = {
    **{
        option.name: (True, False)
        for option in TRANSPORT
        if option.kind == "flag" and option.set_by("scenario")
    },
    "keep_alive": ("0s", "1s"),
    "poll_interval": ("0s", "10ms", "1s"),
    "connect_timeout": ("500ms", "30s"),
    "idle_timeout": ("2s", "30s"),
    "socket_buffer": ("2kB", "200kB"),
}
_EVA: dict[str, tuple[Any, ...]] = {
    "variant": ("original", "modified"),
    "encryption": (True, False),
    "block": ("100B", "1200B"),
    "window": (1, 16, 256),
    "timeout": ("1s", "12s"),
    "scheduled_send_interval": ("100ms", "5s"),
    "write_request_retries": (0, 2),
}
_MY_HASH = {
    "cpu": "80us",
    "per_byte": "1ns",
    "spread_sigma": 0.2,
    "scales_with": "hash",
    "reference": "1us",
    "source": "the example",
}
