"""`export --to`: what it refuses, where it writes, and what it leaves when it fails."""

import csv
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from pocketsim import testing
from pocketsim.cli import app
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import rundir
from pocketsim.sim.trace import final_tokens, tables

KEY = "4c69" * 37
RULES = {"rules": "thesis", "handshake": "challenge"}
TOWN = {"protocol": {"kind": "tokens", "crypto": "real", "tokens": RULES}, "churn": None}
RUNG = {"rate_per_s": 16.0, "payload_bytes": 100, "transport": "udp"}
KEEPS = {"trace": "full", "sample_ratio": 1.0, "tokens": True, "blocks": False}


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, ["export", *map(str, arguments)])


@pytest.fixture
def run(tmp_path):
    """Return a function that makes an invented run with these sections."""

    def make(**sections):
        resolved = testing.resolved(
            "a", repetitions=2, **{"protocol": {"kind": "trustchain"}, **sections}
        )
        return testing.run_dir(tmp_path / "runs", {**resolved, "churn": None}, testing.Shape())

    return make


def token(serial, value, recipients, mark=0):
    """Return the head of a token, and as much behind it as this many recipients take."""
    head = (recipients | mark).to_bytes(2) + serial.to_bytes(8) + bytes([value])
    return head + bytes(138 + 138 * recipients + (16 * (recipients - 1) if mark else 0))


@pytest.fixture
def rows():
    kept = {
        "node": [3, 3, 3, 12345],
        "state": ["held", "held", "signed_away", "held"],
        "token": [
            token(1, 1, 1),
            token(2**64 - 1, 15, 3, mark=0x8000),
            token(7, 9, 2),
            token(8, 2, 1),
        ],
    }
    return final_tokens.from_engine({"tokens": kept}, 1)


def refused(done, place, *words):
    error = done.exception
    assert isinstance(error, ScenarioError)
    assert error.exit_code == 2
    assert place in {error.key_path, error.file}
    for word in words:
        assert word in str(error)
    return True


def test_without_a_format_it_is_csv(call, run, tmp_path):
    made = run()
    plain = call(made).stdout
    assert plain == call(made, "--to", "csv").stdout
    assert call(made, "--out", "out/a.csv").stdout == "out/a.csv\n"
    assert (tmp_path / "out/a.csv").read_text() == plain


def test_one_repetition_may_be_chosen(call, run):
    made = run()
    lines = call(made).stdout.splitlines()
    one, other = (call(made, "--repetition", number).stdout.splitlines() for number in (0, 1))
    assert one + other[1:] == lines
    assert min(len(one), len(other)) > 2
    assert (
        call(made, "--to", "graphml").stdout == call(made, "--to=graphml", "--repetition=0").stdout
    )
    assert refused(call(made, "--repetition", 2), "--repetition", "they are 0 to 1", "mean 1?")
    assert refused(call(made, "--repetition", -1), "--repetition")


GRAPHS = {"graphml": "<graphml", "gexf": "<gexf", "json": '{"directed": true'}


@pytest.mark.parametrize("to", GRAPHS)
def test_a_graph_goes_to_stdout_or_a_file(call, run, tmp_path, to):
    made = run()
    printed = call(made, "--to", to)
    assert GRAPHS[to] in printed.stdout[:100]
    for name in (f"out/a.{to}", f"out/{to}"):
        done = call(made, "--to", to, "-o", name)
        assert (done.exit_code, done.stdout) == (0, f"{name}\n")
        assert (tmp_path / name).read_text() == printed.stdout


@pytest.mark.parametrize("to", ["csv", *GRAPHS])
def test_the_suffix_of_a_file_says_its_format(call, run, tmp_path, to):
    made = run()
    printed = call(made, "--to", to).stdout
    for name in (f"a.{to}", f"b.1.{to.upper()}"):
        assert call(made, "--out", name).stdout == f"{name}\n"
        assert (tmp_path / name).read_text() == printed


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("a.graphm", ".graphml"), ("a.GEFX", ".gexf"), ("a.jsn", ".json"), ("a.cvs", ".csv")],
)
def test_a_suffix_of_no_format_is_refused(call, run, tmp_path, name, suggested):
    made = run()
    known = ".csv, .graphml, .gexf, .json, .pftrace"
    assert refused(call(made, "-o", name), name, known, f"(did you mean {suggested}?)")
    assert refused(call(made, "-o", "a.parquet"), "a.parquet", '".parquet"', known)
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
    # Who says what it is may call it anything.
    assert call(made, "--to", "csv", "-o", name).exit_code == 0
    assert call(made, "--csv", f"{name}.json").exit_code == 0


def test_a_suffix_of_another_format_is_refused(call, run, tmp_path):
    made = run()
    done = call(made, "--to", "graphml", "-o", "a.gexf")
    assert refused(done, "a.gexf", "no graphml", "(did you mean --to gexf?)")
    assert refused(call(made, "--to", "csv", "-o", "a.json"), "a.json", "mean --to json?")
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}


def test_an_unknown_format_is_exit_2(call, run):
    done = call(run(), "--to", "graphlm")
    assert done.exception.exit_code == 2
    assert "csv, graphml, gexf, json, perfetto, tokens, ro-crate (did you mean graphml?)" in str(
        done.exception
    )


def test_option_csv_needs_the_format_csv(call, run, tmp_path):
    made = run()
    assert refused(call(made, "--to", "graphml", "--csv", "a"), "--csv", "mean --out?")
    assert refused(call(made, "--csv", "a", "--out", "b"), "--csv")
    assert call(made, "--csv", "a", "--to", "csv").exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a", "runs"}


@pytest.mark.parametrize(
    ("sections", "place", "words"),
    [
        ({}, "protocol.kind", ['"trustchain" has no tokens', "tokens"]),
        (
            {"protocol": {"kind": "tokens", "crypto": "counted", "tokens": RULES}},
            "protocol.crypto",
            ["tags that nobody else can verify", 'protocol.crypto = "real"'],
        ),
        (TOWN, "output.tokens", ["kept no tokens", "output.tokens = true"]),
    ],
)
def test_a_run_without_tokens_to_verify_is_refused(call, run, tmp_path, sections, place, words):
    made = run(**sections)
    assert refused(call(made, "--to", "tokens", "-o", "out"), place, str(made), *words)
    assert not (tmp_path / "out").exists()


def test_tokens_need_a_new_folder(call, run, tmp_path):
    made = run(**TOWN, output=KEEPS)
    assert refused(call(made, "--to", "tokens"), "--to", "--out DIR")
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a").touch()
    assert refused(call(made, "--to", "tokens", "-o", "old"), "old", "is there already")
    assert refused(call(made, "--to", "tokens", "-o", "old/a"), "old/a", "is there already")
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["a"]


def keep_key(made, *repetitions):
    manifest = json.loads((made / "manifest.json").read_text())
    manifest["repetitions"] = repetitions
    (made / "manifest.json").write_text(json.dumps(manifest))


def test_tokens_are_batches_and_an_index(call, run, rows, tmp_path):
    made = run(**TOWN, output=KEEPS)
    tables.write(rows, made / rundir.TOKENS)
    keep_key(made, {}, {"authority_key": KEY})
    (tmp_path / "out").mkdir()
    done = call(made, "--to", "tokens", "--repetition", 1, "-o", "out")
    assert (done.exit_code, done.stdout) == (0, "out\n")
    # A folder may be called anything.
    assert call(made, "--to", "tokens", "--repetition", 1, "-o", "a.csv").stdout == "a.csv\n"
    tokens = rows["token"].to_pylist()
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    index = written.pop("tokens.csv").decode()
    assert written == {
        "authority.pub": f"{KEY}\n".encode(),
        "phone-00003-held.tokens": tokens[0] + tokens[1],
        "phone-00003-signed_away.tokens": tokens[2],
        "phone-12345-held.tokens": tokens[3],
    }
    assert [tuple(row) for row in csv.reader(index.splitlines())][1:] == [
        ("phone-00003-held.tokens", "3", "held", "0" * 15 + "1", "1", "1", "287"),
        ("phone-00003-held.tokens", "3", "held", "f" * 16, "50000", "3", "595"),
        ("phone-00003-signed_away.tokens", "3", "signed_away", "0" * 15 + "7", "500", "2", "425"),
        ("phone-12345-held.tokens", "12345", "held", "0" * 15 + "8", "2", "1", "287"),
    ]


def contents(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files}


@pytest.mark.parametrize("to", ["csv", "graphml", "tokens"])
@pytest.mark.parametrize(
    "target", ["metrics.json", "new.csv", "sub/new", "", "../{}/resolved.json"]
)
def test_nothing_is_written_into_a_run(call, run, tmp_path, to, target):
    made, other = run(**TOWN, output=KEEPS), run(rung={**RUNG, "rate_per_s": 2.0})
    before = contents(tmp_path)
    for into in (made, other):
        path = into / target.format(into.name)
        assert refused(call(made, "--to", to, "-o", path), str(path), "never written to again")
    assert contents(tmp_path) == before
    assert not (made / "sub").exists()


def test_link_into_a_run_is_refused(call, run, tmp_path):
    made = run()
    before = contents(made)
    (tmp_path / "a.csv").symlink_to(made / "metrics.json")
    (tmp_path / "aside").symlink_to(made, target_is_directory=True)
    for path in ("a.csv", "aside/new.csv"):
        assert refused(call(made, "--out", path), path, str(made))
        assert refused(call(made, "--csv", path), path, str(made))
    assert contents(made) == before
    # Beside it there is room.
    assert call(made, "--out", made.parent / "a.csv").exit_code == 0


@pytest.mark.parametrize("to", ["csv", *GRAPHS])
@pytest.mark.parametrize("target", [".", "", "runs"])
def test_a_folder_is_no_file(call, run, tmp_path, to, target):
    made = run()
    before = contents(tmp_path)
    done = call(made, "--to", to, "--out", target)
    assert refused(done, target or ".", "cannot be written: is a directory")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("to", ["csv", *GRAPHS, "tokens"])
@pytest.mark.parametrize("target", ["/proc/x", "dangling", "file/a", "file/a/b"])
def test_unwritable_target_is_an_error(call, run, rows, tmp_path, to, target):
    made = run(**(TOWN if to == "tokens" else {}), output=KEEPS)
    tables.write(rows, made / rundir.TOKENS)
    keep_key(made, {"authority_key": KEY})
    (tmp_path / "dangling").symlink_to(tmp_path / "none/at all")
    (tmp_path / "file").touch()
    before = contents(tmp_path)
    done = call(made, "--to", to, "--out", target)
    assert refused(done, target, "cannot be written")
    assert contents(tmp_path) == before
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("target", [".", ""])
def test_working_directory_is_not_replaced(call, run, tmp_path, monkeypatch, target):
    made = run(**TOWN, output=KEEPS)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert refused(call(made, "--to", "tokens", "-o", target), ".", "name a new folder")


def test_a_serial_is_the_number_of_its_rows_in_the_trace(rows):
    assert rows["serial"].to_pylist() == [1, -1, 7, 8]
    assert rows["repetition"].to_pylist() == [1] * 4


def test_joined_tables_keep_their_order(rows, tmp_path):
    for name in "ab":
        tables.write(rows, tmp_path / name)
    tables.join([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    assert tables.read(tmp_path / "c", 1) == rows.to_pylist() * 2
    assert tables.read(tmp_path / "c", 0) == []


def test_a_failure_leaves_no_folder(rows, tmp_path):
    broken = [*rows.to_pylist(), {"node": 5, "state": "held", "token": None}]
    with pytest.raises(TypeError):
        final_tokens.write_batches(broken, KEY, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_index_without_tokens_has_only_a_header(tmp_path):
    final_tokens.write_batches([], KEY, tmp_path / "out")
    assert (tmp_path / "out/tokens.csv").read_text() == ",".join(final_tokens.INDEX_COLUMNS) + "\n"


def test_a_child_writes_tokens_without_pandas(root, tmp_path):
    """Importing it takes a second, which every repetition would spend."""
    program = (
        "import sys; from pathlib import Path;"
        "from pocketsim.sim.trace import final_tokens, tables;"
        "kept = {'node': [1], 'state': ['held'], 'token': [bytes(287)]};"
        "made = final_tokens.from_engine({'tokens': kept}, 0);"
        "tables.write(made, Path(sys.argv[1]));"
        "assert 'pandas' not in sys.modules"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.parquet")]
    subprocess.run(command, cwd=root, check=True)
    assert tables.read(tmp_path / "a.parquet", 0)[0]["token"] == bytes(287)
