"""Scenarios to change in Python and to write back, comments and all."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.api.documents.catalog import document_file, from_here
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.base.files import at_home
from pocketsim.sim.run.sweep import as_toml
from pocketsim.sim.scenario.load import Document, Source, apply, parse_key, parse_value, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tomlkit import TOMLDocument


def scenario(
    base: str | Path | Mapping[str, Any] | Document, changes: Mapping[str, Any] | None = None
) -> Document:
    """Return a scenario with some values changed.

    `base` is a name in `pocketsim.scenarios`, a file, the content of one, or a document. `changes`
    are values by key path, written as in a file; a list makes several runs. Raises ScenarioError
    for a mistake in the scenario or in `changes`.

    >>> slow = scenario("udp_100b", {"workload.rate": "4/s"})
    >>> scenario(slow, {"run.repetitions": 3}).scenario.run.repetitions
    3
    """
    found, before = source(base)
    overrides = [
        f"{key}={as_toml(from_here(value), 'changes', key)}"
        for key, value in (changes or {}).items()
    ]
    return apply(found, [*before, *overrides], "changes")


def source(
    scenario: str | Path | Mapping[str, Any] | Document,
) -> tuple[Source, tuple[str, ...]]:
    """Return a scenario as it was read, and overrides that it has already."""
    if isinstance(scenario, Document):
        import tomllib

        data = tomllib.loads(scenario.text)
        return Source(scenario.path, scenario.text, data), scenario.overrides
    if isinstance(scenario, str | Path):
        return read(document_file(scenario, "scenario")), ()
    import tomli_w

    try:
        text = tomli_w.dumps(scenario)
    except TypeError as error:
        raise UserError(f"the scenario is no TOML document: {error}") from None
    # Paths in it are relative to where we are, as those in a file are to its folder.
    return Source(Path("scenario.toml").absolute(), text, dict(scenario)), ()


def write_scenario(document: Document, path: str | Path) -> Path:
    """Write a scenario to a file that `scenario` reads as the same, and return where it is.

    The text is that of its file with what was changed in its place. What it names by paths
    relative to it is named from the new folder.
    """
    target = at_home(path).absolute()
    target.write_text(text_in(target.parent, document), encoding="utf-8")
    return target


def text_in(folder: Path, document: Document) -> str:
    """Return a scenario's text as `write_scenario` writes it to a file in `folder`."""
    import tomlkit

    new, old = folder.absolute(), document.path.absolute().parent
    found = tomlkit.parse(document.text)
    for override in document.overrides:
        key, _, value = override.partition("=")
        _set(found, parse_key(key.strip()), parse_value(value))
    for container, place, text in _texts(found):
        container[place] = _moved(text, old, new)
    return re.sub(
        r"\A#:schema (\S+)",
        lambda match: f"#:schema {_moved(match[1], old, new)}",
        tomlkit.dumps(found),
    )


def _set(document: TOMLDocument, parts: list[str | int], value: Any) -> None:
    container: Any = document
    for part, after in itertools.pairwise(parts):
        if isinstance(part, str) and part not in container and isinstance(after, str):
            container[part] = {}
        container = container[part]
    container[parts[-1]] = value


def _texts(container: Any) -> Iterator[tuple[Any, str | int, str]]:
    """Yield every text of a document, with what it is in and where."""
    items = container.items() if isinstance(container, dict) else enumerate(container)
    for key, value in list(items):
        if isinstance(value, str):
            yield container, key, value
        elif isinstance(value, dict | list):
            yield from _texts(value)


def _moved(value: str, old: Path, new: Path) -> str:
    """Return a path that led somewhere from the old folder from the new one; else the text."""
    if protocol := re.fullmatch(r"(.+\.py)(:\w+)", value):
        return _moved(protocol[1], old, new) + protocol[2]
    if not Path(value).suffix or Path(value).is_absolute() or not (old / value).is_file():
        return value
    return os.path.relpath((old / value).resolve(), new)
