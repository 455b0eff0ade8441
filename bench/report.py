"""How a Python rival times itself and reports: one line of JSON, like the C++ programs'."""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Stopwatch:
    """Wall seconds of a `with` block."""

    seconds = 0.0


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Time a block."""
    watch = Stopwatch()
    start = time.perf_counter()
    yield watch
    watch.seconds = time.perf_counter() - start


def peak_memory_mb() -> float:
    """Return the most memory that this program had.

    What getrusage calls the peak begins with what the process had before it became this program:
    that of whoever started it.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (kilobytes,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(kilobytes) / 1024


def print_result(latencies_s: Sequence[float], setup: Stopwatch, run: Stopwatch) -> None:
    """Print the result line and leave, without paying for destructors."""
    mean_s = statistics.fmean(latencies_s)
    squares = math.fsum((latency_s - mean_s) ** 2 for latency_s in latencies_s)
    result = {
        "transactions": len(latencies_s),
        "mean_latency_s": mean_s,
        "latency_sd_s": math.sqrt(squares / len(latencies_s)),
        "setup_s": setup.seconds,
        "run_s": run.seconds,
        "memory_mb": peak_memory_mb(),
    }
    print(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)
