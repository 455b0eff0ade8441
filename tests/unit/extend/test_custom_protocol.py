"""A custom protocol without the engine: its document, its harness, what its trace says."""

import hashlib
import math
import re
import sys

import numpy as np
import pytest

from pocketsim import testing
from pocketsim.protocol import Deliver, Observe, Phone, Protocol, Send, Setting, Work
from pocketsim.sim import metrics, trace
from pocketsim.sim.base.custom_protocol import Others
from pocketsim.sim.base.engine_facts import EVENT_KINDS, operations
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario import point_values
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.trace.columns import Columns
from pocketsim.testing import Harness
from tools import reference

FILE = "class Mine:\n    pass\n\n\nclass Other:\n    pass\n"
OWN = """
[protocol]
kind = "python"
class = "mine.py:Mine"
"""


@pytest.fixture
def document(scenario):
    """A scenario with a custom protocol, and the protocol's file."""
    text = scenario.read_text().replace('rate = ["4/s", "8/s"]', 'rate = "4/s"')
    scenario.write_text(text + OWN)
    scenario.with_name("mine.py").write_text(FILE)
    return scenario


@pytest.fixture
def gossip(root, monkeypatch):
    """Return the class of the shipped example."""
    monkeypatch.syspath_prepend(str(root / "pocketsim/scenarios/own_protocol"))
    monkeypatch.delitem(sys.modules, "gossip", raising=False)
    from gossip import Gossip

    return Gossip


def test_a_resolved_scenario_has_the_class_and_the_digest_and_no_folder(document):
    (rung,) = resolve(load(document, ["protocol.options={fanout=3, names=['a', 'b']}"]))
    protocol = rung.resolved["protocol"]
    assert protocol["class"] == "mine.py:Mine"
    assert protocol["digest"] == hashlib.sha256(FILE.encode()).hexdigest()
    assert protocol["options"] == {"fanout": 3, "names": ["a", "b"]}
    folder = document.parent / "deeper"
    folder.mkdir()
    document.with_name("mine.py").rename(folder / "mine.py")
    (moved,) = resolve(load(document, ["protocol.class=deeper/mine.py:Mine"]))
    assert moved.resolved["protocol"]["class"] == "mine.py:Mine"


def test_a_manifest_has_every_option_under_its_name(document):
    loaded = load(document, ["protocol.options.share=1.0", "operations.mine.cpu=2ms"])
    (rung,) = resolve(loaded)
    found = point_values.values(loaded.scenario, rung.at)
    assert found["protocol.options.share"] == {"value": 1.0, "unit": ""}
    assert found["protocol.class"] == {"value": "mine.py:Mine", "unit": ""}
    assert found["operations.mine.cpu"] == {"value": 2e-3, "unit": "s"}
    assert "protocol.options.share" in point_values.of(loaded, rung.at)


def test_run_digest_covers_the_protocol_file_without_running_it(document):
    before = resolve(load(document))[0].name
    document.with_name("mine.py").write_text(FILE + "raise SystemExit('run')\n")
    assert resolve(load(document))[0].name != before


@pytest.mark.parametrize(
    ("overrides", "key_path", "reason", "suggestion"),
    [
        (["protocol.class=mine.py"], "protocol.class", 'such as "gossip.py:Gossip", not', None),
        (["protocol.class=mine.py:Mien"], "", "has no class Mien", "Mine"),
        (["protocol.class=min.py:Mine"], "", "no such file", "mine.py"),
        (["protocol.kind=transfer"], "protocol.class", 'is for protocol "python", not', None),
        (["protocol.options.x=nan"], "protocol.options.x", "a finite number, true or", None),
        (["protocol.options.x=[{}]"], "protocol.options.x", "must be text, a finite", None),
        (["operations.hash.cpu=1ms"], "operations.hash", "what a device or an impl", None),
        (["operations.mine.cpu=1"], "operations.mine.cpu", "no unit", None),
        (["operations.mine.cup=1ms"], "operations.mine.cup", "unknown key", "cpu"),
        (["operations.mine.scales_with=hash"], "operations.mine", "reference go together", None),
        (
            ["operations.mine={scales_with='hsh', reference='1us'}"],
            "operations.mine",
            "hsh",
            None,
        ),
        (["operations.mine.basis=measured"], "operations.mine", "needs samples", None),
        (["transport.mode=none"], "transport.mode", "a trade takes a transport", "udp"),
    ],
)
def test_inconsistent_sections_are_refused(document, overrides, key_path, reason, suggestion):
    with pytest.raises(ScenarioError) as caught:
        load(document, overrides)
    found = caught.value
    assert found.key_path.startswith(key_path)
    assert reason in found.reason
    assert suggestion is None or str(found.suggestion).endswith(suggestion)


def test_a_class_has_to_be_named(document):
    document.write_text(document.read_text().replace('class = "mine.py:Mine"\n', ""))
    with pytest.raises(ScenarioError, match=r"protocol\.class: is required, such as"):
        load(document)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("class Mine:\n    def f(:\n", "line 2", "invalid syntax"),
        ("x = 1\0\n", "", "null bytes"),
        ("class Mine" + "(" * 500, "", ""),
    ],
)
def test_a_file_that_is_no_python_is_refused(document, text, place, reason):
    document.with_name("mine.py").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load(document)
    assert caught.value.file == str(document.with_name("mine.py"))
    assert caught.value.key_path.startswith(place)
    assert reason in caught.value.reason


def test_custom_operations_follow_the_engines_and_are_drawn_like_them(document):
    cost = "{cpu='2ms', per_byte='1us', scales_with='hash', reference='2us', "
    cost += "standard_error='1ms', repetition_sigma=0.5}"
    loaded = load(document, [f"operations.b={cost}", "operations.a.wait=3ms"])
    found = resolve(loaded)[0].resolved
    posterior = {**found, "run": {**found["run"], "draw": "posterior"}}
    files = loaded.paths()
    plans = [
        build_plan(one, number, files=files) for one in (found, posterior) for number in (0, 1)
    ]
    assert plans[0]["protocol"]["own_operations"] == ["a", "b"]
    (profile,) = plans[0]["profiles"]
    count = len(operations())
    assert profile["cpu_s"].size == count + 2
    assert profile["wait_s"][count:] == pytest.approx([3e-3, 0.0])
    # SHA-256 takes a moto_g04s half of what the operation was found with; one factor is drawn.
    b_s = [plan["profiles"][0]["cpu_s"][count + 1] for plan in plans]
    assert len(set(b_s)) == 4
    assert profile["per_byte_s"][count + 1] == pytest.approx(b_s[0] / 2000)
    assert build_plan(found, 0, files=files)["profiles"][0]["cpu_s"][count + 1] == b_s[0]


def test_the_kinds_of_events_are_those_of_the_contract():
    contract = reference.CONTRACT.read_text()
    assert [name for name, _ in reference.named(contract, "EventKind")] == list(EVENT_KINDS)


def test_others_are_all_phones_but_the_phone_itself():
    others = Others(2, 5)
    assert list(others) == [0, 1, 3, 4]
    assert (others[-1], others[1:3], len(others)) == (4, [1, 3], 4)
    with pytest.raises(IndexError):
        others[4]


def test_chance_is_a_stream_of_the_phones_own():
    def drawn(*where):
        return Phone(0, 2, (1,), {}, *where).chance.random()

    assert drawn(1, "protocol/0/0") == drawn(1, "protocol/0/0")
    assert len({drawn(1, "protocol/0/0"), drawn(1, "protocol/0/1"), drawn(2, "protocol/0/0")}) == 3


class Counter(Protocol):
    """Sends three times, every half second, and takes what comes."""

    def __init__(self, phone):
        super().__init__(phone)
        self.left, self.due_s, self.request = 0, None, None

    def command(self, request, now_s):
        self.left, self.due_s, self.request = 3, now_s + 0.5, request

    def receive(self, sender, message, now_s):
        yield Work("hash", len(message))
        yield Deliver(message)

    def undelivered(self, to, message, reason, now_s):
        yield Observe(reason)

    def next_timeout(self):
        return (self.due_s, "next") if self.left else None

    def handle_timeout(self, now_s):
        self.left, self.due_s = self.left - 1, now_s + 0.5
        yield Send(self.request.peer, bytes([self.left]), self.request.transaction)


def test_a_harness_takes_messages_and_timeouts_in_order_of_time():
    lost = {1: None}
    phones = Harness(Counter, 2, delay_s=lambda _from, _to, message: lost.get(message[0], 0.75))
    number = phones.command(0, peer=1)
    phones.run(until_s=1.4)
    assert [(said.time_s, said.phone) for said in phones.said()] == [
        *[(0.5, 0), (1.0, 0)],
        *[(1.25, 1), (1.25, 1)],
    ]
    phones.run(until_s=5.0)
    delivered = phones.said(Deliver)
    assert [(said.time_s, said.output.value) for said in delivered] == [
        (1.25, b"\2"),
        (2.25, b"\0"),
    ]
    assert {said.transaction for said in delivered} == {number}
    phones.undelivered(0, 1, b"x", "oversized")
    assert phones.said(Observe)[0][1:] == (0, Observe("oversized"), None)
    assert phones.now_s == 5.0


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (Send(1, "text"), "Send.message: bytes, not str 'text'"),
        (Send(0, b""), "Send.to: another phone, of 0 to 1, not int 0"),
        (Work("hsh"), "unknown operation hsh"),
        (Work("hash", -1), "Work.bytes: a whole number below 2\\^32, not int -1"),
        (Observe("drop"), "Observe: drop is a kind of event that every run has"),
        (Deliver("text"), "Deliver.value: bytes, not str 'text'"),
        ("text", "an output must be Work, Send, Observe or Deliver, not str 'text'"),
    ],
)
def test_a_harness_refuses_what_the_engine_would(output, reason):
    class Wrong(Protocol):
        def command(self, request, now_s):
            return [output]

    with pytest.raises((TypeError, ValueError), match=reason):
        Harness(Wrong, 2, operations=operations()).command(0, 1)


@pytest.mark.parametrize(("answer", "kind"), [(Send(1, b""), TypeError), (iter(int, 1), TypeError)])
def test_a_harness_takes_no_lone_output_and_no_number(answer, kind):
    class Wrong(Protocol):
        def command(self, request, now_s):
            return answer

    with pytest.raises(kind):
        Harness(Wrong, 2).command(0, 1)


@pytest.mark.parametrize("time_s", [-1.0, math.nan, math.inf])
def test_harness_refuses_a_time_that_is_negative_or_not_finite(time_s):
    class Wrong(Protocol):
        def next_timeout(self):
            return (time_s, "wrong")

    with pytest.raises(ValueError, match="is no time from now"):
        Harness(Wrong, 2)


def test_endless_outputs_are_stopped():
    class Endless(Protocol):
        def command(self, request, now_s):
            while True:
                yield Work("hash")

    with pytest.raises(ValueError, match="more than 100000 outputs of one call"):
        Harness(Endless, 2).command(0, 1)


def test_a_rumour_reaches_every_phone_once(gossip):
    phones = Harness(gossip, 30, options={"fanout": 8})
    number = phones.command(7, peer=0, payload_bytes=64)
    phones.run(until_s=1.0)
    heard = [said.phone for said in phones.said(Deliver)]
    assert sorted([*heard, 7]) == list(range(30))
    assert {said.transaction for said in phones.said(Deliver)} == {number}
    assert len(phones.said(Send)) == 30 * 8
    assert {len(said.output.message) for said in phones.said(Send)} == {64}
    assert len(phones.said(Work)) == 30 * 8 + 1


def test_a_rumour_dies_out_where_everything_is_lost(gossip):
    phones = Harness(gossip, 10, delay_s=lambda *_: None)
    phones.command(0, peer=1)
    phones.run(until_s=1.0)
    assert len(phones.said(Send)) == 3
    assert not phones.said(Deliver)


def test_the_examples_of_the_page_are_true(root):
    page = (root / "docs/own_protocol.md").read_text()
    names = {}
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(example, names)  # noqa: S102 - the page is ours
    names["phones"].run(until_s=2.0)
    assert names["phones"].said(Observe)[0].output == Observe("came_back", 3)
    made = names["Market"](Setting(4, 10.0)).proposals()
    assert [(phone, peer) for _, phone, peer, _ in made] == [(1, 0), (2, 0), (3, 0)]
    policy = names["BackOff"](Phone(0, 2, [1]))
    assert [policy.failed(1, 9, "connect_timeout", count, 1.0) for count in (1, 5)] == [3.0, None]
    rider = names["FreeRider"](Phone(1, 2, [0]), names["Echo"](Phone(1, 2, [0])))
    assert list(rider.receive(0, b"???", 0.0)) == [Work("my_hash", 3)]
    rows = Columns.of(events(("deliver", 2.5, 0, 1, 9)))
    assert names["first_delivery_s"](rows, resolved()) == 2.5


def test_the_example_is_short(root):
    text = (root / "pocketsim/scenarios/own_protocol/gossip.py").read_text()
    assert len(text.splitlines()) < 60


def resolved(**sections):
    return testing.resolved(repetitions=1, protocol={"kind": "python"}, **sections)


def events(*rows):
    """Rows of kind, time, node, message and size."""
    kind, time_s, node, message, size = zip(*rows, strict=True)
    count = len(rows)
    return trace.build(
        repetition=np.zeros(count, int),
        time_s=np.array(time_s),
        node=np.array(node),
        kind=list(kind),
        message_id=np.array(message),
        peer=np.zeros(count, int),
        message_size=np.array(size),
        reason=[None] * count,
        logged=[True] * count,
    )


ROWS = (
    ("send", 1.0, 0, 5, 100),
    ("send", 1.0, 0, 6, 100),
    ("hops", 1.01, 1, 5, 1),
    ("deliver", 1.01, 1, 5, 100),
    ("store", 1.01, 1, 5, 100),
    ("hops", 1.03, 2, 5, 2),
    ("deliver", 1.03, 2, 5, 100),
)


def test_deliveries_are_counted_and_timed_from_the_request():
    told = {
        "counters": {"datagrams_sent": 8, "datagrams_dropped": 2},
        **{key: {} for key in ("cpu_s", "kept_cents", "energy_j", "waits", "own")},
    }
    found = metrics.measure(events(*ROWS), resolved(), [told])
    values = {name: found["metrics"][name]["mean"] for name in found["metrics"]}
    assert (values["delivery_count"], values["deliveries_per_transaction"]) == (2.0, 1.0)
    assert [values[f"delivery_ms_{name}"] for name in ("p50", "mean")] == pytest.approx([20.0] * 2)
    assert (values["datagrams_per_transaction"], values["datagram_loss_ratio"]) == (4.0, 0.25)
    assert values["rtt_ms_p50"] == pytest.approx(10.0)
    assert found["observed"] == {"hops": {"counts": [2.0], "means": [1.5]}}
    assert found["counts"] == {"sent": 2, "stored": 1, "lost": {}, "in_flight": 1}


def test_counts_of_a_sampled_trace_are_scaled_up():
    sampled = resolved(output={"trace": "sampled", "sample_ratio": 0.5})
    found = metrics.measure(events(*ROWS), sampled)
    assert found["metrics"]["delivery_count"]["mean"] == 4.0
    assert found["metrics"]["deliveries_per_transaction"]["mean"] == 1.0
    assert found["observed"]["hops"]["counts"] == [4.0]


def test_without_deliveries_there_is_no_time():
    found = metrics.measure(events(*ROWS[:2]), resolved())["metrics"]
    assert found["delivery_ms_p95"]["mean"] is None
    assert found["delivery_count"]["mean"] == 0.0
