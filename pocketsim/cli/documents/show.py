"""`show`: a scenario's rungs and what its numbers rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pocketsim.api.documents.catalog import document_file
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import AsJson, Overrides, ScenarioFile, from_here
from pocketsim.cli.ui.warnings import warn
from pocketsim.sim.base import axes
from pocketsim.sim.base.errors import printable
from pocketsim.sim.devices.numbers import bases, number_text, numbers
from pocketsim.sim.devices.prices import own_price

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pocketsim.sim.scenario.load import Document
    from pocketsim.sim.scenario.resolve import Rung
    from pocketsim.sim.scenario.resolved import (
        AlwaysOn,
        AnyChurn,
        Group,
        Lengths,
        Resolved,
    )


def show(file: ScenarioFile, overrides: Overrides = None, as_json: AsJson = False) -> None:
    """Show the runs of a scenario and the sources of its numbers."""
    from pocketsim.api.documents import reach
    from pocketsim.calibration.validate.sensitivity import NOT_VALIDATED
    from pocketsim.sim.scenario.load import load
    from pocketsim.sim.scenario.resolve import resolve
    from pocketsim.sim.scenario.resolved import streams_number

    document = load(document_file(file, "scenario"), from_here(overrides))
    rungs = resolve(document)
    warn([document])
    if as_json:
        console.json_data([rung.resolved for rung in rungs])
        return
    first = rungs[0].resolved
    run = first["run"]
    console.data(printable(first["title"]))
    first_one = streams_number(run, 0)
    console.data(
        f"{run['repetitions']} x {run['duration_s']:g} s"
        f"{f' from repetition {first_one} on' if first_one else ''}, seed {run['seed']}, "
        f"draw {run['draw']}, app {run['app']}, crypto {first['protocol']['crypto']}"
    )
    for line in _app_faults(rungs):
        console.data(line)
    for line in (*lines_of_files(document), *reach.lines(document)):
        console.data(line)
    _show_groups(first["devices"])
    implementation = first["implementation"]
    rows = [
        (name, _bases(profile), _unmoved(profile["drawn_as"], profile))
        for name, profile in first["profiles"].items()
    ]
    name = implementation["called"]
    rows.append((name, _bases(implementation), _unmoved(name, implementation)))
    head = ("profile", "basis of its numbers", NOT_VALIDATED)
    console.table("what the profiles rest on", head, rows)
    supposed = list(_supposed(document, first))
    if supposed:
        console.table("what if", ("cost", "asked for", "what it comes to"), supposed)
    columns = [_rung_columns(rung) for rung in rungs]
    names = max(map(list, columns), key=len)  # a transport without EVA's axes has fewer
    console.table(
        "rungs", names, [tuple(cells.get(name, "") for name in names) for cells in columns]
    )


def lines_of_files(document: Document) -> list[str]:
    """Return lines on the user's own files: what the run uses of each, and who is who."""
    lines = [printable(f"{place}: {used.text()}") for place, used in document.used.items()]
    return [*lines, *_people(document)]


def _people(document: Document) -> list[str]:
    """Return a line that says who has the first phones, where files call people by ids."""
    people = document.people
    if not people:
        return []
    first = ", ".join(f"{one} is phone {number}" for number, one in enumerate(people[:_SHOWN]))
    more = ", ..." if len(people) > _SHOWN else ""
    return [printable(f"people in files: {len(people)} ids; {first}{more}")]


def _app_faults(rungs: Sequence[Rung]) -> list[str]:
    """Return a line that says whether kept connections have the app's faults, if any is kept."""
    from pocketsim.sim.scenario import app_faults

    kept = [
        rung.resolved["transport"]
        for rung in rungs
        if rung.resolved["transport"]["mode"] == app_faults.KEPT
    ]
    known = {transport["app_faults"] for transport in kept}
    said = {
        True: "stall and break as often as the implementation says",
        False: "do not stall or break",
    }
    return [
        f"kept connections {said[has_faults]} (transport.app_faults)"
        for has_faults in sorted(known)
    ]


def _show_groups(groups: Sequence[Group]) -> None:
    """Write a table of groups of phones; of what is usual there is no column."""
    rows = [_group_columns(group) for group in groups]
    head = [name for name in rows[0] if any(row[name] != _USUAL.get(name) for row in rows)]
    console.table("devices", head, [[row[name] for name in head] for row in rows])


def _group_columns(group: Group) -> dict[str, str]:
    shares = group["access"]
    return {
        "profile": group["profile"],
        "count": str(group["count"]),
        "access": _settings(shares) if len(shares) > 1 else next(iter(shares)),
        "role": group["role"],
        "rate_per_s": f"{group['rate_per_s']:g}" if "rate_per_s" in group else "",
        "churn": _churn(group["churn"]) if "churn" in group else "",
        "computer": group.get("computer", ""),
    }


def _churn(law: AnyChurn | AlwaysOn) -> str:
    if law["kind"] == "none":
        return "always on"
    if law["kind"] == "file":
        return f"{law['file']} from {law['origin_s']:g} s on"
    if law["kind"] == "law":
        return law["name"]
    if law["kind"] == "android":
        return "android, exempt" if law["exempt"] else f"android, bucket {law['bucket']}"
    return f"session {_length(law['session'])}; gap {_length(law['gap'])}"


def _length(law: Lengths) -> str:
    found = {key: value for key, value in law.items() if isinstance(value, float)}
    return f"{law['distribution']} {_settings(found)}"


def _settings(values: Mapping[str, float]) -> str:
    return " ".join(f"{name}={value:g}" for name, value in values.items())


def _supposed(document: Document, resolved: Resolved) -> Iterator[tuple[str, str, str]]:
    """Yield a line for each cost that a group of phones supposes."""
    for number, group in enumerate(document.scenario.devices):
        device = resolved["profiles"][resolved["devices"][number]["profile"]]
        for name, asked in group.cost.items():
            cost: Mapping[str, Any] = (
                device["operations"][name]
                if name in device["operations"]
                else own_price(name, device, resolved["implementation"])
            )
            yield f"devices[{number}].cost.{name}", str(asked), number_text(name, cost)


def _rung_columns(rung: Rung) -> dict[str, str]:
    said = rung.resolved["rung"]
    values = {key: value for key, value in said.items() if key != "axes"}
    several = {axes.leaf(key): value for key, value in said.get("axes", {}).items()}
    columns = {**values, **several, "run directory": rung.name}
    return {key: axes.text(value) for key, value in columns.items()}


def _bases(document: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {basis}" for basis, count in sorted(bases(document).items()))


def _unmoved(stem: str, document: Mapping[str, Any]) -> str:
    """Return how many of a profile's numbers no published row depends on, of those doubled."""
    from pocketsim.calibration.validate.sensitivity import NOT_VALIDATED, of_profile

    told = of_profile(stem, numbers(document))
    return f"{sum(said == NOT_VALIDATED for said in told.values())} of {len(told)}" if told else ""


_USUAL = {"role": "person", "rate_per_s": "", "churn": "", "computer": ""}
_SHOWN = 3  # of people
