"""A custom protocol in Rust: the template outside the workspace, built by cargo, and run."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, command_line

from pocketsim.sim import trace
from pocketsim.sim.base.build import engine_file
from pocketsim.sim.base.errors import ProtocolError, ScenarioError, UserError
from pocketsim.sim.run import children, runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans
from support.custom_runs import ran

TEMPLATE = ROOT / "sim" / "template"
PATIENCE_S, PONDER_S = 0.5, 2e-3  # of its scenario

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def cargo(*arguments):
    """Run cargo on the template and return what it told."""
    program = shutil.which("cargo")
    if program is None:
        pytest.skip("no cargo to build the template")
    # The folder of `make test`, which has compiled most of it.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "build" / "template")}
    command = [program, *arguments, "--locked", "--manifest-path", TEMPLATE / "Cargo.toml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The library of the template, in a folder of its own."""
    told = [json.loads(line) for line in cargo("build", "--message-format=json").splitlines()]
    made = [name for one in told for name in one.get("filenames", ()) if "confirm" in name]
    folder = tmp_path_factory.mktemp("built")
    return shutil.copy(made[-1], folder / "libconfirm.so")


@pytest.fixture
def mine(built, tmp_path):
    """The template's scenario with its library beside it."""
    os.link(built, tmp_path / "libconfirm.so")
    text = (TEMPLATE / "confirm.toml").read_text()
    path = tmp_path / "confirm.toml"
    path.write_text(text.replace("target/release/", ""))
    return path


def metrics(folder):
    return json.loads((folder / "metrics.json").read_text())


def test_the_test_of_its_machine_passes():
    assert "test result: ok. 1 passed" in cargo("test")


def test_what_it_asks_for_takes_its_time_and_every_transaction_has_a_fate(mine):
    folder = ran(mine)
    found = metrics(folder)
    events = trace.read(folder / "events.parquet")
    rows = engine_plans.from_table(events.filter(events["repetition"].to_numpy() == 0))
    sent, delivered, stored = (rows.of(kind) for kind in ("send", "deliver", "store"))
    counts = found["counts"]
    assert counts["sent"] == counts["stored"] + counts["in_flight"] + sum(counts["lost"].values())
    assert set(delivered.message) == set(stored.message) < set(sent.message)
    # Three ways of two hops, and at least one answer.
    assert found["metrics"]["delivery_ms_p50"]["mean"] > 1e3 * (6 * 3e-3 + PONDER_S + 200e-6)
    asks = sent.time_s.size + found["observed"]["asked_again"]["counts"][0]
    # An ask that is lost, on either hop, is not pondered on.
    answers = found["cpu_s"]["ponder"]["values"][0] / (PONDER_S + 200 * 1e-6)
    assert answers == pytest.approx(round(answers))
    assert 0.9 * asks < answers < asks
    assert rows.of("asked_again").time_s.size == found["observed"]["asked_again"]["counts"][0] > 0
    assert (rows.of("asked_again").peer == -1).all()
    protocol = json.loads((folder / "resolved.json").read_text())["protocol"]
    assert (protocol["library"], protocol["class"]) == ("libconfirm.so", None)


def test_options_and_prices_reach_the_machine(mine):
    once = {"run.repetitions": "1", "network.access.wifi.loss_ratio": "0.2"}
    base = [f"{key}={value}" for key, value in once.items()]
    patient = metrics(ran(mine, *base, "protocol.options.patience_s=20"))
    found = metrics(ran(mine, *base, "operations.ponder.cpu=20ms"))
    again = [one["observed"]["asked_again"]["counts"][0] for one in (patient, found)]
    assert again[0] < 0.5 * again[1]
    p50_ms = [one["metrics"]["delivery_ms_p50"]["mean"] for one in (patient, found)]
    assert p50_ms[1] > p50_ms[0] + 15


def test_the_same_scenario_and_library_give_the_same_bytes(mine, tmp_path):
    one, other = (ran(mine, out=out) for out in ("one", "other"))
    assert one.name == other.name
    for name in ("events.parquet", "metrics.json", "resolved.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert ran(mine, "run.seed=43").name != one.name
    # A library that differs in a byte that nobody reads is another run.
    library = tmp_path / "libconfirm.so"
    content = library.read_bytes()
    library.unlink()
    library.write_bytes(content + b"\0")
    assert ran(mine).name != one.name


def test_process_of_its_own_gives_the_events_of_a_fork(mine, tmp_path):
    """Of two modules with an engine in one process, only the one that is asked makes it."""
    document = load(mine, ["run.repetitions=1"])
    job = {
        "resolved": resolve(document)[0].resolved,
        "repetition": 0,
        "first_index": None,
        "out_dir": str(tmp_path / "alone"),
        "files": document.paths(),
    }
    text = json.dumps(job)
    done = subprocess.run(children.COMMAND, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    alone = trace.read(tmp_path / "alone" / "repetition-0.parquet")
    assert alone.equals(trace.read(ran(mine, "run.repetitions=1") / "events.parquet"))


def test_library_runs_over_a_transport_that_gives_up(mine):
    churn = '{session={distribution="weibull", shape=1.0, scale="5s"}, '
    churn += 'gap={distribution="weibull", shape=1.0, scale="2s"}}'
    implementation = ROOT / "tests" / "support" / "every_transport.toml"
    overrides = (f"implementation={implementation}", "transport.mode=quic_keep", f"churn={churn}")
    for fate in metrics(ran(mine, *overrides))["fates"]:
        assert fate["sent"] == fate["stored"] + fate["in_flight"] + sum(fate["lost"].values())
        assert fate["stored"] > 0.5 * fate["sent"]


def test_a_policy_in_python_stands_between_it_and_its_transport(mine, tmp_path):
    head = "from pocketsim.protocol import TransportPolicy\n\n\n"
    late = head + "class Late(TransportPolicy):\n    def hand_over(self, to, size_bytes, now_s):\n"
    (tmp_path / "late.py").write_text(late + "        return now_s + 0.1\n")
    (tmp_path / "wrong.py").write_text(late + "        return now_s - 0.1\n")
    base = ("run.repetitions=1", "network.access.wifi.loss_ratio=0")
    found = [
        metrics(ran(mine, *base, *policy))["metrics"]["delivery_ms_p50"]["mean"]
        for policy in ((), ('transport.policy={class="late.py:Late"}',))
    ]
    assert found[1] == pytest.approx(found[0] + 300, abs=1)  # three messages
    with pytest.raises(ProtocolError, match=r"wrong\.py: in hand_over, at .* must be a time in"):
        ran(mine, 'transport.policy={class="wrong.py:Late"}')


def failed(path, *overrides):
    """Return what is said of a run that fails, of which nothing is left."""
    with pytest.raises(ProtocolError) as caught:
        ran(path, *overrides)
    assert not [one for one in (path.parent / "runs").rglob("*") if one.is_file()]
    said = str(caught.value)
    assert said.startswith(f"{path.parent / 'libconfirm.so'}: ")
    return said.removeprefix(f"{path.parent / 'libconfirm.so'}: ")


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["protocol.options.patience_s=soon"], 'protocol.options.patience_s: a number, not "soon"'),
        (["protocol.options.patient=1"], "protocol.options.patient: nobody asks for it"),
        (["operations={}"], "the scenario has no [operations.ponder]"),
        (["protocol.options.patience_s=-1"], "at 0.177913999 s on phone 0: a timeout at -0.822"),
    ],
)
def test_error_of_a_custom_machine_is_a_protocol_error(mine, overrides, said):
    assert said in failed(mine, *overrides)


def test_a_library_that_cannot_be_loaded_is_the_users_mistake(mine, tmp_path):
    library = tmp_path / "libconfirm.so"
    content = library.read_bytes()
    library.unlink()
    # The head is of a library for another machine.
    library.write_bytes(content[:18] + b"\xf3\x00" + content[20:])
    assert failed(mine).startswith("does not load: ")


def test_a_library_that_changes_meanwhile_is_refused(mine, tmp_path):
    tasks = runner.tasks_of(load(mine), tmp_path / "runs")
    library = tmp_path / "libconfirm.so"
    content = library.read_bytes()
    library.unlink()
    library.write_bytes(content + b"\0")
    with pytest.raises(UserError, match=r"libconfirm\.so: has changed since the run was resolved"):
        runner.run_tasks(tasks, 1)


def test_a_library_of_another_engine_is_refused_before_anything_is_loaded(mine, tmp_path):
    library = tmp_path / "libconfirm.so"
    content = library.read_bytes()
    library.unlink()
    at = content.index(b" of sources ")
    library.write_bytes(content.replace(content[at : at + 28], b" of sources 0123456789abcdef"))
    with pytest.raises(ScenarioError, match="was built from another engine") as caught:
        ran(mine)
    assert "sources 0123456789abcdef" in str(caught.value)
    assert "build it again" in str(caught.value)


def test_on_the_command_line_a_mistake_is_one_line_and_exit_code_2(mine, tmp_path):
    call = command_line(tmp_path, sys.executable, "-m", "pocketsim.cli")
    done = call("run", mine, "-q")
    assert done.returncode == 0, done.stderr
    cases = {
        "protocol.library=libconfrim.so": "protocol.library: no such file ",
        f"protocol.library={engine_file()}": "is no custom protocol",
        "protocol.library=confirm.toml": "is no library",
        "protocol.options.x=1": "libconfirm.so: protocol.options.x: nobody asks for it",
    }
    for override, said in cases.items():
        done = call("run", mine, "-q", "--set", override)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert said in line
