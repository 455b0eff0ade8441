"""Values against the TypedDicts that describe them: what mypy trusts is so at run time, too."""

from __future__ import annotations

import types
import typing
from typing import Any, Literal, NotRequired

import numpy as np
import typing_extensions

from pocketsim.sim.base import custom_code
from pocketsim.sim.devices import contents, provenance, transport_options
from pocketsim.sim.plan import plan
from pocketsim.sim.scenario import resolved, resolved_measures

# The last wins: a name that the plan has of its own is not the resolved scenario's.
RESOLVED = {
    **vars(provenance),
    **vars(contents),
    **vars(custom_code),
    **vars(resolved_measures),
    **vars(resolved),
    "Any": Any,
}
PLAN = {**RESOLVED, **vars(transport_options), **vars(plan)}


def check(value: Any, expected: Any, names: dict[str, Any], place: str) -> None:
    """Assert that a value is of a type, in all that it holds; `names` are those of its hints."""
    origin = typing.get_origin(expected)
    if typing_extensions.is_typeddict(expected):
        _section(value, expected, names, place)
    elif origin in (typing.Union, types.UnionType):
        _one_of(value, typing.get_args(expected), names, place)
    elif origin in (list, dict):
        _several(value, expected, names, place)
    elif origin is Literal:
        assert value in typing.get_args(expected), f"{place}: {value!r}"
    elif origin is np.ndarray:
        _column(value, expected, place)
    else:
        kinds = {float: (int, float), Any: (type(value),)}.get(expected, (expected,))
        assert type(value) in kinds, f"{place}: {value!r}"


def _several(value: Any, expected: Any, names: dict[str, Any], place: str) -> None:
    assert isinstance(value, typing.get_origin(expected)), place
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        check(item, typing.get_args(expected)[-1], names, f"{place}.{key}")


def _section(value: Any, expected: Any, names: dict[str, Any], place: str) -> None:
    assert isinstance(value, dict), place
    hints = typing.get_type_hints(expected, localns=names, include_extras=True)
    optional = {key for key, hint in hints.items() if typing.get_origin(hint) is NotRequired}
    assert set(hints) - optional <= set(value) <= set(hints), f"{place}: {set(value) ^ set(hints)}"
    for key, item in value.items():
        hint = typing.get_args(hints[key])[0] if key in optional else hints[key]
        check(item, hint, names, f"{place}.{key}")


def _one_of(value: Any, kinds: tuple[Any, ...], names: dict[str, Any], place: str) -> None:
    reasons = []
    for kind in kinds:
        try:
            check(value, kind, names, place)
        except AssertionError as error:
            reasons.append(str(error))
        else:
            return
    raise AssertionError("; or ".join(reasons))


def _column(value: Any, expected: Any, place: str) -> None:
    (kind,) = typing.get_args(typing.get_args(expected)[1])
    assert isinstance(value, np.ndarray), place
    assert value.dtype == np.dtype(kind), place
    assert value.flags.c_contiguous, place
