"""Which price makes how much of the energy of a run, and what that price rests on.

A *price* is a component on a network, as the tail of LTE radios; those of one radio rest on the
same. Where one of them makes most of the energy, the figure is worth as much as that price.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pocketsim.sim.metrics import per_phone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pocketsim.sim.scenario.resolved import (
        Resolved,
    )
    from pocketsim.sim.scenario.resolved_measures import ContactRadio, Energy, Radio


class EnergyShare(NamedTuple):
    """What a price makes of a run's energy: its mean over repetitions, and of all energy the share.

    `network` is the access network or the kind of link, empty for cores; `ci95_j` are the bounds
    of `j_per_phone_day`, None where they are undefined.
    """

    component: str
    network: str
    j_per_phone_day: float
    ci95_j: tuple[float, float] | None
    share: float
    basis: str
    source: str | None
    year: int | None


def named(parts_j: Mapping[str, Sequence[float]], resolved: Resolved) -> dict[str, float]:
    """Return the joules of each price: "cpu", "contact.ble", "access_tail.lte".

    `parts_j` are the engine's, by component and number; what has no price is left out.
    """
    energy, contacts = resolved["energy"], resolved["contacts"]
    if energy is None:
        return {}
    access = sorted(resolved["network"]["access"])
    links = sorted(contacts["links"]) if contacts else []
    found = {}
    for component, joules in parts_j.items():
        if component == _CORES:
            found[component] = math.fsum(joules)
            continue
        names, prices = links if component == _CONTACTS else access, _priced(energy, component)
        pairs = zip(names, joules, strict=True)
        found |= {f"{component}.{name}": spent for name, spent in pairs if name in prices}
    return found


def shares(found: Mapping[str, Any], resolved: Resolved) -> list[EnergyShare]:
    """Return what each price makes of the energy in metrics.json `found`, the most first.

    What took nothing is left out. A run without energy, or of a version that did not split it, has
    none.
    """
    spent = found.get("energy_by_network_j", {})
    means_j = {name: one["mean"] or 0.0 for name, one in spent.items()}
    total_j, days = sum(means_j.values()), per_phone.phone_days(resolved)
    made = []
    for name, joules in means_j.items():
        component, _, network = name.partition(".")
        low_j, high_j = (spent[name][bound] for bound in ("ci95_low", "ci95_high"))
        bounds = None if low_j is None or high_j is None else (low_j / days, high_j / days)
        if joules > 0:
            basis = _basis(resolved, component, network)
            made.append(
                EnergyShare(component, network, joules / days, bounds, joules / total_j, *basis)
            )
    return sorted(made, key=lambda one: -one.share)


def warnings(every: Iterable[Sequence[EnergyShare]]) -> list[str]:
    """Return a sentence for each price, not measured, that makes most of the energy of a run.

    `every` has the shares of each of some runs; those without energy say nothing.
    """
    runs = [run for run in every if run]
    most: dict[tuple[Any, ...], list[float]] = {}
    for run in runs:
        for one in run:
            if one.share > _MOST and one.basis != "measured":
                key = (one.component, one.network, one.basis, one.year)
                most.setdefault(key, []).append(one.share)
    return [
        f"{_percent(found)} % of the energy{'' if len(found) == len(runs) else ' of some runs'} "
        f"goes into {cause(component, network)}, at {_price(basis, year)}."
        for (component, network, basis, year), found in most.items()
    ]


def cause(component: str, network: str) -> str:
    """Return what energy went into, in words: "the tail of lte radios"."""
    return _CAUSES[component].format(network)


def _basis(resolved: Resolved, component: str, network: str) -> tuple[str, str | None, int | None]:
    energy = resolved["energy"]
    assert energy is not None, "joules have prices"
    if component == _CORES:
        return (
            energy.get("core_basis", _ASSUMED),
            energy.get("core_source"),
            energy.get("core_year"),
        )
    known = _priced(energy, component)[network]
    return known.get("basis", _ASSUMED), known.get("source"), known.get("year")


def _priced(energy: Energy, component: str) -> Mapping[str, Radio | ContactRadio]:
    """Return the prices of a component by network, or by kind of link."""
    return energy["contacts"] if component == _CONTACTS else energy["access"]


def _percent(found: Sequence[float]) -> str:
    low, high = (f"{100 * share:.0f}" for share in (min(found), max(found)))
    return low if low == high else f"{low} to {high}"


def _price(basis: str, year: int | None) -> str:
    when = "" if year is None else f" in {year}"
    return _PRICES[basis].format(when)


_CORES, _CONTACTS = "cpu", "contact"
_CAUSES = {
    "cpu": "busy cores",
    "contact": "{} contacts",
    "access_active": "active {} radios",
    "access_tail": "the tail of {} radios",
    "access_promotion": "wake-ups of {} radios",
}
_ASSUMED = "assumed"
_PRICES = {
    "published": "a price that was published{}",
    "proxy": "a price that was published{} for another device",
    "fitted": "a price that was fitted{}",
    "assumed": "an assumed price",
}
_MOST = 0.5
"""Of all energy: what makes more than this decides the figure."""
