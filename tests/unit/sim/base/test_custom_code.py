"""Custom code: found by file or by what is installed, refused, and made into proposals."""

import hashlib
import sys
import textwrap

import numpy as np
import pytest

from pocketsim.sim.base import custom_code, entry_points
from pocketsim.sim.base.custom_protocol import Phone
from pocketsim.sim.base.errors import ProtocolError, ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import custom_objects
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

CODE = """
from pocketsim.protocol import *

MADE = []


class Mine(Protocol):
    pass


class Liar(Adversary):
    pass


class Next(Partners):
    def choose(self, now_s):
        return (self.phone.number + 1) % self.phone.phones


class Every(Workload):
    def proposals(self):
        for number in range(self.setting.options["count"]):
            yield Proposal(9.0 - number, 1, 0, 100 + number)


class Patient(TransportPolicy):
    pass


def rows(events, resolved):
    return events.time_s.size
"""
PYTHON = '\n[protocol]\nkind = "python"\nclass = "mine.py:Mine"\n'


@pytest.fixture
def document(scenario):
    """A scenario with one rate, and a file of code beside it."""
    text = scenario.read_text().replace('rate = ["4/s", "8/s"]', 'rate = "4/s"')
    scenario.write_text(text)
    scenario.with_name("mine.py").write_text(CODE)
    return scenario


@pytest.fixture
def offered(tmp_path, monkeypatch):
    """A distribution that offers classes, a function and a profile, and the folder it is in."""

    def offer(**groups):
        monkeypatch.delitem(sys.modules, "pocketsim_mine", raising=False)
        monkeypatch.delitem(sys.modules, "pocketsim_mine.code", raising=False)
        site = tmp_path / "site"
        package = site / "pocketsim_mine"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "code.py").write_text(CODE)
        info = site / "pocketsim_mine-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Name: pocketsim-mine\nVersion: 1.5\n")
        lines = [f"[pocketsim.{group}]\n{entries}\n" for group, entries in groups.items()]
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(str(site))
        return package

    return offer


def of(document, *overrides):
    """Return the resolved scenario of the only rung, and its files by digest."""
    loaded = load(document, overrides)
    (rung,) = resolve(loaded)
    return rung.resolved, loaded.paths()


def proposals(document, *overrides):
    """Return time, phones and bytes of what is proposed."""
    resolved, files = of(document, *overrides)
    workload = build_plan(resolved, 0, files=files)["workload"]
    columns = ("time_s", "from_phone", "to_phone", "payload_bytes")
    return [workload[name].tolist() for name in columns]


def test_proposals_are_those_of_the_class_in_order_of_time(document):
    made = proposals(
        document,
        "workload={kind='python', class='mine.py:Every', options.count=3}",
        "run.duration=10s",
    )
    assert made == [[7.0, 8.0, 9.0], [1, 1, 1], [0, 0, 0], [102, 101, 100]]


def test_numbers_may_be_those_of_numpy(document):
    code = CODE.replace(
        "yield Proposal(9.0 - number, 1, 0, 100 + number)",
        """
            import numpy as np
            yield np.float32(0.5), np.int64(1), np.uint8(0), np.int32(7)""",
    )
    document.with_name("mine.py").write_text(code)
    made = proposals(document, "workload={kind='python', class='mine.py:Every', options.count=1}")
    assert made == [[0.5], [1], [0], [7]]


def test_a_workload_may_be_empty(document):
    made = proposals(document, "workload={kind='python', class='mine.py:Every', options.count=0}")
    assert made == [[], [], [], []]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("yield (1.0, 0, 1)", "a proposal must be (time_s, phone, peer, payload_bytes), not (1."),
        ("yield (99.0, 0, 1, 8)", "time_s: the run is from 0 to before 10 s, not 99.0"),
        ("yield (-0.5, 0, 1, 8)", "time_s: the run is from 0"),
        ("yield (float('nan'), 0, 1, 8)", "time_s: the run is from 0"),
        ("yield (1.0, 5, 1, 8)", "phone: a phone is 0 to 1, not 5"),
        ("yield (1.0, 0, 0, 8)", "must be another phone, of 0 to 1, not 0"),
        ("yield (1.0, 0, 1, 2.5)", "payload_bytes: a whole number below 2^31, not 2.5"),
        ("yield (1.0, 0, 1, 8)\n        raise KeyError('x')", "KeyError: 'x'"),
        ("return 5", "'int' object is not iterable"),
    ],
)
def test_invalid_proposal_ends_the_run_with_its_place(document, body, said):
    head = "class Every:\n    def __init__(self, setting): pass\n\n"
    code = f"{head}    def proposals(self):\n        {body}\n"
    document.with_name("mine.py").write_text(code)
    with pytest.raises(ProtocolError) as caught:
        proposals(document, "workload={kind='python', class='mine.py:Every'}", "run.duration=10s")
    assert str(caught.value).startswith(str(document.with_name("mine.py")))
    assert said in str(caught.value)


def poisson(document, *overrides):
    kind = "workload={kind='poisson', rate='4/s', payload='100B', partners={class='mine.py:Next'}}"
    return proposals(document, kind, "devices[0].count=5", *overrides)


def test_partners_are_chosen_for_the_same_proposals(document):
    time_s, from_phone, to_phone, _ = poisson(document)
    drawn = "workload={kind='poisson', rate='4/s', payload='100B'}"
    assert proposals(document, drawn, "devices[0].count=5")[:2] == [time_s, from_phone]
    phones = max(from_phone) + 1
    assert len(time_s) > 30
    assert to_phone == [(phone + 1) % phones for phone in from_phone]


def test_a_class_chooses_among_the_neighbours_in_a_graph(document):
    first = CODE.replace("return (self.phone.number + 1) % self.phone.phones", "return self.peer()")
    first += "\n    def peer(self):\n        return self.phone.peers[0]\n"
    moved = first.index("\n    def peer")
    code = first[:moved].replace("class Every", first[moved:] + "\n\nclass Every")
    document.with_name("mine.py").write_text(code)
    ring = ["workload.partners.generator=watts_strogatz", "workload.partners.neighbours=2"]
    _, from_phone, to_phone, _ = poisson(document, *ring, "workload.partners.rewiring=0")
    phones = max(from_phone) + 1
    around = {(one, other) for one, other in zip(from_phone, to_phone, strict=True)}
    assert all((other - one) % phones in (1, phones - 1) for one, other in around)
    assert len(around) == phones, "one neighbour of each"


def test_chosen_partner_must_be_another_phone(document):
    code = CODE.replace("(self.phone.number + 1) % self.phone.phones", "self.phone.number")
    document.with_name("mine.py").write_text(code)
    with pytest.raises(ProtocolError, match=r"at [0-9.]+ s on phone \d: must be another phone, of"):
        poisson(document)


def test_a_phone_that_is_added_changes_no_draw_of_a_class(document):
    code = CODE.replace(
        "return (self.phone.number + 1) % self.phone.phones",
        "return [one for one in (0, 1, 2) if one != self.phone.number]"
        "[self.phone.chance.random() < 0.5]",
    )
    document.with_name("mine.py").write_text(code)
    few, many = poisson(document), poisson(document, "devices[0].count=6")
    of_few = np.array(few[1]) == 0
    of_many = np.array(many[1]) == 0
    assert np.array_equal(np.array(few[2])[of_few], np.array(many[2])[of_many])


def test_adversaries_are_around_honest_ones_and_more_of_them_at_a_larger_ratio(document):
    document.write_text(document.read_text() + PYTHON)
    found = []
    for ratio in (0.0, 0.3, 0.6, 1.0):
        adversary = f"protocol.adversary={{class='mine.py:Liar', ratio={ratio}}}"
        resolved, files = of(document, adversary, "devices[0].count=40")
        given = custom_objects.given(resolved, 0, files)
        them = [calls["receive"].__self__ for calls in given["calls"]]
        liars = {one for one, made in enumerate(them) if type(made).__name__ == "Liar"}
        assert all(type(them[one].honest).__name__ == "Mine" for one in liars)
        found.append(liars)
    assert not found[0]
    assert found[0] < found[1] < found[2] < found[3] == set(range(len(them)))


def test_every_class_of_a_file_is_of_one_module(document):
    document.write_text(document.read_text() + PYTHON)
    policy = "transport.policy={class='mine.py:Patient'}"
    given = custom_objects.given(*_of_repetition(document, policy))
    mine = given["calls"][0]["receive"].__self__
    patient = given["policies"][0]["failed"].__self__
    assert type(mine).__module__ == type(patient).__module__
    assert isinstance(mine.phone, Phone)
    assert mine.phone.stream != patient.phone.stream


def _of_repetition(document, *overrides):
    resolved, files = of(document, *overrides)
    return resolved, 0, files


@pytest.mark.parametrize(
    ("overrides", "key", "reason"),
    [
        (["workload.partners={}"], "workload.partners", "takes either graph"),
        (
            ["workload.partners={generator='random_regular', neighbours=2, options={a=1}}"],
            "",
            "opt",
        ),
        (["protocol.adversary={class='mine.py:Liar', ratio=0.5}"], "protocol.adversary", "is for"),
        (["transport.policy.class=mine.py:Patent"], "", "has no class Patent"),
        (["transport.policy.class=patient"], "transport.policy.class", "there is none"),
        (["output.metrics=['mine.py:Mine']"], "", "has no function Mine"),
        (["output.metrics=['mine.py']"], "output.metrics[0]", "must be a file and a function in"),
        (["protocol.adversary.ratio=2"], "protocol.adversary", ""),
    ],
)
def test_inconsistent_custom_sections_are_refused(document, overrides, key, reason):
    kind = "workload={kind='poisson', rate='4/s', payload='100B'}"
    with pytest.raises(ScenarioError) as caught:
        load(document, [kind, *overrides])
    assert caught.value.key_path.startswith(key)
    assert reason in caught.value.reason


def test_installed_class_goes_by_name_with_its_version(document, offered):
    package = offered(
        protocols="mine = pocketsim_mine.code:Mine", metrics="n = pocketsim_mine.code:rows"
    )
    document.write_text(document.read_text() + PYTHON.replace("mine.py:Mine", "mine"))
    resolved, files = of(document, "output.metrics=['n']")
    digest = hashlib.sha256(CODE.encode()).hexdigest()
    assert resolved["protocol"]["class"] == "pocketsim_mine.code:Mine"
    assert resolved["protocol"]["digest"] == digest
    assert resolved["output"]["metrics"] == [
        {"function": "pocketsim_mine.code:rows", "digest": digest}
    ]
    assert resolved["versions"]["pocketsim-mine"] == "1.5"
    assert files[digest] == str(package / "code.py")
    made = custom_objects.given(resolved, 0, files)["calls"][0]["command"].__self__
    assert type(made).__module__ == "pocketsim_mine.code"
    (package / "code.py").write_text(CODE + "\n")
    with pytest.raises(ScenarioError, match="has changed since"):
        custom_objects.given(resolved, 0, files)


@pytest.mark.parametrize(
    ("entries", "name", "reason", "suggestion"),
    [
        ("mine = pocketsim_mine.code:Mine", "mien", "nor one of pocketsim.protocols", "mine"),
        ("mine = pocketsim_mine.cod:Mine", "mine", "is not there", None),
        ("mine = nothing_at_all.code:Mine", "mine", "No module named", None),
        ("mine = pocketsim_mine.code:Mien", "mine", "has no class Mien", "Mine"),
        ("mine = math:Mine", "mine", "is no module in Python", None),
    ],
)
def test_missing_module_of_an_entry_point_is_reported(
    document, offered, entries, name, reason, suggestion
):
    offered(protocols=entries)
    document.write_text(document.read_text() + PYTHON.replace("mine.py:Mine", name))
    with pytest.raises(ScenarioError) as caught:
        load(document)
    assert reason in str(caught.value)
    assert caught.value.suggestion == suggestion


def test_a_profile_may_come_from_what_is_installed(document, offered, root):
    package = offered(profiles="my_phone = pocketsim_mine\nother = pocketsim_mine")
    shipped = root / "pocketsim/calibration/profiles/devices/moto_g04s.toml"
    (package / "my_phone.toml").write_text(shipped.read_text())
    resolved, _ = of(document, "devices[0].profile=my_phone")
    assert "my_phone" in resolved["profiles"]
    with pytest.raises(ScenarioError, match=r"no device 'my_phon'; .*did you mean my_phone"):
        of(document, "devices[0].profile=my_phon")
    with pytest.raises(ScenarioError, match="no device 'other'"):
        of(document, "devices[0].profile=other")
    assert entry_points.names(entry_points.PROFILES) == ["my_phone", "other"]


def test_lines_of_an_error_are_those_of_the_file_alone(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        textwrap.dedent("""
        def outer():
            inner()

        def inner():
            {}["key"]
    """)
    )
    space = {}
    exec(compile(path.read_text(), path, "exec"), space)  # noqa: S102 - the test's own
    with pytest.raises(KeyError) as caught:
        space["outer"]()
    said = str(custom_code.failed(path, caught.value, ", there"))
    assert said == f"{path}: line 3 in outer, line 6 in inner, there: KeyError: 'key'"
