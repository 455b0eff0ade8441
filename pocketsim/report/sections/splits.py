"""How trades went by the profile and the access network of who proposed them.

Which phone is on which network is drawn for each repetition; the plan's own draw is made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.report.html.page import table
from pocketsim.report.runs.metric_words import number
from pocketsim.report.runs.run import labels
from pocketsim.sim import trace
from pocketsim.sim.plan.population import populate
from pocketsim.sim.run import results
from pocketsim.sim.scenario.resolved import streams_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from markupsafe import Markup

    from pocketsim.report.runs.run import Run


def has_splits(run: Run) -> bool:
    """Return whether phones of a run differ in profile or access network, and it keeps events."""
    if not results.keeps_events(run.path):
        return False
    kinds = {
        (group["profile"], name)
        for group in run.resolved["devices"]
        for name, share in group["access"].items()
        if share
    }
    return len(kinds) > 1


def splits_table(runs: Sequence[Run]) -> Markup:
    """Return a line for each run of a scenario, profile and access network: what came of trades.

    Of sampled traces, of what they keep; of runs without events, none.
    """
    head = ("run", "profile", "access", "proposals", "stored", "median, ms", "95 %, ms", "99 %, ms")
    lines = [
        (name, profile, access, *cells)
        for run, name in zip(runs, labels(runs), strict=True)
        if results.keeps_events(run.path)
        for (profile, access), cells in split(run)
    ]
    return table(head, lines, numeric=range(3, len(head)))


def split(run: Run) -> list[tuple[tuple[str, str], tuple[str, ...]]]:
    """Return by profile and access network of a run's proposers what stands in the table."""
    trades = _trades(run)
    found = []
    for (profile, access), own in trades.groupby(["profile", "access"]):
        took_ms = own["rtt_ms"].dropna().to_numpy()
        known = np.percentile(took_ms, _PERCENTS).tolist() if took_ms.size else []
        percentiles = [*map(number, known)] or [""] * len(_PERCENTS)
        stored = f"{100 * took_ms.size / len(own):.3g} %"
        found.append(((str(profile), str(access)), (f"{len(own):,}", stored, *percentiles)))
    return found


def _trades(run: Run) -> pd.DataFrame:
    """Return a row for each proposal: profile and access of who made it, `rtt_ms` if stored."""
    import pandas as pd

    events = results.read_events(run.path).to_pandas()
    of_trades = ["repetition", "message_id", "time_s"]
    sent, stored = (events.loc[events["kind"] == kind, of_trades] for kind in ("send", "store"))
    trades = sent.merge(stored, on=of_trades[:2], how="left", suffixes=("", "_stored"))
    trades["rtt_ms"] = 1e3 * (trades["time_s_stored"] - trades["time_s"])
    profiles = np.array(sorted(run.resolved["profiles"]))
    networks = np.array(sorted(run.resolved["network"]["access"]))
    parts = []
    for repetition, own in trades.groupby("repetition"):
        called = f"repetition/{streams_number(run.resolved['run'], int(repetition))}"
        phones = populate(run.resolved, called)
        proposer = trace.origin(own["message_id"].to_numpy())
        parts.append(
            own.assign(
                profile=profiles[phones.profile[proposer]], access=networks[phones.access[proposer]]
            )
        )
    every: pd.DataFrame = pd.concat(parts) if parts else trades.assign(profile="", access="")
    return every


_PERCENTS = (50, 95, 99)
