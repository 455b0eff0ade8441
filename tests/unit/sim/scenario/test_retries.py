"""What a scenario says of retries, and what it leaves to the implementation."""

import tomllib

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

ASKED = (
    "protocol.retries.attempts=8",
    "protocol.retries.first_wait=2s",
    "protocol.retries.deadline=10min",
)
PROFILE = """
[retries]
attempts = { value = 5, basis = "published", source = "its code" }
first_wait = { value = "1s", standard_error = "0s", basis = "published", source = "its code" }
factor = { value = 3.0, standard_error = 0.0, basis = "published", source = "its code" }
jitter = { value = 0.25, standard_error = 0.0, basis = "published", source = "its code" }
deadline = { value = "2min", standard_error = "0s", basis = "published", source = "its code" }
while_off = { value = "lost", basis = "published", source = "its code" }
"""


@pytest.fixture
def town(root):
    return root / "tests/support/1k_churn.toml"


@pytest.fixture
def trying(root, tmp_path):
    """Write an implementation that sends again, and return what overrides a scenario's."""
    shipped = root / "pocketsim/calibration/profiles/implementations"

    def written(changed="", by=""):
        text = (shipped / "trustchain_throughput_2025.toml").read_text() + PROFILE
        path = tmp_path / "trying.toml"
        path.write_text(text.replace(changed, by) if changed else text)
        return f"implementation={path}"

    return written


def retries(town, *overrides):
    return resolve(load(town, overrides))[0].resolved["protocol"].get("retries")


def refused(town, *overrides):
    with pytest.raises(ScenarioError) as error:
        load(town, overrides)
    return str(error.value)


def test_no_shipped_implementation_sends_again(root, town):
    resolved = resolve(load(town))[0].resolved
    assert "retries" not in resolved["protocol"]
    assert "retries" not in resolved["implementation"]
    assert build_plan(resolved, 0)["protocol"]["retries"] is None
    for path in (root / "pocketsim/calibration/profiles/implementations").glob("*.toml"):
        assert "retries" not in tomllib.loads(path.read_text()), path


def test_a_scenario_says_the_rest_or_has_the_usual(town):
    usual = {
        "attempts": 8,
        "first_wait_s": 2.0,
        "factor": 2.0,
        "longest_wait_s": 600.0,
        "jitter": 0.5,
        "deadline_s": 600.0,
        "while_off": "kept",
    }
    assert retries(town, *ASKED) == usual
    more = ("protocol.retries.longest_wait=1min", "protocol.retries.while_off=lost")
    assert retries(town, *ASKED, *more) == {**usual, "longest_wait_s": 60.0, "while_off": "lost"}
    resolved = resolve(load(town, ASKED))[0].resolved
    assert build_plan(resolved, 0)["protocol"]["retries"] == usual


def test_what_a_scenario_leaves_out_is_the_implementations(town, trying):
    own = {
        "attempts": 5,
        "first_wait_s": 1.0,
        "factor": 3.0,
        "longest_wait_s": 120.0,
        "jitter": 0.25,
        "deadline_s": 120.0,
        "while_off": "lost",
    }
    assert retries(town, trying()) == own
    asked = ("protocol.retries.attempts=2", "protocol.retries.jitter=0.0")
    assert retries(town, trying(), *asked) == {**own, "attempts": 2, "jitter": 0.0}
    assert retries(town, trying(), "protocol.retries.attempts=0") is None


def test_none_are_asked_for_by_0_attempts(town):
    assert retries(town, "protocol.retries.attempts=0") is None
    without = resolve(load(town))[0].resolved
    assert resolve(load(town, ["protocol.retries.attempts=0"]))[0].resolved == without


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("protocol.retries.attempt=1", "unknown key (did you mean attempts?)"),
        ("protocol.retries.attempts=-1", "protocol.retries.attempts"),
        ("protocol.retries.first_wait=0s", "protocol.retries.first_wait"),
        ("protocol.retries.factor=0.5", "protocol.retries.factor"),
        ("protocol.retries.jitter=1.5", "protocol.retries.jitter"),
        ("protocol.retries.while_off=kep", "did you mean kept?"),
    ],
)
def test_mistakes_are_told_by_their_place(town, override, reason):
    assert reason in refused(town, *ASKED, override)


def test_what_nobody_says_is_required(town):
    said = refused(town, *ASKED[:2])
    assert "protocol.retries.deadline: is required" in said
    assert "trustchain_throughput_2025 has no [retries]" in said


def test_only_trades_are_tried_again(town, trying):
    said = refused(town, *ASKED, "protocol.kind=transfer")
    assert 'protocol.retries: protocol "transfer" sends once; retries are for "trustchain"' in said
    # An implementation that could says nothing of messages that have no answer.
    assert retries(town, trying(), "protocol.kind=transfer") is None


@pytest.mark.parametrize(
    ("changed", "by", "reason"),
    [
        ("value = 3.0", "value = 0.5", "retries.factor: value is less than 1"),
        ("value = 0.25", "value = 1.25", "retries.jitter: value is more than 1"),
        ('value = "lost"', 'value = "los"', "retries.while_off.value: must be one of kept, lost"),
        ("value = 5,", "value = 0,", "retries.attempts.value"),
    ],
)
def test_an_implementation_is_held_to_the_same_bounds(town, trying, changed, by, reason):
    assert reason in refused(town, trying(changed, by))
