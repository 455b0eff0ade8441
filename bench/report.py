"""How a Python rival times itself and reports: one line of JSON, like the C++ programs'."""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import sys
import time
from contextlib import contextmanager
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
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)
