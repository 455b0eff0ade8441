"""`profile`: what can be done with profiles beside checking them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from pocketsim.api.documents.catalog import document_file
from pocketsim.cli.ui import completion, console, output_paths
from pocketsim.sim.base.errors import printable


def show(
    named: Annotated[
        str,
        typer.Argument(
            help="File, or the name of a shipped profile.",
            metavar="PROFILE",
            autocompletion=completion.documents("device", "implementation"),
        ),
    ],
) -> None:
    """Show every number of a profile, what it rests on, and what published rows say of it."""
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


def split(
    old: Annotated[
        Path, typer.Argument(help="Profile of version 0.1, with [app].", metavar="PROFILE")
    ],
    out: Annotated[
        Path, typer.Option("-o", "--out", help="Folder to write both into.", metavar="DIR")
    ] = Path(),
) -> None:
    """Split a profile of version 0.1 into a device and an implementation."""
    import tomli_w

    from pocketsim.calibration.fit.split import split as parts
    from pocketsim.sim.devices import profile
    from pocketsim.sim.devices.implementation import load

    device, implementation = parts(old)
    written = {
        out / f"{old.stem}.device.toml": (tomli_w.dumps(device), profile.load),
        out / f"{old.stem}.implementation.toml": (tomli_w.dumps(implementation), load),
    }
    # Both are read again before either is written: none is left alone.
    with tempfile.TemporaryDirectory() as folder:
        for path, (text, load_again) in written.items():
            again = Path(folder) / path.name
            again.write_text(text, encoding="utf-8")
            load_again(again)
    for path, (text, _) in written.items():
        with output_paths.replacing(path) as aside:
            aside.write_text(text, encoding="utf-8")
        output_paths.tell(path)
