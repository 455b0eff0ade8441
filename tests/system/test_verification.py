"""What runs keep for others is verified whole, and every tampered bit of it is named."""

import json
import shutil
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from pocketsim.cli import app
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import results, rundir, runner
from pocketsim.sim.trace import tables

pytestmark = pytest.mark.engine

TOKENS = ["run.duration=80min", "protocol.crypto=real", "output.tokens=true"]
# Wallets are filled, then nobody reaches the authority again: nothing that was spent is settled.
OFFLINE = ["workload.start=20min", "outages[0].start=15min", "workload.cheat_ratio=0.3"]
BLOCKS = ["protocol.crypto=real", "output.blocks=true"]


def verify(*arguments):
    return CliRunner().invoke(app, ["verify", *map(str, arguments)])


def found(*arguments):
    done = verify(*arguments, "--json")
    assert done.exit_code in {0, 3}, done.exception
    return done.exit_code, json.loads(done.stdout)


@pytest.fixture(scope="module")
def scenarios(request):
    return request.config.rootpath / "pocketsim/scenarios"


@pytest.fixture(scope="module")
def cheated(scenarios, tmp_path_factory):
    """Return a market in which some spend tokens twice, all of it offline."""
    out = tmp_path_factory.mktemp("cheated")
    (run,) = runner.run(scenarios / "tokens/market.toml", [*TOKENS, *OFFLINE], out, jobs=1)
    return run


@pytest.fixture(scope="module")
def traded(root, tmp_path_factory):
    """Return two repetitions of trades both ways among phones that come and go."""
    out = tmp_path_factory.mktemp("traded")
    settings = [*BLOCKS, "run.duration=20s", "run.repetitions=2", "devices[1].count=100"]
    (run,) = runner.run(root / "tests/support/1k_churn.toml", settings, out, jobs=2)
    return run


def test_the_double_spends_are_those_of_the_trace(cheated):
    code, (tokens,) = found(cheated)
    assert (code, tokens["failures"]) == (0, [])
    again = Counter()
    for spend in tokens["double_spends"]:
        serial = int.from_bytes(bytes.fromhex(spend["serial"]), signed=True)
        again[spend["phone"], serial] += len(spend["payees"]) - 1
    events = results.read_events(cheated)
    rows = events.filter(pc.equal(events["kind"], "double_spend"))
    nodes, serials = rows["node"].to_pylist(), rows["message_id"].to_pylist()
    assert again == Counter(zip(nodes, serials, strict=True))
    metrics = results.read_metrics(cheated)["metrics"]
    assert again.total() == metrics["double_spends"]["mean"] > 10
    by_phone = Counter(spend["phone"] for spend in tokens["double_spends"])
    assert by_phone == {
        int(phone): counts["double_spends"]
        for phone, counts in tokens["phones"].items()
        if counts["double_spends"]
    }


def test_a_double_spend_that_no_trace_has_is_a_failure(cheated, tmp_path):
    copy = shutil.copytree(cheated, tmp_path / "copy")
    events = results.read_events(copy)
    kept = events.filter(pc.not_equal(events["kind"], "double_spend"))
    pq.write_table(kept, copy / "events.parquet")
    code, (tokens,) = found(copy)
    assert code == 3
    assert len(tokens["failures"]) == len(tokens["double_spends"])
    assert "the trace has 0 double spends" in tokens["failures"][0]["reason"]


def test_a_folder_of_tokens_is_verified_like_the_run(cheated, tmp_path):
    folder = tmp_path / "tokens"
    arguments = ["export", str(cheated), "--to", "tokens", "-o", str(folder)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    (of_run,), (of_folder,) = found(cheated)[1], found(folder)[1]
    assert of_folder == {**of_run, "repetition": None}
    batch = next(path for path in sorted(folder.glob("*-held.tokens")))
    data = bytearray(batch.read_bytes())
    data[100] ^= 1
    batch.write_bytes(data)
    code, (tokens,) = found(folder)
    assert (code, len(tokens["failures"])) == (3, 1)
    batch.write_bytes(data + b"\0")
    assert verify(folder).exception.key_path == ""
    (folder / "tokens.csv").write_text("file,node\nx,1\n")
    error = verify(folder).exception
    assert isinstance(error, ScenarioError)
    assert error.key_path == "line 2"


def tampered(run, name, tmp_path, column):
    """Return a copy of a run in which one bit of one row is another, and the row's phone."""
    copy = shutil.copytree(run, tmp_path / "copy")
    table = pq.read_table(copy / name)
    rows = table[column].to_pylist()
    data = bytearray(rows[7])
    data[len(data) // 2] ^= 1
    rows[7] = bytes(data)
    place = table.column_names.index(column)
    tables.write(table.set_column(place, column, pa.array(rows, pa.large_binary())), copy / name)
    return copy, table["node"][7].as_py()


def test_a_tampered_token_is_named(cheated, tmp_path):
    copy, phone = tampered(cheated, rundir.TOKENS, tmp_path, "token")
    done = verify(copy)
    assert done.exit_code == 3
    assert done.stderr == "1 checks failed\n"
    (tokens,) = found(copy)[1]
    assert [failure["phone"] for failure in tokens["failures"]] == [phone]
    assert tokens["failures"][0]["reason"] in done.stdout


def test_blocks_of_every_repetition_hold(traded):
    code, both = found(traded)
    assert (code, [each["repetition"] for each in both]) == (0, [0, 1])
    events = results.read_events(traded)
    for number, each in enumerate(both):
        sums = Counter()
        for counts in each["phones"].values():
            sums.update(counts)
        assert sums["blocks"] == sums["proposed"] + sums["countersigned"] > 50
        assert sums["countersigned"] - sums["proposed"] == sums["unanswered"]
        mine = events.filter(pc.equal(events["repetition"], number))
        stored = Counter(mine["kind"].to_pylist())
        # What a phone stored just before it went off, its trace may lack.
        assert sums["proposed"] >= stored["store"] > 0
        assert sums["countersigned"] >= stored["store_peer"] > 0
    assert found(traded, "--repetition", 1)[1] == both[1:]
    assert verify(traded, "--repetition", 2).exception.exit_code == 2


def test_a_tampered_block_is_named(traded, tmp_path):
    copy, phone = tampered(traded, rundir.BLOCKS, tmp_path, "block")
    code, (first, second) = found(copy)
    assert code == 3
    assert first["failures"][0]["phone"] == phone
    assert second["failures"] == []


def test_chains_that_continue_hold(scenarios, tmp_path):
    settings = [*BLOCKS, "run.duration=2s", "run.repetitions=2", "workload.rate=64/s"]
    (run,) = runner.run(scenarios / "throughput/udp_100b.toml", settings, tmp_path, jobs=1)
    assert results.read_resolved(run)["run"]["app"] == "continued"
    code, both = found(run)
    assert code == 0
    assert min(each["phones"]["0"]["proposed"] for each in both) > 40


@pytest.mark.parametrize(
    ("name", "settings", "place", "words"),
    [
        ("throughput/udp_100b.toml", [], "protocol.crypto", '"counted" are tags'),
        ("throughput/udp_100b.toml", BLOCKS[:1], "output.blocks", "output.blocks = true"),
        ("tokens/sign_and_verify.toml", [], "protocol.kind", "has no tokens to keep"),
    ],
)
def test_a_run_that_keeps_nothing_is_exit_2(scenarios, tmp_path, name, settings, place, words):
    settings = [*settings, "run.repetitions=1"]
    settings += ["run.duration=1s", "workload.rate=16/s"] if name.startswith("through") else []
    run = runner.run(scenarios / name, settings, tmp_path, jobs=1)[0]
    error = verify(run).exception
    assert isinstance(error, ScenarioError)
    assert (error.exit_code, error.key_path) == (2, place)
    assert words in str(error)


def test_blocks_are_refused_where_nobody_could_verify_them(scenarios, tmp_path):
    udp, market = scenarios / "throughput/udp_100b.toml", scenarios / "tokens/market.toml"
    for scenario, settings, place in [
        (udp, BLOCKS[1:], "protocol.crypto"),
        (market, BLOCKS, "output.blocks"),
    ]:
        with pytest.raises(ScenarioError) as refused:
            runner.run(scenario, settings, tmp_path)
        assert refused.value.key_path == place
    assert list(tmp_path.iterdir()) == []
