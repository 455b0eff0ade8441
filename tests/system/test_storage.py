"""What phones store, from the engine to the metrics: it is what their events say."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from pocketsim.sim.metrics import storage
from pocketsim.sim.run import runner
from pocketsim.sim.trace.columns import Columns
from support import engine_plans as plans

pytestmark = pytest.mark.engine
WAL = {"journal": "wal", "page_bytes": 4096, "pages": 1, "checkpoint_pages": 100}


def run(path, folder, *settings):
    """Return the metrics of one repetition and its events."""
    asked = ["run.repetitions=1", "storage={}", *settings]
    (directory,) = runner.run(plans.ROOT / "pocketsim/scenarios" / path, asked, folder)
    found = json.loads((directory / "metrics.json").read_text())
    mean = {name: metric["mean"] for name, metric in found["metrics"].items()}
    return mean, Columns.of(pq.read_table(directory / "events.parquet"))


def sizes(events, *kinds):
    """Return the sizes of the rows of these kinds, in bytes."""
    return np.concatenate([events.of_kind(kind).size_bytes for kind in kinds])


def test_both_parties_keep_the_blocks_of_their_trades(tmp_path):
    mean, events = run("own_data/rates_by_group.toml", tmp_path)
    phone_days = 16 * 600 / 86_400
    blocks = sizes(events, "store", "store_peer")
    assert blocks.size > 20
    assert mean["chain_bytes_per_phone_day"] * phone_days == pytest.approx(blocks.sum())
    written = blocks.size * storage.written_bytes(WAL, blocks.mean())
    assert mean["stored_bytes_written_per_phone_day"] * phone_days == pytest.approx(written)


def test_phones_store_the_tokens_that_they_take_and_the_authority_is_no_phone(tmp_path):
    mean, events = run("tokens/market.toml", tmp_path)
    tokens = sizes(events, "take")
    assert tokens.size > 100
    phone_days = 39 * 2 / 24
    written = tokens.size * storage.written_bytes(WAL, tokens.mean())
    assert mean["stored_bytes_written_per_phone_day"] * phone_days == pytest.approx(written)
    assert "chain_bytes_per_phone_day" not in mean
