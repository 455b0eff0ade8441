"""A scenario run twice, by processes with other hash seeds, leaves the same files byte for byte."""

import pytest

from pocketsim.cli.runs import export
from pocketsim.sim.run import results, rundir, runner

TOWN = """
implementation = "trustchain_throughput_2025"

[run]
seed = 5
duration = "20s"
repetitions = 2
draw = "posterior"

[[devices]]
profile = "moto_g04s"
count = 4
access = "wifi"

[[devices]]
profile = "pocophone_f1"
count = 12
access = { wifi = 0.5, lte = 0.5 }

[network.access.wifi]
up = "40Mbps"
down = "40Mbps"
latency = "1ms"
jitter_median = "2ms"
jitter_sigma = 1.75

[network.access.lte]
up = "6Mbps"
down = "13Mbps"
latency = "10ms"
loss_ratio = 0.014
phones_per_site = 3

[churn]
session = { distribution = "weibull", shape = 0.5, scale = "20s" }
gap = { distribution = "lognormal", median = "5s", sigma = 1.0 }

[workload]
kind = "poisson"
rate = "1/s"
payload = "100B"

[transport]
mode = "quic_keep"
"""


@pytest.fixture
def town(tmp_path):
    path = tmp_path / "town.toml"
    path.write_text(TOWN)
    return path


@pytest.mark.engine
def test_a_run_is_the_same_again(town, tmp_path, monkeypatch):
    directories = []
    for hash_seed, jobs in (("1", 1), ("2", 2)):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        directories += runner.run(town, out=tmp_path / hash_seed, jobs=jobs)
    one, other = directories
    assert (one / "events.parquet").stat().st_size > 10_000
    for name in rundir.FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


ONE = "{value=1.0, standard_error=0.1, basis='assumed', source='the same day'}"
# The last are what the profiles of the phone and of the implementation say.
FACTORS = [
    f"cost_factors={{store={ONE}, udp_receive={ONE}}}",
    "cost={store=1, udp_receive=1.0, call=1}",
    "cost={sign='122us', verify='336us', call='60us'}",
]


@pytest.mark.engine
@pytest.mark.parametrize("draw", ["mean", "posterior"])
@pytest.mark.parametrize("factors", FACTORS)
def test_cost_override_equal_to_the_profile_keeps_every_event(scenario, tmp_path, draw, factors):
    factors = f"devices[0].{factors}"
    settings = ["workload.rate=512/s", f"run.draw={draw}"]
    (was,) = runner.run(scenario, settings, tmp_path / "was")
    (now,) = runner.run(scenario, [*settings, factors], tmp_path / "now")
    assert now.name != was.name
    # Not their bytes: each file names its own run.
    assert results.read_events(now).equals(results.read_events(was))


@pytest.mark.engine
def test_blocks_and_timelines_are_the_same_again(root, tmp_path, monkeypatch):
    settings = ["run.duration=10s", "run.repetitions=2", "devices[1].count=50"]
    settings += ["protocol.crypto=real", "output.blocks=true", "output.trace=work"]
    written = []
    for hash_seed, jobs in (("1", 1), ("2", 2)):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        out = tmp_path / hash_seed
        (run,) = runner.run(root / "tests/support/1k_churn.toml", settings, out, jobs)
        export.export(run, None, out / "a.pftrace", repetition=1)
        kept = {path.name: path.read_bytes() for path in run.iterdir()}
        assert set(kept) == {*rundir.FILES, rundir.BLOCKS, rundir.TIMELINE}
        written.append((kept, (out / "a.pftrace").read_bytes()))
    assert written[0] == written[1]
    assert len(written[0][1]) > 10_000


@pytest.mark.engine
def test_tokens_and_graphs_are_the_same_again(root, tmp_path, monkeypatch):
    settings = ["run.duration=45min", "run.repetitions=2"]
    settings += ["protocol.crypto=real", "output.tokens=true"]
    written = []
    for hash_seed, jobs in (("1", 1), ("2", 2)):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        out = tmp_path / hash_seed
        (run,) = runner.run(root / "pocketsim/scenarios/tokens/market.toml", settings, out, jobs)
        for to in ("tokens", "graphml", "gexf", "json"):
            export.export(run, to, out / "out" / to, repetition=1)
        kept = {path.name: path.read_bytes() for path in run.iterdir()}
        assert set(kept) == {*rundir.FILES, rundir.TOKENS}
        exported = (path for path in (out / "out").rglob("*") if path.is_file())
        written.append((kept, {path.name: path.read_bytes() for path in exported}))
    assert written[0] == written[1]
    assert len(written[0][1]) > 40
