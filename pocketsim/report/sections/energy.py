"""Energy of a phone and day: by cause and network, each beside what its price rests on.

Joules and shares are those of `sim.metrics.energy_shares`; what the metrics mean,
`sim.metrics.reference` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.html.page import interval, markup, table
from pocketsim.report.runs.metric_words import number
from pocketsim.report.runs.run import run_names
from pocketsim.sim.metrics import energy_shares

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from pocketsim.report.runs.run import Run
    from pocketsim.sim.metrics.energy_shares import EnergyShare


def has_any(run: Run) -> bool:
    """Tell whether a run has energy whose prices are known."""
    return bool(shares(run))


def shares(run: Run) -> list[EnergyShare]:
    """Return what each price makes of a run's energy, the most first; nothing without energy."""
    return energy_shares.shares(run.metrics, run.resolved)


def warnings(runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each price, not measured, that makes most of the energy of a run."""
    return energy_shares.warnings(map(shares, runs))


def note(runs: Sequence[Run]) -> str:
    """Return what a figure of energy is worth, in sentences."""
    return " ".join((*warnings(runs), _UNCOMPARED))


def phones_table(runs: Sequence[Run]) -> Markup:
    """Return joules and MB of a phone and day, a line for each run of a scenario."""
    known = [name for name in _METRICS if any(run.has(name) for run in runs)]
    lines = [
        [name, *(_cell(run, metric) for metric in known)]
        for run, name in zip(runs, run_names(runs), strict=True)
    ]
    heads = [_METRICS[name] for name in known]
    return table(["run", *heads], lines, numeric=range(1, len(heads) + 1))


def prices_table(runs: Sequence[Run]) -> Markup:
    """Return what each price made of the energy of some runs, and what it rests on."""
    lines = [
        [
            name,
            _CAUSES[one.component],
            one.network or _NONE,
            markup("{}{}", number(one.j_per_phone_day), interval(one.ci95_j)),
            f"{100 * one.share:.3g} %",
            one.basis,
            _NONE if one.year is None else str(one.year),
            one.source or "no source given",
        ]
        for run, name in zip(runs, run_names(runs), strict=True)
        for one in shares(run)
    ]
    return table(_HEAD, lines, numeric=(3, 4), prose=True)


def _cell(run: Run, metric: str) -> str:
    if not run.has(metric):
        return _NONE
    return markup("{}{}", number(run.mean(metric) or 0.0), interval(run.bounds(metric)))


_HEAD = [
    *("run", "cause", "network", "J per phone and day", "share"),
    *("basis of the price", "year", "source"),
]
_METRICS = {
    "energy_j_per_phone_day": "J per phone and day",
    "cpu_j_per_phone_day": "cores",
    "contact_j_per_phone_day": "contacts",
    "access_active_j_per_phone_day": "radios, active",
    "access_tail_j_per_phone_day": "radios, tails",
    "access_promotion_j_per_phone_day": "radios, waking",
    "mb_per_phone_day": "MB per phone and day",
}
_CAUSES = {
    "cpu": "busy cores",
    "contact": "contacts",
    "access_active": "radios, active",
    "access_tail": "radios, tails",
    "access_promotion": "radios, waking",
}
_NONE = "\N{EN DASH}"
_UNCOMPARED = "No energy was compared with a measurement."
