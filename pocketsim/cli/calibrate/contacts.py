"""`calibrate contacts`: a law of contacts, fitted to a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pocketsim.cli.ui import console, options, output_paths
from pocketsim.cli.ui.options import output

Format = Literal["columns", "tij"]


def contacts(  # noqa: PLR0913, PLR0917 - each is an option
    trace: Annotated[
        Path, typer.Argument(help="Contacts, as a scenario's file has them.", metavar="TRACE")
    ],
    out: Annotated[Path, output("Law to write (TOML).")],
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="Format of the trace: columns or tij.",
            parser=options.one_of(Format, "--format"),
        ),
    ] = "columns",
    origin: Annotated[
        str,
        typer.Option(
            help='Midnight before a Monday, on the trace\'s clock; "first" is the midnight before '
            "the first contact.",
            metavar="TIME",
        ),
    ] = "0s",
    until: Annotated[
        int | None,
        typer.Option(
            help="Fit to days before this one, counted from the origin: 5 is five days.",
            metavar="DAY",
            min=1,
        ),
    ] = None,
    resolution: Annotated[
        str, typer.Option(help="Times become multiples of this.", metavar="DURATION")
    ] = "20s",
    title: Annotated[str | None, typer.Option(help="Title of the law.")] = None,
    source: Annotated[str | None, typer.Option(help="What the data are, and of whom.")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of the data.")] = None,
) -> None:
    """Fit a law of contacts to a trace of people who share a place.

    `[contacts]` with kind = "law" draws from it who meets whom, when and for how long. Numbers of
    contacts and gaps are corrected by simulation, which takes up to a minute.
    """
    from pocketsim.api.calibrate import fitted_contacts, said_of
    from pocketsim.calibration.fit.people.write import write_law

    output_paths.check_outside_runs(out)
    law, fitted_to = fitted_contacts(
        trace, out, form=form, origin=origin, until_day=until, resolution=resolution
    )
    asked = {"title": title, "source": source, "licence": licence}
    about = {**said_of(trace), "fitted_to": fitted_to}
    about |= {key: value for key, value in asked.items() if value}
    with output_paths.replacing(out) as aside:
        write_law(law, about, aside)
    console.say(f"fitted to {fitted_to}")
    output_paths.tell(out)
