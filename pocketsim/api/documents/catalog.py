"""What comes with the package, by name: scenarios, sweeps, profiles, fit documents; notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pocketsim.sim.base.errors import ScenarioError, choices, nearest
from pocketsim.sim.base.files import at_home, read_toml
from pocketsim.sim.scenario import shipped

PACKAGE = Path(__file__).resolve().parents[2]
"""Where it lies; documents name each other by paths from here."""

_PATTERNS = {
    "sweep": "scenarios/sweeps/*.toml",
    "device": "calibration/profiles/devices/*.toml",
    "implementation": "calibration/profiles/implementations/*.toml",
    "fit": "calibration/fits/*.toml",
    "presence": "calibration/profiles/presence/*.toml",
    "law": "calibration/profiles/contacts/*.toml",
}

KINDS = ("scenario", *_PATTERNS)


def scenarios() -> dict[str, str]:
    """Return the titles of the scenarios that come with the package, by name.

    >>> "udp_100b" in scenarios()
    True
    """
    return titles("scenario")


def devices() -> list[str]:
    """Return the names of the device profiles that come with the package.

    >>> "moto_g04s" in devices()
    True
    """
    return list(files("device"))


def implementations() -> list[str]:
    """Return the names of the profiles of implementations that come with the package.

    >>> "probe" in implementations()
    True
    """
    return list(files("implementation"))


def titles(kind: str) -> dict[str, str]:
    """Return what documents of a kind that come with the package are called, by name, sorted.

    `kind` is one of KINDS. What has no title is called by its name.
    """
    return {name: _title(kind, path) or name for name, path in files(kind).items()}


def files(kind: str) -> dict[str, Path]:
    """Return the documents of a kind that come with the package, by name, sorted.

    `kind` is one of KINDS.
    """
    if kind == "scenario":
        return shipped.scenarios()
    return dict(sorted((path.stem, path) for path in PACKAGE.glob(_PATTERNS[kind])))


def notebooks() -> list[Path]:
    """Return the notebooks that come with the package, in order, and the data that they read."""
    folder = PACKAGE / "notebooks"
    return sorted(path for path in folder.iterdir() if path.suffix in _COPIED)


def from_here(value: Any) -> Any:
    """Return a value of an override; of a file that is a path from here, its absolute path.

    Else it would be relative to the scenario, which may lie anywhere.
    """
    if not isinstance(value, str):
        return value
    from pocketsim.sim.base import graphs, tables  # which load numpy

    suffixes = (".toml", ".dat", ".txt", ".xml", *tables.SUFFIXES, *graphs.SUFFIXES)
    path = Path(value.strip().strip("\"'"))
    is_ours = path.name.lower().endswith(suffixes) and not path.is_absolute() and path.is_file()
    return str(path.absolute()) if is_ours else value


def document_file(named: str | Path, *kinds: str) -> Path:
    """Return the file of a document: one at this path, or one of these kinds with this name.

    What a path such as `scenarios/tokens/market.toml` does not lead to from here lies in the
    package. Raises ScenarioError for a name that none has.
    """
    path = at_home(named)
    if path.is_file():
        return path
    if path.suffix == ".toml" or path.name != str(named):
        within = PACKAGE / path
        return within if not path.is_absolute() and within.is_file() else path
    known = {name: file for kind in kinds for name, file in files(kind).items()}
    if path.name in known:
        return known[path.name]
    kinds_said = " or ".join(kinds)
    reason = f"no {kinds_said} that comes with the package has this name, and no such file"
    listed_by = f"pocketsim list {kinds[0]}s" if len(kinds) == 1 else "pocketsim list KIND"
    reason += f"; {choices(path.name, known, listed_by)}"
    raise ScenarioError(str(named), "", reason, nearest(str(named), known))


def _title(kind: str, path: Path) -> str:
    _, table = read_toml(path)
    *outer, key = _TITLE_KEYS[kind]
    for name in outer:
        table = table[name]
    return str(table.get(key, ""))


_COPIED = {".ipynb", ".json", ".jsonl"}
_TITLE_KEYS = {
    "scenario": ("title",),
    "sweep": ("sweep", "title"),
    "device": ("device", "name"),
    "implementation": ("implementation", "name"),
    "fit": ("title",),
    "presence": ("title",),
    "law": ("law", "title"),
}
