"""A device profile as a TOML file: the same profile gives the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.base.errors import printable
from pocketsim.sim.base.units import DURATION, SIZE, Dimension
from pocketsim.sim.devices.profile import AFTER_RESTS, Cost, Profile, Scheduler, load
from pocketsim.sim.devices.provenance import DurationNumber, Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pocketsim.sim.devices.implementation import Implementation, OwnCost
    from pocketsim.sim.devices.profile import AfterRest


def as_toml(profile: Profile, made: str = "") -> str:
    """Return the document that `sim.devices.profile.load` reads as exactly `profile`.

    `made` says by what and of what it was made, if not by `pocketsim calibrate` of reports.
    """
    import tomli_w

    device = profile.device.model_dump(exclude={"cores", "socket_buffer"}, exclude_none=True)
    document = {
        "device": {
            **device,
            "socket_buffer": SIZE.write(profile.device.socket_buffer),
            "cores": _number(profile.device.cores),
        },
        "operations": {name: spelt(operation) for name, operation in profile.operations.items()},
        "scheduler": _scheduler(profile.scheduler),
    }
    if profile.scatter:
        document["scatter"] = {name: found.model_dump() for name, found in profile.scatter.items()}
    head = _HEAD.format(name=printable(profile.device.name), made=made or _OF_REPORTS)
    return f"{head}\n{tomli_w.dumps(document)}"


def write_profile(profile: Profile, path: Path, made: str = "") -> None:
    """Write `profile` to the file at `path`, and see that it reads as it was written."""
    path.write_text(as_toml(profile, made), encoding="utf-8")
    assert load(path) == profile, "a profile reads as it was written"


def write_implementation(described: Path, found: Implementation, path: Path) -> None:
    """Write an implementation as it is described in a file, with the steps and costs of `found`."""
    import tomli_w

    _, document = read_toml(described)
    document["steps"] = {name: step.model_dump() for name, step in found.steps.items()}
    document["own_costs"] = {name: _own(cost) for name, cost in found.own_costs.items()}
    path.write_text(tomli_w.dumps(document), encoding="utf-8")


def _own(cost: OwnCost) -> dict[str, Any]:
    found = spelt(cost)
    if cost.reference is not None:
        found["reference"] = DURATION.write(cost.reference)
    if cost.after_rest is not None:
        found["after_rest"] = _rests(cost.after_rest)
    return found


def _rests(known: Sequence[AfterRest]) -> list[dict[str, Any]]:
    return [_provenance(one) | {"rest": DURATION.write(one.rest)} for one in known]


def _scheduler(scheduler: Scheduler) -> dict[str, Any]:
    sleeps = {name: _number(number) for name, number in scheduler.sleep_overshoot}
    rests = {key: _rests(known) for key in AFTER_RESTS if (known := getattr(scheduler, key))}
    told = {
        key: _number(number) for key in ("policy", "tick") if (number := getattr(scheduler, key))
    }
    return {"sleep_overshoot": sleeps} | told | rests


def spelt(operation: Cost) -> dict[str, Any]:
    """Return a cost as a document has it."""
    spelt = {
        key: DURATION.write(getattr(operation, key))
        for key in ("cpu", "per_byte", "wait", "standard_error", "per_byte_standard_error")
        if getattr(operation, key) is not None
    }
    return _provenance(operation) | spelt


def _number(number: Provenance) -> dict[str, Any]:
    plain = _provenance(number)
    dimension = _DIMENSIONS.get(type(number))
    if dimension is None:
        return plain
    return {
        key: dimension.write(value) if isinstance(value, float) else value
        for key, value in plain.items()
    }


def _provenance(number: Provenance) -> dict[str, Any]:
    """Return the fields of a number as they are, without an empty count or list."""
    return {
        key: value
        for key, value in number.model_dump(by_alias=True, exclude_none=True).items()
        if (key, value) not in (("samples", 0), ("fitted_to", []))
    }


_DIMENSIONS: dict[type[Provenance], Dimension] = {DurationNumber: DURATION}
_HEAD = """# {name}.
#
# Made by {made}.
# What it does not claim: see device.does_not_claim.
"""
_OF_REPORTS = "`pocketsim calibrate` from reports of the device probe; each number says of which"
