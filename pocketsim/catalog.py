"""What comes with the project, by name: scenarios, and profiles of devices and implementations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sim.base.documents import read_toml
from sim.base.errors import ScenarioError, nearest
from sim.devices import profile

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"


def scenarios() -> dict[str, str]:
    """Return the titles of the scenarios that come with the project, by name.

    >>> "udp_100b" in scenarios()
    True
    """
    return {name: str(data.get("title", name)) for name, (_, data) in sorted(_shipped().items())}


def devices() -> list[str]:
    """Return the names of the device profiles that come with the project.

    >>> "moto_g04s" in devices()
    True
    """
    return profile.shipped(profile.DEVICES)


def implementations() -> list[str]:
    """Return the names of the profiles of implementations that come with the project.

    >>> "probe" in implementations()
    True
    """
    return profile.shipped(profile.IMPLEMENTATIONS)


def scenario_file(named: str | Path) -> Path:
    """Return the file of a scenario: the one at this path, or that of a name in `scenarios`.

    Raises ScenarioError for what is neither.
    """
    path = Path(named)
    if path.suffix == ".toml" or path.name != str(named) or path.is_file():
        return path
    known = _shipped()
    if str(named) in known:
        return known[str(named)][0]
    reason = "no scenario comes with the project by this name, and no such file"
    raise ScenarioError(str(named), "", reason, nearest(str(named), known))


def _shipped() -> dict[str, tuple[Path, dict[str, Any]]]:
    """Return files and contents of the scenarios by name; sweeps lie among them and are none."""
    found = {path.stem: (path, read_toml(path)[1]) for path in SCENARIOS.glob("**/*.toml")}
    return {name: one for name, one in found.items() if "sweep" not in one[1]}
