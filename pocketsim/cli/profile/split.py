"""`profile split`: a profile of version 0.1 as a device and an implementation."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from pocketsim.cli.ui import output_paths
from pocketsim.cli.ui.options import output


def split(
    old: Annotated[
        Path, typer.Argument(help="Profile of version 0.1, with [app].", metavar="PROFILE")
    ],
    out: Annotated[Path, output("Folder to write both into.", "DIR")] = Path(),
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
        output_paths.write(path, text)
