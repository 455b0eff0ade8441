"""What can be run and may not be meant is said: messages that a transport loses as oversized."""

import re

import pytest

from pocketsim.sim.base import engine_facts
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.warnings import warnings
from support import engine_plans as plans


def said(path, *overrides):
    return warnings(load(path, overrides))


def test_no_shipped_scenario_is_warned_of(root):
    for path in sorted((root / "pocketsim/scenarios").glob("*/*.toml")):
        if path.parent.name != "sweeps":
            assert said(path) == [], path


@pytest.mark.parametrize("command", [("check",), ("show",), ("run", "--dry-run")])
def test_the_command_line_names_key_size_and_limit(cli, scenario, command):
    scenario.write_text(scenario.read_text().replace('"100B"', '"100kB"'))
    done = cli(command[0], scenario, *command[1:])
    assert done.returncode == 0
    assert done.stderr.startswith(
        f"warning: {scenario}: workload.payload: 100,000 B makes messages of up to 100,536 B; udp "
        "sends at most 65,507 B and loses what is larger as `oversized`\n"
    )


def test_only_what_does_not_fit_is_named(scenario):
    lists = ['workload.payload=["100B", "2kB", "70kB"]', 'transport.mode=["udp", "ipv8", "eva"]']
    texts = [text for _, text in said(scenario, *lists)]
    assert [(text.split(" B ")[0], text.split("; ")[1].split()[0]) for text in texts] == [
        ("70,000", "udp"),
        ("2,000", "ipv8"),
        ("70,000", "ipv8"),
    ]


@pytest.mark.parametrize(
    ("family", "overrides", "largest_bytes"),
    [
        ("trustchain", ["transport.mode=udp"], 65_507 - 536),
        ("transfer", ["transport.mode=udp"], 65_507),
        ("transfer", ["transport.mode=ipv8_sealed"], 1_393),
        ("transfer", ["transport.mode=tftp"], 65_535 * 512 - 1),
        ("transfer", ["transport.mode=eva", "transport.eva.binary_size_limit=1MB"], 1_000_000),
        # 116 tokens, each of 563 B at the end, when it names three phones.
        ("token_batch", ["transport.mode=udp", "devices[0].count=3"], 117 * 287 - 1),
    ],
)
def test_the_largest_message_is_not_warned_of(scenario, family, overrides, largest_bytes):
    overrides = [*overrides, f"protocol.kind={family}"]
    assert not said(scenario, *overrides, f"workload.payload={largest_bytes}B")
    assert len(said(scenario, *overrides, f"workload.payload={largest_bytes + 1}B")) == 1


@pytest.mark.parametrize("mode", ["quic_keep", "quic_reconnect"])
def test_streams_have_no_largest_message(scenario, mode):
    assert not said(scenario, f"transport.mode={mode}", "workload.payload=100MB")


def constants(root, *files):
    """Return the whole numbers that Rust files define by name."""
    text = "".join((root / "sim/protocols/src" / name).read_text() for name in files)
    found = re.findall(r"const (\w+): u32 = ([\d_ +]+);", text)
    return {
        name: sum(int(part.replace("_", "")) for part in text.split("+")) for name, text in found
    }


def test_the_limits_are_those_of_the_machines(root):
    udp = constants(root, "transport/mod.rs")["UDP_PAYLOAD_BYTES_MAX"]
    tftp = constants(root, "transport/tftp/mod.rs")
    bare = constants(root, "transport/ipv8.rs", "transport/eva/message.rs")
    packet = bare["UDP_PAYLOAD_LIMIT_BYTES"] - bare["UNSIGNED_PACKET_BYTES"]
    limits_bytes = {
        "udp": udp,
        "tftp": tftp["BLOCKS_MAX"] * tftp["BLOCK_BYTES"] - 1,
        "ipv8": packet,
        "ipv8_sealed": packet - bare["SEALED_BOX_BYTES"],
    }
    assert limits_bytes == engine_facts.MESSAGE_BYTES_MAX
    block = constants(root, "block.rs")
    assert block["COUNTER_DIGITS"] == engine_facts.PAYLOAD_BYTES_MIN
    signed = 2 * (block["SIGNATURE_CHARS"] + block["HASH_CHARS"])
    assert block["FIXED_BYTES"] + 1 + signed == engine_facts.BLOCK_BYTES


@pytest.mark.engine
@pytest.mark.parametrize("more_bytes", [0, 1])
def test_the_largest_block_is_the_engines(more_bytes):
    """The third trade of a chain: both hashes are there, and an index has one digit."""
    plan = plans.plan(2, "udp")
    largest_bytes = engine_facts.MESSAGE_BYTES_MAX["udp"] - engine_facts.BLOCK_BYTES
    for number in range(4):
        plans.arrive(plan, 1.0 + number, 0, 1, largest_bytes + more_bytes)
    reasons = plans.run(plan).of("lose").reason_names()
    assert bool(reasons) == bool(more_bytes)
    assert set(reasons) <= {"oversized"}


@pytest.mark.parametrize("family", ["trustchain", "transfer"])
def test_phones_that_a_pair_leaves_out_are_counted(scenario, family):
    of_family = [f"protocol.kind={family}", "transport.mode=udp"]
    paced = [*of_family, "workload.kind=paced"]
    assert said(scenario, *paced) == []
    assert said(scenario, *paced, "devices[0].count=5") == [
        (
            "devices",
            'of 5 phones only the first 2 trade in a workload of kind "paced"; 3 will do nothing',
        )
    ]


def test_all_phones_count_where_others_may_have_a_part(scenario):
    """Tokens go through every phone."""
    batch = ["protocol.kind=token_batch", "workload.kind=paced", "workload.payload=1kB"]
    assert said(scenario, *batch, "devices[0].count=5") == []
