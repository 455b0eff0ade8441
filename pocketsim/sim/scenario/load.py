"""From a file and `--set` overrides to a checked `Scenario`.

Reads the document, the profile of its implementation, which says what the document leaves out, and
the user's own tables that it names; device profiles are looked up by `sim.scenario.resolve`.
"""

from __future__ import annotations

import copy
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.documents import key_path, read_toml, validate
from pocketsim.sim.base.errors import ScenarioError, printable, shown
from pocketsim.sim.scenario import (
    consistency,
    custom_library,
    data_files,
    implementations,
    limits,
    presence_files,
    retries,
)
from pocketsim.sim.scenario.document import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.sim.base.tables import Table
    from pocketsim.sim.devices.implementation import Implementation
    from pocketsim.sim.scenario.custom_code import CustomCode
    from pocketsim.sim.scenario.data_files import DataFile
    from pocketsim.sim.scenario.presence_files import Cache, PresenceTables
    from pocketsim.sim.scenario.rows_used import Used


BY_HAND = "--set"
"""Where overrides come from that a user has typed."""


@dataclass(frozen=True)
class Document:
    """A loaded scenario: where it came from, its text, and what it says after overrides.

    `overridden` are the key paths of `overrides`, as messages spell them; `label` is the name of
    their source. `scenario` has what it leaves to its implementation, but for options of
    transports; that is `implementation`, from the file at `implementation_path`. `files` are
    those of data that it names, `code` those of custom code, `tables` of churn and contacts, by
    key path; `people` what these call people, in order of their phones, if not by their numbers;
    `used` what the run uses of each file that has times, by key path.
    """

    path: Path
    text: str
    overrides: tuple[str, ...]
    overridden: tuple[str, ...]
    label: str
    scenario: Scenario
    implementation_path: Path
    implementation: Implementation
    files: Mapping[str, DataFile]
    code: Mapping[str, CustomCode]
    tables: PresenceTables
    people: tuple[str, ...]
    used: Mapping[str, Used]

    def __repr__(self) -> str:
        # Short, as people print it; the text of the file and all that was read are its fields.
        run = self.scenario.run
        said = [
            f"{self.scenario.phone_count()} phones, {run.repetitions} x {run.duration:g} s",
            *self.overrides,
        ]
        return f"<scenario {printable(self.path.stem)}: {shown('; '.join(said), _LONGEST_REPR)}>"

    def paths(self) -> dict[str, str]:
        """Return the paths of all files that the scenario names, by digest."""
        found: list[DataFile | CustomCode | Table] = [*self.files.values(), *self.code.values()]
        found += self.tables.values()
        return {file.digest: str(file.path) for file in found}

    def code_outside(self) -> dict[str, Path]:
        """Return the files of code that lie outside the scenario's folder, by key path.

        Links are followed. What is installed is not among them, nor what a user names by `--set`;
        what a sweep's document names is.
        """
        folder = self.path.resolve().parent
        named = {key: one.path for key, one in self.code.items() if not one.is_installed}
        if custom_library.LIBRARY in self.files:
            named[custom_library.LIBRARY] = self.files[custom_library.LIBRARY].path
        asked = self.overridden if self.label == BY_HAND else ()
        return {
            key: path.resolve()
            for key, path in named.items()
            if not path.resolve().is_relative_to(folder)
            and not any(overlap(key, each) for each in asked)
        }

    def source_of(self, place: str) -> str | Path:
        """Return what a mistake at the key path `place` is blamed on: the overrides or the file."""
        return self.label if any(overlap(place, key) for key in self.overridden) else self.path


@dataclass(frozen=True)
class Source:
    """A scenario's file as it stands, read once to be loaded with many overrides.

    `implementations` and `tables` are what was read on the way, by files.
    """

    path: Path
    text: str
    data: dict[str, Any]
    implementations: dict[Path, Implementation] = field(default_factory=dict)
    tables: Cache = field(default_factory=dict)


def load(path: str | Path, overrides: Sequence[str] = (), label: str = BY_HAND) -> Document:
    """Return the scenario at `path` with `overrides` ("workload.rate=16/s") applied in order.

    `label` names the source of the overrides in messages. Raises ScenarioError for a missing or
    malformed file, an unknown or malformed override, and a scenario that makes no sense.
    """
    return apply(read(path), overrides, label)


def read(path: str | Path) -> Source:
    """Return the file at `path`, or raise ScenarioError where it is no scenario."""
    path = Path(path)
    if path.stem in {".", ".."}:  # of "...toml" it is ".."
        reason = f'is called "{path.stem}" without its suffix, which no folder of runs can be'
        raise ScenarioError(path, "", reason, str(path.with_name("scenario.toml")))
    text, data = read_toml(path)
    for table, what in _OTHER_DOCUMENTS.items():
        if isinstance(data.get(table), dict):
            raise ScenarioError(path, "", f"is {what}, not a scenario")
    return Source(path, text, data)


def apply(source: Source, overrides: Sequence[str], label: str) -> Document:
    """Return what `load` does for the file that was read as `source`."""
    path, data = source.path, copy.deepcopy(source.data)
    made = [_override(data, text_, label) for text_ in overrides]
    keys = tuple(key for key, _ in made)
    try:
        said = validate(Scenario, data, path)
        implementation_path, implementation = implementations.load(
            said, path, source.implementations
        )
        scenario = implementations.filled(said, implementation)
        implementations.check(scenario, implementation, path)
        retries.check(said.protocol.retries, scenario, path)
        consistency.check(scenario, path)
        limits.check(scenario, path)
        graph = data_files.graph(scenario, path)
        people = data_files.ids(scenario, path, graph, source.tables)
        files = data_files.read(scenario, path, graph, people)
        code = data_files.code(scenario, path)
        tables = presence_files.read(scenario, path, source.tables, people)
        used = data_files.used(files) | presence_files.used(scenario, tables)
    except ScenarioError as error:
        if any(overlap(error.key_path, table) for _, table in made):
            raise ScenarioError(label, error.key_path, error.reason, error.suggestion) from None
        raise
    return Document(
        path,
        source.text,
        tuple(overrides),
        keys,
        label,
        scenario,
        implementation_path,
        implementation,
        files,
        code,
        tables,
        people,
        used,
    )


def parse_value(text: str) -> Any:
    """Return an override's value: TOML where it parses, else the bare text ("16/s", "udp")."""
    text = text.strip()
    found = _toml(text)
    if found is None and text.startswith("[") and text.endswith("]"):
        items = [item.strip() for item in text[1:-1].split(",")]
        return [item if _toml(item) is None else _toml(item) for item in items if item]
    return text if found is None else found


def _toml(text: str) -> Any:
    """Return `text` as a TOML value; None if it is none, or none that a document may hold."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    # Python's own limits, too: of nesting, and of the digits of a number.
    except (ValueError, KeyError, RecursionError):
        return None


def overlap(one: str, other: str) -> bool:
    """Tell whether two key paths are the same, or one lies below the other."""

    def starts(longer: str, shorter: str) -> bool:
        return longer == shorter or (longer.startswith(shorter) and longer[len(shorter)] in ".[")

    return bool(one) and (starts(one, other) or starts(other, one))


def _override(data: dict[str, Any], override: str, label: str) -> tuple[str, str]:
    """Set one value in `data`; return its key path, as messages spell it, and that of what is new.

    That is the outermost table that was not there: what it lacks is the override's fault, too.
    """
    key, equals, value = override.partition("=")
    parts = parse_key(key.strip())
    if not equals or not parts:
        raise ScenarioError(label, override, "write it as key.path=value")
    path = key_path(parts)
    container: Any = data
    new = path
    for number, part in enumerate(parts[:-1]):
        here = key_path(parts[: number + 1])
        if new == path and isinstance(container, dict) and part not in container:
            new = here
        container = _enter(container, part, label, here)
    last = parts[-1]
    if isinstance(last, int):
        _enter(container, last, label, path)
    elif not isinstance(container, dict):
        raise ScenarioError(label, path, f"{key_path(parts[:-1])} is not a table")
    container[last] = parse_value(value)
    return path, new


def parse_key(key: str) -> list[str | int]:
    """Return the parts of a key path as messages spell it: devices[0].profile."""
    parts = re.findall(r"[^.\[\]]+", key)
    # What is longer is no place in any list, and Python refuses to read some thousand digits.
    return [int(part) if part.isdecimal() and len(part) <= _DIGITS else part for part in parts]


def _enter(container: Any, part: str | int, label: str, path: str) -> Any:
    if isinstance(part, int):
        if not isinstance(container, list) or part >= len(container):
            raise ScenarioError(label, path, "there is no such element")
        return container[part]
    if not isinstance(container, dict):
        raise ScenarioError(label, path, "there is no such table")
    # A table that is not there yet may be a valid one; the model refuses it if it is not.
    return container.setdefault(part, {})


_DIGITS = 9
_LONGEST_REPR = 300  # characters
_OTHER_DOCUMENTS = {
    "sweep": "a sweep (`pocketsim sweep run` takes it)",
    "device": "a device profile",
    "implementation": "the profile of an implementation",
    "law": "a law of contacts",
}
