"""What a mistake in a scenario must come to: one line that names where, why and what instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

if TYPE_CHECKING:
    from pathlib import Path


def check(folder: Path, text: str, mistake: tuple[str, str, str, str, str | None]) -> None:
    """Make the mistake in a good scenario's `text`, and assert that it is refused as it should be.

    `mistake` is what is replaced, by what, and then the error's key path, a part of its reason, and
    its suggestion.
    """
    old, new, key_path, reason, suggestion = mistake
    assert old in text
    path = folder / "bad.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ScenarioError) as caught:
        resolve(load(path))
    error = caught.value
    assert reason in error.reason
    assert error.suggestion == suggestion
    assert error.key_path == key_path
    assert "\n" not in str(error)
