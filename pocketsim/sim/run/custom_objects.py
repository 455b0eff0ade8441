"""The objects of custom classes in a run, one for each phone, and the messages of their failures.

What the engine does with the objects is in sim/engine/src/bindings/custom_protocol.rs and
custom_policy.rs.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import GeneratorType
from typing import TYPE_CHECKING, Any, TypedDict

from pocketsim.sim.base import custom_code, custom_protocol
from pocketsim.sim.base.custom_protocol import Failure, Protocol, Request
from pocketsim.sim.base.engine_facts import operations
from pocketsim.sim.base.errors import ProtocolError, did_you_mean, nearest
from pocketsim.sim.base.streams import Lanes
from pocketsim.sim.plan.phone_views import Phones
from pocketsim.sim.plan.population import lanes
from pocketsim.sim.scenario.resolved import streams_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pocketsim.sim.scenario.resolved import Resolved

    Call = Callable[..., Any]
    Files = Mapping[str, str]


class Calls(TypedDict):
    """The methods of one phone's object; None for one that it leaves out."""

    receive: Call
    command: Call
    undelivered: Call | None
    handle_timeout: Call | None
    next_timeout: Call | None


class Policy(TypedDict):
    """The methods of one phone's policy of its transport."""

    hand_over: Call
    failed: Call


class CustomObjects(TypedDict):
    """What the engine is given beside a plan: objects of protocols and policies, by phone.

    `calls` is empty without a custom protocol, `policies` without a custom transport policy.
    """

    calls: list[Calls]
    policies: list[Policy]
    kinds: dict[str, type]
    request: type
    failure: type


def given(resolved: Resolved, repetition: int, files: Files) -> CustomObjects | None:
    """Return the objects of a repetition of a resolved scenario, None where it asks for none.

    Raises ScenarioError where a file is no longer what it was, ProtocolError where it or the
    object of a phone cannot be made.
    """
    policy = resolved["transport"]["policy"]
    if resolved["protocol"]["digest"] is None and policy is None:
        return None
    name = f"repetition/{streams_number(resolved['run'], repetition)}"
    phones = Phones(resolved, name, files)
    return {
        "calls": list(_objects(resolved, name, phones, files)),
        "policies": list(_policies(resolved, phones, files)),
        "kinds": {
            "work": custom_protocol.Work,
            "send": custom_protocol.Send,
            "observe": custom_protocol.Observe,
            "deliver": custom_protocol.Deliver,
        },
        "request": Request,
        "failure": Failure,
    }


def explained(failure: Failure, resolved: Resolved, repetition: int, files: Files) -> ProtocolError:
    """Return what to say of a failure: file, line, simulated time, phone and reason."""
    error = failure.__cause__
    assert error is not None, "the engine says what failed"
    paths = _paths(failure, resolved, repetition, files)
    raised_in = [path for path in paths if custom_code.lines(path, error)]
    place = custom_code.place((raised_in or paths)[0], error)
    if not raised_in:
        place = f"{paths[0]}: {_line_of(failure)}in {failure.call}"
    where = f"at {failure.time_s:.9g} s on phone {failure.phone}"
    return ProtocolError(f"{place}, {where}: {_said(error, resolved['operations'])}")


def _objects(resolved: Resolved, name: str, phones: Phones, files: Files) -> Iterator[Calls]:
    protocol = resolved["protocol"]
    told, digest, adversary = protocol["class"], protocol["digest"], protocol["adversary"]
    if told is None or digest is None:
        return
    kind, dishonest = custom_code.load(told, digest, files), None
    if adversary is not None:
        dishonest = custom_code.load(adversary["class"], adversary["digest"], files)
    others = phones.of("adversary", adversary["options"] if adversary else {})
    is_one = _adversaries(resolved, name)
    them = phones.of("protocol", protocol["options"])
    for phone, other, is_adversary in zip(them, others, is_one, strict=True):
        with _explaining(digest, files):
            made = kind(phone)
        if dishonest is not None and adversary is not None and is_adversary:
            with _explaining(adversary["digest"], files):
                yield _calls(dishonest(other, made))
        else:
            with _explaining(digest, files):
                yield _calls(made)


def _policies(resolved: Resolved, phones: Phones, files: Files) -> Iterator[Policy]:
    policy = resolved["transport"]["policy"]
    if policy is None:
        return
    kind = custom_code.load(policy["class"], policy["digest"], files)
    for phone in phones.of("policy", policy["options"]):
        with _explaining(policy["digest"], files):
            made = kind(phone)
            yield {"hand_over": _needed(made, "hand_over"), "failed": _needed(made, "failed")}


@contextlib.contextmanager
def _explaining(digest: str, files: Files) -> Iterator[None]:
    try:
        yield
    except BaseException as error:  # of any kind: it is the user's
        raise custom_code.failed(Path(files[digest]), error) from error


def _adversaries(resolved: Resolved, name: str) -> list[bool]:
    """Tell of each phone whether it is an adversary; more of them where the ratio is larger."""
    adversary = resolved["protocol"]["adversary"]
    ratio = adversary["ratio"] if adversary else 0.0
    _, lane = lanes(resolved)
    is_one: list[bool] = (
        Lanes(resolved["run"]["seed"], f"{name}/adversaries").uniform(lane, 0) < ratio
    ).tolist()
    return is_one


def _paths(failure: Failure, resolved: Resolved, repetition: int, files: Files) -> list[Path]:
    """Return the files in which a failure may be, the likeliest first: whose method was called."""
    protocol, policy = resolved["protocol"], resolved["transport"]["policy"]
    if failure.call in Policy.__annotations__:
        assert policy is not None, "its method was called"
        return [Path(files[policy["digest"]])]
    adversary = protocol["adversary"]
    found = [Path(files[str(protocol["digest"])])]
    name = f"repetition/{streams_number(resolved['run'], repetition)}"
    if adversary is not None and _adversaries(resolved, name)[failure.phone]:
        found.insert(0, Path(files[adversary["digest"]]))
    return found


def _calls(made: Any) -> Calls:
    return {
        "receive": _needed(made, "receive"),
        "command": _needed(made, "command"),
        "undelivered": _optional(made, "undelivered"),
        "handle_timeout": _optional(made, "handle_timeout"),
        "next_timeout": _optional(made, "next_timeout"),
    }


def _needed(made: Any, name: str) -> Call:
    found: Call | None = getattr(made, name, None)
    if found is None or not callable(found):
        raise custom_code.Mistake(f"{type(made).__name__} has no method {name}")
    return found


def _optional(made: Any, name: str) -> Call | None:
    if getattr(type(made), name, None) is getattr(Protocol, name):
        return None
    found: Call | None = getattr(made, name, None)
    return found


def _line_of(failure: Failure) -> str:
    """Return where the output is that was wrong: where a generator stands, else its method."""
    if isinstance(failure.answer, GeneratorType) and failure.answer.gi_frame is not None:
        return f"line {failure.answer.gi_frame.f_lineno} "
    return ""


def _said(error: BaseException, own: Mapping[str, object]) -> str:
    if error.__traceback__ is None and type(error) in {TypeError, ValueError}:  # the engine's own
        text = str(error)
        unknown = text.removeprefix(_UNKNOWN_OPERATION)
        guess = nearest(unknown, [*operations(), *own]) if unknown != text else None
        return text + did_you_mean(guess)
    return custom_code.said(error)


_UNKNOWN_OPERATION = "unknown operation "  # of sim/engine/src/bindings/custom_outputs.rs
