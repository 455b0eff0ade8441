#!/usr/bin/env python3
"""A probe that makes up what it says, at once: for tests of who starts it and reads it.

Its listeners store at most CAPACITY_PER_S, 1 ms after each proposal, which takes longer by what a
relay adds. Its tokens are counts in files; a signature takes SIGN_S to make and CHECK_S to check,
and each command EMPTY_S. If there is a file FAKE_PROBE_LOG, it gets a line for each call, with the
cores that it may use; FAKE_PROBE_SHORT is for how many dials of that log it proposes for too short
a time. With FAKE_PROBE_TAKES it refuses nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

CAPACITY_PER_S = 200.0
RTT_S = 1e-3
PASSAGE_S = 0.005_1
LISTENER = "127.0.0.1:4747"
RELAY = "127.0.0.1:4847"
BYTES = 668
COMMANDS = ("mint", "pay", "receive", "submit", "verify", "settle")
REDEEMING = ("submit_redeem", "verify_redeem", "settle_redeem")
CALLS = ("append", "create", "replace")
BESIDE = (
    *(
        (f"token_{command}_bookkeeping", "serialisation", "tokens", 1, 0.1e-6)
        for command in (*COMMANDS, *REDEEMING)
    ),
    *(
        (f"token_{command}_bookkeeping", "serialisation", "tokens", 0, 0.1e-9)
        for command in ("request", "refuse")
    ),
    ("file_open_read", "storage", "bytes", BYTES, 1e-9),
    ("output_destination", "storage", "", 0, 1e-9),
    *((f"memory_file_{call}_fsync", "storage", "bytes", BYTES, 10e-6) for call in CALLS),
    *((f"file_{call}_fsync", "storage", "bytes", BYTES, 130e-6) for call in CALLS),
)
# As the report has them; FAKE_PROBE_SIGNS_S is what a token's signature takes instead.
REPORTED_S = 60e-6
SIGN_S = float(os.environ.get("FAKE_PROBE_SIGNS_S", REPORTED_S))
CHECK_S = 150e-6
EMPTY_S = 0.4e-3
TOKENS = {"0.01": 1, "0.58": 10, "36000.00": 100, "486000.00": 1000}
LOG = Path(os.environ["FAKE_PROBE_LOG"]) if "FAKE_PROBE_LOG" in os.environ else None


def option(name: str, otherwise: str = "") -> str:
    """Return what stands after an option."""
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def until_interrupted(first_line: str, last: dict) -> None:
    """Do as a listener or a relay does."""
    signal.signal(signal.SIGINT, lambda *_: (say(json.dumps(last)), os._exit(0)))
    say(first_line)
    while True:
        signal.pause()


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def counts() -> dict:
    """Return what a relay tells."""
    names = ("mean_s", "p50_s", "p99_s", "maximum_s")
    delay_s = 1e-3 * float(option("--delay", "0ms").removesuffix("ms"))
    way = {"received_datagrams": 1000, "lateness": dict.fromkeys(names, PASSAGE_S - delay_s)}
    return {"elapsed_s": 1.0, "up": way, "down": way}


def event(kind: str, number: int, time_s: float) -> str:
    """Return a line of the log."""
    names = {"repetition": 0, "time_s": time_s, "node": 1, "kind": kind, "message_id": number}
    return json.dumps({**names, "peer": 0, "message_size": BYTES, "reason": None, "logged": True})


def dial() -> None:
    """Propose at the rate that is asked for, and store what the capacity has room for."""
    rate_per_s, duration_s = float(option("--rate")), float(option("--duration").removesuffix("s"))
    if LOG and LOG.read_text().count("trade dial") <= int(os.environ.get("FAKE_PROBE_SHORT", "0")):
        duration_s = 0.1
    rtt_s = RTT_S + (2 * PASSAGE_S if RELAY in sys.argv else 0.0)
    share = min(1.0, CAPACITY_PER_S / rate_per_s)
    lines = []
    for number in range(int(rate_per_s * duration_s) + 1):
        lines.append(event("send", number, number / rate_per_s))
        if int((number + 1) * share) > int(number * share):
            lines.append(event("store", number, number / rate_per_s + rtt_s))
    Path(option("-o")).write_text("\n".join(lines))
    repetition = {"duration_s": duration_s, "offered": len(lines)}
    say(json.dumps({"error": None, "repetitions": [repetition]}))


def report() -> None:
    """Write the report, another each time: its note is the file's name."""
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from support import synthetic_reports

    phone = synthetic_reports.Phone()
    told = phone.report()
    told["made"]["note"] = option("-o")
    rtts_s = {"rtt_s": phone.times(20e-6)}
    size = {"bytes": BYTES}
    echoes = synthetic_reports.measurement("udp_round_trip", "udp", rtts_s, parameters=size)
    told["measurements"].append(echoes)
    for kernel, group, parameter, at, time_s in BESIDE:
        both = {"wall_s": phone.times(time_s), "cpu_s": phone.times(time_s)}
        told["measurements"].append(
            synthetic_reports.measurement(
                kernel, group, both, parameters={parameter: at} if parameter else {}
            )
        )
    Path(option("-o")).write_text(json.dumps(told))


def token_step(step: str, who: Path, received: Path) -> None:
    """Do what a step does to counts of tokens and signatures: a file is those of its tokens."""
    if received.name == "garbage" and "FAKE_PROBE_TAKES" not in os.environ:
        say(json.dumps({"tokens": 0, "cost": counted_cost(0, 0)}))
        sys.exit(3)
    output = Path(option("-o", "none"))
    tokens, recipients, redeemed = 0, 0, False
    if step == "mint":
        tokens = TOKENS[option("--amount")]
    elif step in {"receive", "verify", "settle"}:
        tokens, recipients, redeemed = json.loads(received.read_text())
    elif step in {"pay", "submit"}:
        tokens, recipients, _ = json.loads((who / "wallet").read_text())
        redeemed = "--redeem" in sys.argv
    made, checked = {
        "request": (0, 0),
        "mint": (tokens, 0),
        "receive": (0, tokens * recipients),
        "pay": (tokens, 0),
        "submit": (tokens + 1, 0),
        "verify": (1 if redeemed else tokens + 1, tokens * recipients + 1),
        "settle": (0, 1 if redeemed else tokens + 1),
    }[step]
    if step in {"mint", "pay", "submit"}:
        output.write_text(json.dumps([tokens, recipients + 1, redeemed]))
    elif step == "verify":
        output.write_text(json.dumps([tokens, 1, redeemed]))
    elif step in {"receive", "settle"}:
        (who / "wallet").write_text(received.read_text())
    cost = counted_cost(made, checked)
    say(json.dumps({"tokens": tokens, "challenge": "00", "cost": cost}))


def counted_cost(made: int, checked: int) -> dict[str, float]:
    """Return what so many signatures cost that are made and checked."""
    duration_s = EMPTY_S + made * SIGN_S + checked * CHECK_S
    counts = {"signatures_made": made, "signatures_checked": checked}
    return counts | {"duration_s": duration_s, "cpu_s": duration_s}


def main() -> None:
    """Do what the first words say."""
    if LOG:
        with LOG.open("a") as log:
            log.write(f"{sorted(os.sched_getaffinity(0))} {' '.join(sys.argv[1:])}\n")
    match sys.argv[1:3]:
        case ["run", *_]:
            report()
        case ["trade", "listen"]:
            until_interrupted(f"listening on {LISTENER} pocketsim-probe://trade/{LISTENER}", {})
        case ["link", *_]:
            until_interrupted(RELAY, counts())
        case ["trade", "dial"]:
            dial()
        case ["tokens", "new-authority" | "new-client"]:
            Path(sys.argv[3]).mkdir()
            say(json.dumps({"key": sys.argv[3]}))
        case ["tokens", step]:
            token_step(step, Path(sys.argv[3]), Path(sys.argv[4]))


if __name__ == "__main__":
    main()
