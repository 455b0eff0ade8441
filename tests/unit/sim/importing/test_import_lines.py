"""Lines of values: what is read is what a plain reader reads, in blocks of any size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.importing import lines
from pocketsim.sim.importing.lines import Form, Head

FORM = Form(2, 4, "a line has 2 to 4", b" \t,")
VALUES = st.lists(st.text("ab1.é", min_size=1, max_size=6), min_size=2, max_size=4)
LINES = st.lists(
    st.one_of(
        st.tuples(VALUES, st.sampled_from([" ", "\t", "  ", ", "])).map(
            lambda it: it[1].join(it[0])
        ),
        st.sampled_from(["", "# a comment", "%", " ", " \t "]),
    ),
    min_size=1,
)


def found(path, form=FORM):
    """Return the number and the values of each line, and what stands before the first."""
    head, rows = Head([], []), []
    for block in lines.blocks(path, form, head):
        columns = [column.to_pylist() for column in block.values]
        for row, width, *values in zip(
            block.row.tolist(), block.width.tolist(), *columns, strict=True
        ):
            assert values[width:] == [""] * (len(values) - width)
            rows.append((row, values[:width]))
    return rows, head


def plain(text):
    """Return the same by a reader of one line after the other."""
    parted = [(row, line.replace(",", " ").split()) for row, line in enumerate(text.split("\n"), 1)]
    return [(row, words) for row, words in parted if words and words[0][0] not in "#%"]


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from([64, 1 << 24]))
def test_lines_are_those_of_a_plain_reader(tmp_path_factory, told, line_break, is_ended, size):
    path = tmp_path_factory.mktemp("lines") / "source"
    path.write_bytes((line_break.join(told) + line_break * is_ended).encode())
    expected = plain("\n".join(told))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK_BYTES", size)
        if expected:
            assert found(path)[0] == expected
        else:
            with pytest.raises(ScenarioError, match="has no rows"):
                found(path)


@pytest.mark.parametrize("wrong", ["1", "1 2 3 4 5", "1 2 \xff"])
@pytest.mark.parametrize("other", ["1 2", "1 2 3"])
def test_a_wrong_row_of_a_later_block_is_named(tmp_path, monkeypatch, wrong, other):
    monkeypatch.setattr(lines, "_BLOCK_BYTES", 64)
    path = tmp_path / "source"
    told = ["1 2", other, "# none", ""] * 200
    told[776] = wrong
    path.write_bytes("\n".join(told).encode("latin-1"))
    with pytest.raises(ScenarioError) as caught:
        found(path)
    assert caught.value.key_path == "row 777"


def test_a_line_without_end_is_refused_before_all_of_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "_BLOCK_BYTES", 1 << 20)
    path = tmp_path / "source"
    path.write_bytes(b"1 2\n" + b"3" * (5 << 20) + b" 4\n")
    with pytest.raises(ScenarioError, match="row 2: is longer than 1,048,576 bytes"):
        found(path)


def test_comments_before_the_first_line_are_kept_and_all_counted(tmp_path):
    path = tmp_path / "source"
    path.write_bytes(b"# Directed graph\n\n1 2\n# later\n3 4\n")
    rows, head = found(path)
    assert rows == [(3, ["1", "2"]), (5, ["3", "4"])]
    assert head.comments == ["# Directed graph", ""]
    assert head.left_out == 3
