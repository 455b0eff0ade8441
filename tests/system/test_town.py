"""Towns that pay with tokens, through the engine: what offline buys, and what cheats cost."""

import json
from pathlib import Path

import pytest

from pocketsim.sim.run import runner
from pocketsim.sim.trace import read

pytestmark = pytest.mark.engine

EVERY_TRANSPORT = Path(__file__).parents[1] / "support/every_transport.toml"
MARKET = "pocketsim/scenarios/tokens/market.toml"
NOBODY_CHEATS = "workload.cheat_ratio=0"


@pytest.fixture(scope="module")
def market(root, tmp_path_factory):
    """Run the market with overrides; the same run is not made twice."""
    out = tmp_path_factory.mktemp("market")

    def run(*overrides):
        (directory,) = runner.run(root / MARKET, list(overrides), out)
        return directory

    return run


def metrics(run_dir):
    found = json.loads((run_dir / "metrics.json").read_text())["metrics"]
    return {name: metric["mean"] for name, metric in found.items()}


def counters(run_dir):
    manifest = json.loads((run_dir / "manifest.json").read_text())
    return manifest["repetitions"][0]["counters"]


def test_offline_payments_go_on_in_an_outage_and_online_ones_do_not(market):
    offline = metrics(market())
    online = metrics(market("protocol.tokens.acceptance=online"))
    assert offline["outage_completed_ratio"] > 0.5
    assert online["outage_completed_ratio"] < 0.1
    assert offline["completed_ratio"] > online["completed_ratio"]
    assert offline["token_recipients_max"] > online["token_recipients_max"]
    assert offline["unverified_tokens_max"] > online["unverified_tokens_max"]
    assert online["access_bytes_per_payment"] > 0 < offline["drain_min_max"]


def test_cheats_are_named_afterwards_and_nobody_else(market):
    found = metrics(market())
    assert found["double_spends"] > 0 < found["accused"]
    assert found["wrongly_accused"] == 0 == found["undetected_tokens"]
    assert found["detection_min_max"] > 0 < found["value_at_risk_eur_max"]
    spared = metrics(market(NOBODY_CHEATS))
    assert spared["double_spends"] == spared["accused"] == spared["refused_to_honest_eur"] == 0


def test_without_the_handshake_replays_have_their_victims_accused(market):
    replays = ("workload.double_spend_ratio=0", "workload.replay_ratio=1")
    robbed = metrics(market(*replays, "protocol.tokens.handshake=none"))
    assert robbed["accused"] == robbed["wrongly_accused"] > 0
    saved = metrics(market(*replays))
    assert saved["accused"] == 0


@pytest.mark.parametrize("seed", [1, 8])
def test_without_the_handshake_no_money_vanishes_among_many_cheats(market, seed):
    many = ("workload.cheat_ratio=0.6", "workload.payments=12/h", f"run.seed={seed}")
    found = metrics(market(*many, "protocol.tokens.handshake=none"))
    assert found["wrongly_accused"] > 0 == found["vanished_eur"]


def test_money_is_conserved(market):
    for overrides in ((), (NOBODY_CHEATS,), ("protocol.tokens.rules=prototype", *_PLAIN)):
        counted = counters(market(*overrides))
        assert counted["minted_cents"] == counted["redeemed_cents"] + counted["circulating_cents"]
        assert counted["held_cents"] + counted["pending_cents"] >= counted["circulating_cents"] > 0


@pytest.mark.parametrize("mode", ["quic_keep", "eva", "tftp"])
def test_money_goes_over_every_transport(market, mode):
    run_dir = market(f"implementation={EVERY_TRANSPORT}", f"transport.mode={mode}", NOBODY_CHEATS)
    found = metrics(run_dir)
    assert found["payments_completed"] > 100
    assert found["wrongly_accused"] == 0
    rows = read(run_dir / "events.parquet").select(["kind", "message_id"]).to_pylist()
    submitted, settled = (
        {row["message_id"] for row in rows if row["kind"] == kind} for kind in ("submit", "settle")
    )
    assert submitted == settled, "a phone and the authority stand in each other's way"


def test_phone_that_comes_back_can_be_paid(market):
    run_dir = market(NOBODY_CHEATS, *_COME_AND_GO)
    rows = read(run_dir / "events.parquet").to_pylist()
    sent = {row["message_id"]: row for row in rows if row["kind"] == "send"}
    lost = [row for row in rows if row["kind"] == "lose" and row["reason"] == "socket_timeout"]
    assert lost, "who is off cannot"
    off_s = [(row["node"], row["time_s"]) for row in rows if row["kind"] == "phone_off"]
    on_s = [(row["node"], row["time_s"]) for row in rows if row["kind"] == "phone_on"]
    for row in lost:
        asked = sent[row["message_id"]]
        absent = any(
            node == asked["peer"]
            and time_s <= row["time_s"]
            and not _is_back(on_s, node, time_s, asked)
            for node, time_s in off_s
        )
        assert absent, asked


def _is_back(on_s, node, off_s, asked):
    return any(phone == node and off_s < time_s <= asked["time_s"] for phone, time_s in on_s)


def test_real_and_counted_cryptography_give_one_trace(market):
    tables = [
        read(market(f"protocol.crypto={crypto}") / "events.parquet")
        for crypto in ("counted", "real")
    ]
    assert tables[0].num_rows > 1000
    assert tables[0].equals(tables[1])


_COME_AND_GO = (
    'churn.session={distribution="lognormal", median="10min", sigma=0.5}',
    'churn.gap={distribution="lognormal", median="5min", sigma=0.5}',
)
# The prototype reads the plain layout only.
_PLAIN = ("protocol.tokens.handshake=none", NOBODY_CHEATS)
