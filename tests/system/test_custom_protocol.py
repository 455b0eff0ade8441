"""A custom protocol, in Python, on the engine: what it costs and sends, and how it fails."""

import json
import subprocess
import sys
import textwrap

import pytest
from conftest import command_line

from pocketsim.extend.harness import Harness
from pocketsim.protocol import Deliver, Send
from pocketsim.sim import trace
from pocketsim.sim.base.errors import ProtocolError, UserError
from pocketsim.sim.run import children, results, runner
from support import engine_plans
from support.custom_runs import failed, ran

pytestmark = pytest.mark.engine
HEAD = "from pocketsim.protocol import *\n\n\nclass Mine(Protocol):\n"
ECHO = """
    def command(self, request, now_s):
        yield Work("begin", request.payload_bytes)
        yield Send(request.peer, b"?" * request.payload_bytes)

    def receive(self, sender, message, now_s):
        yield Work("answer", len(message))
        if message[:1] == b"?":
            yield Send(sender, b"!" + message[1:])
        else:
            yield Observe("echo", len(message))
            yield Deliver(message)
"""
SCENARIO = """
implementation = "probe"
run = { seed = 3, duration = "20s", repetitions = 2 }
workload = { kind = "poisson", rate = "0.5/s", payload = "100B" }
transport = { mode = "udp" }

[[devices]]
profile = "moto_g04s"
count = 6
access = "wifi"

[network.access.wifi]
up = "40Mbps"
down = "40Mbps"
latency = "2ms"

[protocol]
kind = "python"
class = "mine.py:Mine"

[operations.begin]
cpu = "3ms"

[operations.answer]
cpu = "1ms"
per_byte = "10us"
"""


@pytest.fixture
def mine(tmp_path):
    """Return a function that writes a protocol and a scenario around it."""

    def write(body=ECHO, scenario=SCENARIO, head=HEAD):
        (tmp_path / "mine.py").write_text(head + textwrap.indent(textwrap.dedent(body), "    "))
        path = tmp_path / "mine.toml"
        path.write_text(scenario)
        return path

    return write


def test_work_and_messages_take_their_time_and_every_transaction_has_a_fate(mine):
    folder = ran(mine())
    found = json.loads((folder / "metrics.json").read_text())
    events = trace.read(folder / "events.parquet")
    rows = engine_plans.from_table(events.filter(events["repetition"].to_numpy() == 0))
    counts = found["counts"]
    assert counts["sent"] == counts["stored"] > 40
    # Two ways of two hops, the work of both phones, and a few tenths for the datagrams.
    (least_s, most_s) = (8e-3 + 3e-3 + 2 * 2e-3, 8e-3 + 3e-3 + 2 * 2e-3 + 2e-3)
    assert least_s < 1e-3 * found["metrics"]["delivery_ms_p50"]["mean"] < most_s
    sent = rows.of("send")
    assert rows.of("deliver").time_s.size == rows.of("store").time_s.size == sent.time_s.size
    assert set(rows.of("store").message) == set(sent.message)
    cpu_s = found["cpu_s"]
    assert cpu_s["begin"]["values"][0] == pytest.approx(3e-3 * sent.time_s.size)
    assert cpu_s["answer"]["values"][0] == pytest.approx(2 * 2e-3 * sent.time_s.size)
    assert found["observed"]["echo"]["counts"][0] == sent.time_s.size
    assert found["observed"]["echo"]["means"] == [100.0, 100.0]
    resolved = json.loads((folder / "resolved.json").read_text())
    assert resolved["protocol"]["class"] == "mine.py:Mine"
    assert resolved["versions"]["python"]


def test_every_loss_has_a_reason(mine):
    path = mine(scenario=SCENARIO.replace('latency = "2ms"', 'latency = "2ms"\nloss_ratio = 0.2'))
    counts = json.loads((ran(path) / "metrics.json").read_text())["counts"]
    assert counts["lost"]["link_loss"] > 10
    total = counts["stored"] + counts["in_flight"] + sum(counts["lost"].values())
    assert counts["sent"] == total


@pytest.mark.parametrize("mode", ["udp", "quic_keep", "tftp"])
def test_the_same_protocol_goes_over_every_transport(mine, root, mode):
    implementation = root / "tests" / "support" / "every_transport.toml"
    path = mine(scenario=SCENARIO.replace('"probe"', f'"{implementation}"'))
    found = json.loads((ran(path, f"transport.mode={mode}") / "metrics.json").read_text())
    assert found["metrics"]["success_ratio"]["mean"] > 0.95


def test_custom_operations_are_scaled_from_the_phone_they_were_measured_on(mine):
    path = mine()
    twice = ["operations.begin.scales_with=hash", "operations.begin.reference=500ns"]
    found = [
        json.loads((ran(path, *overrides) / "metrics.json").read_text())["cpu_s"]["begin"]
        for overrides in ([], twice)
    ]
    # SHA-256 takes a moto_g04s 1 us.
    assert found[1]["mean"] == pytest.approx(2 * found[0]["mean"])


TIMERS = """
    def __init__(self, phone):
        super().__init__(phone)
        self.due_s, self.waiting = None, None

    def command(self, request, now_s):
        self.waiting, self.due_s = request, now_s + 0.25

    def receive(self, sender, message, now_s):
        yield Deliver(message, int.from_bytes(message, "big"))

    def next_timeout(self):
        return None if self.due_s is None else (self.due_s, "to send")

    def handle_timeout(self, now_s):
        self.due_s = None
        number = self.waiting.transaction
        yield Observe("woken", 0, number)
        yield Send(self.waiting.peer, number.to_bytes(8, "big"), number)
"""


def test_timeouts_come_when_they_were_asked_for_and_outputs_may_name_their_transaction(mine):
    path = mine(TIMERS, SCENARIO.replace('"0.5/s"', '"0.05/s"'))
    folder = ran(path, "run.repetitions=1")
    rows = engine_plans.from_table(trace.read(folder / "events.parquet"))
    sent, woken = rows.of("send"), rows.of("woken")
    first = {number: sent.time_s[sent.message == number][0] for number in woken.message}
    assert woken.time_s == pytest.approx([first[number] + 0.25 for number in woken.message])
    assert (woken.peer == -1).all()
    assert rows.of("store").time_s.size == woken.time_s.size > 0


CHURN = """
[churn]
session = { distribution = "weibull", shape = 1.0, scale = "5s" }
gap = { distribution = "weibull", shape = 1.0, scale = "2s" }
"""


def test_with_churn_fates_still_add_up(mine):
    path = mine(scenario=SCENARIO + CHURN)
    found = json.loads((ran(path) / "metrics.json").read_text())
    for fate in found["fates"]:
        assert fate["sent"] == fate["stored"] + fate["in_flight"] + sum(fate["lost"].values())
    assert sum(found["counts"]["lost"].values()) > 0


CHANCE = """
    def command(self, request, now_s):
        for word in {"one", "two", "three", "four"}:  # in the order of their hashes
            yield Send(self.phone.chance.choice(self.phone.peers), word.encode())

    def receive(self, sender, message, now_s):
        yield Deliver(message)
"""


def test_the_same_scenario_and_file_give_the_same_bytes(mine, monkeypatch):
    path = mine(CHANCE)
    one, other = (ran(path, out=out) for out in ("one", "other"))
    assert one.name == other.name
    for name in ("events.parquet", "metrics.json", "resolved.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    other_seed = ran(path, "run.seed=4")
    assert not results.read_events(one).equals(results.read_events(other_seed))


@pytest.mark.parametrize("hash_seed", ["1", "42", "random"])
def test_the_hash_seed_of_the_environment_leaves_the_bytes_as_they_are(
    mine, monkeypatch, hash_seed
):
    path = mine(CHANCE)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    one = ran(path, out="one")
    monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
    other = ran(path, out=hash_seed)
    assert one.name == other.name
    for name in ("events.parquet", "metrics.json", "resolved.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_peers_are_those_of_the_graph(mine):
    body = """
        def command(self, request, now_s):
            assert request.peer in self.phone.peers
            return [Observe("peers", len(self.phone.peers))]

        def receive(self, sender, message, now_s):
            pass
    """
    partners = '{generator="watts_strogatz", neighbours=2, rewiring=0.0}'
    found = [
        json.loads((ran(mine(body), *overrides) / "metrics.json").read_text())["observed"]
        for overrides in ([], [f"workload.partners={partners}"])
    ]
    assert [one["peers"]["means"][0] for one in found] == [5.0, 2.0]


def test_output_of_a_protocol_goes_into_the_log(mine):
    body = ECHO + '\n    def __init__(self, phone):\n        print("phone", phone.number)\n'
    log = (ran(mine(body)) / "log.txt").read_text()
    assert "[repetition 1] phone 5" in log


def test_another_file_is_another_run_and_one_that_changes_meanwhile_is_refused(mine):
    path = mine()
    before = ran(path)
    mine(ECHO + "\n    # another\n")
    assert ran(path).name != before.name
    mine(ECHO + "\n    # a third\n")
    tasks = runner.tasks_of(runner.load(path), path.parent / "runs")
    mine()
    with pytest.raises(UserError, match=r"mine\.py: has changed since the run was resolved"):
        runner.run_tasks(tasks, 1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 / 0", "line 7 in command, at T s on phone 0: ZeroDivisionError: division by zero"),
        ("yield 7", "line 7 in command, at T s on phone 0: an output must be Work, Send, "),
        ("return Send(0, b'')", "in command, at T s on phone 0: must yield outputs, or return a"),
        ("yield Send(9, b'')", "Send.to: another phone, of 0 to 5, not int 9"),
        ("yield Send(0, b'')", "Send.to: another phone, of 0 to 5, not int 0"),
        ("yield Send(1.0, b'')", "Send.to: another phone, of 0 to 5, not float 1.0"),
        ("yield Send(1, 'text')", "Send.message: bytes, not str 'text'"),
        ("yield Work('anser')", "unknown operation anser (did you mean answer?)"),
        ("yield Work('verify', -1)", "Work.bytes: a whole number below 2^32, not int -1"),
        ("yield Work(5)", "Work.operation: text, not int 5"),
        ("yield Deliver(5)", "Deliver.value: bytes, not int 5"),
        ("yield Observe('store')", "Observe: store is a kind of event that every run has"),
        ("yield Observe('x', 0.5)", "Observe.value: a whole number below 2^31, not float 0.5"),
        ("yield Deliver(b'', 77)", "transaction: that of a request, not int 77"),
        ("while True: yield Work('begin')", "more than 100000 outputs of one call"),
        ("raise SystemExit(3)", "line 7 in command, at T s on phone 0: SystemExit: 3"),
        ("self.deeper()", "line 10 in deeper, line 10 in deeper, at T s on phone 0: Recurs"),
    ],
)
def test_a_mistake_fails_the_run_with_file_line_time_and_phone(mine, line, said):
    body = f"""
        def command(self, request, now_s):
            {line}

        def deeper(self):
            self.deeper()

        def receive(self, sender, message, now_s):
            pass
    """
    found = failed(mine(body, SCENARIO.replace('"0.5/s"', '"5/s"')))
    assert said.replace("T s", "0.0115158306 s") in found
    assert "at 0.0115158306 s on phone 0: " in found


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("(0.0, 'again')", "handle_timeout, at 0 s on phone 0: was asked 100000 times and time"),
        ("(-1.0, 'past')", "in next_timeout, at 0 s on phone 0: -1 s is no time from now, 0 s, on"),
        ("(float('nan'), 'no')", "in next_timeout, at 0 s on phone 0: NaN s is no time from now"),
        ("(float('inf'), 'no')", "in next_timeout, at 0 s on phone 0: inf s is no time from now"),
        ("1.5", "in next_timeout, at 0 s on phone 0: must be (time_s, reason) or None, not 1.5"),
        ("(1.0, 5)", "must be (time_s, reason) or None, not (1.0, 5)"),
    ],
)
def test_a_wrong_timeout_fails_the_run(mine, answer, said):
    body = ECHO + f"\n    def next_timeout(self):\n        return {answer}\n"
    body += "\n    def handle_timeout(self, now_s):\n        pass\n"
    assert said in failed(mine(body))


def test_a_timeout_that_has_come_may_not_be_asked_for_again(mine):
    body = (
        ECHO
        + """
    def next_timeout(self):
        return (1.0, "once")

    def handle_timeout(self, now_s):
        yield Work("begin")
        yield Observe("woken")
"""
    )
    said = "in next_timeout, at 1.003 s on phone 0: 1 s is no time from now, 1.003 s, on"
    assert said in failed(mine(body))


def test_a_timeout_needs_somebody_to_handle_it(mine):
    body = "def next_timeout(self): return (1.0, 'now')\n"
    body += "def command(self, request, now_s): pass\ndef receive(self, *_): pass\n"
    head = "class Mine:\n    def __init__(self, phone): pass\n"
    assert "in handle_timeout, at 1 s on phone 0: next_timeout without" in failed(
        mine(body, head=head)
    )


def test_two_phones_that_answer_each_other_for_ever_at_one_time_are_stopped():
    class Parrot:
        def command(self, request, now_s):
            return [Send(request.peer, b"polly")]

        def receive(self, sender, message, now_s):
            return [Send(sender, b"polly")]

    phones = Harness(lambda _phone: Parrot(), 2, delay_s=0.0)
    phones.command(0, 1)
    with pytest.raises(ValueError, match="time did not go on"):
        phones.run(1.0)


@pytest.mark.parametrize(
    ("head", "body", "said"),
    [
        (HEAD, "def receive(self): return 1 +", "line 5: invalid syntax"),
        ("import nothing_of_that_name\n" + HEAD, "pass", "line 1 in <module>: ModuleNotFoundError"),
        (HEAD, "def __init__(self, phone): self.phone = phone.nmber", "line 5 in __init__: Attri"),
        ("class Mine:\n", "def __init__(self, phone): pass", "Mine has no method rec"),
    ],
)
def test_a_class_that_cannot_be_made_is_the_users_mistake(mine, head, body, said):
    path = mine(body, head=head)
    with pytest.raises(UserError) as caught:
        ran(path)
    assert f"{path.parent / 'mine.py'}: {said}" in str(caught.value)
    assert not [one for one in path.parent.glob("runs/**/*") if one.is_file()]


def test_protocol_error_is_one_line_and_exit_code_2(mine):
    path = mine("def command(self, request, now_s): self.oops")
    call = command_line(path.parent, sys.executable, "-m", "pocketsim.cli")
    done = call("run", path, "-q")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "mine.py: line 5 in command, at " in line


def test_a_sweep_goes_on_after_a_point_that_fails(mine):
    path = mine("def command(self, request, now_s): assert request.payload_bytes < 150", SCENARIO)
    tasks = runner.tasks_of(
        runner.load(path, ["workload.payload=[100B, 200B]"]), path.parent / "runs"
    )
    first, second = runner.run_tasks(tasks, 1, keep_going=True)
    assert (first.status, second.status) == ("ran", "failed")
    assert isinstance(second.error, ProtocolError)


@pytest.mark.parametrize("name", children.PREFERRED)
def test_variables_of_the_user_win_over_defaults_of_children(name, monkeypatch):
    monkeypatch.delenv(name, raising=False)
    assert children.environment()[name] == children.PREFERRED[name]
    monkeypatch.setenv(name, "1")
    assert children.environment()[name] == "1"


def test_a_trade_written_in_python_is_the_engines_own_event_by_event(root):
    """The benchmark's trade of two messages, in Rust and in Python: the same times to the bit."""
    taken_s = []
    for call in ("build_plan(20, 5.0)", "simulated('trade', 20, 5.0)"):
        script = f"""
import own_protocol, pocketsim_pairwise as pairwise
from pocketsim.sim import _engine
from own_protocol import simulated
build_plan = lambda *of: _engine.run(pairwise.build_plan(*of))
print(pairwise.latencies_s({call}).tolist())
"""
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=root / "bench", capture_output=True, check=True
        )
        taken_s.append(json.loads(done.stdout))
    assert len(taken_s[0]) > 50
    assert taken_s[0] == taken_s[1]


def test_harness_and_engine_give_the_same_events(mine):
    """One protocol, the same peers and chance: what it did is the same where nothing takes time."""
    body = """
        def command(self, request, now_s):
            yield Send(self.phone.chance.choice(self.phone.peers), b"x" * request.payload_bytes)

        def receive(self, sender, message, now_s):
            yield Deliver(message)
    """
    folder = ran(mine(body), "run.repetitions=1")
    rows = engine_plans.from_table(trace.read(folder / "events.parquet"))
    names = {}
    exec((folder.parents[2] / "mine.py").read_text(), names)  # noqa: S102 - what the engine runs, too
    phones = Harness(names["Mine"], 6, seed=3)
    for number, phone in enumerate(phones.protocols):
        phone.phone.stream = f"repetition/0/protocol/0/{number}"
    sent = rows.of("send")
    for time_s, node, peer in zip(sent.time_s, sent.node, sent.peer, strict=True):
        phones.run(until_s=time_s)
        phones.command(int(node), peer=int(peer))
    phones.run(until_s=30.0)
    delivered = rows.of("deliver")
    found = {said.transaction: said.phone for said in phones.said(Deliver)}
    assert {int(m): int(n) for m, n in zip(delivered.message, delivered.node, strict=True)} == found
