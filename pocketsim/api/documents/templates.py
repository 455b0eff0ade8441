"""A user's scenario and a sweep over it, as texts to write: copies of what runs as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pocketsim.api.documents import schema
from pocketsim.api.documents.catalog import PACKAGE
from pocketsim.api.documents.scenarios import scenario, text_in
from pocketsim.sim.scenario.resolve import resolve

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATE = PACKAGE / "templates" / "two_phones.toml"
"""A scenario with a comment on every line; beside it, a sweep over it."""


def texts(folder: Path, name: str, base: str | Path | None = None) -> tuple[str, str]:
    """Return a scenario and a sweep over it, for files `name`.toml and `name`_sweep.toml.

    `folder` is where they will be, `base` a name in `pocketsim.scenarios` or a file; without,
    `TEMPLATE` is. Raises ScenarioError for a scenario that is not valid.
    """
    document = scenario(base or TEMPLATE)
    resolve(document)
    own = text_in(folder, document)
    sweep = TEMPLATE.with_stem(f"{TEMPLATE.stem}_sweep").read_text(encoding="utf-8")
    if base is None:
        own = own.replace(TEMPLATE.stem, name)
    else:
        # Its keys need not be those of another scenario, so they are there to be seen.
        before, start, axes = sweep.partition("[axes]\n")
        sweep = before + "".join(f"# {line}\n" for line in (start + axes).splitlines())
    return _led(own, "scenario"), _led(sweep.replace(TEMPLATE.stem, name), "sweep")


def _led(text: str, kind: str) -> str:
    """Return a document that leads editors to its schema from wherever it is."""
    body = re.sub(r"\A#:schema .*\n", "", text)
    return f"#:schema {schema.file(kind).as_uri()}\n{body}"
