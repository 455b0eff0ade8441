"""The scenarios that come with the package, by name."""

from __future__ import annotations

from pathlib import Path

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
"""Where they lie, in folders; sweeps have one of their own."""


def scenarios() -> dict[str, Path]:
    """Return their files by name, sorted."""
    files = (file for file in SCENARIOS.glob("*/*.toml") if file.parent.name != "sweeps")
    return dict(sorted((file.stem, file) for file in files))
