"""What limits a figure: a sentence for each mechanism in use that rests on little, or is left out.

The whole list is docs/limitations.md; here is what a reader of these runs' first chart must know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.sections import energy, provenance
from pocketsim.sim.devices import numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.report.runs.choice import Choice
    from pocketsim.report.runs.run import Run
    from pocketsim.sim.scenario.resolved import Resolved


def sentences(choice: Choice | None, runs: Sequence[Run]) -> list[str]:
    """Return the limits of what was simulated, the widest first."""
    every = [run.resolved for run in runs]
    told = {
        UNPROBED: bool(provenance.unprobed(provenance.profiles(runs))),
        _FITTED: any(_has_fits(run) for run in runs),
        _FAULTS: any(resolved["transport"]["app_faults"] for resolved in every),
        _PRESENCE: any(_is_by_chance(resolved) for resolved in every),
        _ALLOWED: any("android" in _churn(resolved) for resolved in every),
        _OPENED: any("foreground" in resolved for resolved in every),
        _REACHABLE: any(_is_crowd(run) for run in runs if not _has(run, "nat")),
        _CLASSES: any(_has(run, "nat") for run in runs),
        _STILL: any(_contacts(resolved) not in {None, "walk", "places"} for resolved in every),
        _WALKS: any(_contacts(resolved) == "walk" for resolved in every),
        _DAYS: any("mobility" in resolved for resolved in every),
        _ENERGY: any(resolved["energy"] for resolved in every),
        **dict.fromkeys(energy.warnings(runs), True),
        _CONTENTION: any(_lacks(run, "wifi") for run in runs),
        _ALONE: any("contention" in resolved["run"] for resolved in every),
        _AWAKE: any(_lacks(run, "states", "power_save") for run in runs),
        _ONE: choice is not None and all(point.repetitions == 1 for point in choice.points),
    }
    return [sentence for sentence, applies in told.items() if applies]


def _has_fits(run: Run) -> bool:
    contents = (*run.resolved["profiles"].values(), run.resolved["implementation"])
    return any(numbers.bases(content)["fitted"] for content in contents)


def _churn(resolved: Resolved) -> set[str]:
    """Return the kinds of a run's churn, of groups too."""
    laws = [resolved["churn"], *(group.get("churn") for group in resolved["devices"])]
    return {law.get("kind", "drawn") for law in laws if law is not None}


def _is_by_chance(resolved: Resolved) -> bool:
    """Whether phones come and go by what is neither their owners' doing nor Android's."""
    return bool(_churn(resolved) - {"android", "none"}) and "foreground" not in resolved


def _contacts(resolved: Resolved) -> str | None:
    """Return the kind of a run's contacts, if it has some."""
    return resolved["contacts"]["kind"] if resolved["contacts"] else None


def _has(run: Run, *keys: str) -> bool:
    """Whether a network of the run has one of these sections."""
    return any(set(keys) & set(access) for access in run.resolved["network"]["access"].values())


def _lacks(run: Run, *keys: str) -> bool:
    """Whether the run has networks, and none of them has any of these sections."""
    return bool(run.resolved["network"]["access"]) and not _has(run, *keys)


def _is_crowd(run: Run) -> bool:
    return run.phones > _PAIR and bool(run.resolved["network"]["access"])


UNPROBED = "No phone has run the device probe yet."
_FITTED = "Some costs were fitted to published runs, so agreement with those runs is no prediction."
_FAULTS = (
    "Kept connections stall and break as often as in the benchmark app that was measured"
    " (transport.app_faults)."
)
_PRESENCE = "Phones go on and off by a random law or a file, not by what their owners do."
_ALLOWED = (
    "Android's Doze and app standby say when phones are on; how people use, charge and carry them "
    "is drawn, mostly by assumed laws."
)
_OPENED = (
    "Phones are on while their owners trade or pay; else by a random law or a file, whatever their "
    "owners do."
)
_REACHABLE = "Every phone that is on can be reached: no NAT and no firewall is simulated."
_STILL = "Contacts are those of the scenario: no model of mobility draws them."
_WALKS = "People walk by a drawn law: along no streets, and to nobody on purpose."
_DAYS = (
    "Days of people are drawn by assumed laws of homes, work and shops, and ways follow no streets."
)
_ENERGY = "Powers of radios are the scenario's; no energy was compared with a measurement."
_CLASSES = "Which share of phones is behind which NAT is assumed, mostly."
_CONTENTION = "Radios have queues, but do not contend for the channel."
_ALONE = "Where run.contention is false, phones share no air, no site and no relay."
_AWAKE = "Radios never sleep."
_ONE = "Each point is one repetition, so nothing tells how much chance moves it."
_PAIR = 2
