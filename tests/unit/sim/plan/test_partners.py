"""Partners by a graph: what files say, what is drawn, and the plan and the run that come of it."""

import json
import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import pocketsim as ps
from pocketsim.sim.base import graphs
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan import plan as typed
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import runner
from pocketsim.sim.scenario import phone_ids
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import typed_sections

SMALL_WORLD = '{generator="watts_strogatz", neighbours=4, rewiring=0.2}'
SCALE_FREE = '{generator="barabasi_albert", neighbours=4}'
REGULAR = '{generator="random_regular", neighbours=3}'


def write_json(graph, path):
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))


def neighbours(path, phones):
    """Return the neighbours of each phone in the graph of a file, the only one of a scenario."""
    found = graphs.read(path, phones)
    ids = phone_ids.together({path: found.nodes}, dict, phones)
    return graphs.joined(found, phone_ids.numbers_of(found.nodes, ids))


def write_pairs(graph, path):
    path.write_text("".join(f"{one} {other} {{}}\n" for one, other in graph.edges()))


WRITERS = {
    ".graphml": nx.write_graphml_xml,
    ".gexf": nx.write_gexf,
    ".json": write_json,
    ".edgelist": write_pairs,
}


@pytest.fixture(scope="session")
def shipped(root):
    return root / "pocketsim/scenarios/own_data/own_partners.toml"


@pytest.fixture
def bring(shipped, tmp_path):
    """Return a function that writes a scenario and its graph, and loads it."""

    def loaded(graph, *overrides, name="mine.edgelist"):
        path = tmp_path / "own_partners.toml"
        path.write_text(shipped.read_text())
        (tmp_path / name).write_text(graph)
        return load(path, [f"workload.partners.graph={name}", *overrides])

    return loaded


def planned(document, repetition=0):
    rung = resolve(document)[0]
    return build_plan(rung.resolved, repetition, None, document.paths())


def drawn(shipped, partners, *overrides, repetition=0):
    settings = [f"workload.partners={partners}", "devices[0].count=60", "workload.rate=1/s"]
    return planned(load(shipped, [*settings, *overrides]), repetition)


@pytest.fixture
def to_any(shipped, tmp_path):
    """Return the plan of phones like those of `drawn` that propose to any."""
    path = tmp_path / "any.toml"
    path.write_text(shipped.read_text().replace("partners =", "# partners ="))
    return planned(load(path, ["devices[0].count=60", "workload.rate=1/s"]))


def pairs(plan):
    work = plan["workload"]
    return set(zip(work["from_phone"].tolist(), work["to_phone"].tolist(), strict=True))


def lists(found):
    return [found.node[a:b].tolist() for a, b in zip(found.start, found.start[1:], strict=False)]


@settings(max_examples=30)
@given(
    st.integers(2, 12),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11))),
    st.booleans(),
    st.sampled_from(sorted(WRITERS)),
)
def test_neighbours_are_those_of_the_file(tmp_path_factory, phones, edges, directed, suffix):
    made = nx.DiGraph() if directed and suffix != ".edgelist" else nx.Graph()
    made.add_edges_from((number, (number + 1) % phones) for number in range(phones))
    made.add_edges_from((one % phones, other % phones) for one, other in edges)
    path = tmp_path_factory.mktemp("graphs") / f"graph{suffix}"
    WRITERS[suffix](made, path)
    found = neighbours(path, phones)
    # An edge to oneself joins nobody.
    assert lists(found) == [sorted(set(made[one]) - {one}) for one in range(phones)]


def test_numbers_are_phones_and_other_names_are_sorted(tmp_path):
    path = tmp_path / "graph.edgelist"
    path.write_text("# who knows whom\n2 0\n\n0 1  # twice\n1 0\n")
    assert lists(neighbours(path, 3)) == [[1, 2], [0], [0]]
    path.write_text("3 1\n3 2\n")
    assert lists(neighbours(path, 3)) == [[2], [2], [0, 1]]


# Suffix, content, where it is wrong and a part of the reason.
MISTAKES = {
    "other suffix": ("mine.csv", "0 1\n", "", "its name ends in .graphml or .gexf or .json or"),
    "no bytes": ("mine.edgelist", "", "", "has 0 nodes; the scenario has 3 phones"),
    "too few": ("mine.edgelist", "0 1\n", "", "has 2 nodes; the scenario has 3 phones"),
    "too many": ("mine.edgelist", "0 1\n2 3\n", "", "has 4 nodes; the scenario has 3 phones"),
    "alone": ("mine.edgelist", "0 1\n2 2\n", "", "no edge joins node '2' to another"),
    "one word": ("mine.edgelist", "0 1\n\n2\n", "line 3", "has one word"),
    "other bytes": ("mine.edgelist", "0 \udcff\n", "", "not UTF-8 text (byte 2)"),
    "no XML": ("mine.graphml", "0 1\n", "", "is no graph of that form: ParseError"),
    "other XML": ("mine.gexf", "<svg/>", "", "is no GEXF: it has no graph"),
    "no JSON": ("mine.json", "{", "", "is no graph of that form: JSONDecodeError"),
    "other JSON": ("mine.json", "[1]", "", "is no graph of that form: "),
    "deep JSON": ("mine.json", "[" * 100_000, "", "is no graph of that form: RecursionError"),
    "leads nowhere": (
        "mine.json",
        json.dumps(nx.node_link_data(nx.DiGraph(["ab", "cb"]), edges="edges")),
        "",
        "no edge leads from node 'b' to another",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_a_graph_are_named(tmp_path, mistake):
    name, text, place, reason = mistake
    path = tmp_path / name
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ScenarioError) as caught:
        neighbours(path, 3)
    assert caught.value.file == str(path)
    assert caught.value.key_path == place
    assert reason in caught.value.reason
    assert str(caught.value).isprintable()


GRAPHML = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{}</graphml>'
NODES = "".join(f'<node id="{number}"/>' for number in range(3))
BOTH_WAYS, RING = [[1], [0, 2], [1]], [[1], [2], [0]]
AS_OTHERS_WRITE = {
    "a property of a type that nobody knows": (
        ".graphml",
        GRAPHML.format(
            '<key id="k" for="node" attr.name="pos" attr.type="vector_float"/>'
            f'<graph edgedefault="undirected">{NODES}<edge source="0" target="1">'
            '<data key="k">0, 1</data></edge><edge source="1" target="2"/></graph>'
        ),
        BOTH_WAYS,
    ),
    "a property that is not of its type": (
        ".graphml",
        GRAPHML.format(
            '<key id="k" for="edge" attr.name="weight" attr.type="int"/>'
            f'<graph edgedefault="undirected">{NODES}<edge source="0" target="1">'
            '<data key="k">n/a</data></edge><edge source="1" target="2"/></graph>'
        ),
        BOTH_WAYS,
    ),
    "edges that say themselves whether they are directed": (
        ".graphml",
        GRAPHML.format(
            f'<graph edgedefault="directed">{NODES}<edge source="0" target="1"/>'
            '<edge source="1" target="2" directed="false"/><edge source="1" target="0"/></graph>'
        ),
        BOTH_WAYS,
    ),
    "GEXF of a later version, with properties": (
        ".gexf",
        (
            '<gexf xmlns="http://gexf.net/1.9" version="1.9"><graph defaultedgetype="directed">'
            '<attributes class="node"><attribute id="0" title="x" type="bigdecimal"/></attributes>'
            '<nodes><node id="0"><attvalues><attvalue for="0" value="x"/></attvalues></node>'
            '<node id="1"/><node id="2"/></nodes><edges><edge source="0" target="1"/>'
            '<edge source="1" target="2"/><edge source="2" target="0"/></edges></graph></gexf>'
        ),
        RING,
    ),
    "pairs after a mark of byte order": (".edgelist", "\ufeff0 1\r\n1 2\r\n", BOTH_WAYS),
    "JSON after a mark of byte order": (
        ".json",
        "\ufeff" + json.dumps(nx.node_link_data(nx.path_graph(3), edges="edges")),
        BOTH_WAYS,
    ),
    "XML after a mark of byte order": (
        ".graphml",
        "\ufeff"
        + GRAPHML.format(
            f'<graph>{NODES}<edge source="0" target="1"/><edge source="1" target="2"/></graph>'
        ),
        BOTH_WAYS,
    ),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("kind", AS_OTHERS_WRITE)
def test_graphs_are_read_as_other_programs_write_them(tmp_path, kind, encoding):
    suffix, text, expected = AS_OTHERS_WRITE[kind]
    path = tmp_path / f"graph{suffix}"
    path.write_bytes(text.removeprefix("\ufeff" * (encoding != "utf-8")).encode(encoding))
    assert lists(neighbours(path, 3)) == expected


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *(("a.gml", "gml"), ("a.net", "pajek"), ("a.txt", "snap"), ("a.GML", "gml")),
        *(("a.graphml.gz", "graphml"), ("a.edgelist.gz", "snap"), ("a.xml", "graphml")),
    ],
)
def test_a_graph_of_another_form_is_named_with_the_command_that_reads_it(tmp_path, name, form):
    path = tmp_path / name
    path.write_bytes(b"0 1\n1 2\n")
    with pytest.raises(ScenarioError, match=rf"`pocketsim import {form} {name} -o FOLDER`"):
        neighbours(path, 3)


ONE_SINK = nx.DiGraph([("a", "b"), ("c", "b")])


@pytest.mark.parametrize("suffix", [".graphml", ".gexf", ".json"])
def test_the_command_that_is_named_for_a_directed_graph_makes_partners_of_it(tmp_path, suffix):
    path = tmp_path / f"mine{suffix}"
    WRITERS[suffix](ONE_SINK, path)
    with pytest.raises(ScenarioError, match="the graph is directed") as caught:
        neighbours(path, 3)
    told = re.search(r"`pocketsim import (\S+) (\S+) -o FOLDER --undirected`", str(caught.value))
    made = ps.import_data(told[1], tmp_path / told[2], tmp_path / "made", undirected=True)
    assert lists(neighbours(made.files["partners"], 3)) == BOTH_WAYS


def test_the_command_that_is_named_for_a_node_alone_leaves_it_out(tmp_path):
    path = tmp_path / "mine.edgelist"
    path.write_text("0 1\n2 2\n")
    with pytest.raises(ScenarioError, match="without such nodes") as caught:
        neighbours(path, 3)
    told = re.search(r"`pocketsim import (\S+) (\S+) -o FOLDER`", str(caught.value))
    made = ps.import_data(told[1], tmp_path / told[2], tmp_path / "made")
    assert lists(neighbours(made.files["partners"], 2)) == [[1], [0]]


def test_a_graph_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs, "_LARGEST_BYTES", 1 << 20)
    path = tmp_path / "graph.edgelist"
    path.write_bytes(bytes((1 << 20) + 1))
    with pytest.raises(ScenarioError, match="is larger than 1 MiB"):
        graphs.read(path, 3)


@pytest.mark.parametrize(
    ("partners", "place", "reason"),
    [
        ("{}", "", "takes either graph, a file, or generator"),
        ("{graph='g.gexf', generator='random_regular'}", "", "takes either graph"),
        ("{graph='g.gexf', neighbours=2}", "", "neighbours belongs to generator"),
        ("{generator='random_regular'}", "", "neighbours belongs to generator"),
        ("{generator='watts_strogatz', neighbours=4}", "", "rewiring belongs to generator"),
        ("{generator='random_regular', neighbours=4, rewiring=0.1}", "", "rewiring belongs"),
        ("{generator='barabasi_albert', neighbours=3}", "", "neighbours of a barabasi_albert must"),
        ("{generator='barabasi', neighbours=4}", ".generator", "must be one of watts_strogatz"),
        ("{generator='barabasi_albert', neighbours=24}", ".neighbours", "has at most 23"),
        ("{generator='random_regular', neighbours=13}", ".neighbours", "takes at most 12"),
        ("{graph='nowhere.gexf'}", None, "no such file"),
    ],
)
def test_partners_that_make_no_graph_are_refused(shipped, partners, place, reason):
    with pytest.raises(ScenarioError) as caught:
        load(shipped, [f"workload.partners={partners}"])
    assert reason in caught.value.reason
    if place is not None:
        assert caught.value.key_path == f"workload.partners{place}"


def test_an_odd_phone_is_left_over(shipped):
    with pytest.raises(ScenarioError, match="23 phones cannot have 3 neighbours each"):
        load(shipped, [f"workload.partners={REGULAR}", "devices[0].count=23"])


def test_three_nodes_are_not_a_thousand_phones(bring):
    with pytest.raises(ScenarioError, match=r"has 3 nodes; the scenario has 1,000 phones"):
        bring("0 1\n1 2\n", "devices[0].count=1000")


def test_phones_propose_to_each_neighbour_equally_often(bring):
    star = "".join(f"0 {number}\n" for number in range(1, 24))
    plan = planned(bring(star, "workload.rate=100/s"))
    typed_sections.check(plan, typed.Plan, typed_sections.PLAN, "plan")
    sender, receiver = plan["workload"]["from_phone"], plan["workload"]["to_phone"]
    assert (receiver[sender > 0] == 0).all()
    counts = np.bincount(receiver[sender == 0], minlength=24)[1:]
    expected = counts.sum() / 23
    # Chi-square with 22 degrees of freedom: 99.9 % lies below 48.3.
    assert ((counts - expected) ** 2 / expected).sum() < 48.3


@pytest.mark.parametrize("partners", [SMALL_WORLD, SCALE_FREE, REGULAR])
def test_partners_change_who_is_proposed_to_and_nothing_else(shipped, partners, to_any):
    along, again = drawn(shipped, partners), drawn(shipped, partners)
    for name in ("time_s", "from_phone", "payload_bytes"):
        assert along["workload"][name].tolist() == to_any["workload"][name].tolist()
    assert pairs(along) == pairs(again) != pairs(to_any)
    assert pairs(along) != pairs(drawn(shipped, partners, repetition=1))


@pytest.mark.parametrize(
    ("partners", "least", "mean"), [(SMALL_WORLD, 2, 4), (SCALE_FREE, 1, 3.87), (REGULAR, 3, 3)]
)
def test_drawn_graphs_have_as_many_neighbours_as_asked_for(shipped, partners, least, mean):
    # At 10/s a phone finds all of its neighbours within two minutes.
    found = pairs(drawn(shipped, partners, "workload.rate=10/s"))
    degree = np.bincount([one for one, _ in found], minlength=60)
    assert degree.min() >= least
    assert degree.mean() == pytest.approx(mean, abs=0.005)
    # Edges of a drawn graph lead both ways.
    assert found == {(other, one) for one, other in found}


def test_a_phone_added_last_to_a_scale_free_graph_reshuffles_nothing(shipped):
    few, more = (
        drawn(shipped, SCALE_FREE, f"devices[0].count={count}")["workload"] for count in (60, 61)
    )
    old = more["from_phone"] < 60
    assert more["time_s"][old].tolist() == few["time_s"].tolist()
    assert more["from_phone"][old].tolist() == few["from_phone"].tolist()
    moved = more["to_phone"][old] != few["to_phone"]
    assert (more["to_phone"][old][moved] == 60).all()
    assert 0 < moved.sum() < 0.2 * moved.size


def test_the_version_of_networkx_is_part_of_such_runs_alone(root, shipped):
    along = resolve(load(shipped))[0].resolved
    alone = resolve(load(root / "tests/support/1k_churn.toml"))[0].resolved
    assert along["versions"]["networkx"] == nx.__version__
    assert "networkx" not in alone["versions"]
    assert alone["workload"]["partners"] is None


def test_the_content_of_a_graph_names_the_run(bring):
    ring = "".join(f"{number} {(number + 1) % 24}\n" for number in range(24))
    one, other = (resolve(bring(text))[0] for text in (ring, f"{ring}0 5\n"))
    assert one.name != other.name
    assert one.resolved["workload"]["partners"]["graph"] == "mine.edgelist"
    document = bring(ring)
    (file,) = document.files.values()
    file.path.write_text(f"{ring}0 7\n")
    with pytest.raises(ScenarioError, match="has changed since the run was resolved"):
        planned(document)


@pytest.mark.engine
def test_the_shipped_friends_alone_trade(shipped, tmp_path):
    (directory,) = runner.run(shipped, [], tmp_path)
    events = parquet.read_table(directory / "events.parquet").to_pylist()
    sent = {(row["node"], row["peer"]) for row in events if row["kind"] == "send"}
    friends = nx.read_graphml(shipped.with_name("friends.graphml"), node_type=int)
    assert len(sent) > 50
    assert all(friends.has_edge(*pair) for pair in sent)
