"""What phones that only compute achieved: tasks a second, data rate, time per task.

Throughput is that of the offline token thesis's programs (section VI-A): everything done, over the
time until the last thread is done. What protocols achieve is in `sim.metrics.trades`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics.definition import Metric
from pocketsim.sim.metrics.family_metrics import traced_share
from pocketsim.sim.trace.columns import ratio

if TYPE_CHECKING:
    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import Resolved
    from pocketsim.sim.trace.columns import Columns

TRANSACTION = None
METRICS = {
    "task_rate_per_s": Metric(
        "1/s",
        "tasks / t_last",
        "tasks done by all threads of all phones, until the last thread is done",
    ),
    "data_rate_mb_per_s": Metric(
        "MB/s",
        "tasks * bytes of a task / t_last / 10^6",
        "bytes that the tasks done were on, over the time until the last thread is done",
    ),
    "task_us_mean": Metric("us", "threads * t_last / tasks", "how long one thread has one task"),
}
NAMES = tuple(METRICS)


def names(_resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run of this protocol family has."""
    return NAMES


def measure(part: Columns, _output: EngineOutput, resolved: Resolved) -> dict[str, float]:
    """Return the metrics of one repetition; NaN when nothing was done or took no time.

    A task that handles several tokens counts once. `data_rate_mb_per_s` is in 10^6 bytes;
    `task_us_mean` is the time for which one thread has one task. A sampled trace keeps a share of
    the tasks, so what was done is scaled up by it; the last of them stands for the last of all.
    """
    workload = resolved["workload"]
    assert workload["kind"] == "compute", "the family's only workload"
    done = part.of_kind("compute")
    took_s = float(done.time_s[-1]) - workload["start_s"] if done.time_s.size else math.nan
    share = traced_share(resolved["output"])
    # Where tasks cost nothing, no time passes.
    rate_per_s = ratio(done.time_s.size / share, took_s)
    done_bytes = float(done.size_bytes.sum(dtype="int64"))
    threads = workload["threads"] * sum(group["count"] for group in resolved["devices"])
    return {
        "task_rate_per_s": rate_per_s,
        "data_rate_mb_per_s": ratio(done_bytes / share, took_s) / 1e6,
        "task_us_mean": ratio(1e6 * threads, rate_per_s),
    }
