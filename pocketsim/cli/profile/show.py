"""`profile show`: every number of a profile and what it rests on."""

from __future__ import annotations

from typing import Annotated

from pocketsim.api.documents.catalog import document_file
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import document
from pocketsim.sim.base.errors import printable


def show(
    named: Annotated[
        str,
        document("File, or the name of a shipped profile.", "PROFILE", "device", "implementation"),
    ],
) -> None:
    """Show every number of a profile, its basis, and which published rows depend on it."""
    from pocketsim.calibration.validate.sensitivity import of_profile
    from pocketsim.sim.base.documents import read_toml
    from pocketsim.sim.devices import implementation, profile
    from pocketsim.sim.devices.numbers import number_text, numbers

    path = document_file(named, "device", "implementation")
    _, data = read_toml(path)
    is_program = isinstance(data.get("implementation"), dict)
    contents = (
        implementation.contents(implementation.load(path))
        if is_program
        else profile.contents(profile.load(path))
    )
    told = of_profile(path.stem, numbers(contents))
    rows = [
        (name, number_text(name, number), number["basis"], told.get(name, ""))
        for name, number in numbers(contents)
    ]
    about = data["implementation" if is_program else "device"]
    console.data(printable(str(about["name"])))
    for text in about["does_not_claim"]:
        console.data(printable(f"does not claim: {text}"))
    console.table("numbers", ("number", "value", "basis", "doubled"), rows)
