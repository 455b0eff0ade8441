"""`profile export`: a device as rates, for other simulators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pocketsim.cli.profile.compare import Bytes, size_bytes
from pocketsim.cli.ui import console, options, output_paths
from pocketsim.cli.ui.options import document, output


def export(
    device: Annotated[str, document("Device, a file or a name.", "PROFILE", "device")],
    to: Annotated[
        Literal["rates"],
        typer.Option(
            "--to",
            help="rates: operations per second and seconds per operation, for other simulators.",
            metavar="FORMAT",
            parser=options.one_of(Literal["rates"], "--to"),
        ),
    ] = "rates",
    out: Annotated[
        Path | None, output("File to write (.json or .csv); JSON to stdout without.")
    ] = None,
    payload: Bytes = None,
) -> None:
    """Write a device for users of other simulators: rates with 95 % intervals, and its sockets.

    `pocketsim schema rates` describes the JSON, which says what Shadow can be told of it; CSV has
    the operations alone.
    """
    del to  # there is one
    from pocketsim.api.profile_stats import device_rates
    from pocketsim.sim.export import rates

    form = output_paths.by_suffix(out, _RATES) if out else "json"
    if out:
        output_paths.check_outside_runs(out)
    found = rates.Rates(**device_rates(device, size_bytes(payload)))
    text = rates.as_csv(found) if form == "csv" else rates.as_json(found)
    if out is None:
        console.data(text.rstrip("\n"))
        return
    output_paths.write(out, text)


_RATES = {".json": "json", ".csv": "csv"}
