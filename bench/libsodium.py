"""Compares the probe's cryptography with libsodium's, through PyNaCl, on this machine.

Probe and PyNaCl take turns, so that a noisy minute hurts both, and ratios are taken within a turn.
Both give the median of samples of CPU time of many calls, each on another message. The bar is on
signing and verifying; sealed boxes stand beside. PyNaCl's part includes the call from Python, as
users of libsodium in Python have it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from nacl import bindings

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
BAR = 2.0
"""How many times slower than libsodium the probe's signing and verifying may be."""

BARRED = ("ed25519_sign", "ed25519_verify")
# Bytes of the message: an offline token's proof; the smallest of a quick run.
SIZES = dict.fromkeys(BARRED, 147) | dict.fromkeys(("sealed_box_seal", "sealed_box_open"), 64)
CALLS = 50  # in a sample, each on a message of its own: a few ms
SAMPLES = 100
EXIT_CHECK_FAILED = 3


def main() -> int:
    """Measure, print the table, say whether the bar is met."""
    options = parse()
    if not options.probe.is_file():
        sys.exit(f"{options.probe}: no such file; build it with: make probe")
    turns = [take_turn(options.probe) for _ in range(options.rounds)]
    print(f"{options.rounds} turns; medians, and the range of the ratio over turns\n")
    print(f"{'':<24}{'probe':>10}{'libsodium':>12}   probe / libsodium")
    ratios = {kernel: row(kernel, turns) for kernel in SIZES}
    missed = any(ratios[kernel] > BAR for kernel in BARRED)
    print(f"\nbar: {' and '.join(BARRED)} within {BAR:g} x: {'missed' if missed else 'met'}")
    return EXIT_CHECK_FAILED if missed and not options.no_bar else 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe", type=Path, default=ROOT / "target" / "release" / "probe")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-bar", action="store_true", help="exit code 0 beyond it, too")
    return parser.parse_args()


def take_turn(probe: Path) -> dict[str, tuple[float, float]]:
    """Return for each kernel the CPU seconds of one operation: the probe's and libsodium's."""
    ours = measure_probe(probe)
    theirs = measure_libsodium()
    return {kernel: (ours[kernel], theirs[kernel]) for kernel in SIZES}


def measure_probe(probe: Path) -> dict[str, float]:
    """Run the probe; return its median CPU time of each kernel on one thread."""
    only = [word for kernel in SIZES for word in ("--only", kernel)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [str(probe), "run", "--quick", *only, "--threads", "1", "--quiet"]
        subprocess.run([*command, "-o", str(report)], check=True)
        cases = json.loads(report.read_text(encoding="utf-8"))["measurements"]
    found = {}
    for case in cases:
        of_size = case["parameters"]["bytes"] == SIZES[case["kernel"]]
        if of_size and case["core_class"] is None and case["status"] == "measured":
            (cpu,) = (
                quantity["samples"]
                for quantity in case["quantities"]
                if quantity["name"] == "cpu_s"
            )
            found[case["kernel"]] = cpu["median"]
    if missing := [kernel for kernel in SIZES if kernel not in found]:
        sys.exit(f"the probe did not measure {missing[0]} at {SIZES[missing[0]]} bytes")
    return found


def measure_libsodium() -> dict[str, float]:
    """Return the same of libsodium."""
    public, secret = bindings.crypto_sign_seed_keypair(bytes(range(32)))
    box_public, box_secret = bindings.crypto_box_seed_keypair(bytes(range(32)))

    def sign(message: bytes) -> bytes:
        return bindings.crypto_sign(message, secret)

    def verify(signed: bytes) -> bytes:
        return bindings.crypto_sign_open(signed, public)

    def seal(message: bytes) -> bytes:
        return bindings.crypto_box_seal(message, box_public)

    def unseal(sealed: bytes) -> bytes:
        return bindings.crypto_box_seal_open(sealed, box_public, box_secret)

    texts = [number.to_bytes(SIZES["ed25519_sign"], "big") for number in range(CALLS)]
    secrets = [number.to_bytes(SIZES["sealed_box_seal"], "big") for number in range(CALLS)]
    return {
        "ed25519_sign": median_s(sign, texts),
        "ed25519_verify": median_s(verify, [sign(text) for text in texts]),
        "sealed_box_seal": median_s(seal, secrets),
        "sealed_box_open": median_s(unseal, [seal(text) for text in secrets]),
    }


def median_s(call: Callable[[bytes], bytes], inputs: list[bytes]) -> float:
    """Return the median over samples of one call's CPU seconds, after a sample for nothing."""
    samples = []
    for _ in range(SAMPLES + 1):
        start = time.thread_time()
        for item in inputs:
            call(item)
        samples.append((time.thread_time() - start) / len(inputs))
    return statistics.median(samples[1:])


def row(kernel: str, turns: list[dict[str, tuple[float, float]]]) -> float:
    """Print one kernel; return the median ratio."""
    pairs = [turn[kernel] for turn in turns]
    ours, theirs = (statistics.median(side) * 1e6 for side in zip(*pairs, strict=True))
    ratios = [one / other for one, other in pairs]
    ratio = statistics.median(ratios)
    spread = f"{ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    name = f"{kernel} {SIZES[kernel]} B"
    print(f"{name:<24}{ours:>7.1f} us{theirs:>9.1f} us   {spread}")
    return ratio


if __name__ == "__main__":
    raise SystemExit(main())
