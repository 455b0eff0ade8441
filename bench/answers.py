"""What a scenario of a thousand phones answers: which fates and delays move with one change.

Each variant is a repetition of `1k` with some values changed and the same seed, so that it has
the same transactions at the same moments. A transaction is stored, lost for a reason or in flight
at the end; its delay is from its proposal until the proposer has the answer.
Usage: answers.py [--out FOLDER].
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import pandas as pd

import pocketsim as ps

if TYPE_CHECKING:
    from collections.abc import Mapping

SCENARIO = "1k"
WIFI = "network.access.wifi"
VARIANTS: dict[str, Mapping[str, Any]] = {
    "cryptography ten times as slow": {
        f"devices[{group}].cost.{operation}": 10.0
        for group in (0, 1)
        for operation in ("sign", "verify")
    },
    "LTE for Wi-Fi": {f"devices[{group}].access": "lte" for group in (0, 1)},
    "each its own access point": {f"{WIFI}.phones_per_site": 1},
    "twenty on an access point": {f"{WIFI}.phones_per_site": 20},
    "Wi-Fi slower by 49 ms": {f"{WIFI}.latency": "50ms"},
    "cells that carry a tenth": {"network.access.lte.site_capacity": "7.5Mbps"},
    "sites in one town": {"network.core.attach": [["amsterdam"]]},
    "tried once": {"protocol.retries.attempts": 1},
    "who is asked opens the app, too": {"foreground.whose": "both"},
}
QUANTILES = (0.5, 0.95, 0.99)


def main() -> int:
    """Run the variants and print the table; return 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="build/bench/answers", help="Folder for run directories.")
    out = parser.parse_args().out
    usual = transactions(out, {})
    print("| change | transactions | of another fate | stored | p50 ms | p95 ms | p99 ms |")
    print("|---|---|---|---|---|---|---|")
    print(row("none", usual, usual))
    for name, changes in VARIANTS.items():
        print(row(name, transactions(out, changes), usual), flush=True)
    return 0


def transactions(out: str, changes: Mapping[str, Any]) -> pd.DataFrame:
    """Return of each transaction its `fate` and its `delay_s`, NaN if it is not stored."""
    (run,) = ps.run(SCENARIO, {"run.repetitions": 1, **changes}, out=out, progress=False)
    events = run.events
    sent = events[events.kind == "send"].set_index("message_id").time_s
    stored = events[events.kind == "store"].set_index("message_id").time_s
    dropped = events[events.kind == "drop"].drop_duplicates("message_id", keep="last")
    fate = dropped.set_index("message_id").reason.astype(str).reindex(sent.index)
    fate = fate.fillna("in flight").where(~sent.index.isin(stored.index), "stored")
    return pd.DataFrame({"fate": fate, "delay_s": stored.reindex(sent.index) - sent}).sort_index()


def row(name: str, found: pd.DataFrame, usual: pd.DataFrame) -> str:
    """Return a variant's row of the table, beside the scenario as it is."""
    is_same = found.index.equals(usual.index)
    moved = int((found.fate != usual.fate).sum()) if is_same else "-"
    quantiles = [1e3 * found.delay_s.quantile(share) for share in QUANTILES]
    cells = [name, len(found), moved, int((found.fate == "stored").sum())]
    return "| " + " | ".join([*map(str, cells), *(f"{each:.1f}" for each in quantiles)]) + " |"


if __name__ == "__main__":
    raise SystemExit(main())
