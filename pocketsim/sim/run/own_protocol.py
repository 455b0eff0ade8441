"""A protocol of one's own: from its file to an object for each phone, and what is said of failures.

The file is run in the process that simulates and nowhere else; its folder is no place to import
from. What the engine does with the objects is said in sim/engine/src/own_protocol.rs.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
from pathlib import Path
from types import GeneratorType, ModuleType
from typing import TYPE_CHECKING, Any, TypedDict

from pocketsim.sim.base import own_protocol as written_with
from pocketsim.sim.base.engine_facts import operations
from pocketsim.sim.base.errors import ProtocolError, did_you_mean, nearest
from pocketsim.sim.base.files import check_same
from pocketsim.sim.base.own_protocol import Failure, Others, Phone, Protocol, Request
from pocketsim.sim.plan import own_data

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pocketsim.sim.scenario.resolved import Resolved

    Call = Callable[..., Any]


class Calls(TypedDict):
    """The methods of one phone's object; None for one that it leaves out."""

    receive: Call
    command: Call
    undelivered: Call | None
    handle_timeout: Call | None
    next_timeout: Call | None


class Given(TypedDict):
    """What the engine is given beside a plan: calls by phone, and the classes that they use."""

    calls: list[Calls]
    kinds: dict[str, type]
    request: type
    failure: type


def given(resolved: Resolved, repetition: int, files: Mapping[str, str]) -> Given | None:
    """Return the objects of a resolved scenario, or None where its protocol is not one's own.

    Raises ScenarioError where the file is no longer what it was, ProtocolError where it or the
    object of a phone cannot be made.
    """
    digest = resolved["protocol"]["digest"]
    if digest is None:
        return None
    path = Path(files[digest])
    _, _, name = str(resolved["protocol"]["class"]).rpartition(":")
    try:
        kind = getattr(_module(path, digest), name)
        calls = [_calls(kind(phone)) for phone in _phones(resolved, repetition, files)]
    except ProtocolError:
        raise
    except (Exception, SystemExit) as error:
        raise ProtocolError(f"{_place(path, error)}: {_said(error)}") from error
    return {
        "calls": calls,
        "kinds": {
            "work": written_with.Work,
            "send": written_with.Send,
            "observe": written_with.Observe,
            "deliver": written_with.Deliver,
        },
        "request": Request,
        "failure": Failure,
    }


def explained(failure: Failure, resolved: Resolved, files: Mapping[str, str]) -> ProtocolError:
    """Return what to say of a failure: file, line, simulated time, phone and reason."""
    protocol = resolved["protocol"]
    path, error = Path(files[str(protocol["digest"])]), failure.__cause__
    assert error is not None, "the engine says what failed"
    place = _place(path, error)
    if not _lines(path, error):
        place = f"{path}: {_line_of(failure)}in {failure.call}"
    where = f"at {failure.time_s:.9g} s on phone {failure.phone}"
    return ProtocolError(f"{place}, {where}: {_said(error, resolved['operations'])}")


def _module(path: Path, digest: str) -> ModuleType:
    source = path.read_bytes()
    check_same(path, hashlib.sha256(source).hexdigest(), digest)
    module = ModuleType(f"own_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where a dataclass looks for its own
    exec(compile(source, path, "exec"), module.__dict__)  # noqa: S102 - the user's own code
    return module


def _phones(resolved: Resolved, repetition: int, files: Mapping[str, str]) -> Iterator[Phone]:
    seed, name = resolved["run"]["seed"], f"repetition/{repetition}"
    groups = [group["count"] for group in resolved["devices"]]
    phones, peers = sum(groups), _peers(resolved, name, files)
    everybody = tuple(range(phones)) if phones <= _LISTED_MAX else ()
    number = 0
    for group, count in enumerate(groups):
        for place in range(count):
            others: Sequence[int] = everybody[:number] + everybody[number + 1 :]
            if not others:
                others = Others(number, phones)
            yield Phone(
                number,
                phones,
                peers[number] if peers else others,
                resolved["protocol"]["options"],
                seed,
                f"{name}/protocol/{group}/{place}",
            )
            number += 1


def _peers(resolved: Resolved, name: str, files: Mapping[str, str]) -> list[Sequence[int]]:
    """Return the neighbours of each phone in the graph of the workload; of none without one."""
    workload = resolved["workload"]
    partners = workload["partners"] if workload["kind"] == "poisson" else None
    phones = sum(group["count"] for group in resolved["devices"])
    found = own_data.partners(partners, files, phones, resolved["run"]["seed"], f"{name}/partners")
    if found is None:
        return []
    start, node = found.start.tolist(), found.node.tolist()
    return [tuple(node[start[phone] : start[phone + 1]]) for phone in range(phones)]


def _calls(made: Any) -> Calls:
    for name in ("receive", "command"):
        if not callable(getattr(made, name, None)):
            raise TypeError(f"{type(made).__name__} has no method {name}")
    return {
        "receive": made.receive,
        "command": made.command,
        "undelivered": _optional(made, "undelivered"),
        "handle_timeout": _optional(made, "handle_timeout"),
        "next_timeout": _optional(made, "next_timeout"),
    }


def _optional(made: Any, name: str) -> Call | None:
    if getattr(type(made), name, None) is getattr(Protocol, name):
        return None
    found: Call | None = getattr(made, name, None)
    return found


def _place(path: Path, error: BaseException) -> str:
    lines = _lines(path, error)
    return f"{path}: {', '.join(lines)}" if lines else str(path)


def _lines(path: Path, error: BaseException) -> list[str]:
    """Return the lines of the user's file on the way to an error, the innermost last."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return [f"line {error.lineno}"]
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == str(path)][-_LINES_MAX:]
    return [f"line {frame.lineno} in {frame.name}" for frame in own]


def _line_of(failure: Failure) -> str:
    """Return where the output is that was wrong: where a generator stands, else its method."""
    if isinstance(failure.answer, GeneratorType) and failure.answer.gi_frame is not None:
        return f"line {failure.answer.gi_frame.f_lineno} "
    return ""


def _said(error: BaseException, own: Mapping[str, object] | None = None) -> str:
    text = str(error)
    if error.__traceback__ is None and type(error) in {TypeError, ValueError}:  # the engine's own
        unknown = text.removeprefix(_UNKNOWN_OPERATION)
        guess = nearest(unknown, [*operations(), *(own or {})]) if unknown != text else None
        return text + did_you_mean(guess)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


_LISTED_MAX = 2000  # phones whose others are a tuple, five times as quick: 32 MB of them
_LINES_MAX = 4  # the last of a recursion that has no end
_UNKNOWN_OPERATION = "unknown operation "  # of sim/engine/src/own_outputs.rs
