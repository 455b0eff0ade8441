"""The offline token thesis's transfers through the engine: overlay packets, EVA, table I."""

import json

import pytest

from pocketsim.sim.run import runner
from pocketsim.sim.trace import read
from support import engine_plans as plans
from support.recount import check

pytestmark = pytest.mark.engine


def rung(root, tmp_path, scenario, *overrides):
    """Run one repetition of a scenario's only rung; return its metrics and its trace."""
    found = runner.run(
        root / "pocketsim/scenarios" / scenario, ["run.repetitions=1", *overrides], tmp_path
    )
    (directory,) = found
    metrics = json.loads((directory / "metrics.json").read_text())
    means = {name: metric["mean"] for name, metric in metrics["metrics"].items()}
    return means, plans.from_table(read(directory / "events.parquet")), metrics["counts"]


@pytest.mark.parametrize(
    ("window", "encryption", "buffer_bytes", "loses"),
    [
        (128, False, 212_992, False),
        (256, False, 212_992, True),
        (256, True, 212_992, False),
        (256, False, 851_968, False),
    ],
)
def test_only_large_windows_without_encryption_lose(
    root, tmp_path, window, encryption, buffer_bytes, loses
):
    """Figures 7 and 8, on a message of three windows."""
    means, trace, counts = rung(
        root,
        tmp_path,
        "eva/blocks_and_windows.toml",
        f"transport.eva.window={window}",
        f"transport.eva.encryption={str(encryption).lower()}",
        "transport.eva.block=1200B",
        f"transport.socket_buffer={buffer_bytes}B",
        "workload.payload=900kB",
    )
    check(trace, 600.0, nothing_left=True, counts=counts)
    assert counts["stored"] == 1
    assert (means["datagram_loss_ratio"] > 0.01) == loses
    assert (means["goodput_mb_per_s"] < 1.0) == loses, "a stall takes up to a second and more"


@pytest.mark.parametrize(("mode", "mb_per_s"), [("ipv8", 30.71), ("ipv8_sealed", 14.99)])
def test_the_overlay_carries_what_its_costs_were_fitted_to(root, tmp_path, mode, mb_per_s):
    """Figure 6: the receiver is the slower end, so its buffer overflows."""
    means, trace, counts = rung(
        root,
        tmp_path,
        "eva/overlay_packets.toml",
        f"transport.mode={mode}",
        "run.duration=100ms",
    )
    check(trace, 0.1, nothing_left=False, counts=counts)
    assert means["stored_mb_per_s"] == pytest.approx(mb_per_s, rel=0.02)
    assert set(counts["lost"]) == {"buffer_full"}


def test_tokens_go_round(root, tmp_path):
    """Table I with a thousand tokens: three batches, seven rows, nothing lost."""
    means, trace, counts = rung(
        root, tmp_path, "tokens/table_1.toml", "workload.payload=287000B", "run.duration=5s"
    )
    check(trace, 5.0, nothing_left=True, counts=counts)
    assert counts == {"sent": 3, "stored": 3, "in_flight": 0, "lost": {}}
    assert trace.of("store").node.tolist() == [1, 2, 0]
    assert trace.of("store").size_bytes.tolist() == [287_000, 425_000, 563_000]
    assert means["token_sign_1_rate_per_s"] == pytest.approx(38_239, rel=0.02)
    validated = [means[f"token_validate_{count}_rate_per_s"] * count for count in (1, 2, 3)]
    assert validated == pytest.approx([17_520] * 3, rel=0.02)
    received = [means[f"token_receive_{count}_rate_per_s"] for count in (1, 2, 3)]
    assert received[0] > received[1] > received[2], "tokens grow"
    bytes_per_s = [rate * (149 + 138 * (k + 1)) for k, rate in enumerate(received)]
    assert max(bytes_per_s) < 1.05 * min(bytes_per_s), "and blocks do not"


def test_real_and_counted_signatures_take_tokens_round_in_the_same_times(root, tmp_path):
    settings = ("workload.payload=28700B", "run.duration=2s")
    traces = [
        rung(root, tmp_path / crypto, "tokens/table_1.toml", *settings, f"protocol.crypto={crypto}")
        for crypto in ("counted", "real")
    ]
    assert traces[0][1].time_s.tolist() == traces[1][1].time_s.tolist()
    assert traces[0][1].of("store").time_s.size == 3
