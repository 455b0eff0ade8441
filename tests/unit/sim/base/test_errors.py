"""What an error quotes cannot take over the terminal, or the screen."""

import pytest

from pocketsim.sim.base.errors import (
    EngineError,
    EnvironmentMissingError,
    ScenarioError,
    UserError,
    nearest,
    shown,
)

ESCAPE = "\x1b[2J\x1b]0;owned\x07"
HOSTILE = f"a\r\nb{ESCAPE}\u202ec\u2028d\x9bm\udc80"
TAME = "a\\r\\nb\\x1b[2J\\x1b]0;owned\\x07\\u202ec\\u2028d\\x9bm\\udc80"


def test_control_characters_are_escaped():
    assert shown(HOSTILE) == TAME
    assert shown("Zürich: 5 µs, 漢字, a\\b") == "Zürich: 5 µs, 漢字, a\\b"


def test_long_values_lose_their_middle():
    said = shown("begin" + "x" * 1_000_000 + "end")
    assert said.startswith("beginx")
    assert said.endswith("xend")
    assert "...(1000008 characters)..." in said
    assert len(said) < 160
    assert shown("x" * 120) == "x" * 120


@pytest.mark.parametrize(
    "error",
    [
        UserError(f"--out: {HOSTILE}"),
        ScenarioError(HOSTILE, HOSTILE, HOSTILE, HOSTILE),
        ScenarioError("x" * 10**6, "y" * 10**6, "z" * 10**6, "s" * 10**6),
    ],
)
def test_a_users_mistake_is_one_short_line(error):
    assert str(error).isprintable()
    assert len(str(error)) < 2500


def test_an_abort_keeps_its_lines():
    error = EngineError(
        HOSTILE, f"one{ESCAPE}\n\ttwo\r\nthree", "python -m pocketsim.sim.run.child < 'a b'"
    )
    assert str(error).splitlines() == [
        TAME,
        "one\\x1b[2J\\x1b]0;owned\\x07",
        "\\ttwo",
        "three",
        "replay: python -m pocketsim.sim.run.child < 'a b'",
    ]
    assert error.stderr_tail.startswith("one\x1b"), "what it was is there for programs"


def test_a_line_to_paste_is_whole():
    line = f"python -m pocketsim.sim.run.child < {'x' * 4000}"
    assert str(EngineError("a", "", line)).endswith(line)


def test_environment_errors_may_have_several_lines():
    assert str(EnvironmentMissingError("a\x07\nb")) == "a\\x07\nb"


def test_suggestion_is_never_the_given_word():
    assert nearest("rate", ["rate"]) is None
    assert nearest("rate", ["rate", "rates"]) == "rates"
    assert nearest("x" * 10**6, ["rate"]) is None
