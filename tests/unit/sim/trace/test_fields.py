"""What the Parquet files of a run say of themselves."""

import pyarrow.parquet as pq
import pytest

from pocketsim import testing
from pocketsim.sim import __version__, trace
from pocketsim.sim.run import collect
from pocketsim.sim.scenario.resolved import digest
from pocketsim.sim.trace import blocks, fields, final_tokens, histograms, tables, timeline


@pytest.fixture
def made(tmp_path):
    resolved = testing.resolved(repetitions=1)
    return testing.run_dir(tmp_path, resolved, testing.Shape()), resolved


def test_a_file_names_versions_run_and_seed(made):
    directory, resolved = made
    assert pq.read_schema(directory / "events.parquet").metadata == {
        b"pocketsim.version": resolved["versions"]["pocketsim"].encode(),
        b"pocketsim.format": b"1",
        b"pocketsim.run_sha256": digest(resolved).encode(),
        b"pocketsim.seed": str(resolved["run"]["seed"]).encode(),
    }


def test_a_column_of_a_file_says_its_unit_and_what_it_is(made):
    schema = pq.read_schema(made[0] / "events.parquet")
    assert schema.field("time_s").metadata == {
        b"unit": b"s",
        b"description": b"seconds since the start of the repetition",
    }


@pytest.mark.parametrize("table", [trace, blocks, final_tokens, histograms, timeline])
def test_units_are_those_that_names_end_in(table):
    units = {"s": "s", "bytes": "B"}
    for field in table.schema():
        unit = field.metadata[b"unit"].decode()
        assert unit == units.get(field.name.rpartition("_")[2], unit), field.name
        assert field.metadata[b"description"], field.name


def test_what_is_joined_says_what_its_first_part_says(tmp_path):
    whole = testing.events(testing.resolved(repetitions=2), testing.Shape())
    for write, join in ((trace.write, trace.join), (tables.write, tables.join)):
        parts = [tmp_path / "a", tmp_path / "b"]
        for number, part in enumerate(parts):
            write(fields.with_about(whole.slice(10 * number, 10), {"x": "1"}), part)
        join(parts, tmp_path / "c")
        schema = pq.read_schema(tmp_path / "c")
        assert schema.metadata[b"x"] == b"1"
        assert schema.field("time_s").metadata[b"unit"] == b"s"
        assert pq.read_metadata(tmp_path / "c").num_rows == 20


def test_a_collected_table_has_units_of_metrics_families_and_points(tmp_path, made):
    directory, _ = made
    found = collect.rows_of([(directory, {"workload.rate": {"value": 16.0, "unit": "/s"}})])
    collect.write(found, tmp_path / "all.parquet", as_csv=False)
    schema = pq.read_schema(tmp_path / "all.parquet")
    assert schema.metadata == {
        b"pocketsim.version": __version__.encode(),
        b"pocketsim.format": b"1",
    }
    said = {field.name: field.metadata[b"unit"].decode() for field in schema}
    wanted = {"rtt_ms_p95": "ms", "workload.rate_per_s": "1/s", "sent": "1", "directory": ""}
    assert wanted.items() <= said.items()
    meaning = schema.field("rtt_ms_p95").metadata[b"description"].decode()
    assert meaning == "round trip of stored transactions, storing included: 95th percentile"
    unknown = collect._said("mine")[1].encode()
    assert not [field.name for field in schema if field.metadata[b"description"] == unknown]
    assert collect._said("cpu_s.sign") == ("s", "core seconds of all phones spent on sign")
    assert collect._said("mine") == ("", "a metric of the scenario's own")
