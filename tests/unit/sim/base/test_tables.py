"""Tables that somebody else wrote: what is read is what they say, what is wrong is named by row."""

import hashlib
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

from pocketsim.sim.base import delimited, tables
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.tables import Column, Lines, Names

COLUMNS = [
    Column("time_s", 0, 60, "the run is from 0 to 60 s", is_sorted=True),
    Column("phone", 0, 9, "phones are numbered from 0 to 9", is_whole=True),
]
ROWS = st.lists(st.tuples(st.floats(0, 60), st.integers(0, 9)), min_size=1, max_size=60)
GOOD = {"time_s": [1.5, 1.5, 60.0], "phone": [9, 0, 3]}


def write(path, columns):
    table = pa.table(columns)
    csv.write_csv(table, path) if path.suffix == ".csv" else parquet.write_table(table, path)
    return path


def refused(path):
    with pytest.raises(ScenarioError) as caught:
        tables.read(path, COLUMNS)
    assert caught.value.file == str(path)
    assert str(caught.value).isprintable()
    return caught.value


@pytest.mark.parametrize("suffix", ["csv", "parquet", "CSV"])
@pytest.mark.parametrize("block", [1, 3, 1 << 17])
def test_table_is_read_as_it_was_written(tmp_path, monkeypatch, suffix, block):
    monkeypatch.setattr(tables, "_BLOCK_ROWS", block)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 32 * block)
    path = tmp_path / f"table.{suffix}"
    write(tmp_path / f"table.{suffix.lower()}", GOOD).rename(path)
    found = tables.read(path, COLUMNS)
    assert {name: values.tolist() for name, values in found.columns.items()} == GOOD
    assert [values.dtype for values in found.columns.values()] == [np.float64, np.uint32]
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()


@given(ROWS)
def test_any_table_comes_back_from_both_forms(tmp_path_factory, rows):
    time_s, phone = zip(*sorted(rows), strict=True)
    folder = tmp_path_factory.mktemp("tables")
    for name in ("a.csv", "a.parquet"):
        # Columns stand in any order.
        path = write(folder / name, {"phone": phone, "time_s": time_s})
        columns = tables.read(path, COLUMNS).columns
        assert columns["time_s"].tolist() == list(time_s)
        assert columns["phone"].tolist() == list(phone)


@given(
    ROWS,
    st.integers(0, 59),
    st.sampled_from(
        [("phone", 10.0), ("phone", 0.5), ("phone", math.nan), ("time_s", -1.0), ("time_s", 61.0)]
    ),
)
def test_the_first_wrong_row_is_named_wherever_it_is(tmp_path_factory, rows, place, mistake):
    time_s, phone = zip(*sorted(rows), strict=True)
    place %= len(rows)
    columns = {"time_s": [*time_s, 99.0], "phone": [*map(float, phone), 99.0]}
    name, value = mistake
    columns[name][place] = value
    folder = tmp_path_factory.mktemp("tables")
    for file, first_row in (("a.csv", 2), ("a.parquet", 1)):
        error = refused(write(folder / file, columns))
        assert error.key_path == f"row {first_row + place}"
        assert error.reason.startswith(f"{name} is ")


# Text of a CSV, where it is wrong, a part of the reason, and the suggestion.
MISTAKES = {
    "no bytes": ("", "", "has no rows", None),
    "a header alone": ("time_s,phone", "", "has no rows", None),
    "a header and a break": ("time_s,phone\n", "", "has no rows", None),
    "another name": ("time,phone\n1,2\n", "row 1", "unknown column 'time'; it takes", "time_s"),
    "one more": ("time_s,phone,x\n1,2,3\n", "row 1", "unknown column 'x'", None),
    "one less": ("time_s\n1\n", "row 1", "has no column phone", None),
    "one twice": ("time_s,phone,phone\n1,2,2\n", "row 1", "has several columns phone", None),
    "a word": ("time_s,phone\n1,2\n1,x\n", "row 3", "phone is 'x', no number", None),
    "other bytes": ("time_s,phone\n1,\udcff\n", "row 2", "is not UTF-8 text", None),
    "a short row": ("time_s,phone\n1,2\n3\n", "row 3", "has 1 values, not 2", None),
    "a blank row": ("time_s,phone\n1,2\n\n1,2\n", "row 3", "is blank, and rows follow", None),
    "no phone": ("time_s,phone\n1,2\n1,\n", "row 3", "phone is empty or no number", None),
    "nan": ("time_s,phone\nnan,2\n", "row 2", "time_s is empty or no number", None),
    "infinite": ("time_s,phone\ninf,2\n", "row 2", "time_s is inf; the run is from", None),
    "negative": ("time_s,phone\n-1,2\n", "row 2", "time_s is -1; the run is from 0 to 60", None),
    "back": ("time_s,phone\n1,2\n0.5,2\n", "row 3", "is 0.5, less than 1 in the row before", None),
    "unknown": ("time_s,phone\n1,10\n", "row 2", "phone is 10; phones are numbered", None),
    "half": ("time_s,phone\n1,1.5\n", "row 2", "phone is 1.5, which is not whole", None),
    "no CSV": ("\x89PNG\r\n\x1a\n,\n,,", "row 1", "unknown column '\\x89PNG'", None),
    "one long line": ("time_s,phone\n" + "1" * (1 << 23), "row 2", "is longer than", None),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(tmp_path, mistake):
    text, place, reason, suggestion = mistake
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(errors="surrogateescape"))
    error = refused(path)
    assert error.key_path == place
    assert reason in error.reason
    assert error.suggestion == suggestion


def test_rows_are_counted_through_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    path = tmp_path / "table.csv"
    rows = ["1,2"] * 1000
    for wrong in ("1,x", "1,10", "", "0,2", "7"):
        rows[776] = wrong
        path.write_text("\n".join(["time_s,phone", *rows]))
        assert refused(path).key_path == "row 778"


@pytest.mark.parametrize("block", [1, 2, 3])
def test_order_is_looked_at_across_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(tables, "_BLOCK_ROWS", block)
    path = write(tmp_path / "table.parquet", {"time_s": [1.0, 5.0, 5.0, 4.0], "phone": [1] * 4})
    assert refused(path).key_path == "row 4"
    assert "is 4, less than 5 in the row before" in refused(path).reason


def test_a_mark_of_byte_order_and_other_line_breaks_are_read_over(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"\xef\xbb\xbfphone,time_s\r\n2, 1\r\n3,1e1\r\n")
    assert tables.read(path, COLUMNS).columns["time_s"].tolist() == [1.0, 10.0]


@pytest.mark.parametrize(
    ("columns", "place", "reason"),
    [
        ({"time_s": [1.0, None], "phone": [1, 2]}, "row 2", "time_s is empty or no number"),
        ({"time_s": [1.0, 2.0], "phone": [1, 2**62]}, "row 2", "phone is 4.6"),
        ({"time_s": ["1"], "phone": [1]}, "", "column time_s has values of type string"),
        ({"time_s": [True], "phone": [1]}, "", "column time_s has values of type bool"),
        ({"times": [1.0], "phone": [1]}, "", "unknown column 'times'"),
        ({"time_s": np.empty(0), "phone": np.empty(0, np.int32)}, "", "has no rows"),
    ],
)
def test_mistakes_in_parquet_are_named(tmp_path, columns, place, reason):
    error = refused(write(tmp_path / "table.parquet", columns))
    assert error.key_path == place
    assert reason in error.reason


LINES = Lines((3, 4), "a line is a time, two names and perhaps more")
OF_LINES = [Column("t", 0, 99, "times are from 0 to 99"), Names("one"), Names("other")]
TEXTS = st.text(st.characters(exclude_characters='\0\t\n\r"', codec="utf-8"), min_size=1)


def lines(path, text):
    path.write_bytes(text.encode(errors="surrogateescape"))
    return tables.read(path, OF_LINES, LINES).columns


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1))
@pytest.mark.parametrize("more", ["", "\tmore"])
def test_names_are_numbered_in_their_order(tmp_path_factory, more, pairs):
    path = tmp_path_factory.mktemp("tables") / "lines.dat"
    text = "".join(
        f"{number % 99}\t{one}\t{other}{more}\n" for number, (one, other) in enumerate(pairs)
    )
    found = lines(path, text)
    names = {name for pair in pairs for name in pair}
    decimal = all(name.isascii() and name.isdecimal() for name in names)
    order = sorted(names, key=int if decimal else str)
    for column, side in (("one", 0), ("other", 1)):
        assert [order[place] for place in found[column]] == [pair[side] for pair in pairs]
        assert found[column].dtype == np.uint32
    assert found["t"].tolist() == [number % 99 for number in range(len(pairs))]


def test_names_that_are_numbers_are_in_order_of_these(tmp_path):
    found = lines(tmp_path / "lines.dat", "1 10 9\n2 9 100\n")
    assert (found["one"].tolist(), found["other"].tolist()) == ([1, 0], [0, 2])
    found = lines(tmp_path / "lines.dat", "1 10 9\n2 9 x\n")
    assert (found["one"].tolist(), found["other"].tolist()) == ([0, 1], [1, 2])


@pytest.mark.parametrize("block", [16, 1 << 22])
def test_names_are_numbered_through_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", block)
    rows = [(number % 90, number % 7, number % 5) for number in range(200)]
    found = lines(tmp_path / "lines.dat", "".join("{} {} {}\n".format(*row) for row in rows))
    assert list(zip(*(found[name].tolist() for name in ("t", "one", "other")), strict=True)) == rows


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("", "", "has no rows"),
        ("1 2\n", "row 1", "has 2 values; a line is a time, two names and perhaps more"),
        ("1 2 3 4 5\n", "row 1", "has 5 values; a line is"),
        ("1 2 3\n1 2 3 4\n", "row 2", "has 4 values, not 3"),
        ("1 2 3\n1  3\n", "row 2", "one is empty"),
        ("1\t2\t3\n1\t2\t\n", "row 2", "other is empty"),
        ("1 2 3\nx 2 3\n", "row 2", "t is 'x', no number"),
        ("1 2 3\n100 2 3\n", "row 2", "t is 100; times are from 0 to 99"),
        ("1 2 3\n1 \udcff 3\n", "row 2", "is not UTF-8 text"),
        ("1" * (1 << 23), "row 1", "is longer than"),
    ],
)
def test_mistakes_in_lines_are_named(tmp_path, text, place, reason):
    with pytest.raises(ScenarioError) as caught:
        lines(tmp_path / "lines.dat", text)
    assert caught.value.key_path == place
    assert reason in caught.value.reason


def test_a_table_refuses_what_its_reader_does_and_quotes_the_row(tmp_path):
    table = tables.read(write(tmp_path / "table.csv", GOOD), COLUMNS)
    table.refuse(np.array([False] * 3), "nothing is wrong")
    with pytest.raises(ScenarioError) as caught:
        table.refuse(np.array([False, True, True]), "{phone} is there at {time_s:g}")
    assert (caught.value.key_path, caught.value.reason) == ("row 3", "0 is there at 1.5")


def test_a_parquet_file_that_is_cut_or_damaged_is_refused(tmp_path):
    path = write(tmp_path / "table.parquet", {"time_s": np.arange(50), "phone": [1] * 50})
    whole = path.read_bytes()
    for kept in (b"", whole[:4], whole[: len(whole) // 2], whole[:-9], b"time_s,phone\n1,2\n"):
        path.write_bytes(kept)
        assert "is not Parquet" in refused(path).reason


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_more_rows_than_memory_holds_are_refused(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(tables, "ROWS_MAX", 2)
    assert "more than 2 rows" in refused(write(tmp_path / f"table.{suffix}", GOOD)).reason


def test_non_tables_are_refused(tmp_path):
    assert (
        refused(tmp_path / "a.xlsx").reason
        == "its name ends in none of .csv, .csv.gz, .parquet; save it as CSV"
    )
    assert refused(tmp_path / "a.csv").reason == "no such file"
    (tmp_path / "b.csv").mkdir()
    assert refused(tmp_path / "b.csv").reason == "is a directory"
