"""A law of contacts as a TOML file: the same law gives the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.base.units import DURATION
from pocketsim.sim.scenario import contact_law

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pocketsim.sim.scenario.resolved import ContactLaw


def write_law(law: ContactLaw, about: Mapping[str, str], path: Path) -> None:
    """Write a law, with what it rests on, to the file at `path`; see that it reads as written."""
    import tomli_w

    document = {
        **{key: value for key, value in law.items() if key != "resolution_s"},
        "resolution": DURATION.write(law["resolution_s"]),
        "law": dict(about),
    }
    order = contact_law.ContactLaw.model_fields
    text = tomli_w.dumps({key: document[key] for key in order})
    path.write_text(f"{_HEAD}\n{text}", encoding="utf-8")
    assert contact_law.contents(contact_law.load(path)) == law, "a law reads as it was written"


_HEAD = "# Made by `pocketsim calibrate contacts`; [contacts] of a scenario names it by `law`."
