"""Workloads, partners, adversaries, policies and custom metrics, on the engine."""

import json
import textwrap

import pytest

from pocketsim.sim import trace
from pocketsim.sim.base.errors import EngineError, ProtocolError, ScenarioError
from support import engine_plans
from support.custom_runs import failed, ran

pytestmark = pytest.mark.engine
HEAD = "from pocketsim.protocol import *\n\n\n"
SCENARIO = """
implementation = "probe"
run = { seed = 3, duration = "40s", repetitions = 2 }
protocol = { kind = "transfer" }

[workload]
kind = "poisson"
rate = "0.5/s"
payload = "100B"

[transport]
mode = "udp"

[[devices]]
profile = "moto_g04s"
count = 6
access = "wifi"

[network.access.wifi]
up = "40Mbps"
down = "40Mbps"
latency = "2ms"
"""
RECONNECTING = ["transport.mode=quic_reconnect", "transport.connect_timeout=2s"]
OFF = [
    "churn.session={distribution='weibull', shape=1.0, scale='10s'}",
    "churn.gap={distribution='lognormal', median='4s', sigma=0.5}",
]


@pytest.fixture
def mine(tmp_path):
    """Return a function that writes custom code and a scenario beside it."""

    def write(code, scenario=SCENARIO):
        (tmp_path / "mine.py").write_text(HEAD + textwrap.dedent(code))
        path = tmp_path / "mine.toml"
        path.write_text(scenario)
        return path

    return write


def measured(path, *overrides):
    return json.loads((ran(path, *overrides) / "metrics.json").read_text())


def rows_of(folder, repetition=0):
    events = trace.read(folder / "events.parquet")
    return engine_plans.from_table(events.filter(events["repetition"].to_numpy() == repetition))


POLICY = "transport.policy={class='mine.py:Mine'}"


def test_a_policy_makes_messages_wait(mine):
    path = mine("""
        class Mine(TransportPolicy):
            def hand_over(self, to, size_bytes, now_s):
                return now_s + 1.0
    """)
    at_once, later = (rows_of(ran(path, *more)) for more in ([], [POLICY]))
    for rows in (at_once, later):
        assert rows.of("send").time_s.size > 50
    took_s = [_last_s(rows) for rows in (at_once, later)]
    assert took_s[1] == pytest.approx(took_s[0] + 1.0, abs=1e-6)


def _last_s(rows):
    """Return how long the first transfer took."""
    sent, stored = rows.of("send"), rows.of("store")
    place = list(stored.message).index(sent.message[0])
    return stored.time_s[place] - sent.time_s[0]


def test_message_that_a_policy_gives_up_is_withheld(mine):
    path = mine("""
        class Mine(TransportPolicy):
            def hand_over(self, to, size_bytes, now_s):
                return None if to == 0 else now_s
    """)
    folder = ran(path, POLICY)
    counts = json.loads((folder / "metrics.json").read_text())["counts"]
    sent = [rows_of(folder, number).of("send") for number in (0, 1)]
    to_first = sum(int((part.peer == 0).sum()) for part in sent)
    assert counts["lost"] == {"withheld": to_first}
    assert to_first > 10
    assert counts["stored"] == counts["sent"] - to_first


def test_failed_message_is_retried_as_often_as_the_policy_says(mine):
    path = mine("""
        class Mine(TransportPolicy):
            def failed(self, to, size_bytes, reason, attempts, now_s):
                again = attempts < self.phone.options["attempts"]
                return now_s + 3.0 if again and reason == "connect_timeout" else None
    """)
    stored = []
    for attempts in (1, 2, 5):
        options = f"transport.policy.options.attempts={attempts}"
        counts = measured(path, *RECONNECTING, *OFF, POLICY, options)["counts"]
        total = counts["stored"] + counts["in_flight"] + sum(counts["lost"].values())
        assert counts["sent"] == total
        stored.append(counts["stored"])
    without = measured(path, *RECONNECTING, *OFF)["counts"]["stored"]
    assert without == stored[0] < stored[1] < stored[2]


def test_attempts_are_those_of_each_message(mine):
    """Of several that a phone sends in one answer, and of those that belong to no transaction."""
    path = mine(
        """
        class Echo(Protocol):
            def __init__(self, phone):
                super().__init__(phone)
                self.wakes_s = 1.0 if phone.number == 0 else None

            def next_timeout(self):
                return self.wakes_s and (self.wakes_s, "again")

            def handle_timeout(self, now_s):
                self.wakes_s = now_s + 2.0
                return [Send(1, bytes(100 + number)) for number in range(3)]


        class Mine(TransportPolicy):
            def __init__(self, phone):
                self.counted = {}

            def hand_over(self, to, size_bytes, now_s):
                self.counted.setdefault(size_bytes, []).append(0)
                return now_s

            def failed(self, to, size_bytes, reason, attempts, now_s):
                counts = self.counted[size_bytes]
                place = counts.index(attempts - 1)  # of one that failed so often before
                counts[place] = attempts if attempts < 3 else None
                return now_s + 1.5 if attempts < 3 else None
        """,
        PYTHON.replace('rate = "0.5/s"', 'rate = "1/h"'),
    )
    folder = ran(path, *RECONNECTING, *OFF, POLICY)
    assert (rows_of(folder).of("lose").reason >= 0).sum() > 3


def test_immediate_retry_of_an_immediate_failure_ends_the_run(mine):
    path = mine("""
        class Mine(TransportPolicy):
            def failed(self, to, size_bytes, reason, attempts, now_s):
                return now_s
    """)
    text = failed(path, POLICY, "workload.payload=66kB")
    assert text.endswith("was asked 100000 times and time did not go on")


def test_messages_waiting_on_a_phone_that_goes_off_are_lost_with_a_reason(mine):
    path = mine("""
        class Mine(TransportPolicy):
            def hand_over(self, to, size_bytes, now_s):
                return now_s + 8.0
    """)
    counts = measured(path, *OFF, POLICY)["counts"]
    assert counts["lost"]["sender_off"] > 5
    assert counts["sent"] == counts["stored"] + counts["in_flight"] + sum(counts["lost"].values())


def test_a_policy_that_only_waits_for_nothing_changes_no_byte(mine):
    path = mine("class Mine(TransportPolicy):\n    pass\n")
    without, with_one = (ran(path, *RECONNECTING, *more) for more in ([], [POLICY]))
    found = [trace.read(folder / "events.parquet") for folder in (without, with_one)]
    assert found[0].equals(found[1])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return now_s - 1.0", "in hand_over, at 0."),
        ("return 'soon'", "or None, not 'soon'"),
        ("return float('inf')", "or None, not inf"),
        ("raise KeyError(to)", "line 6 in hand_over, at 0."),
    ],
)
def test_a_policy_that_fails_is_told_with_place_time_and_phone(mine, body, said):
    head = "class Mine(TransportPolicy):\n    def hand_over(self, to, size_bytes, now_s):\n"
    text = failed(mine(f"{head}        {body}\n"), POLICY)
    assert said in text
    assert " s on phone " in text


def test_a_policy_needs_its_methods(mine):
    code = "class Mine:\n    def __init__(self, phone): pass\n"
    assert failed(mine(code), POLICY) == "Mine has no method hand_over"


def test_proposals_of_a_class_happen_when_it_says(mine):
    path = mine(
        """
        class Mine(Workload):
            def proposals(self):
                yield 5.0, 1, 2, 300
                yield 3.0, 0, 4, 200
    """,
        SCENARIO.replace(
            'kind = "poisson"\nrate = "0.5/s"\npayload = "100B"',
            'kind = "python"\nclass = "mine.py:Mine"',
        ),
    )
    sent = rows_of(ran(path)).of("send")
    assert sent.node.tolist() == [0, 1]
    assert sent.peer.tolist() == [4, 2]
    assert sent.time_s.tolist() == pytest.approx([3.0, 5.0], abs=0.01)


ECHO = """
    class Echo(Protocol):
        def command(self, request, now_s):
            yield Send(request.peer, b"?")

        def receive(self, sender, message, now_s):
            if message == b"?":
                yield Send(sender, b"!")
            else:
                yield Deliver(message)


    class Mute(Adversary):
        def receive(self, sender, message, now_s):
            return None if message == b"?" else super().receive(sender, message, now_s)


    class Broken(Adversary):
        def receive(self, sender, message, now_s):
            return {}["key"]
"""
PYTHON = SCENARIO.replace('{ kind = "transfer" }', '{ kind = "python", class = "mine.py:Echo" }')


def test_only_adversaries_behave_differently(mine):
    path = mine(ECHO, PYTHON)
    adversary = "protocol.adversary={class='mine.py:Mute', ratio=0.5}"
    counts = measured(path, adversary)["counts"]
    honest = measured(path)["counts"]
    assert honest["stored"] == honest["sent"] == counts["sent"]
    assert 0 < counts["stored"] < counts["sent"]
    nobody = measured(path, "protocol.adversary={class='mine.py:Mute', ratio=0}")["counts"]
    assert nobody == honest


def test_an_adversary_that_fails_is_told_with_its_line(mine):
    text = failed(mine(ECHO, PYTHON), "protocol.adversary={class='mine.py:Broken', ratio=1}")
    assert text.startswith("line 23 in receive, at ")
    assert text.endswith("KeyError: 'key'")


METRICS = """
    def first_send_s(events, resolved):
        return events.of_kind("send").time_s[0]


    def nothing(events, resolved):
        return None


    def rtt_ms_p50(events, resolved):
        return 0.0


    def words(events, resolved):
        return "many"
"""


def test_custom_metrics_are_beside_the_others_of_each_repetition(mine):
    path = mine(METRICS)
    folder = ran(path, "output.metrics=['mine.py:first_send_s', 'mine.py:nothing']")
    found = json.loads((folder / "metrics.json").read_text())["metrics"]
    firsts_s = [rows_of(folder, number).of("send").time_s[0] for number in (0, 1)]
    assert found["first_send_s"]["values"] == firsts_s
    assert found["first_send_s"]["mean"] == pytest.approx(sum(firsts_s) / 2)
    assert found["nothing"]["values"] == [None, None]
    assert "rtt_ms_p50" in found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rtt_ms_p50", "in rtt_ms_p50: the run has a metric rtt_ms_p50 already"),
        ("words", "in words: a metric must be a number, or None, not str 'many'"),
    ],
)
def test_invalid_metric_ends_the_run(mine, name, said):
    path = mine(METRICS)
    with pytest.raises(ProtocolError) as caught:
        ran(path, f"output.metrics=['mine.py:{name}']")
    assert said in str(caught.value)


def test_another_text_is_another_run(mine):
    path = mine(METRICS)
    asked = "output.metrics=['mine.py:nothing']"
    before = ran(path, asked)
    path.with_name("mine.py").write_text(HEAD + textwrap.dedent(METRICS) + "\n\nX = 1\n")
    assert ran(path, asked) != before


ENDS = """
    import os
    import sys


    class Mine(Protocol):
        def command(self, request, now_s):
            {}

        def receive(self, sender, message, now_s):
            yield Deliver(message)
"""
MINE = PYTHON.replace("mine.py:Echo", "mine.py:Mine")


@pytest.mark.parametrize("repetitions", [1, 2])
def test_a_process_that_ends_itself_leaves_no_run(mine, repetitions):
    path = mine(ENDS.format("os._exit(0)"), MINE)
    for _ in range(2):  # the second finds nothing of the first
        with pytest.raises(EngineError, match="ended before it was done"):
            ran(path, f"run.repetitions={repetitions}")
    assert not list((path.parent / "runs").rglob("metrics.json"))


@pytest.mark.parametrize(
    "before",
    ["print('hello')", "sys.stderr = open('/dev/null', 'w')", "sys.stdout.close()", "os.close(2)"],
)
def test_closed_or_used_output_does_not_hide_the_reason(mine, before):
    path = mine(ENDS.format(f"{before}; raise KeyError('why')"), MINE)
    with pytest.raises(ProtocolError) as caught:
        ran(path)
    if before != "os.close(2)":  # then nobody can say anything
        assert str(caught.value).endswith("KeyError: 'why'")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise type('Mute', (Exception,), {'__str__': None})", "Mute"),
    ],
)
def test_any_error_of_a_constructor_is_a_protocol_error(mine, body, said):
    code = f"""
    class Mine(Protocol):
        def __init__(self, phone):
            {body}
    """
    with pytest.raises(ProtocolError) as caught:
        ran(mine(code, MINE))
    assert str(caught.value).endswith(f"in __init__: {said}")


def test_eva_refuses_custom_protocols(mine):
    with pytest.raises(ScenarioError, match="takes a transaction for one message"):
        ran(mine(ECHO, PYTHON), "implementation=kotlin_ipv8_2023", "transport.mode=eva")
