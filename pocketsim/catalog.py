"""What comes with the project, by name: scenarios, and profiles of devices and implementations."""

from __future__ import annotations

from pathlib import Path

from sim.base.documents import read_toml
from sim.base.errors import ScenarioError, nearest
from sim.devices import profile

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios"


def scenarios() -> dict[str, str]:
    """Return the titles of the scenarios that come with the project, by name.

    >>> "udp_100b" in scenarios()
    True
    """
    return {name: _title(path) for name, path in sorted(_shipped().items())}


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
        return known[str(named)]
    reason = "no scenario comes with the project by this name, and no such file"
    raise ScenarioError(str(named), "", reason, nearest(str(named), known))


def _shipped() -> dict[str, Path]:
    """Return the files of the scenarios by name; sweeps lie among them and are none."""
    return {
        path.stem: path for path in SCENARIOS.glob("**/*.toml") if "sweep" not in read_toml(path)[1]
    }


def _title(path: Path) -> str:
    return str(read_toml(path)[1].get("title", path.stem))
