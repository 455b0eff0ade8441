"""What a phone stores in a day, and what it writes to flash for that.

Records are blocks, which both parties of a trade keep, or tokens that are taken. The engine counts
them and their bytes as they are serialised, and not those of the tokens' authority.

A record is a commit. SQLite writes whole pages (sqlite.org/fileformat2.html, sections 3 and 4): to
a write-ahead log each page that the record changes, with a header of 24 B; a checkpoint writes the
pages again, those of the table once for all records on them, those of indexes all. To a rollback
journal it first writes the page as it was, with 8 B, and a header of 512 B, then the page. A file
that is synced has its last block written again with each record. What the file system's journal
and the flash write beside is unknown here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pocketsim.sim.metrics import per_phone
from pocketsim.sim.metrics.definition import Metric

if TYPE_CHECKING:
    from pocketsim.sim.base.engine_output import EngineOutput
    from pocketsim.sim.scenario.resolved import (
        Resolved,
    )
    from pocketsim.sim.scenario.resolved_measures import Storage

_SCALED = "of a phone in 24 h, scaled from the run's duration"
CHAIN = {
    "chain_bytes_per_phone_day": Metric(
        "B",
        "bytes of blocks / phones / days",
        f"blocks as serialised that a phone adds to its chain, {_SCALED}",
    )
}
WRITTEN = {
    "stored_bytes_written_per_phone_day": Metric(
        "B",
        "records written(bytes / records) / phones / days",
        f"written to flash for what is stored, by `[storage]`, {_SCALED}",
    )
}
METRICS = {**CHAIN, **WRITTEN}


def names(resolved: Resolved) -> tuple[str, ...]:
    """Return the metrics that a run has: of chains alone, and of what a scenario says is kept."""
    chain = tuple(CHAIN) if resolved["protocol"]["kind"] == "trustchain" else ()
    return (*chain, *WRITTEN) if "storage" in resolved else chain


def measure(resolved: Resolved, said: EngineOutput) -> dict[str, float]:
    """Return the metrics of one repetition; NaN for what the engine did not tell."""
    known, counters = names(resolved), said["counters"]
    if not known:
        return {}
    if not counters:
        return dict.fromkeys(known, math.nan)
    records = counters.get("phone_records_stored", 0)
    stored_bytes = counters.get("phone_bytes_stored", 0)
    days = per_phone.phone_days(resolved)
    found = {"chain_bytes_per_phone_day": stored_bytes / days}
    if "storage" in resolved:
        each = written_bytes(resolved["storage"], stored_bytes / records) if records else 0.0
        found["stored_bytes_written_per_phone_day"] = records * each / days
    return {name: found[name] for name in known}


def written_bytes(storage: Storage, record_bytes: float) -> float:
    """Return the bytes that one record of many has written, checkpoints included."""
    page_bytes = storage["page_bytes"]
    if storage["journal"] == "append":
        # From anywhere in a block: one, and another for each end of a block on the way.
        return page_bytes + max(record_bytes - 1, 0.0)
    changed = storage["pages"] + math.floor(record_bytes / page_bytes)
    if storage["journal"] == "truncate":
        return changed * (2 * page_bytes + _JOURNAL_PAGE_BYTES) + _JOURNAL_HEADER_BYTES
    log_bytes = changed * (page_bytes + _FRAME_BYTES)
    records = max(storage["checkpoint_pages"] / changed, 1.0)
    # The pages of the table that so many records fill, and the one that they begin in; of indexes
    # every page, as if no two records had changed the same.
    indexes_bytes = (storage["pages"] - 1) * page_bytes
    filled_bytes = record_bytes + page_bytes / records
    return log_bytes + min(filled_bytes, changed * page_bytes - indexes_bytes) + indexes_bytes


_FRAME_BYTES = 24
_JOURNAL_PAGE_BYTES, _JOURNAL_HEADER_BYTES = 8, 512
