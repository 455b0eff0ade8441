"""Copies of scenarios with other numbers in their documents.

Copies lie in a temporary folder. The ordinary loader and resolver read and check them. A copy of a
profile has the name of the original, so that its draws are the same.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from pocketsim.calibration.inverse.key_paths import DEVICES, IMPLEMENTATIONS, ROOT
from pocketsim.calibration.validate.validation import rung_key
from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.scenario.load import Source, apply
from pocketsim.sim.scenario.resolve import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pocketsim.calibration.validate.answers import RungKey
    from pocketsim.sim.scenario.resolve import Profiles
    from pocketsim.sim.scenario.resolved import Resolved

    Patched = Mapping[str, dict[str, Any]]
    """Documents that differ from those in the project, by their names."""


@dataclass(frozen=True)
class Scenarios:
    """Some scenarios of the project, with overrides by scenario, and which rungs of them count."""

    sources: Mapping[str, Source]
    overrides: Mapping[str, Sequence[str]]
    label: str
    wanted: Callable[[RungKey], bool]
    files: dict[str, str] = field(default_factory=dict)
    """Paths of the files of data that what was resolved names, by digest."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        overrides: Mapping[str, Sequence[str]],
        label: str,
        wanted: Callable[[RungKey], bool],
    ) -> Scenarios:
        """Return the scenarios of these names; `label` is what an override is blamed on."""
        return cls({name: _source(name) for name in names}, overrides, label, wanted)

    def touched_by(self, patched: Patched) -> list[str]:
        """Return the scenarios that are patched, or name a profile that is."""
        return [
            name for name, source in self.sources.items() if _names_one(name, source.data, patched)
        ]

    def resolved(
        self, patched: Patched, folder: Path, names: Sequence[str] | None = None
    ) -> dict[RungKey, Resolved]:
        """Return the rungs that count, of all scenarios or of those of some `names`.

        Copies go into `folder`. Raises ScenarioError for what is no scenario any more.
        """
        for name, data in patched.items():
            if _kind(name) is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(tomli_w.dumps(data), encoding="utf-8")
        found: dict[RungKey, Resolved] = {}
        read: Profiles = {}
        for name in self.sources if names is None else names:
            source = self.sources[name]
            data = _pointed(patched.get(name, source.data), patched, folder)
            document = apply(
                dataclasses.replace(source, data=data, implementations={}),
                self.overrides.get(name, ()),
                self.label,
            )
            self.files.update(document.paths())
            for rung in resolve(document, read):
                key = rung_key(name, rung.resolved["rung"])
                if self.wanted(key):
                    found[key] = rung.resolved
        return found


def _kind(name: str) -> str | None:
    """Return which kind of profile a document is; None for a scenario."""
    kind = Path(name).parent.name
    return kind if kind in {DEVICES, IMPLEMENTATIONS} else None


def _names_one(scenario: str, data: Mapping[str, Any], patched: Patched) -> bool:
    """Return whether a scenario is patched, or names a profile that is."""
    used = {(DEVICES, group.get("profile")) for group in data.get("devices", [])}
    used.add((IMPLEMENTATIONS, data.get("implementation")))
    return scenario in patched or any((_kind(name), Path(name).stem) in used for name in patched)


def _pointed(data: Mapping[str, Any], patched: Patched, folder: Path) -> dict[str, Any]:
    """Return a scenario that names the copies in `folder` of the profiles that are patched."""
    copies = {
        (kind, Path(name).stem): str(folder / name)
        for name in patched
        if (kind := _kind(name)) is not None
    }

    def copy_of(kind: str, name: Any) -> Any:
        return copies.get((kind, name), name) if isinstance(name, str) else name

    groups = [
        {**group, "profile": copy_of(DEVICES, group.get("profile"))}
        for group in data.get("devices", [])
    ]
    program = copy_of(IMPLEMENTATIONS, data.get("implementation"))
    return {**data, "devices": groups, "implementation": program}


def _source(name: str) -> Source:
    text, data = read_toml(ROOT / name)
    return Source(ROOT / name, text, data)
