import pytest

from pocketsim.sim.devices.options import options as declared

SCHEMA = {
    "required": ["pause_s", "window_blocks", "eager", "quiet"],
    "properties": {
        "pause_s": {"description": "How long\nit waits.", "type": "number", "exclusiveMinimum": 0},
        "window_blocks": {
            "description": "A window.",
            "type": "integer",
            "minimum": 1,
            "list": True,
        },
        "rounds": {"description": "Rounds.", "type": ["integer", "null"], "minimum": 0},
        "eager": {"description": "Whether.", "type": "boolean", "of": ["quic"], "optional": True},
        "quiet": {"description": "Whether.", "type": "boolean", "set_by": "scenario"},
    },
}


@pytest.fixture
def options():
    return {option.key: option for option in declared(SCHEMA)}


def test_unit_of_a_name_gives_key_and_kind(options):
    kinds = {key: option.kind for key, option in options.items()}
    assert kinds == {
        "pause": "duration",
        "window": "blocks",
        "rounds": "count",
        "eager": "flag",
        "quiet": "flag",
    }
    assert options["pause"].text == "How long it waits."


def test_bounds_and_null_are_taken_over(options):
    assert options["pause"].is_positive
    assert options["window"].is_positive
    assert not options["rounds"].is_positive
    assert options["rounds"].may_be_none
    assert options["rounds"].is_optional


def test_option_is_in_the_documents_that_may_set_it(options):
    assert options["eager"].is_of("quic")
    assert not options["eager"].is_of("udp")
    assert options["eager"].is_optional
    assert not options["quiet"].is_of("quic")
    assert options["quiet"].set_by("scenario")
