"""`schema`: what documents may hold."""

from __future__ import annotations

import enum
from typing import Annotated

import typer

from pocketsim.api.documents import schema as schemas
from pocketsim.cli.ui import console, options


class Document(enum.StrEnum):
    """What has a schema."""

    scenario = "scenario"
    sweep = "sweep"
    profile = "profile"
    implementation = "implementation"
    fit = "fit"
    rates = "rates"


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
