"""The formats that are imported, by the names of the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import ScenarioError, nearest, shown
from pocketsim.sim.importing import fta, graphs, haggle, ipv8, payments, the_one, tij

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pocketsim.sim.importing.source_data import Options, SourceData


def read(form: str, path: Path, options: Options) -> SourceData:
    """Return what the source at `path` holds; raises ScenarioError for what is not of its format.

    An option that the format does not take is refused.
    """
    if form not in FORMATS:
        reason = f"{shown(repr(form))} is not one of {', '.join(FORMATS)}"
        raise ScenarioError("FORMAT", "", reason, nearest(form, FORMATS))
    reader, takes = FORMATS[form]
    given = {
        "--time-unit": options.time_unit,
        "--origin": options.origin,
        "--window": options.window_s,
        "--columns": options.columns or None,
        "--undirected": options.undirected or None,
        "--amount-unit": None if options.amount_unit == "ct" else options.amount_unit,
    }
    for option, value in given.items():
        if value is not None and option not in takes:
            raise ScenarioError(option, "", f"is not for {form}, which takes {', '.join(takes)}")
    if options.time_unit == "iso" and form != "payments":
        raise ScenarioError("--time-unit", "", f"iso is for payments, not for {form}", "s")
    return reader(path, options)


_TIMES = ("--time-unit", "--origin")
_CONTACTS = (*_TIMES, "--window")
_GRAPH = ("--undirected",)
FORMATS: dict[str, tuple[Callable[[Path, Options], SourceData], tuple[str, ...]]] = {
    "one": (the_one.read, _CONTACTS),
    "haggle": (haggle.read, _CONTACTS),
    "crawdad": (haggle.read, _CONTACTS),
    "tij": (tij.read, _CONTACTS),
    "snap": (graphs.snap, _GRAPH),
    "pajek": (graphs.pajek, _GRAPH),
    "gml": (graphs.gml, _GRAPH),
    "graphml": (graphs.graphml, _GRAPH),
    "gexf": (graphs.gexf, _GRAPH),
    "node-link": (graphs.node_link, _GRAPH),
    "fta": (fta.read, _TIMES),
    "payments": (payments.read, (*_TIMES, "--columns", "--amount-unit")),
    "ipv8": (ipv8.read, _TIMES),
}
"""By name: what reads it, and which options of the command it takes."""
