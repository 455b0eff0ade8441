"""What people should know about valid scenarios before they trust a number, on stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.cli.ui import console

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pocketsim.sim.scenario.load import Document


def warn(documents: Iterable[Document]) -> None:
    """Say the warnings of `documents`, each once."""
    from pocketsim.sim.scenario.warnings import lines

    for line in lines(documents):
        console.say(f"warning: {line}")
