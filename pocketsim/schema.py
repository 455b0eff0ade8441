"""JSON Schemas of the documents that people write, each generated from the document's model.

`python -m pocketsim.schema` rewrites all of them, and the scenario's reference page, where they
lie; a test fails when one is stale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.catalog import PACKAGE

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import BaseModel

KINDS = ("scenario", "sweep", "profile", "implementation", "fit")
"""The kinds of documents; a `profile` is a device's."""


def file(kind: str) -> Path:
    """Return the file that holds the schema of a kind of documents."""
    return PACKAGE / "schemas" / f"{kind}.schema.json"


def generated(kind: str) -> str:
    """Return the schema of a kind of documents as its model is now."""
    from pocketsim.calibration.fit.inverse.document import Fit
    from pocketsim.sim.devices.implementation import Implementation
    from pocketsim.sim.devices.profile import Profile
    from pocketsim.sim.run.sweep_document import SweepDocument
    from pocketsim.sim.scenario import Scenario, schema

    models: dict[str, type[BaseModel]] = {
        "scenario": Scenario,
        "sweep": SweepDocument,
        "profile": Profile,
        "implementation": Implementation,
        "fit": Fit,
    }
    return schema.schema_text(models[kind])


def write() -> None:
    """Write every schema, and what else is generated from the scenario's model."""
    from pocketsim.sim.scenario import schema

    schema.write()
    for kind in KINDS:
        file(kind).write_text(generated(kind), encoding="utf-8")


if __name__ == "__main__":
    write()
