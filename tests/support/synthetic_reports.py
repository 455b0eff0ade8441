"""Reports of a device whose true costs are known, for tests of what reads and fits reports."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from pocketsim.calibration.fit import probe_report
from pocketsim.calibration.fit.costs import price

BYTES = (64, 138, 668, 1472, 4096, 65536)

# Operation's kernel: fixed CPU time and CPU time per byte in s, and sizes measured.
KERNELS = {
    "ed25519_sign": ("crypto", 60e-6, 2e-9, BYTES),
    "ed25519_verify": ("crypto", 150e-6, 1e-9, BYTES),
    "sha256": ("crypto", 0.2e-6, 1.5e-9, BYTES),
    "sealed_box_seal": ("crypto", 180e-6, 4e-9, BYTES),
    "sealed_box_open": ("crypto", 120e-6, 3e-9, BYTES),
    "block_encode": ("serialisation", 3e-6, 9e-9, (537, 668, 1200, 4096)),
    "block_decode": ("serialisation", 5e-6, 12e-9, (537, 668, 1200, 4096)),
    "udp_send": ("udp", 9e-6, 0.4e-9, (128, 668, 1472)),
    "udp_receive": ("udp", 7e-6, 0.3e-9, (128, 668, 1472)),
    "task_spawn": ("scheduling", 2e-6, 0.0, ()),
    "quic_handshake_start": ("quic", 200e-6, 0.0, ()),
    "quic_handshake_respond": ("quic", 500e-6, 0.0, ()),
    "quic_handshake_finish": ("quic", 700e-6, 0.0, ()),
    "quic_handshake_confirm": ("quic", 300e-6, 0.0, ()),
    "quic_packet_seal": ("quic", 5e-6, 1.1e-9, (128, 668, 1200)),
    "quic_packet_open": ("quic", 6e-6, 1.2e-9, (128, 668, 1200)),
    "quic_stream_open": ("quic", 3e-6, 0.0, ()),
    "quic_stream_accept": ("quic", 4e-6, 0.0, ()),
}

# A sleep until a time: at who sleeps, and at who computes on the same core.
SLEEPS_S = {"timed_sleep": 12e-6, "timer_interrupt": 8e-6}
TICK_S = 15e-6

# Datagrams that a step of a handshake opens before it does its work.
OPENED = {
    "quic_handshake_respond": 1,
    "quic_handshake_finish": 2,
    "quic_handshake_confirm": 1,
}
# From the return of sendto until the receiving thread runs, and the sendto before it.
WAKE_UP_S = 40e-6
SENT_S = 10e-6
# The same between two cores, from the call of a sendto of a block until it was read.
PASSAGE_S = 90e-6
# How many times as long by rest in s.
PASSAGES = {0.0: 0.25, 10e-3: 1.0}
# How many times as long as in hot loops a message's steps take by rest in s, and queued.
PACES = {0.0: 1.1, 10e-3: 1.5, None: 1.05}
# What waking the tasks of QUIC takes by rest in s, and a passage of a datagram.
QUIC_WAKES = {0.2e-3: (40e-6, 30e-6), 10e-3: (120e-6, PASSAGE_S)}


# The same of a datagram that has waited for them; what steps of a trade and files of TFTP take.
QUIC_QUEUED_S = 40e-6
BESIDE_PER_BYTE_S = 4e-9
# What proposing takes besides when other proposals wait.
PROPOSING_QUEUED_S = 7e-6
BESIDE_S = {"propose_s": 3e-6, "countersign_s": 9e-6, "complete_s": 5e-6}
FILE_OPEN_S, FILE_BLOCK_S = 60e-6, 8e-6
# What a block takes that an end has slept for, by its rest in s.
FILE_BLOCKS_S = {0.0: 30e-6, 10e-3: 60e-6}

# What a step of a trade computes.
STEPS = ("block_decode", "ed25519_verify", "ed25519_sign", "sha256", "block_encode")


def samples(values: Any, *, keep: bool = True) -> dict[str, Any]:
    """Return samples as a report holds them: all, or their quantiles."""
    values = np.asarray(values, float)
    quantiles = np.quantile(values, np.linspace(0, 1, 201)).tolist()
    return {
        "count": int(values.size),
        "mean": float(np.clip(values.mean(), values.min(), values.max())),
        "standard_deviation": float(values.std(ddof=1)) if values.size > 1 else 0.0,
        "minimum": float(values.min()),
        "median": float(np.median(values)),
        "maximum": float(values.max()),
        "values": values.tolist() if keep else None,
        "quantiles": None if keep else quantiles,
    }


def measurement(kernel: str, group: str, quantities: dict[str, Any], **changes: Any) -> Any:
    """Return one measured case; `quantities` are arrays of samples by name."""
    parameters = {key: float(value) for key, value in changes.pop("parameters", {}).items()}
    return {
        "kernel": kernel,
        "group": group,
        "parameters": parameters,
        "threads": 1,
        "core_class": None,
        "status": "measured",
        "reason": None,
        "warm_up": {"samples": 20, "settled": True},
        "iterations_per_sample": 1,
        "rounds": [],
        "quantities": [
            {"name": name, "samples": samples(values)} for name, values in quantities.items()
        ],
        **changes,
    }


def _hot_s(kernel):
    """Return what a kernel takes at the size of a block, or at none."""
    _, fixed_s, per_byte_s, sizes = KERNELS[kernel]
    return fixed_s + (668 * per_byte_s if sizes else 0.0)


def _quic_computed_s():
    """Return what both ends compute for a message and its answer."""
    packets_s = 2 * (_hot_s("quic_packet_seal") + _hot_s("quic_packet_open"))
    once = ("quic_stream_open", "quic_stream_accept", "task_spawn")
    return packets_s + sum(map(_hot_s, once))


def file_s_of(blocks, rest_s):
    """Return what a file takes until the other end has it: first who has rested is woken."""
    first_s = PASSAGE_S if rest_s else 0.25 * PASSAGE_S
    passages_s = first_s + 2 * blocks * 0.25 * PASSAGE_S
    return passages_s + 2 * FILE_OPEN_S + 2 * blocks * FILE_BLOCK_S


class Phone:
    """A device with known costs, whose probe draws its samples from a seed.

    `sigma` is the spread of single executions, `between` that of a factor that a whole report
    shares, `iterations` how many executions a sample is the mean of.
    """

    def __init__(self, seed=0, *, sigma=0.1, between=0.0, count=200, iterations=8):
        self.random = np.random.Generator(np.random.Philox(seed))
        self.sigma, self.between, self.count, self.iterations = sigma, between, count, iterations

    def times(self, mean_s, *, iterations=None):
        """Draw samples: means of lognormal executions with mean `mean_s`."""
        shape = (self.count, iterations or self.iterations)
        factor = np.exp(self.random.normal(-(self.sigma**2) / 2, self.sigma, shape))
        return mean_s * factor.mean(axis=1)

    def report(self, **changes):
        factor = float(np.exp(self.random.normal(-(self.between**2) / 2, self.between)))
        cases = [*self._computing(factor), *self._waiting(factor), *self._ladder(factor)]
        return {**envelope(), "measurements": cases, **changes}

    def waking_report(self, **changes):
        """Return a report that has timed datagrams between two cores, too."""
        whole = self.report(**changes)
        return {**whole, "measurements": [*whole["measurements"], *self._passages()]}

    def paced_report(self, **changes):
        """Return a report that has timed messages at their pace, too."""
        whole = self.waking_report(**changes)
        cases = [*whole["measurements"], *self._at_pace(), *self._quic_at_pace()]
        cases += self._quic_at_once()
        return {**whole, "measurements": cases}

    def sleeping_report(self, kernel="6.12.0"):
        """Return a report of such a Linux that has timed threads that sleep beside others, too."""
        whole = self.paced_report()
        cases = [
            measurement(name, "scheduling", {"cpu_s": self.times(each_s)})
            for name, each_s in {**SLEEPS_S, "kernel_tick": TICK_S}.items()
        ]
        device = {**whole["device"], "kernel": kernel}
        return {**whole, "device": device, "measurements": [*whole["measurements"], *cases]}

    def turning_report(self):
        """Return a report that has timed turns with files, too."""
        whole = self.paced_report()
        return {**whole, "measurements": [*whole["measurements"], *self._turns()]}

    def _turns(self):
        for rest_s, factor in PASSAGES.items():
            turn_s = (factor + PASSAGES[0.0]) * PASSAGE_S + FILE_BLOCKS_S[rest_s]
            quantities = {
                quantity: self.times(turn_s, iterations=1) for quantity in ("taken_s", "given_s")
            }
            yield measurement("tftp_turn", "udp", quantities, parameters={"rest_s": rest_s})

    def _at_pace(self):
        hot_s = sum(map(_hot_s, STEPS))
        step_s = hot_s + BESIDE_S["countersign_s"]
        for rest_s, pace in PACES.items():
            quantities = {
                "propose_s": self.times(pace * _hot_s("ed25519_sign"), iterations=1),
                "countersign_s": self.times(pace * step_s, iterations=1),
                "complete_s": self.times(pace * _hot_s("ed25519_verify"), iterations=1),
                "rtt_s": self.times(3 * pace * hot_s, iterations=1),
                "cpu_s": self.times(2 * pace * hot_s, iterations=1),
            }
            asked = {"queued": 1} if rest_s is None else {"rest_s": rest_s}
            yield measurement("trade_at_pace", "udp", quantities, parameters=asked)
        beside = {name: self.times(each_s, iterations=1) for name, each_s in BESIDE_S.items()}
        asked = {"payload_bytes": 100}
        yield measurement("trade_bookkeeping", "udp", beside, parameters=asked)
        larger = {
            name: self.times(each_s + 900 * BESIDE_PER_BYTE_S, iterations=1)
            for name, each_s in BESIDE_S.items()
        }
        asked = {"payload_bytes": 1000}
        yield measurement("trade_bookkeeping", "udp", larger, parameters=asked)
        for blocks, rest_s in itertools.product((1, 5), (0.0, 10e-3)):
            file_s = {"file_s": self.times(file_s_of(blocks, rest_s), iterations=1)}
            asked = {"blocks": blocks, "rest_s": rest_s}
            yield measurement("tftp_file", "udp", file_s, parameters=asked)

    def _quic_at_pace(self):
        """Of the end that has rested, and of the one that waits for the answer."""
        computed_s = _quic_computed_s()
        shortest_s = sum(QUIC_WAKES[0.2e-3])
        for rest_s, woken_s in QUIC_WAKES.items():
            rtt_s = computed_s + sum(woken_s) + shortest_s
            quantities = {
                "rtt_s": self.times(rtt_s, iterations=1),
                "cpu_s": self.times(rtt_s, iterations=1),
            }
            asked = {"bytes": 668, "rest_s": rest_s}
            yield measurement("quic_message_at_pace", "quic", quantities, parameters=asked)

    def _quic_at_once(self):
        """Both ends take in a datagram for each trade, and send one."""
        end_s = PACES[None] * (sum(map(_hot_s, STEPS)) + BESIDE_S["countersign_s"]) + QUIC_QUEUED_S
        end_s += sum(map(_hot_s, ("quic_packet_seal", "quic_packet_open", "quic_stream_accept")))
        end_s += sum(map(_hot_s, ("udp_send", "udp_receive")))
        proposer_s = end_s + 2 * _hot_s("task_spawn") + BESIDE_S["propose_s"] + PROPOSING_QUEUED_S
        quantities = {
            "proposer_cpu_s": self.times(proposer_s, iterations=1),
            "countersigner_cpu_s": self.times(end_s, iterations=1),
        }
        asked = {"payload_bytes": 100, "trades": 256}
        yield measurement("quic_trades_at_once", "quic", quantities, parameters=asked)

    def _passages(self):
        for rest_s, factor in PASSAGES.items():
            quantities = {
                "latency_s": self.times(factor * PASSAGE_S, iterations=1),
                "sent_s": self.times(factor * 2 * SENT_S, iterations=1),
                "rtt_s": self.times(2 * factor * PASSAGE_S, iterations=1),
            }
            parameters = {"bytes": 668, "rest_s": rest_s}
            yield measurement("udp_wake_up", "udp", quantities, parameters=parameters)
        rtt_s = self.times(60e-6, iterations=1)
        yield measurement("udp_round_trip", "udp", {"rtt_s": rtt_s}, parameters={"bytes": 668})

    def _computing(self, factor):
        for kernel, (group, cpu_s, per_byte_s, sizes) in KERNELS.items():
            for size in sizes or (0,):
                opened = OPENED.get(kernel, 0)
                _, open_s, open_per_byte_s, _ = KERNELS["quic_packet_open"]
                step_s = cpu_s + per_byte_s * size + opened * (open_s + open_per_byte_s * 1200)
                cpu = self.times(factor * step_s)
                quantities = {"wall_s": 1.1 * cpu, "cpu_s": cpu}
                if opened:
                    quantities["opened_datagrams"] = np.full(self.count, float(opened))
                yield measurement(
                    kernel,
                    group,
                    quantities,
                    parameters={"bytes": size} if sizes else {},
                    iterations_per_sample=self.iterations,
                )

    def _waiting(self, factor):
        def once(mean_s):
            return self.times(factor * mean_s, iterations=1)

        for size in (668, 4096):
            quantities = {"wall_s": once(20e-6), "cpu_s": once(15e-6)}
            yield measurement("file_append", "storage", quantities, parameters={"bytes": size})
        for kernel, wall_s, cpu_s in (
            ("quic_endpoint_setup", 10e-3, 34e-3),
            ("quic_endpoint_close", 2e-3, 1e-3),
        ):
            yield measurement(kernel, "quic", {"wall_s": once(wall_s), "cpu_s": once(cpu_s)})
        woken = {"latency_s": once(WAKE_UP_S + SENT_S + KERNELS["udp_receive"][1])}
        woken["sent_s"] = once(SENT_S)
        yield measurement("wake_up_latency", "scheduling", woken)
        parked = {"latency_s": once(5e-6)}
        yield measurement("wake_up_latency", "scheduling", parked, parameters={"futex": 1})
        for milliseconds in (0.1, 1, 4, 16, 125):
            overshoot_s = once(0.2e-3 + 0.1e-3 * np.log(max(milliseconds, 1)))
            parameters = {"requested_s": milliseconds / 1e3}
            quantities = {"overshoot_s": overshoot_s}
            yield measurement("sleep_overshoot", "scheduling", quantities, parameters=parameters)
        for asked, granted in ((0, 229376), (106496, 212992)):
            quantities = {"capacity_datagrams": [90.0] * 5, "granted_bytes": [granted] * 5}
            parameters = {"bytes": 668, "buffer_bytes": asked}
            yield measurement("udp_buffer_capacity", "udp", quantities, parameters=parameters)

    def _ladder(self, factor):
        """Two fast cores and two of half their speed: three fast ones in all."""
        for kernel in ("ed25519_sign", "ed25519_verify"):
            _, cpu_s, per_byte_s, _ = KERNELS[kernel]
            one = factor * (cpu_s + per_byte_s * 138)
            for threads, gain in ((2, 2.0), (4, 3.0)):
                wall = self.times(one * 1.1 * threads / gain)
                quantities = {"wall_s": wall, "cpu_s": wall, "rate_per_s": threads / wall}
                parameters = {"bytes": 138}
                yield measurement(
                    kernel, "crypto", quantities, parameters=parameters, threads=threads
                )


def envelope(**made):
    """Return a report without measurements."""
    state = {
        "battery": {"level_ratio": 0.8, "temperature_c": 25.0, "status": None, "current_a": None},
        "thermal": [{"zone": "cpu", "temperature_c": 30.0}],
        "thermal_status": None,
        "frequencies_hz": [1.6e9, None],
        "load_1min": 0.1,
    }
    core = {"frequency_min_hz": 3e8, "frequency_max_hz": 1.6e9, "governor": "schedutil"}
    classes = ("big", "big", "little", "little")
    return {
        "schema_version": 1,
        "made": {
            "probe_version": "0.1.0",
            "target": "aarch64-linux-android",
            "libc": "bionic",
            "build": "release",
            "crates": {"ed25519-dalek": "2.2.0"},
            "started_at": "2026-03-01T10:00:00Z",
            "duration_s": 50.0,
            "depth": "quick",
            "rounds": 3,
            "case_budget_s": 0.2,
            "stopped": False,
            "note": None,
            **made,
        },
        "device": {
            "manufacturer": "Invented",
            "model": "Phone",
            "soc": "Imaginary 1",
            "abi": "arm64-v8a",
            "os": "Android 14",
            "os_build": "U1",
            "kernel": "5.15",
            "memory_bytes": 4 << 30,
            "cores": [
                {"number": number, "core_class": core_class, **core}
                for number, core_class in enumerate(classes)
            ],
        },
        "conditions": {"before": state, "after": state},
        "clock": {
            "name": "CLOCK_MONOTONIC",
            "resolution_s": 5e-8,
            "read_s": 4e-8,
            "cpu_read_s": 2e-7,
        },
        "throttle": {
            "kernel": "sha256",
            "baseline_s": 1e-3,
            "paused_s": 0.0,
            "checks": [{"at_s": 1.0, "median_s": 1e-3, "ratio": 1.0}],
        },
        "spoiled": [],
        "measurements": [],
    }


def loaded(folder: Path, *reports: dict[str, Any]) -> list[probe_report.Report]:
    """Return reports as read from files in `folder`."""
    found = []
    for number, report in enumerate(reports):
        path = folder / f"report_{number}.json"
        path.write_text(json.dumps(report), encoding="utf-8")
        found.append(probe_report.load(path))
    return found


def in_memory(report: dict[str, Any], number: int = 0) -> probe_report.Report:
    """Return a report as if read from a file; its digest is made of `number`."""
    document = probe_report.Document.model_validate(report)
    return probe_report.Report(Path(f"report_{number}.json"), f"{number:064x}", document)


def reports(number_of, seed=0, **phone):
    """Return so many reports of phones that differ by their seed alone."""
    return [
        in_memory(Phone(seed + number, **phone).report(), number) for number in range(number_of)
    ]


def cost_of(source, found, cores):
    """Return the cost that reports give, which have measured it."""
    return price(source, found, cores).cost


def standard_error_at(operation, size):
    """Return the standard error of a whole cost with so many bytes."""
    per_byte = size * (operation.per_byte_standard_error or 0.0)
    both = 2 * (operation.correlation or 0.0) * operation.standard_error * per_byte
    return math.sqrt(operation.standard_error**2 + per_byte**2 + both)


def without(report, *names, reason=None):
    """Return `report` with kernels that are not measured."""
    changed = json.loads(json.dumps(report))
    for case in changed["measurements"]:
        if case["kernel"] in names:
            case |= {"status": "not_measured", "reason": reason, "quantities": []}
    return changed
