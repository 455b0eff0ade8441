"""What phones store and write in a day, by hand."""

from __future__ import annotations

import math

import pytest

from pocketsim import testing
from pocketsim.sim.base.engine_output import NOTHING
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.metrics import storage
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.scenario.storage import Storage

WAL = {"journal": "wal", "page_bytes": 4096, "pages": 1, "checkpoint_pages": 100}
SAID = NOTHING | {"counters": {"phone_records_stored": 40, "phone_bytes_stored": 12_000}}


def run(kind="trustchain", **changes):
    """A run of four phones for six hours, which is one phone and day."""
    resolved = testing.resolved("chains", protocol={"kind": kind})
    resolved["devices"] = [{**resolved["devices"][0], "count": 4, "role": "person"}]
    resolved["run"] |= {"duration_s": 21_600.0, "repetitions": 1}
    return resolved | changes


def test_a_chain_grows_by_the_blocks_of_both_parties():
    assert storage.measure(run(), SAID) == {"chain_bytes_per_phone_day": 12_000.0}
    assert storage.names(run("tokens")) == ()


def test_a_record_in_a_log_is_a_page_and_its_share_of_a_checkpoint():
    # 100 records of 300 B fill 7.3 pages, and begin in another: 30 000 + 4096 B.
    each = 4096 + 24 + (100 * 300 + 4096) / 100
    assert storage.written_bytes(WAL, 300) == pytest.approx(each)
    found = storage.measure(run(storage=WAL), SAID)
    assert found["stored_bytes_written_per_phone_day"] == pytest.approx(40 * each)
    assert tuple(found) == storage.names(run(storage=WAL))


def test_indexes_are_written_twice():
    each = 3 * (4096 + 24) + 300 + 4096 * 3 / 100 + 2 * 4096
    assert storage.written_bytes({**WAL, "pages": 3}, 300) == pytest.approx(each)


def test_a_record_larger_than_a_page_changes_several():
    each = 3 * (4096 + 24) + 10_000 + 4096 * 3 / 100
    assert storage.written_bytes(WAL, 10_000) == pytest.approx(each)


def test_a_checkpoint_after_every_record_writes_its_pages_again():
    assert storage.written_bytes({**WAL, "checkpoint_pages": 1}, 300) == 4096 + 24 + 4096


def test_a_rollback_journal_keeps_the_page_as_it_was():
    assert storage.written_bytes({**WAL, "journal": "truncate"}, 300) == 2 * 4096 + 8 + 512


@pytest.mark.parametrize("record_bytes", [1, 300, 4096, 5000])
def test_a_file_has_the_blocks_written_that_a_record_touches(record_bytes):
    touched = [(at + record_bytes - 1) // 4096 - at // 4096 + 1 for at in range(4096)]
    found = storage.written_bytes({**WAL, "journal": "append"}, record_bytes)
    assert found == pytest.approx(4096 * sum(touched) / 4096)


def test_what_nobody_told_is_undefined_and_what_is_not_stored_is_nothing():
    both = run(storage=WAL)
    assert all(map(math.isnan, storage.measure(both, NOTHING).values()))
    silent = storage.measure(both, NOTHING | {"counters": {"send": 1}})
    assert set(silent.values()) == {0.0}


def test_a_scenario_says_how_phones_store():
    document = load("tests/support/1k_churn.toml", ["storage={}"])
    (rung,) = resolve(document)
    assert rung.resolved["storage"] == WAL
    assert Storage.model_validate({}).checkpoint_pages == 100
    with pytest.raises(ScenarioError, match="store no records"):
        load("tests/support/1k_churn.toml", ["storage={}", "protocol.kind=transfer"])
