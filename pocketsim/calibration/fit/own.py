"""Costs of the program that traded, of reports of the device that it ran on.

What a step of the program takes beyond the operations that it asks for is the implementation's: its
bookkeeping, what TFTP takes for a file and a block of it, and what a new connection of QUIC takes
beyond the steps that are priced. The probe times `probe trade` itself, so these costs are measured
where they are used, and stand in place of those that the implementation was described with. What
does not live here: the device's operations (`calibration.fit.calibration`), and what steps take
longer after a rest (`calibration.fit.pace`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.calibration.fit import at_once, bookkeeping, connecting, files
from pocketsim.calibration.fit.costs import ERROR_DIGITS, at_sizes, cost, named, rounded, seconds
from pocketsim.calibration.fit.looks import Look, course
from pocketsim.calibration.fit.samples import sigma_of
from pocketsim.calibration.fit.write import spelt
from pocketsim.sim.devices.implementation import OwnCost, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pocketsim.calibration.fit.by_rest import Part
    from pocketsim.calibration.fit.probe_report import Report
    from pocketsim.calibration.fit.samples import Estimate
    from pocketsim.sim.devices.implementation import Implementation
    from pocketsim.sim.devices.profile import Profile

    _BySize = Mapping[float, Estimate]
    _Known = list[tuple[Report, _BySize]]
    _Told = tuple[str, str, _Known]
    """A step, how its cost came about, and what reports say by bytes, 0 for what has none."""


def measured(
    implementation: Implementation, device: Profile, reports: Sequence[Report]
) -> Implementation:
    """Return the implementation with what its steps were measured to take on `device`.

    As it is where not most of the reports tell.
    """
    received = _received(reports)
    steps: dict[str, _Told] = {"receiving": ("decode", _RECEIVED, received)} if received else {}
    parts = {
        name: (step, part)
        for name, (step, tell) in _PARTS.items()
        if (part := tell(reports)) is not None
    }
    of_parts: dict[str, _Told] = {
        name: (step, part.said, told)
        for name, (step, part) in parts.items()
        if (told := _most(reports, [{0.0: one} if one else {} for one in part.told]))
    }
    found = {name: _own(*each, device) for name, each in {**steps, **of_parts}.items()}
    # That has the endpoint in it, of the kind that this program makes.
    steps_ = {"endpoint_setup": Step(operations={})} if "connecting" in of_parts else {}
    # What a described program takes at a step of which reports tell all is in that.
    described = {
        name: one for name, one in implementation.own_costs.items() if one.step not in steps_
    }
    beside = {one.step for name, one in described.items() if name not in found}
    for name, (step, _, _) in of_parts.items():
        # Of a step that has something else in it nothing tells what that takes after a rest.
        rests = (parts[name][1].after_rest or None) if step not in beside else None
        found[name] = found[name].model_copy(update={"after_rest": rests})
    return implementation.model_copy(
        update={
            "own_costs": {**described, **found},
            "steps": {**implementation.steps, **steps_},
        }
    )


def _received(reports: Sequence[Report]) -> _Known:
    """Return what reports say of a block that came, by its bytes.

    Of those with several sizes alone, where there are some: one says nothing of what a byte takes,
    and a probe that has one has another part of a step in it.
    """
    told = [(report, bookkeeping.received_by_bytes(report)) for report in reports]
    sizes = max((len(one) for _, one in told), default=0)
    alike = [(report, one) for report, one in told if len(one) in {0, sizes}]
    return _most([report for report, _ in alike], [one for _, one in alike])


def _own(step: str, said: str, told: _Known, device: Profile) -> OwnCost:
    looks = [Look(report.digest, tuple(one.values()), course(one)) for report, one in told]
    text = f"{named([report for report, _ in told])}; kernel {said}{at_sizes(looks)}"
    whole = cost(looks, 1, text).cost
    # Relative to the time at the measured sizes: the fixed part of a line can be zero.
    place = sum(found.place() for found in looks) / len(looks)
    mean_s = whole.cpu + whole.per_byte * place
    sigma = sigma_of([one for found in looks for one in found.estimates], mean_s)
    alone = {
        "spread_sigma": rounded(sigma.value, ERROR_DIGITS),
        "spread_sigma_standard_error": rounded(sigma.standard_error, ERROR_DIGITS) or None,
    }
    whole = whole.model_copy(update=alone)
    return OwnCost.model_validate(
        {
            **spelt(whole),
            "step": step,
            "scales_with": "verify",
            "reference": seconds(device.operations["verify"].cpu),
        }
    )


def _most(reports: Sequence[Report], told: Sequence[_BySize]) -> _Known:
    """Return the reports that say that it takes a time, and which; none where they are not most.

    What is left of a long time may be nothing in a report that was disturbed, and what it is less
    may not have been timed: one such among many leaves the others as they are.
    """
    pairs = zip(reports, told, strict=True)
    known = [
        (report, each)
        for report, each in pairs
        if each and min(one.mean for one in each.values()) > 0
    ]
    return known if 2 * len(known) > len(told) else []


_RECEIVED = f"{bookkeeping.KERNEL}: countersign_s, complete_s, less their operations"
_PARTS: dict[str, tuple[str, Callable[[Sequence[Report]], Part | None]]] = {
    "tftp_block": ("file_block", files.block),
    "tftp_file": ("file_open", files.opening),
    "connecting": ("endpoint_setup", connecting.part),
    "proposing": ("command", at_once.proposing),
}
"""Of each own cost the step, and what tells it of reports."""
