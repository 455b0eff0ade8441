"""Tables as spreadsheets, editors and pandas leave them: read if they mean one thing, or named."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from pocketsim.sim.base import delimited, tables
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.tables import Column, Lines, Names

COLUMNS = [
    Column("time_s", 0, 60, "the run is from 0 to 60 s", is_sorted=True),
    Column("phone", 0, 9, "phones are numbered from 0 to 9", is_whole=True),
]
PEOPLE = [COLUMNS[0], Names("who")]
GOOD = {"time_s": [0.5, 1.25, 60.0], "phone": [9, 0, 3]}
ROWS = "0.5,9\n1.25,0\n60,3\n"
PLAIN = f"time_s,phone\n{ROWS}"

READ = {
    "a mark of byte order": b"\xef\xbb\xbf" + PLAIN.encode(),
    "UTF-16, little end first": b"\xff\xfe" + PLAIN.encode("utf-16-le"),
    "UTF-16, big end first": b"\xfe\xff" + PLAIN.encode("utf-16-be"),
    "line breaks of Windows": PLAIN.replace("\n", "\r\n"),
    "line breaks of old Macs": PLAIN.replace("\n", "\r"),
    "no break at the end": PLAIN.removesuffix("\n"),
    "semicolons": PLAIN.replace(",", ";"),
    "tabs": PLAIN.replace(",", "\t"),
    "semicolons and decimal commas": PLAIN.replace(",", ";").replace(".", ","),
    "tabs and decimal commas": PLAIN.replace(",", "\t").replace(".", ","),
    "semicolons, as Excel is told of them": "sep=;\r\n" + PLAIN.replace(",", ";"),
    "blank last lines": PLAIN + "\n\n \n",
    "last lines of separators": PLAIN + ",\n,\n",
    "blank first lines": "\n\n" + PLAIN,
    "comments": f"# by hand\n#, in May\ntime_s,phone\n# morning\n{ROWS}# end\n",
    "a header that numpy wrote": f"# time_s,phone\n{ROWS}",
    "an index of pandas": ",time_s,phone\n0,0.5,9\n1,1.25,0\n2,60,3\n",
    "an index of pandas, read and written again": (
        ",Unnamed: 0,time_s,phone\n0,,0.5,9\n1,,1.25,0\n2,,60,3\n"
    ),
    "an index of words": ",time_s,phone\na,0.5,9\nb,1.25,0\nc,60,3\n",
    "separators at the ends": PLAIN.replace("\n", ",\n"),
    "quotes": '"time_s","phone"\n"0.5","9"\n"1.25","0"\n"60","3"\n',
    "quotes and decimal commas": '"time_s";"phone"\n"0,5";"9"\n"1,25";"0"\n"60";"3"\n',
    "blanks beside separators": "time_s, phone\n0.5, 9\n1.25 ,0\n 60,3 \n",
    "gzip": gzip.compress(PLAIN.encode()),
}


def content(told):
    return told if isinstance(told, bytes) else told.encode()


@pytest.mark.parametrize("block", [80, 1 << 22])
@pytest.mark.parametrize("kind", READ)
def test_a_table_is_read_as_other_programs_leave_it(tmp_path, monkeypatch, kind, block):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", block)
    for name in ("table.csv", "table.csv.gz"):
        path = tmp_path / name
        path.write_bytes(content(READ[kind]))
        found = tables.read(path, COLUMNS).columns
        assert {name: values.tolist() for name, values in found.items()} == GOOD


REFUSED = {
    "a blank line between rows": ("time_s,phone\n1,2\n\n\n3,4\n", "row 3", "is blank, and rows"),
    "blank lines, then a comment and a row": (
        *("time_s,phone\n1,2\n,\n# c\n3,4\n", "row 3"),
        "is blank, and rows follow it",
    ),
    "decimal commas between commas": (
        *("time_s,phone\n1,2\n1,5,2\n", "row 3"),
        "has 3 values, not 2; decimal commas take `;` between values",
    ),
    "a quoted decimal comma between commas": (
        *('time_s,phone\n"1,5",2\n', "row 2"),
        "time_s is '1,5', no number; decimal commas take `;` between values",
    ),
    "points and commas": ("time_s;phone\n1.5;2\n2,5;2\n", "row 2", "time_s is '1.5', no number"),
    "separators of thousands": ("time_s;phone\n1.000,5;2\n", "row 2", "is '1.000,5', no number"),
    "a separator at the end of one row": (
        *("time_s,phone\n1,2\n2,2,\n", "row 3"),
        "has 3 values, not 2; it ends with ','",
    ),
    "a column that only rows have": (
        *("time_s,phone,\n1,2,\n2,2,x\n", "row 3"),
        "has a value in column 3, which the header does not name",
    ),
    "UTF-16 without a mark": (PLAIN.encode("utf-16-le"), "row 1", "is UTF-16 without a mark"),
    "half of UTF-16": (b"\xff\xfe" + PLAIN.encode("utf-16-le")[:-1], "", "is not UTF-16 text"),
    "text of Windows": ("time_s,phone\n1,2\n# caf\xe9\n".encode("cp1252"), "row 3", "not UTF-8"),
    "half of a gzip file": (gzip.compress(content(PLAIN))[:-9], "", "is no whole gzip file"),
    "comments alone": ("# time_s\n# phone\n", "", "has no rows"),
    "a row after comments": ("# a\ntime_s,phone\n# b\n1,2\n2,x\n", "row 5", "phone is 'x'"),
    "a value of later lines": ("\ntime_s,phone\n# b\n1,2\n# c\n2,12\n", "row 6", "phone is 12"),
}


@pytest.mark.parametrize("block", [80, 1 << 22])
@pytest.mark.parametrize("kind", REFUSED)
def test_ambiguous_cells_are_named_by_row(tmp_path, monkeypatch, kind, block):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", block)
    told, place, reason = REFUSED[kind]
    path = tmp_path / "table.csv"
    path.write_bytes(content(told))
    with pytest.raises(ScenarioError) as caught:
        tables.read(path, COLUMNS)
    assert (caught.value.file, caught.value.key_path) == (str(path), place)
    assert reason in caught.value.reason


def test_a_workbook_is_named_whatever_it_is_called(tmp_path):
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    for name, reason in (("t.csv", "is a workbook or an archive"), ("t.xlsx", "save it as CSV")):
        (tmp_path / name).write_bytes(book.getvalue())
        with pytest.raises(ScenarioError, match=reason):
            tables.read(tmp_path / name, COLUMNS)


def test_rows_keep_their_numbers_where_lines_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 64)
    path = tmp_path / "table.csv"
    lines = ["# head", "time_s,phone", *(["1,2", "# none", "1,2"] * 50)]
    path.write_text("\n".join(lines))
    table = tables.read(path, COLUMNS)
    held = [number for number, line in enumerate(lines, 1) if line == "1,2"]
    assert [table.row(place) for place in range(len(held))] == held
    with pytest.raises(ScenarioError, match=f"row {held[70]}: is wrong"):
        table.refuse(np.arange(len(held)) == 70, "is wrong")


def test_names_may_hold_commas_where_semicolons_part_them(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('time_s;who\n0,5;"Doe, J"\n1;Roe, R\n')
    found = tables.read(path, PEOPLE)
    assert found.names == ("Doe, J", "Roe, R")
    assert found.columns["time_s"].tolist() == [0.5, 1]


def test_lines_are_read_past_marks_comments_and_blank_ends(tmp_path):
    path = tmp_path / "contacts.dat"
    asked = [Column("t", 0, 99, "times"), Names("i"), Names("j")]
    for told in (b"\xef\xbb\xbf# c\r\n20\ta\tb\r\n\r\n", gzip.compress(b"% c\n20 a b\n")):
        path.write_bytes(told)
        found = tables.read(path, asked, Lines((3,), "a line is t i j"))
        assert (found.names, found.columns["t"].tolist()) == (("a", "b"), [20.0])


def test_dates_are_read_between_semicolons_and_behind_a_mark(tmp_path):
    path = tmp_path / "dates.csv"
    text = "time_s;phone\n2013-12-02T11:00:20Z;1\n2013-12-02T11:00:20.5Z;2\n\n"
    path.write_bytes(text.encode("utf-8-sig"))
    asked = [Column("time_s", 0, 2e9, "times", is_time=True), COLUMNS[1]]
    found = tables.read(path, asked)
    assert found.columns["time_s"].tolist() == [1385982020.0, 1385982020.5]
    assert found.is_dated
