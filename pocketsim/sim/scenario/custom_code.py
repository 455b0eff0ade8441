"""Custom code that a scenario names: where it is, and what its digest is.

A class or a function is named by a file relative to the scenario, "mine.py:Mine", or by the name of
an entry point of an installed package. Here a file is read, not run; `sim.base.custom_code` runs it
later.
"""

from __future__ import annotations

import ast
import hashlib
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from pocketsim.sim.base import entry_points
from pocketsim.sim.base.documents import Section
from pocketsim.sim.base.errors import ScenarioError, nearest
from pocketsim.sim.base.files import beside, opened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pocketsim.sim.base.custom_code import CustomClass


def _option(value: Any) -> Any:
    """Return an option of custom code, which JSON must represent without a change."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, int):
            is_plain = one.bit_length() <= _INTEGER_BITS
        else:
            is_plain = isinstance(one, str) or (isinstance(one, float) and math.isfinite(one))
        if not is_plain:
            raise ValueError("must be text, a finite number, true or false, or a list of those")
    return value


_PLAIN = [{"type": kind} for kind in ("boolean", "number", "string")]
Option = Annotated[
    Any,
    BeforeValidator(_option),
    WithJsonSchema({"anyOf": [*_PLAIN, {"type": "array", "items": {"anyOf": _PLAIN}}]}),
]
Name = Annotated[str, Field(min_length=1)]


class CustomSection(Section):
    """A custom class and its options."""

    class_: Name = Field(
        alias="class",
        description='A file relative to the scenario and a class in it, as "mine.py:Mine", or the '
        "name of an installed one.",
    )
    options: dict[str, Option] = Field(default={}, description="What the class is given, by name.")


@dataclass(frozen=True)
class CustomCode:
    """A class or function as it was found: its file's absolute path and SHA-256, in hex.

    `told` is what a resolved scenario calls it: "mine.py:Mine", or "package.module:Mine" of what
    is installed; then `versions` has the version of its distribution by name.
    """

    path: Path
    digest: str
    told: str
    versions: Mapping[str, str] = field(default_factory=dict)
    is_installed: bool = False


def find(path: Path, key: str, text: str, group: str, *, is_function: bool = False) -> CustomCode:
    """Return what the scenario at `path` names by `text` under `key`.

    Raises ScenarioError where it is not so named, or its file is not there or does not define it.
    """
    if ":" not in text and not text.endswith(".py"):
        return _offered(path, key, text, group, is_function=is_function)
    match = re.fullmatch(r"(.+\.py):([^\W\d]\w*)", text)
    if match is None:
        what, example = ("function", "hops") if is_function else ("class", "Gossip")
        reason = f'must be a file and a {what} in it, such as "gossip.py:{example}", not {text!r}'
        raise ScenarioError(path, key, reason)
    file = beside(path, key, match[1])
    digest = _digest(file, match[2], is_function=is_function)
    return CustomCode(file, digest, f"{file.name}:{match[2]}")


def resolved(found: CustomCode, options: Mapping[str, Any]) -> CustomClass:
    """Return a custom class as a resolved scenario has it."""
    return {"class": found.told, "digest": found.digest, "options": dict(options)}


def _offered(path: Path, key: str, name: str, group: str, *, is_function: bool) -> CustomCode:
    """Return what an installed distribution offers under a name."""
    known = entry_points.names(group)
    if name not in known:
        reason = (
            f'{name!r} is neither a file and what is in it, such as "mine.py:Mine", nor one of '
            f"{group} that are installed: {', '.join(known) or 'there is none'}"
        )
        raise ScenarioError(path, key, reason, nearest(name, known))
    entry = entry_points.entry(group, name)
    try:
        file = entry_points.source(entry)
    except LookupError as error:
        raise ScenarioError(path, key, str(error)) from None
    digest = _digest(file, entry.attr, is_function=is_function)
    versions = {entry.dist.name: entry.dist.version} if entry.dist else {}
    return CustomCode(file, digest, f"{entry.module}:{entry.attr}", versions, is_installed=True)


def _digest(file: Path, name: str, *, is_function: bool) -> str:
    """Return the SHA-256 of the file, in hex; raises ScenarioError where it does not define it."""
    with opened(file) as opened_file:
        source = opened_file.read(_LARGEST_BYTES + 1)
    if len(source) > _LARGEST_BYTES:
        raise ScenarioError(file, "", f"is larger than {_LARGEST_BYTES >> 20} MiB")
    try:
        body = ast.parse(source, str(file)).body
    except SyntaxError as error:
        place = f"line {error.lineno}" if error.lineno else ""
        raise ScenarioError(file, place, error.msg) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ScenarioError(file, "", f"not Python: {error}") from None
    kind, what = (ast.FunctionDef, "function") if is_function else (ast.ClassDef, "class")
    defined = [node.name for node in body if isinstance(node, kind)]
    if name not in defined:
        raise ScenarioError(file, "", f"has no {what} {name}", nearest(name, defined))
    return hashlib.sha256(source).hexdigest()


_LARGEST_BYTES = 16 << 20  # as of any document
_INTEGER_BITS = 64
