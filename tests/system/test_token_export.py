"""Tokens of a simulated town, as bytes, verified by other software: PyNaCl alone.

`pocketsim.sim.export.offline_token` reads and verifies them without any of the code that made them.
"""

import csv
import itertools
import json
import random

import networkx as nx
import pytest
from typer.testing import CliRunner

from pocketsim.cli import app
from pocketsim.sim.export.findings import MalformedError
from pocketsim.sim.export.offline_token import decode_batch, verify
from pocketsim.sim.run import runner
from pocketsim.sim.trace.final_tokens import STATES

pytestmark = pytest.mark.engine

# It ends in the outage, when tokens have gone through several hands.
SETTINGS = ["run.duration=80min", "protocol.crypto=real", "output.tokens=true"]
CENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)
WALLET_CENTS = 8300
VALUES = dict(enumerate(CENTS, start=1))


@pytest.fixture(scope="module", params=["challenge", "none"])
def exported(request, tmp_path_factory):
    """Return handshake, manifest and the folder of tokens of a market's second repetition."""
    folder = tmp_path_factory.mktemp("market")
    settings = [*SETTINGS, "run.repetitions=2", f"protocol.tokens.handshake={request.param}"]
    scenario = request.config.rootpath / "pocketsim/scenarios/tokens/market.toml"
    (run,) = runner.run(scenario, settings, folder / "runs", jobs=2)
    arguments = ["export", run, "--to", "tokens", "--repetition", 1, "-o", folder / "tokens"]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert (done.exit_code, done.stdout) == (0, f"{folder / 'tokens'}\n")
    manifest = json.loads((run / "manifest.json").read_text())
    return request.param, manifest["repetitions"][1], folder / "tokens"


def batches(folder):
    """Yield phone, state and tokens of each batch."""
    for path in sorted(folder.glob("*.tokens")):
        phone, _, state = path.stem.removeprefix("phone-").partition("-")
        yield int(phone), state, decode_batch(path.read_bytes())


def test_every_proof_verifies_from_the_authority_on(exported):
    handshake, _, folder = exported
    authority = bytes.fromhex((folder / "authority.pub").read_text())
    lengths, layouts = set(), set()
    for _, _, tokens in batches(folder):
        for token in tokens:
            assert token.authority == authority
            verify(token)
            lengths.add(len(token.pairs))
            layouts |= {bool(pair.challenge) for pair in token.pairs[1:]}
    assert {1, 2, 3} <= lengths
    assert layouts == {handshake == "challenge"}


def test_a_token_is_whose_the_chain_says(exported):
    _, _, folder = exported
    authority = bytes.fromhex((folder / "authority.pub").read_text())
    keys, seen = {}, set()
    for phone, state, tokens in batches(folder):
        seen.add(state)
        for token in tokens:
            place = -1 if state in {"held", "disputed"} else -2
            keys.setdefault(phone, set()).add(token.pairs[place].key)
            assert (token.pairs[-1].key == authority) == (state == "pending")
    assert {"held", "signed_away"} <= seen <= set(STATES)
    assert {len(known) for known in keys.values()} == {1}
    assert len(set().union(*keys.values())) == len(keys) == 39


def test_the_money_is_that_of_the_audit(exported):
    _, repetition, folder = exported
    found = dict.fromkeys(STATES, 0)
    for _, state, tokens in batches(folder):
        found[state] += sum(VALUES[token.value] for token in tokens)
    counters = repetition["counters"]
    assert found["held"] == counters["held_cents"] > 100_000
    assert found["pending"] == counters["pending_cents"]
    assert repetition["authority_key"] == (folder / "authority.pub").read_text().strip()


def test_the_index_says_what_is_in_the_files(exported):
    _, _, folder = exported
    with (folder / "tokens.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for name, batch in itertools.groupby(rows, lambda row: row["file"]):
        listed = list(batch)
        assert {f"phone-{int(row['node']):04}-{row['state']}.tokens" for row in listed} == {name}
        assert [
            (row["serial"], row["value_cents"], row["recipients"], row["token_bytes"])
            for row in listed
        ] == [
            (
                token.serial.hex(),
                str(VALUES[token.value]),
                str(len(token.pairs)),
                str(len(token.encode())),
            )
            for token in decode_batch((folder / name).read_bytes())
        ]
    names = {row["file"] for row in rows} | {"authority.pub", "tokens.csv"}
    assert {path.name for path in folder.iterdir()} == names


def test_an_altered_byte_is_found(exported):
    _, _, folder = exported
    tokens = [token for _, _, batch in batches(folder) for token in batch]
    longest = max(tokens, key=lambda token: len(token.pairs)).encode()
    draw = random.Random(1)  # noqa: S311 - which bit to flip is no secret
    # Neither the mark and the count, which say how to read it, nor the half of the authority's key
    # that signs nothing.
    for place in [*range(2, 11), *range(53, len(longest))]:
        altered = bytearray(longest)
        altered[place] ^= 1 << draw.randrange(8)
        with pytest.raises(MalformedError):
            verify(decode_batch(bytes(altered))[0])


@pytest.fixture(scope="module")
def offline(request, tmp_path_factory):
    """Return graph and tokens of a market that fills its wallets, then pays without a network."""
    folder = tmp_path_factory.mktemp("offline")
    settings = [*SETTINGS, "workload.start=20min", "workload.cheat_ratio=0.0"]
    settings += ["outages[0].start=15min"]
    scenario = request.config.rootpath / "pocketsim/scenarios/tokens/market.toml"
    (run,) = runner.run(scenario, settings, folder / "runs", jobs=1)
    for to in ("graphml", "tokens"):
        arguments = ["export", run, "--to", to, "-o", folder / to]
        assert CliRunner().invoke(app, list(map(str, arguments))).exit_code == 0
    return nx.read_graphml(folder / "graphml", node_type=int), folder / "tokens"


def test_amounts_of_the_graph_are_those_of_the_tokens(offline):
    """A shop that has only taken has what its till held and what it was paid."""
    found, folder = offline
    held = dict.fromkeys(found.nodes, 0)
    for phone, state, tokens in batches(folder):
        held[phone] += sum(VALUES[token.value] for token in tokens) if state == "held" else 0
    shops = [phone for phone, role in found.nodes(data="role") if role == "shop"]
    received = {phone: found.nodes[phone]["received_cents"] for phone in shops}
    tills = {held[phone] - cents for phone, cents in received.items()}
    assert len(tills) == 1
    assert tills.pop() > 0
    assert min(received.values()) > 0
    # What a person has no receipt for may be paid or not.
    persons = {phone: sums for phone, sums in found.nodes(data=True) if sums["role"] == "person"}
    sure = [
        person
        for person in persons.items()
        if person[1]["proposed_count"] == person[1]["paid_count"]
    ]
    assert len(sure) > len(persons) / 2
    for phone, sums in sure:
        assert held[phone] == WALLET_CENTS + sums["received_cents"] - sums["paid_cents"]
