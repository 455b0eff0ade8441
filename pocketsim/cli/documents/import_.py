"""`import`: traces, graphs and payments of others, as files that a scenario reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from pocketsim.cli.ui import console, options, output_paths
from pocketsim.cli.ui.options import AsJson, output
from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from pocketsim.api.documents.import_data import Imported


Format = Literal[
    "one",
    "haggle",
    "crawdad",
    "tij",
    "snap",
    "pajek",
    "gml",
    "graphml",
    "gexf",
    "node-link",
    "fta",
    "payments",
    "ipv8",
]
"""What a source is; a test compares them with what is read."""
TimeUnit = Literal["s", "ms", "us", "iso"]
AmountUnit = Literal["ct", "EUR"]


def import_(  # noqa: PLR0913, PLR0917 - each is an option
    form: Annotated[
        Format,
        typer.Argument(
            help=f"What the source is: {', '.join(get_args(Format))}.",
            metavar="FORMAT",
            parser=options.one_of(Format, "FORMAT"),
        ),
    ],
    source: Annotated[
        Path, typer.Argument(help="File to import, compressed by gzip or not.", metavar="SOURCE")
    ],
    out: Annotated[Path, output("New folder to write.", "FOLDER")],
    time_unit: Annotated[
        TimeUnit | None,
        typer.Option(
            "--time-unit",
            help="Unit of times: s, ms, us, or iso for payments; default s, of ipv8 ms.",
            parser=options.one_of(TimeUnit, "--time-unit"),
        ),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(
            help="Time of the source that is 0 s in the files; its first without.", metavar="TIME"
        ),
    ] = None,
    window: Annotated[
        float | None,
        typer.Option(
            help="Seconds that a line of tij lasts (20), or a contact that ends when it begins, "
            "which is dropped without.",
            metavar="SECONDS",
            min=0,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Payments: payer=COLUMN,payee=COLUMN,time=COLUMN and amount=COLUMN, or "
            "payload=COLUMN for trades.",
            metavar="ROLE=COLUMN,...",
        ),
    ] = None,
    amount_unit: Annotated[
        AmountUnit,
        typer.Option(
            "--amount-unit",
            help="Unit of amounts: ct or EUR.",
            parser=options.one_of(AmountUnit, "--amount-unit"),
        ),
    ] = "ct",
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Edges of a graph lead both ways.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Make the folder of an earlier import again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import recorded contacts, churn, graphs or payments as files for a scenario.

    The folder holds the tables, phones.csv (which id is which phone) and import.json (source,
    digest, rows, what was dropped and why).
    """
    output_paths.check_outside_runs(out)
    from pocketsim.api.documents.import_data import import_data

    made = import_data(
        form,
        source,
        out,
        time_unit=time_unit,
        origin=origin,
        window_s=window,
        columns_by_role=_mapping(columns),
        amount_unit=amount_unit,
        undirected=undirected,
        force=force,
    )
    if as_json:
        console.json_data(made.note)
        return
    _tell(made)


def _mapping(text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    found: dict[str, str] = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not (role and equals and name):
            raise ScenarioError("--columns", "", f"{part!r} is no ROLE=COLUMN", "payer=from")
        if role in found:
            raise ScenarioError("--columns", "", f"names {role} twice")
        found[role] = name
    return found


def _tell(made: Imported) -> None:
    note = made.note
    for name, rows in note["rows_written"].items():
        console.say(f"{name}: {rows:,} rows, of {note['rows_read']:,} of the source")
    console.say(f"{note['phones']:,} phones, 0 to {note['phones'] - 1}: ids in phones.csv")
    for title in ("dropped", "changed"):
        for why, count in note[f"rows_{title}"].items():
            console.say(f"{title}: {count:,} {why}")
    if note["last_s"] is not None:
        console.say(f"from {note['first_s']:.9g} s to {note['last_s']:.9g} s after the origin")
    console.data(str(made.folder))
