"""What `pocketsim import` writes is what scenarios take: each kind of output, each dialect.

A small source is imported, the scenario that names the output is checked, and its run does as the
source says. Expected rows are written by hand, in numbers of phones and in seconds from the origin.
"""

import json
import shutil

import pytest

import pocketsim as ps
from pocketsim.api.documents import catalog
from pocketsim.sim.run import runner
from pocketsim.sim.trace import read
from support import engine_plans as plans
from support.ipv8_blocks import blocks

pytestmark = pytest.mark.engine

MEET = [(0, 1, 0, 40), (1, 2, 20, 60)]
CONTACTS = {
    "tij of SocioPatterns, with groups": (
        "tij",
        "1000 7 80 A B\n1020 80 7 B A\n1020 300 80 A B\n1040 80 300 A B\n",
        {},
    ),
    "tij with a header, commas, comments and a window": (
        "tij",
        "# of a school\nt,i,j\n\n1040,7,80\n1060,80,300\n",
        {"window_s": 40},
    ),
    "tij in ms, its columns in another order": (
        "tij",
        "i\tj\tt\r\n7\t80\t40000\r\n300\t80\t60000\r\n",
        {"window_s": 40, "time_unit": "ms"},
    ),
    "The ONE, with a connection that is open at the end": (
        "one",
        "100 CONN n7 n80 up\n120 CONN p300 n80 up\n140 CONN 80 7 down\n160 DE M1 7 80\n",
        {},
    ),
    "The ONE, with names of interfaces": (
        "one",
        (
            "100\tCONN\t7\t80\tup\tbt0\n120 CONN 80 300 UP bt0\n140 CONN 7 80 down bt0\n"
            "160 CONN 80 300 down bt0\n"
        ),
        {},
    ),
    "Haggle": ("haggle", "7\t80\t100\t140\t1\t0\n80\t300\t120\t160\t1\t0\n", {}),
    "CRAWDAD, with a header": (
        "crawdad",
        "id1,id2,start,end\n80,7,100.0,140.0\n80,300,120.0,160.0\n",
        {},
    ),
}
FTA_HEAD = (
    "# event_id\tcomponent_id\tnode_id\tplatform_id\tnode_name\tevent_type\tevent_start_time"
    "\tevent_stop_time\tevent_end_reason\n"
)
PRESENT = [(0, 0, 30), (1, 10, 50), (1, 70, 90)]
CHURN = {
    "FTA, with a comment that names the columns": (
        "fta",
        (
            f"{FTA_HEAD}0\t0\t4\t1\tn4\t1\t1000\t1030\tNULL\n1\t0\t4\t1\tn4\t0\t1030\t1090\tNULL\n"
            "2\t0\t17\t1\tn17\t1\t1010\t1050\t0\n3\t0\t17\t1\tn17\t1\t1070\t1090\t0\n"
        ),
        {},
    ),
    "FTA without, of two components, the last without a stop": (
        "fta",
        (
            "0\t0\t4\t1\t\t1\t1000\t1020\n1\t1\t4\t1\t\t1\t1010\t1030\n2\t0\t17\t1\t\t1\t1010\t1050\n"
            "3\t0\t17\t1\t\t1\t1070\tNULL\n4\t0\t4\t1\t\t0\t1030\t1090\n"
        ),
        {},
    ),
}
BOTH_WAYS = {(0, 1), (1, 0), (1, 2), (2, 1)}
RING = {(0, 1), (1, 2), (2, 0)}
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
PARTNERS = {
    "SNAP, undirected": ("snap", "# Undirected graph: x.txt\n# From\tTo\n4\t7\n7\t30\n", BOTH_WAYS),
    "SNAP, directed": ("snap", "# Directed graph (each pair once)\n4\t7\n7\t30\n30\t4\n", RING),
    "Pajek, edges": (
        "pajek",
        '*Vertices 30\n4 "a b" 0.1 0.2\n*Edges\n4 7 1.5\n30 7\n',
        BOTH_WAYS,
    ),
    "Pajek, arcs": ("pajek", "% c\n*Vertices 30\r\n*Arcs :1\r\n4 7\r\n7 30\r\n30 4\r\n", RING),
    "GML of igraph": (
        "gml",
        (
            'Creator "igraph"\nVersion 1\ngraph\n[\n  directed 0\n  node\n  [\n    id 4\n  ]\n'
            "  node [ id 7 ]\n  node [ id 30 ]\n  edge [ source 4 target 7 weight 2 ]\n"
            "  edge [ source 7 target 30 ]\n]\n"
        ),
        BOTH_WAYS,
    ),
    "GML, directed": (
        "gml",
        (
            'graph [ directed 1 node [ id 4 label "x" ] node [ id 7 label "x" ] node [ id 30 ]\n'
            "edge [ source 4 target 7 ] edge [ source 7 target 30 ] edge [ source 30 target 4 ] ]\n"
        ),
        RING,
    ),
    "GraphML of graph-tool": (
        "graphml",
        (
            f'{XML}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
            '<key id="key0" for="node" attr.name="pos" attr.type="vector_float" />\n'
            '<graph id="G" edgedefault="undirected" parse.nodeids="canonical">\n'
            '<node id="n4"><data key="key0">0.5, 1</data></node><node id="n7"/><node id="n8"/>\n'
            '<edge id="e0" source="n4" target="n7"/><edge id="e1" source="n7" target="n8"/>\n'
            "</graph></graphml>"
        ),
        BOTH_WAYS,
    ),
    "GraphML of Gephi": (
        "graphml",
        (
            f'{XML}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
            '<key attr.name="label" attr.type="string" for="node" id="label"/>\n'
            '<key attr.name="Edge Label" attr.type="string" for="edge" id="edgelabel"/>\n'
            '<key attr.name="r" attr.type="int" for="node" id="r"/>\n'
            '<graph edgedefault="directed"><node id="4.0"><data key="r">n/a</data></node>\n'
            '<node id="7.0"/><node id="8.0"/><edge id="0" source="4.0" target="7.0"/>\n'
            '<edge source="7.0" target="8.0"/><edge source="8.0" target="4.0"/></graph></graphml>'
        ),
        RING,
    ),
    "GEXF of Gephi": (
        "gexf",
        (
            f'{XML}<gexf xmlns="http://gexf.net/1.3" version="1.3"><graph>'
            '<nodes><node id="4" label="x"/><node id="7"/><node id="8"/></nodes><edges>'
            '<edge id="0" source="4" target="7"/><edge id="1" source="8" target="7"/></edges>'
            "</graph></gexf>"
        ),
        BOTH_WAYS,
    ),
    "node-link JSON of networkx": (
        "node-link",
        (
            '{"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": 4, "x": [1]}, '
            '{"id": 7}, {"id": 30}], "links": [{"source": 4, "target": 7}, '
            '{"source": 7, "target": 30}, {"source": 30, "target": 4}]}'
        ),
        RING,
    ),
}
PAID = [(0, 0, 1, 250), (30, 1, 0, 99)]
MAPPING = {"payer": "von", "payee": "an", "time": "Zeit", "amount": "Betrag"}
PAYMENTS = {
    "commas, seconds, cents": (
        "an,von,Zeit,Betrag\nbo,al,1000,250\nal,bo,1030,99\n",
        {"columns_by_role": MAPPING},
    ),
    "semicolons, ISO times, euros, quotes": (
        (
            'Zeit;von;an;"Betrag";Notiz\n2024-05-01T12:00:00+02:00;al;bo;2.50;"x;y"\n'
            "2024-05-01T12:00:30+02:00;bo;al;0.99;\n"
        ),
        {"columns_by_role": MAPPING, "time_unit": "iso", "amount_unit": "EUR"},
    ),
    "tabs, ms": (
        "von\tan\tZeit\tBetrag\r\nal\tbo\t5000\t250\r\nbo\tal\t35000\t99\r\n",
        {"columns_by_role": MAPPING, "time_unit": "ms"},
    ),
}


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(catalog.PACKAGE / "scenarios/own_data", tmp_path / "own_data")


def imported(folder, form, content, **options):
    source = folder / "source.dat"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    return ps.import_data(form, source, folder / "made", **options)


def run(path, *overrides):
    """Return the trace of the run of a scenario, which is checked first."""
    (directory,) = runner.run(path, overrides, path.parent / "runs")
    return plans.from_table(read(directory / "events.parquet"))


def rows(trace, kind):
    found = trace.of(kind)
    return sorted(zip(found.time_s.tolist(), found.node.tolist(), found.peer.tolist(), strict=True))


@pytest.mark.parametrize("dialect", CONTACTS)
def test_imported_contacts_are_when_phones_reach_each_other(folder, dialect):
    form, content, options = CONTACTS[dialect]
    made = imported(folder, form, content, **options)
    trace = run(
        folder / "contacts_file.toml",
        *(f"contacts.file={made.files['contacts']}", "contacts.format=columns"),
        *("devices[0].count=3", "run.duration=80s", "outages[0].end=80s", "run.repetitions=1"),
        "workload.rate=4/s",
    )
    reached = rows(trace, "process")
    windows = {frozenset(row[:2]): row[2:] for row in MEET}
    by_pair = {pair: [] for pair in windows}
    for time_s, *pair in reached:
        by_pair[frozenset(pair)].append(time_s)
    for pair, (begin_s, end_s) in windows.items():
        # Set-up of a link takes up to 3 s, and there are some trades a second.
        assert begin_s <= min(by_pair[pair]) < begin_s + 8
        assert end_s - 5 < max(by_pair[pair]) <= end_s


@pytest.mark.parametrize("dialect", CHURN)
def test_imported_churn_is_when_phones_are_on(folder, dialect):
    form, content, options = CHURN[dialect]
    made = imported(folder, form, content, **options)
    file = f"churn.file={made.files['churn']}"
    trace = run(folder / "churn_file.toml", file, "devices[0].count=3", "run.duration=2min")
    for kind, place in (("phone_on", 1), ("phone_off", 2)):
        turned = trace.of(kind)
        found = zip(turned.node.tolist(), turned.time_s.tolist(), strict=True)
        told = {(row[0], row[place]) for row in PRESENT if row[place] > 0}
        assert {turn for turn in found if turn[1] > 0} == told
    assert 2 not in trace.of("phone_off").node


@pytest.mark.parametrize("dialect", PARTNERS)
def test_imported_graphs_are_whom_phones_propose_to(folder, dialect):
    form, content, edges = PARTNERS[dialect]
    made = imported(folder, form, content)
    trace = run(
        folder / "own_partners.toml",
        f"workload.partners.graph={made.files['partners']}",
        *("devices[0].count=3", "workload.rate=2/s", "run.duration=20s"),
    )
    assert {row[1:] for row in rows(trace, "send")} == edges


@pytest.mark.parametrize("dialect", PAYMENTS)
def test_imported_payments_are_what_is_asked_for(folder, dialect):
    content, options = PAYMENTS[dialect]
    made = imported(folder, "payments", content, **options)
    # Two who pay, a shop that nobody pays, and the authority.
    counts = [f"devices[{group}].count={count}" for group, count in enumerate((2, 1, 1))]
    trace = run(
        folder / "own_payments.toml",
        f"workload.file={made.files['payments']}",
        *("run.repetitions=1", "run.duration=5min", "outages=[]", *counts),
    )
    asked = sorted(rows(trace, "send") + rows(trace, "unpayable"))
    assert asked == [row[:3] for row in PAID]
    lines = made.files["payments"].read_text().splitlines()[1:]
    assert [int(line.split(",")[3]) for line in lines] == [row[3] for row in PAID]


TRADES = {
    "messages of The ONE": ("one", b"50 C M1 n7 n80 100\n52.5 C M2 80 7 1k 50\n", {}),
    "a CSV with payloads": (
        "payments",
        b"who,whom,at,size\nal,bo,3,100\nbo,al,5.5,1000\n",
        {"columns_by_role": {"payer": "who", "payee": "whom", "time": "at", "payload": "size"}},
    ),
}


@pytest.mark.parametrize("dialect", TRADES)
def test_imported_trades_are_what_is_proposed(folder, dialect):
    form, content, options = TRADES[dialect]
    check_trades(folder, imported(folder, form, content, **options), [100, 1000])


def test_imported_proposals_of_ipv8_are_what_is_proposed(folder):
    told = ("a", 1, "b", 0, 5000), ("b", 1, "a", 1, 5100), ("b", 2, "a", 0, 7500)
    check_trades(folder, imported(folder, "ipv8", blocks(folder / "db", *told)), [50, 50])


def check_trades(folder, made, payloads_bytes):
    trace = run(
        folder / "own_trades.toml",
        f"workload.file={made.files['trades']}",
        *("devices[0].count=2", "transport.mode=udp", "run.duration=20s"),
    )
    sent = rows(trace, "send")  # once the block is signed
    assert [row[1:] for row in sent] == [(0, 1), (1, 0)]
    assert [row[0] for row in sent] == pytest.approx([0, 2.5], abs=0.05)
    lines = made.files["trades"].read_text().splitlines()[1:]
    assert [int(line.split(",")[3]) for line in lines] == payloads_bytes


def test_the_command_imports_checks_and_runs(cli, folder):
    (folder / "source.dat").write_text(CONTACTS["Haggle"][1])
    made = cli("import", "haggle", folder / "source.dat", "-o", folder / "made", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["phones"] == 3
    text = (folder / "contacts_file.toml").read_text().replace("count = 6", "count = 3")
    text = text.replace("contacts.dat", "made/contacts.csv").replace('"tij"', '"columns"')
    (folder / "mine.toml").write_text(text)
    for command in ("check", "run"):
        done = cli(command, folder / "mine.toml")
        assert done.returncode == 0, done.stderr


def test_a_log_of_the_one_is_no_tij_and_the_command_says_what_reads_it(cli, tmp_path):
    log = "0 C M1 1 2 500\n" + CONTACTS["The ONE, with a connection that is open at the end"][1]
    for content in (log, log.partition("\n")[2]):
        (tmp_path / "log.txt").write_text(content)
        refused = cli("import", "tij", "log.txt", "-o", "made")
        assert refused.returncode == 2
        assert "log.txt: row 1: " in refused.stderr
        assert "pocketsim import one" in refused.stderr
        assert not (tmp_path / "made").exists()
