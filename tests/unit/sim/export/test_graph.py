"""Runs as graphs: what is in them and in their files, and what payments were worth."""

import io
import json
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import networkx as nx
import numpy as np
import pytest

from pocketsim import testing
from pocketsim.sim import trace
from pocketsim.sim.export import graph, payment_amounts
from pocketsim.sim.plan import build_plan as building
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans as plans


def build_plan(*arguments):
    return plans.lists(building.build_plan(*arguments))


DEVICES = [
    {"role": "person", "profile": "a", "count": 2, "access": {"wifi": 1.0}},
    {"role": "shop", "profile": "b", "count": 1, "access": {"wifi": 1.0}},
    {"role": "authority", "profile": "b", "count": 1, "access": {"wifi": 1.0}},
]


def events(*rows):
    """Return the trace of rows (time, node, kind, message, peer, bytes)."""
    time_s, node, kind, message, peer, size = zip(*rows, strict=True) if rows else ((),) * 6
    return trace.build(
        repetition=[0] * len(rows),
        time_s=time_s,
        node=node,
        kind=kind,
        message_id=message,
        peer=peer,
        message_size=size,
        reason=[None] * len(rows),
        logged=[True] * len(rows),
    )


TOWN = (
    (1.0, 0, "send", 1, 2, 0),
    (1.5, 2, "take", 77, 0, 287),
    (1.5, 2, "store_peer", 1, 0, 287),
    (2.0, 0, "store", 1, 2, 287),
    (3.0, 0, "send", 2, 2, 0),
    (3.5, 2, "take", 78, 0, 425),
    (3.5, 2, "take", 79, 0, 287),
    (3.5, 2, "store_peer", 2, 0, 712),
    (4.0, 0, "store", 2, 2, 712),
    (5.0, 1, "unpayable", 2**32 + 1, 0, 0),
    (6.0, 1, "send", 2**32 + 2, 0, 0),
    (6.5, 0, "store_peer", 2**32 + 2, 1, 425),
    (7.0, 1, "double_spend", 80, 2, 425),
    (8.0, 3, "accuse", 80, 1, 0),
)


def made(*rows, cents=None, **sections):
    town = {"kind": "tokens", "tokens": {"handshake": "none"}}
    resolved = testing.resolved("a & <b>", devices=DEVICES, protocol=town, **sections)
    return graph.of_events(events(*rows), resolved, 0, cents)


def written(found, form):
    sink = io.BytesIO()
    graph.write(found, sink, form)
    return sink.getvalue()


def read(*rows, cents=None, **sections):
    document = written(made(*rows, cents=cents, **sections), "graphml")
    return nx.read_graphml(io.BytesIO(document), node_type=int)


def test_an_edge_is_what_one_phone_paid_another():
    found = read(*TOWN)
    assert found.is_directed()
    assert not found.is_multigraph()
    # What phone 1 paid is in no edge: no receipt has come.
    assert list(found.edges(data=True)) == [
        (0, 2, {"count": 2, "bytes": 999, "first_s": 2.0, "last_s": 4.0})
    ]


def test_a_node_is_a_phone_with_its_sums():
    found = read(*TOWN)
    assert [found.nodes[number]["profile"] for number in range(4)] == ["a", "a", "b", "b"]
    assert [found.nodes[number]["role"] for number in (1, 2, 3)] == ["person", "shop", "authority"]
    sums = {name: [found.nodes[number][name] for number in range(4)] for name in found.nodes[0]}
    del sums["profile"], sums["role"]
    assert sums == {
        "proposed_count": [2, 1, 0, 0],
        "paid_count": [2, 0, 0, 0],
        "paid_bytes": [999, 0, 0, 0],
        "received_count": [1, 0, 2, 0],
        "received_bytes": [425, 0, 999, 0],
        "unpayable_count": [0, 1, 0, 0],
        "tokens_taken": [0, 0, 3, 0],
        "double_spend_count": [0, 1, 0, 0],
        "accused_count": [0, 1, 0, 0],
    }


def test_cents_are_there_when_they_are_known():
    of_payment = {1: 500, 2: 250, 2**32 + 1: 7, 2**32 + 2: 30}
    found = read(*TOWN, cents=np.array([of_payment.get(row[3], 0) for row in TOWN]))
    assert found.edges[0, 2]["cents"] == 750
    assert [found.nodes[number]["paid_cents"] for number in range(4)] == [750, 0, 0, 0]
    assert [found.nodes[number]["received_cents"] for number in range(4)] == [30, 0, 750, 0]


def test_the_graph_says_which_run_it_is():
    assert read(*TOWN).graph | {"node_default": {}, "edge_default": {}} == {
        "scenario": "a & <b>",
        "seed": 1,
        "repetition": 0,
        "duration_s": 25.0,
        "traced_share": 1.0,
        "node_default": {},
        "edge_default": {},
    }
    sampled = {"trace": "sampled", "sample_ratio": 0.1}
    assert read(*TOWN, output=sampled).graph["traced_share"] == 0.1


def test_phones_that_never_met_have_no_edges():
    found = read()
    assert (found.number_of_nodes(), found.number_of_edges()) == (4, 0)
    assert found.nodes[0]["paid_count"] == 0


def test_a_trade_is_an_edge_of_its_proposer():
    resolved = testing.resolved("trades", repetitions=1)
    table = testing.events(resolved, testing.Shape(lost_ratio=0.3))
    found = graph.of_events(table, resolved, 0)
    stored = table["kind"].to_pylist().count("store")
    assert 0 < stored < found.nodes[0]["proposed_count"] == 400
    assert found.edges[0, 1]["count"] == found.nodes[0]["paid_count"] == stored
    assert found.edges[0, 1]["bytes"] == stored * 638
    assert "role" not in found.nodes[0]
    assert "tokens_taken" not in found.nodes[0]


def same(one, other):
    """Tell whether two graphs have the same phones and edges in one order, types included."""
    parts = [
        (repr(list(graph.nodes(data=True))), repr(list(graph.edges(data=True))))
        for graph in (one, other)
    ]
    return parts[0] == parts[1]


def test_graphml_says_everything():
    found = made(*TOWN, cents=np.arange(len(TOWN)))
    again = nx.read_graphml(io.BytesIO(written(found, "graphml")), node_type=int)
    assert same(again, found)
    assert found.graph.items() <= again.graph.items()


def test_every_value_of_graphml_is_declared():
    root = ET.fromstring(written(made(*TOWN), "graphml"))  # noqa: S314 - ours
    home = "{http://graphml.graphdrawing.org/xmlns}"
    assert root.tag == f"{home}graphml"
    keys = list(root.iter(f"{home}key"))
    assert len({key.get("id") for key in keys}) == len(keys)
    types = {(key.get("for"), key.get("attr.name")): key.get("attr.type") for key in keys}
    assert types["graph", "scenario"] == types["node", "role"] == "string"
    assert types["graph", "duration_s"] == types["edge", "first_s"] == "double"
    assert types["graph", "seed"] == types["node", "paid_bytes"] == types["edge", "count"] == "long"
    for domain in ("graph", "node", "edge"):
        declared = {key.get("id") for key in keys if key.get("for") == domain}
        for element in root.iter(f"{home}{domain}"):
            assert {data.get("key") for data in element.findall(f"{home}data")} == declared


def test_gexf_says_everything():
    found = made(*TOWN, cents=np.arange(len(TOWN)))
    document = written(found, "gexf")
    again = nx.read_gexf(io.BytesIO(document), node_type=int)
    for name, label in [*again.nodes(data="label")]:
        assert label == str(name)
        del again.nodes[name]["label"]
    assert [again.edges[ends].pop("id") for ends in again.edges] == ["0"]
    assert same(again, found)
    (about,) = ET.fromstring(document).iter("{http://www.gexf.net/1.2draft}meta")  # noqa: S314 - ours
    assert not about.attrib
    assert [element.text for element in about] == [
        "pocketsim",
        "scenario = a & <b>, seed = 1, repetition = 0, duration_s = 25.0, traced_share = 1.0",
    ]


def test_json_says_everything():
    found = made(*TOWN, cents=np.arange(len(TOWN)))
    data = json.loads(written(found, "json"))
    assert (data["directed"], data["multigraph"]) == (True, False)
    assert data["edges"][0]["source"] == 0
    again = nx.node_link_graph(data, edges="edges")
    assert same(again, found)
    assert again.graph == found.graph


@pytest.mark.parametrize("form", graph.FORMS)
def test_equal_runs_give_equal_bytes(form, monkeypatch):
    resolved = testing.resolved("trades", repetitions=1)
    table = testing.events(resolved, testing.Shape())
    before = written(graph.of_events(table, resolved, 0), form)
    monkeypatch.setattr(time, "strftime", lambda _: "2099-12-31")
    assert written(graph.of_events(table, resolved, 0), form) == before
    assert before.endswith(b"\n")


def test_a_graph_of_a_run_directory(tmp_path):
    trades = {"protocol": {"kind": "trustchain"}, "churn": None}
    resolved = testing.resolved("trades", repetitions=2, **trades)
    run, table = (
        testing.run_dir(tmp_path, resolved, testing.Shape()),
        testing.events(resolved, testing.Shape()),
    )
    for repetition in (0, 1):
        rows = [number == repetition for number in table["repetition"].to_pylist()]
        expected = graph.of_events(table.filter(rows), resolved, repetition)
        found = graph.of_run(run, repetition)
        assert same(found, expected)
        assert found.graph["repetition"] == repetition
        assert found.edges[0, 1]["count"] > 0
    assert not same(graph.of_run(run), graph.of_run(run, 1))
    for repetition in (-1, 2):
        with pytest.raises(IndexError, match=f"no repetition {repetition}"):
            graph.of_run(run, repetition)


def test_a_command_that_makes_no_graph_leaves_networkx_alone(root, tmp_path):
    """Importing it takes longer than all else that the command imports."""
    resolved = {**testing.resolved("trades", repetitions=1), "churn": None}
    run = testing.run_dir(tmp_path, resolved, testing.Shape())
    program = (
        "import sys; from pocketsim.cli import app;"
        "app(['export', sys.argv[1], '-o', sys.argv[2]], standalone_mode=False);"
        "assert 'pocketsim.sim.export.app_csv' in sys.modules;"
        "import pocketsim.sim.export.graph; assert 'networkx' not in sys.modules"
    )
    command = [sys.executable, "-c", program, str(run), str(tmp_path / "a.csv")]
    subprocess.run(command, cwd=root, check=True)


@pytest.fixture
def market(root):
    def resolved(*overrides):
        return resolve(load(root / "pocketsim/scenarios/tokens/market.toml", overrides))[0].resolved

    return resolved


def begun(plan, ids=3):
    """Return the first rows of every payment of a plan: every `ids`-th number is a payment's."""
    work, sequence, rows = plan["workload"], {}, []
    for time_s, payer, payee in zip(
        work["time_s"], work["from_phone"], work["to_phone"], strict=True
    ):
        sequence[payer] = sequence.get(payer, 0) + ids
        rows.append((time_s, payer, "send", payer << 32 | sequence[payer], payee, 0))
    return rows


def test_amounts_are_those_of_the_plan(market):
    resolved = market()
    plan = build_plan(resolved, 0)
    sent = begun(plan)
    sent[1] = (*sent[1][:2], "unpayable", *sent[1][3:])
    stored = [(time_s, one, "store", id_, other, 9) for time_s, one, _, id_, other, _ in sent[::2]]
    # A serial may look like the number of a payment.
    taken = [(9e3, payee, "take", id_, payer, 9) for _, payer, _, id_, payee, _ in sent]
    found = payment_amounts.cents(events(*sent, *stored, *taken), resolved, 0).tolist()
    planned = plan["workload"]["amount_cents"]
    assert found == [*planned, *planned[::2], *[0] * len(taken)]
    # A run that is not at its end when the last is due.
    assert payment_amounts.cents(events(*sent[:-5]), resolved, 0).tolist() == planned[:-5]


def test_amounts_of_another_plan_are_unknown(market):
    resolved = market()
    sent = begun(build_plan(resolved, 1))
    assert payment_amounts.cents(events(*sent), resolved, 0) is None
    sent = begun(build_plan(resolved, 0))
    last = sent[-1]
    assert (
        payment_amounts.cents(events(*sent, (*last[:3], last[3] + 3, *last[4:])), resolved, 0)
        is None
    )


CHURN = 'distribution="weibull", shape=1.0, scale="1h"'


@pytest.mark.parametrize(
    "overrides",
    [
        ["output.trace=sampled"],
        ["protocol.tokens.handshake=none"],
        [f"churn={{session={{{CHURN}}}, gap={{{CHURN}}}}}"],
    ],
)
def test_amounts_may_be_unknown(market, overrides):
    resolved = market(*overrides)
    assert payment_amounts.cents(events(*begun(build_plan(resolved, 0))), resolved, 0) is None


def test_amounts_of_another_build_are_unknown(market):
    resolved = market()
    sent = events(*begun(build_plan(resolved, 0)))
    other = {**resolved, "versions": {**resolved["versions"], "build": "0" * 12}}
    assert payment_amounts.cents(sent, other, 0) is None


def test_without_replays_no_handshake_is_needed(market):
    resolved = market("protocol.tokens.handshake=none", "workload.replay_ratio=0.0")
    assert payment_amounts.cents(events(*begun(build_plan(resolved, 0))), resolved, 0) is not None


def test_a_trade_has_no_amount():
    resolved = testing.resolved("trades", protocol={"kind": "trustchain"}, churn=None)
    assert payment_amounts.cents(testing.events(resolved, testing.Shape()), resolved, 0) is None
