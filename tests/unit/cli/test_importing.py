"""Files of others, imported: rows, ids and times as in the source, and what is refused."""

import csv
import gzip
import hashlib
import json
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pocketsim as ps
from pocketsim.api.documents.import_data import FORMATS
from pocketsim.cli.documents import import_
from pocketsim.sim.base import graphs
from pocketsim.sim.base.errors import ScenarioError
from support.ipv8_blocks import KEYS, blocks


def imported(tmp_path, form, content, **options):
    source = tmp_path / "source.txt"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    return ps.import_data(form, source, tmp_path / "out", **options)


def rows(made, kind):
    """Return the rows of a table, with the ids of the source in the place of numbers."""
    ids = {row["number"]: row["id"] for row in table(made.folder / "phones.csv")}
    return [
        tuple(ids[value] if name in WHOSE else float(value) for name, value in row.items())
        for row in table(made.files[kind])
    ]


def table(path):
    with path.open() as file:
        if path.suffix == ".edgelist":
            return list(csv.DictReader(file, ("from", "to"), delimiter=" "))
        return list(csv.DictReader(file))


WHOSE = {"phone", "phone_a", "phone_b", "from", "to"}


def test_connections_of_the_one_are_contacts_and_messages_trades(tmp_path):
    made = imported(
        tmp_path,
        "one",
        "# a comment\n\n100 CONN n1 p12 up\n104 C M1 n1 12 10k\n110.5\tCONN 12 1 DOWN\n"
        "  112  CONN 1 3 up radio\n113 DE M1 1 12\n114 C M2 3 1 2 500\n120 CONN 9 8 down\n",
    )
    assert rows(made, "contacts") == [("1", "12", 0, 10.5), ("1", "3", 12, 20)]
    assert rows(made, "trades") == [(4, "1", "12", 10000), (14, "3", "1", 4)]
    assert made.note["origin"] == 100
    assert made.note["rows_read"] == 7
    dropped = made.note["rows_dropped"]
    assert {reason.partition(":")[0]: count for reason, count in dropped.items()} == {
        "DE": 1,
        "down of a connection that is not up": 1,
    }


def test_a_connection_that_comes_up_twice_begins_once(tmp_path):
    made = imported(tmp_path, "one", "0 CONN 1 2 up\n1 CONN 2 1 up\n5 CONN 1 2 down\n")
    assert rows(made, "contacts") == [("1", "2", 0, 5)]
    assert made.note["rows_dropped"] == {"up of a connection that is up": 1}


def test_a_list_of_contacts_keeps_ids_and_times(tmp_path):
    made = imported(
        tmp_path, "haggle", "10  2  1000 1010 1 0\n2\t10\t1005\t1020 2 0\n3,2,1030,1030,1,0\n"
    )
    assert rows(made, "contacts") == [("2", "10", 0, 20)]
    assert made.note["rows_dropped"] == {"ends when it begins": 1}
    assert made.note["phones"] == 2


def test_a_contact_at_once_lasts_a_window_if_that_is_said(tmp_path):
    made = imported(tmp_path, "crawdad", "id1 id2 start end\n1 2 5 5\n", window_s=120)
    assert rows(made, "contacts") == [("1", "2", 0, 120)]


def test_lines_of_tij_are_intervals_of_their_window(tmp_path):
    lines = "t\ti\tj\tCi\tCj\n40 1 9 A B\n60 9 1 B A\n120 10 9 A B\n"
    made = imported(tmp_path, "tij", gzip.compress(lines.encode()))
    assert rows(made, "contacts") == [("1", "9", 0, 40), ("9", "10", 80, 100)]
    assert made.note["origin"] == 20
    again = imported(tmp_path, "tij", lines, window_s=10, time_unit="s", force=True)
    assert rows(again, "contacts") == [("1", "9", 0, 10), ("1", "9", 20, 30), ("9", "10", 80, 90)]


def test_a_header_says_in_which_order_t_i_and_j_stand(tmp_path):
    made = imported(tmp_path, "tij", "i,j,t\n5,6,20\n")
    assert rows(made, "contacts") == [("5", "6", 0, 20)]


def test_contacts_are_cut_at_the_origin(tmp_path):
    lines = "1 2 1000 2000\n1 2 3000 5000\n"
    made = imported(tmp_path, "haggle", lines, time_unit="ms", origin="4000")
    assert rows(made, "contacts") == [("1", "2", 0, 1)]
    assert made.note["rows_dropped"] == {"over before the origin": 1}
    assert made.note["origin_s"] == 4


GRAPHS = {
    "snap": "# Undirected graph\n# FromNodeId\tToNodeId\n30\t4\n4\t30\n4\t5\n5\t5\n",
    "pajek": '*Vertices 30\n4 "x y"\n*Edges\n30 4 1.5\n4 30\n*Edgeslist\n4 5\n5 5\n',
    "gml": 'graph\n[\n node [ id 30 label "a" ] node [ id 4 label "a" ] node [ id 5 ]\n'
    " edge [ source 30 target 4 ] edge [ source 4 target 30 ] edge [ source 4 target 5 ]\n"
    " edge [ source 5 target 5 ]\n]\n",
    "graphml": '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="k" for="node" attr.name="pos" attr.type="vector_float"/>'
    '<graph edgedefault="undirected"><node id="30"><data key="k">0,1</data></node>'
    '<node id="4"/><node id="5"/><node id="alone"/><edge source="30" target="4"/>'
    '<edge source="4" target="30"/><edge source="4" target="5"/><edge source="5" target="5"/>'
    "</graph></graphml>",
}


@pytest.mark.parametrize("form", GRAPHS)
def test_a_graph_has_each_edge_once_between_phones_by_number(tmp_path, form):
    made = imported(tmp_path, form, GRAPHS[form])
    assert (made.folder / "phones.csv").read_text().split() == [
        '"number","id"',
        '0,"4"',
        '1,"5"',
        '2,"30"',
    ]
    graph = graphs.read(made.files["partners"], 3)
    found = graphs.joined(graph, [int(node) for node in graph.nodes])
    assert found.start.tolist() == [0, 2, 3, 4]
    assert found.node.tolist() == [1, 2, 0, 0]
    assert sum(made.note["rows_dropped"].values()) == 2


def test_an_edge_list_of_names_has_its_first_line_and_none_of_a_header(tmp_path):
    made = imported(tmp_path, "snap", "ann bob\nbob cem\n")
    assert rows(made, "partners") == [("ann", "bob"), ("bob", "cem")]
    again = imported(tmp_path, "snap", "id_1,id_2\n5,6\n", force=True)
    assert rows(again, "partners") == [("5", "6")]


def test_edges_of_a_directed_graph_lead_one_way(tmp_path):
    made = imported(tmp_path, "snap", "# Directed graph\n1 2\n2 3\n3 1\n1 3\n")
    graph = graphs.read(made.files["partners"], 3)
    found = graphs.joined(graph, [int(node) for node in graph.nodes])
    assert found.node.tolist() == [1, 2, 2, 0]


def test_a_node_that_no_edge_leads_from_is_named(tmp_path):
    lines = "*Vertices 2\n*Arcs\n1 2\n"
    with pytest.raises(ScenarioError, match=r"from node '2'.*--undirected"):
        imported(tmp_path, "pajek", lines)
    made = imported(tmp_path, "pajek", lines, undirected=True)
    assert made.files["partners"].read_text() == "0 1\n"


FTA = (
    "# event_id\tcomponent_id\tnode_id\tplatform_id\tnode_name\tevent_type\tevent_start_time"
    "\tevent_stop_time\tevent_end_reason\n"
    "0\t0\t7\t1\tnode seven\t1\t1000\t1010\tNULL\n1\t0\t7\t1\t\t0\t1010\t1020\t0\n"
    "2\t1\t7\t1\t\t1\t1005\t1015\t0\n3\t0\t12\t1\t\t1\t1005.5\tNULL\t0\n"
    "4\t0\t8\t1\t\t0\t1000\t1030\t0\n"
)


def test_a_node_is_on_while_it_is_available(tmp_path):
    made = imported(tmp_path, "fta", FTA)
    assert rows(made, "churn") == [("7", 0, 15), ("12", 5.5, 30)]
    assert made.note["rows_read"] == 5
    assert sum(made.note["rows_dropped"].values()) == 2


def test_nodes_of_several_platforms_are_told_apart(tmp_path):
    lines = FTA + "5\t0\t7\t2\t\t1\t1000\t1001\t0\n"
    made = imported(tmp_path, "fta", lines)
    assert {row[0] for row in rows(made, "churn")} == {"1/7", "1/12", "2/7"}


COLUMNS = {"payer": "from", "payee": "to", "amount": "value", "time": "ts"}


def test_payments_are_read_by_a_mapping_of_columns(tmp_path):
    lines = 'ts;from;note;to;value\n2500;x;"a;b";y;3\n1000;y;;z;4\n1200;z;;z;5\n1300;x;;z;0\n'
    made = imported(tmp_path, "payments", lines, columns_by_role=COLUMNS, time_unit="ms")
    assert rows(made, "payments") == [(0, "y", "z", 4), (1.5, "x", "y", 3)]
    assert made.note["rows_dropped"] == {"of nothing": 1, "to itself": 1}
    assert made.note["origin"] == 1000


def test_payments_are_read_as_spreadsheets_leave_them(tmp_path):
    lines = "\ufeffsep=;\r\nts;from;to;value;;\r\n0;x;y;3,50;;\r\n60;y;x;0,07;;\r\n;;;;;\r\n"
    for data in (lines.encode(), gzip.compress(lines.encode("utf-16"))):
        made = imported(
            tmp_path, "payments", data, columns_by_role=COLUMNS, amount_unit="EUR", force=True
        )
        assert rows(made, "payments") == [(0, "x", "y", 350), (60, "y", "x", 7)]


def test_times_may_be_iso_and_amounts_euros(tmp_path):
    lines = "from,to,value,ts\na,b,3.29,2024-05-01T12:00:00Z\na,b,0.57,2024-05-01T14:00:01+02:00\n"
    made = imported(
        tmp_path,
        "payments",
        lines,
        columns_by_role=COLUMNS,
        time_unit="iso",
        amount_unit="EUR",
    )
    assert rows(made, "payments") == [(0, "a", "b", 329), (1, "a", "b", 57)]
    assert made.note["origin_s"] == 1714564800


def test_rows_with_a_payload_are_trades(tmp_path):
    columns = {"payload": "size"}
    made = imported(
        tmp_path, "payments", "payer,payee,time,size\na,b,7,100\n", columns_by_role=columns
    )
    assert rows(made, "trades") == [(0, "a", "b", 100)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_each_proposal_of_ipv8_is_a_trade(tmp_path, pack):
    data = blocks(
        tmp_path / "db",
        ("a", 1, "b", 0, 5000),
        ("b", 1, "a", 1, 5100),  # agrees
        ("b", 2, "c", 0, 6500),  # nobody agrees
        ("c", 3, "a", 9, 7000),  # agrees to what is not there
        ("c", 4, "c", 0, 7100),  # with itself
    )
    made = imported(tmp_path, "ipv8", pack(data))
    keys = {name: key.hex() for name, key in KEYS.items()}
    assert rows(made, "trades") == [
        (0, keys["a"], keys["b"], 50),
        (1.5, keys["b"], keys["c"], 50),
        (2, keys["a"], keys["c"], 50),
    ]
    assert made.note["origin"] == 5000
    assert made.note["rows_read"] == 5


GARBAGE = [
    ("one", "0 CONN 1 2 up\n1 CONM 1 2 down\n", "row 2: 'CONM' is no event.*mean CONN"),
    ("one", "# c\n0 CONN 1 2 sideways\n", "row 2: is neither up nor down"),
    ("one", "0 CONN 1 b up\n", "row 1: 'b' is no host"),
    ("one", "0 C M 1 2 many\n", "row 1: 'many' is no size"),
    ("one", "x CONN 1 2 up\n", "row 1: time is 'x', no number"),
    ("haggle", "1 2 3 4\n\n1 2 3\n", "row 3: has 3 values"),
    ("haggle", "1 2 3 4\n1 2 9 8\n", "row 2: ends before it begins"),
    ("haggle", "1 2 3 nan\n", "row 1: end is not finite"),
    ("haggle", "1 2 3 4\n1 2 3 4 5 6 7\n", "row 2: has 7 values"),
    ("tij", "20 1 2\n40 1 \xff\n".encode("latin-1"), "row 2: is not UTF-8"),
    ("tij", "20 1 2\n4O 1 2\n", "row 2: t is '4O', no number"),
    ("tij", "0 CONN 1 2 up\n5 CONN 1 2 down\n", "row 1: is an event of The ONE"),
    ("tij", "# nothing\n", "has no rows"),
    ("tij", "20 1 1\n", "nothing of it is left: 1 near itself"),
    ("tij", gzip.compress(b"20 1 2\n" * 99, mtime=0)[:-9], "no whole gzip file"),
    ("snap", "1 2\n3\n", "row 2: has 1 values"),
    ("pajek", "*Vertices 2\n*Edges\n1 3\n", "row 3: '3' is no vertex"),
    ("pajek", "*Vertices 2\n*Matrix\n0 1\n", "row 2: .Matrix is not read"),
    ("gml", "graph [\n node [ id 0\n label 3 x ] ]", "row 3: is no GML"),
    ("graphml", "<graphml><graph>\n<node></graph></graphml>", "row 2: is no XML"),
    ("graphml", "<svg/>", "is no GraphML"),
    ("graphml", '<graphml><graph><edge source="a" target="b"/></graph></graphml>', "edge 1"),
    ("fta", FTA.replace("1005.5", "soon"), "row 5: event_start_time is 'soon'"),
    ("fta", FTA.replace("1000\t1010", "1010\t1000"), "row 2: stops before it starts"),
    ("fta", "1 2 3\n", "row 1: has 1 values"),
    ("payments", "payer,payee,time,amount\na,b,1,2\na,b,1,x\n", "row 3: amount is 'x'"),
    ("payments", "payer,payee,time,amount\na,b,1,\n", "row 2: has no amount"),
    ("payments", "payer,payee,time,amount\na,b,1,2,5\n", "row 2: has 5 values.*decimal commas"),
    ("payments", "payer,payee,time,amount\na,b,1,2.5\n", "row 2: amount is no whole number"),
    ("payments", "payer,payee,time,amount\na,b,1,-2\n", "row 2: amount is negative"),
    ("payments", "payer,payee,time,amount\n,b,1,2\n", "row 2: has no payer"),
    ("payments", "payer,paye,time,amount\n", "row 1: has no column 'payee'.*mean paye"),
    ("ipv8", "SQLite\n", "is no SQLite database"),
]


@pytest.mark.parametrize(("form", "content", "reason"), GARBAGE)
def test_garbage_is_refused_with_its_row_and_nothing_written(tmp_path, form, content, reason):
    with pytest.raises(ScenarioError, match=reason) as raised:
        imported(tmp_path, form, content)
    assert raised.value.file == str(tmp_path / "source.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["source.txt"]


def test_the_command_knows_every_format():
    assert list(get_args(import_.Format)) == list(FORMATS)


def test_options_of_another_format_are_refused(tmp_path):
    with pytest.raises(ScenarioError, match="--undirected: is not for tij"):
        imported(tmp_path, "tij", "20 1 2\n", undirected=True)
    with pytest.raises(ScenarioError, match=r"'tj' is not one of.*mean tij"):
        imported(tmp_path, "tj", "20 1 2\n")


def test_a_folder_is_made_again_by_force_alone_and_keeps_what_others_wrote(tmp_path):
    made = imported(tmp_path, "one", "0 CONN 1 2 up\n2 C M 1 2 9\n5 CONN 1 2 down\n")
    (made.folder / "mine.toml").write_text("mine")
    with pytest.raises(ScenarioError, match="--force"):
        imported(tmp_path, "tij", "20 1 2\n")
    imported(tmp_path, "tij", "20 1 2\n", force=True)
    names = {path.name for path in made.folder.iterdir()}
    assert names == {"contacts.csv", "import.json", "phones.csv", "mine.toml"}
    (made.folder / "import.json").unlink()
    with pytest.raises(ScenarioError, match=r"has no import\.json"):
        imported(tmp_path, "tij", "20 1 2\n", force=True)


def test_the_note_tells_source_and_rows(tmp_path):
    made = imported(tmp_path, "tij", "20 1 2\n")
    note = json.loads((made.folder / "import.json").read_text())
    assert note == made.note
    assert note["source"] == "source.txt"
    assert note["sha256"] == hashlib.sha256(b"20 1 2\n").hexdigest()
    assert note["rows_written"] == {"contacts.csv": 1}


CONTACTS = st.dictionaries(
    st.tuples(st.integers(0, 6), st.integers(7, 12)),
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=4),
    min_size=1,
    max_size=8,
)


def apart(contacts):
    """Return contacts of pairs, in windows of 20 s, with a gap before each."""
    found = []
    for (one, other), lengths in contacts.items():
        now = 0
        for gap, length in lengths:
            found.append((str(one), str(other), 20.0 * (now + gap), 20.0 * (now + gap + length)))
            now += gap + length
    return sorted(found, key=lambda row: (row[2], int(row[0]), int(row[1])))


def as_one(contacts):
    events = [
        (time, f"{time} CONN {one} {other} {state}")
        for one, other, begin, end in contacts
        for time, state in ((begin, "up"), (end, "down"))
    ]
    return "\n".join(line for _, line in sorted(events))


def as_haggle(contacts):
    return "\n".join(f"{one} {other} {begin} {end}" for one, other, begin, end in contacts)


def as_tij(contacts):
    return "\n".join(
        f"{time} {one} {other}"
        for one, other, begin, end in contacts
        for time in range(int(begin) + 20, int(end) + 1, 20)
    )


@pytest.mark.parametrize(
    ("form", "write"), [("one", as_one), ("haggle", as_haggle), ("tij", as_tij)]
)
@settings(max_examples=40, deadline=None)
@given(contacts=CONTACTS)
def test_contacts_written_in_a_format_are_imported_as_they_were(
    tmp_path_factory, form, write, contacts
):
    told = apart(contacts)
    made = imported(tmp_path_factory.mktemp("contacts"), form, write(told), origin=0)
    assert rows(made, "contacts") == told
