"""The table of a trace: from the engine's bytes, through Parquet and the app's CSV."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim import testing
from pocketsim.sim import trace
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.export import app_csv, phone_logs


def engine_result() -> dict[str, Any]:
    return {
        "columns": {
            "time_s": np.array([0.5, 0.75], "<f8").tobytes(),
            "node": np.array([0, 1], "<u4").tobytes(),
            "kind": np.array([0, 1], "u1").tobytes(),
            "message": np.array([1, 1], "<u8").tobytes(),
            "peer": np.array([1, 2**32 - 1], "<u4").tobytes(),
            "size_bytes": np.array([0, 537], "<u4").tobytes(),
            "reason": np.array([255, 1], "u1").tobytes(),
            "logged": np.array([1, 0], "u1").tobytes(),
        },
        "event_kinds": ["send", "drop"],
        "reasons": ["fork", "link_loss"],
    }


def test_columns_of_the_engine():
    table = trace.from_engine(engine_result(), repetition=3)
    assert table.schema == trace.schema()
    assert table.to_pylist()[1] == {
        "repetition": 3,
        "time_s": 0.75,
        "node": 1,
        "kind": "drop",
        "message_id": 1,
        "peer": -1,
        "message_size": 537,
        "reason": "link_loss",
        "logged": False,
    }
    assert table.to_pylist()[0]["reason"] is None


def test_parquet_round_trip_is_the_same_table_and_the_same_bytes(tmp_path: Path):
    resolved = testing.resolved(repetitions=2)
    table = testing.events(resolved, testing.Shape(lost_ratio=0.2))
    for name in ("a", "b"):
        trace.write(table, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = trace.read(tmp_path / "a")
    assert again.schema == trace.schema()
    assert again.to_pylist() == table.to_pylist()


def test_reading_something_else_says_what_is_missing(tmp_path: Path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"repetition": [1]}), tmp_path / "other")
    with pytest.raises(ValueError, match="no column 'time_s'"):
        trace.read(tmp_path / "other")


def test_no_repetitions_are_an_empty_table():
    assert trace.concatenate([]).num_rows == 0


def test_csv_round_trip_keeps_the_benchmark_events(tmp_path: Path):
    table = testing.events(testing.resolved(repetitions=2), testing.Shape(lost_ratio=0.2))
    app_csv.write_csv(table, tmp_path / "a.csv", "udp", label="x")
    again = phone_logs.read_csv(tmp_path / "a.csv", epoch=app_csv.EPOCH).to_pylist()
    logged = table.to_pylist()
    assert len(again) == len(logged)
    for row, said in zip(again, logged, strict=True):
        assert row["time_s"] == pytest.approx(said["time_s"], abs=1e-6)
        for name in ("repetition", "node", "message_id", "message_size", "peer", "reason"):
            assert row[name] == said[name]
    kinds = [[row["kind"] for row in rows] for rows in (again, logged)]
    assert sorted(kinds[0]) == sorted(kinds[1])


def test_csv_speaks_as_the_app_does(tmp_path: Path):
    table = testing.events(testing.resolved(repetitions=1), testing.Shape())
    app_csv.write_csv(table, tmp_path / "a.csv", "quic_keep", label="x")
    lines = (tmp_path / "a.csv").read_text().replace('"', "").splitlines()
    assert lines[0] == ",".join((*app_csv.COLUMNS, *app_csv.EXTRA_COLUMNS))
    first = lines[1].split(",")
    assert first == [
        *("send_benchmark_sc", "2025-06-22T00:00:00.000000Z", "Iroh", "0", "1", "638", "x#0", "1"),
        *("1", ""),
    ]
    operations = {line.split(",")[0] for line in lines[1:]}
    assert operations == {
        "send_benchmark_sc",
        "processing_message",
        "block_received_back",
        "store_block_e",
    }


def test_a_log_of_a_real_phone(tmp_path: Path):
    path = tmp_path / "phone.csv"
    path.write_text(
        ",".join(app_csv.COLUMNS) + "\n"
        "block_send_start,2025-06-20T10:00:01.000500+02:00,UDP,k51q,block123,512,run_a,1\n"
        "connection_established,2025-06-20T10:00:01.001+02:00,UDP,k51q,block123,0,run_a,2\n"
        "block_stored,2025-06-20T10:00:01.012300+02:00,UDP,k51q,block123,668,run_a,3\n"
        "block_send_start,2025-06-20T11:00:00+02:00,UDP,k51q,block9,512,run_b,1\n"
    )
    rows = phone_logs.read_csv(path).to_pylist()
    assert [row["kind"] for row in rows] == ["send", "store", "send"]
    assert [row["repetition"] for row in rows] == [0, 0, 1]
    assert [row["message_id"] for row in rows] == [0, 0, 1]
    assert [row["time_s"] for row in rows] == pytest.approx([0.0, 0.0118, 0.0])
    shifted = phone_logs.read_csv(path, epoch=datetime(2025, 6, 20, 8, 0, tzinfo=UTC)).to_pylist()
    assert shifted[0]["time_s"] == pytest.approx(1.0005)


def test_a_csv_without_a_column_is_refused(tmp_path: Path):
    (tmp_path / "a.csv").write_text("operation,timestamp\nsend,2025\n")
    with pytest.raises(ScenarioError, match="line 1: no column 'mode'"):
        phone_logs.read_csv(tmp_path / "a.csv")


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=30))
def test_timestamps_keep_microseconds(times: list[float]):
    written = app_csv._timestamps(np.array(times))
    read = [phone_logs._microseconds(stamp) for stamp in written]
    assert read == pytest.approx(np.array(times) * 1e6, abs=0.51)
