"""`profile export`: a device as rates, for other simulators."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from pocketsim.cli.profile.compare import Bytes, size_bytes
from pocketsim.cli.ui import completion, console, options, output_paths


class Format(enum.StrEnum):
    """What to export a device to."""

    rates = "rates"


def export(
    device: Annotated[
        str,
        typer.Argument(
            help="Device, a file or a name.",
            metavar="PROFILE",
            autocompletion=completion.documents("device"),
        ),
    ],
    to: Annotated[
        Format,
        typer.Option(
            "--to",
            help="rates: operations per second and seconds per operation, for other simulators.",
            metavar="FORMAT",
            parser=options.one_of(Format, "--to"),
        ),
    ] = Format.rates,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="File to write (.json or .csv); JSON to stdout without.",
            metavar="FILE",
        ),
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
    with output_paths.replacing(out) as aside:
        aside.write_text(text, encoding="utf-8")
    output_paths.tell(out)


_RATES = {".json": "json", ".csv": "csv"}
