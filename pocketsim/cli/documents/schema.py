"""`schema`: what documents may hold."""

from __future__ import annotations

from typing import Annotated

import typer

from pocketsim.api.documents import schema as schemas
from pocketsim.cli.ui import console, options


def schema(
    kind: Annotated[
        schemas.Kind,
        typer.Argument(
            help="The kind of document.",
            metavar="KIND",
            parser=options.one_of(schemas.KINDS, "KIND"),
        ),
    ],
) -> None:
    """Print the JSON Schema of a document, by which editors check and complete it."""
    console.data(schemas.file(kind).read_text(encoding="utf-8").rstrip())
