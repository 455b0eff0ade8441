"""`calibrate presence`: a law of how phones come and go, fitted to a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.api.documents.catalog import document_file
from pocketsim.cli.ui import console, output_paths
from pocketsim.cli.ui.options import AsJson, document, output
from pocketsim.sim.base import tables
from pocketsim.sim.base.errors import UserError

if TYPE_CHECKING:
    from pocketsim.calibration.fit.people.presence_fit import Fit
    from pocketsim.calibration.fit.people.presence_sources import Source


def presence(
    source: Annotated[
        Path,
        document(
            "Trace (CSV or Parquet: phone, on_s, off_s), or a presence law that says what it was "
            "fitted to.",
            "SOURCE",
            "presence",
        ),
    ],
    out: Annotated[Path, output("Law to write (TOML).")],
    watched: Annotated[
        Path | None,
        typer.Option(
            "--watched",
            help="When each phone of the trace was watched (phone, begin_s, end_s); a phone that "
            "has no row in the trace was never on.",
            metavar="FILE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit how phones come and go to a trace, or to the percentiles of one.

    Phones are drawn from the law and watched as those of the trace were; what was wanted stands
    beside what is drawn. The law also holds the percentiles that it was fitted to.
    """
    from pocketsim.calibration.fit.people.presence_fit import fit
    from pocketsim.calibration.fit.people.presence_sources import as_toml

    with output_paths.writing(out):
        wanted = _source(source, watched)
        found = fit(wanted.wanted, wanted.title, wanted.source)
    output_paths.put(out, as_toml(found, wanted))
    if as_json:
        rows = [
            {"what": one.what, "wanted": one.wanted, "drawn": one.drawn, "error": one.error}
            for one in found.agreement
        ]
        console.json_data({"law": str(out), "agreement": rows})
        return
    _print(found)
    output_paths.tell(out)


def _source(source: Path, watched: Path | None) -> Source:
    from pocketsim.calibration.fit.people import presence_sources

    if source.name.endswith(tables.SUFFIXES):
        if watched is None:
            raise UserError("a trace needs --watched FILE: when each phone was watched")
        return presence_sources.of_trace(source, watched)
    if watched is not None:
        raise UserError("--watched belongs to a trace, and SOURCE is a law")
    return presence_sources.of_law(document_file(source, "presence"))


def _print(found: Fit) -> None:
    rows = [
        (one.what, f"{one.wanted:.4g}", f"{one.drawn:.4g}", f"{100 * one.error:+.1f} %")
        for one in found.agreement
    ]
    console.table(found.law["title"], ("what", "wanted", "drawn", "error"), rows, console.say)
