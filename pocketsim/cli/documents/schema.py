"""`schema`: what documents may hold."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from pocketsim.api.documents import schema as schemas
from pocketsim.cli.ui import console, options

Document = Literal[
    "scenario", "sweep", "profile", "implementation", "fit", "presence", "law", "rates"
]


def schema(
    kind: Annotated[
        Document,
        typer.Argument(
            help="The kind of document.",
            metavar="KIND",
            parser=options.one_of(Document, "KIND"),
        ),
    ],
) -> None:
    """Print the JSON Schema of a document, by which editors check and complete it."""
    console.data(schemas.file(kind).read_text(encoding="utf-8").rstrip())
