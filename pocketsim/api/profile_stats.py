"""Statistics of profiles: what each rests on, how far devices differ, what is suspicious, rates.

The numbers of one profile as a table are `pocketsim.api.profiles`'.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.api.documents.catalog import document_file, files
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.devices import implementation as implementations
from pocketsim.sim.devices import profile as devices
from pocketsim.sim.devices.numbers import bases, numbers
from pocketsim.sim.devices.prices import REFERENCE_BYTES
from pocketsim.sim.devices.ratios import Ratio, ratios

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from pocketsim.sim.devices.contents import Contents
    from pocketsim.sim.devices.lint import Finding


def shipped_profiles() -> list[dict[str, Any]]:
    """Return what each profile that comes with the package rests on, sorted by kind and name.

    Keys: `profile`, `kind` (device or implementation), `title`; `measured`, `published`, `proxy`,
    `fitted`, `assumed`, how many of its numbers rest on that; `costs`, the same of its costs alone,
    by basis; `by`, who measured or described it, and `on`, the date.

    >>> [one["profile"] for one in shipped_profiles() if one["kind"] == "device"]
    ['moto_g04s', 'pocophone_f1', 'thinkpad_l13']
    """
    every = [(kind, name, path) for kind in _KINDS for name, path in files(kind).items()]
    return [_listed(kind, name, path) for kind, name, path in every]


@dataclass(frozen=True)
class DeviceComparison:
    """Devices side by side: every number, and each device's as a ratio of the first one's.

    `ratios` are by name of the other devices; costs are those of `size_bytes`.
    """

    devices: dict[str, Contents]
    size_bytes: float
    ratios: dict[str, list[Ratio]]

    @property
    def first(self) -> str:
        """The device that the others are compared with."""
        return next(iter(self.devices))

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each number and device, the first one's first.

        Keys: `number`, its path in a profile; `device`; of a cost `cpu_s`, `per_byte_s` and
        `wait_s`, else None; `value`, the number or what the cost comes to at `size_bytes` (core
        time and waiting together, in s), and its `standard_error`; `basis`; `ratio` to the first
        device with `ci95_low` and `ci95_high`, None where there is none; `differs`, whether that
        interval is without 1.
        """
        paths = [one.path for one in next(iter(self.ratios.values()))]
        by_device = {name: {one.path: one for one in found} for name, found in self.ratios.items()}
        known = {name: dict(numbers(contents)) for name, contents in self.devices.items()}
        return [
            _row(path, name, known[name][path], found)
            for path in paths
            for name, found in self._of_number(path, by_device)
        ]

    def to_frame(self) -> pd.DataFrame:
        """Return `rows` as a table; what a row does not have is missing."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def _of_number(
        self, path: str, by_device: dict[str, dict[str, Ratio]]
    ) -> list[tuple[str, Ratio]]:
        others = [(name, found[path]) for name, found in by_device.items()]
        _, one = others[0]
        itself = Ratio(path, one.first, one.first, math.nan, math.nan, math.nan)
        return [(self.first, itself), *others]


def compare_devices(
    first: str | Path, *others: str | Path, size_bytes: float = REFERENCE_BYTES
) -> DeviceComparison:
    """Return how far devices differ from the first: names of `pocketsim.devices`, or files.

    Every number's ratio has a 95 % interval, by the law of draws: both numbers are lognormal and
    independent, so the logarithm of their ratio is normal with the sum of their variances; few
    degrees of freedom widen it, as they widen draws. Where
    two profiles rest on one guess, scaled, their errors are not independent and the interval is too
    wide. Of `n` numbers that are equal some `n / 20` differ by chance. `size_bytes` is what
    operations are given.

    >>> found = compare_devices("moto_g04s", "thinkpad_l13").to_frame()
    >>> row = found[(found["number"] == "operations.sign") & (found["device"] == "thinkpad_l13")]
    >>> round(float(row["ratio"].iloc[0]), 2)
    0.24

    Raises ScenarioError for what is no device, UserError for one device alone or one named twice.
    """
    named = [document_file(one, "device") for one in (first, *others)]
    if len(named) < _TWO:
        raise UserError(f"{first}: name two devices or more")
    if twice := [one for one, count in Counter(named).items() if count > 1]:
        raise UserError(f"{twice[0]}: is named twice")
    stems = Counter(path.stem for path in named)
    names = [path.stem if stems[path.stem] == 1 else str(path) for path in named]
    contents = {
        name: devices.contents(devices.load(path)) for name, path in zip(names, named, strict=True)
    }
    base, *rest = names
    return DeviceComparison(
        contents,
        size_bytes,
        {name: ratios(contents[base], contents[name], size_bytes) for name in rest},
    )


def lint_profile(named: str | Path) -> list[Finding]:
    """Return what is allowed in a profile and still suspicious: what a reviewer would ask about.

    Of a device or an implementation, a name or a file. A finding says its `rule`, the `path` in the
    profile and the `reason`; of a shipped profile it is `explained`. Raises ScenarioError for what
    `pocketsim check` refuses.
    """
    from pocketsim.sim.devices import lint

    return lint.lint(document_file(named, *_KINDS))


def device_rates(named: str | Path, size_bytes: float = REFERENCE_BYTES) -> dict[str, Any]:
    """Return a device as operations per second and seconds per operation, with 95 % intervals.

    As `pocketsim schema rates` describes it: for users of other simulators. `size_bytes` is what
    operations are given. Raises ScenarioError for what is no device.
    """
    from pocketsim.sim.export import rates

    path = document_file(named, "device")
    contents = devices.contents(devices.load(path))
    found = rates.rates(path.stem, devices.digest(path), contents, size_bytes)
    return found.model_dump()


def _listed(kind: str, name: str, path: Path) -> dict[str, Any]:
    if kind == "device":
        device = devices.contents(devices.load(path))
        about: Any = device["device"]
        who, when = "measured_by", "measured_on"
        counts, costs = bases(device), bases(device["operations"])
    else:
        program = implementations.contents(implementations.load(path))
        about = program["implementation"]
        who, when = "described_by", "described_on"
        counts, costs = bases(program), bases(program["own_costs"])
    return {
        "profile": name,
        "kind": kind,
        "title": about["name"],
        **{basis: counts[basis] for basis in BASES},
        "costs": dict(sorted(costs.items())),
        "by": about[who],
        "on": about[when],
    }


def _row(path: str, name: str, number: Any, found: Ratio) -> dict[str, Any]:
    return {
        "number": path,
        "device": name,
        **{key: number.get(key) for key in ("cpu_s", "per_byte_s", "wait_s")},
        "value": found.second.value,
        "standard_error": _known(found.second.standard_error),
        "basis": number["basis"],
        **{key: _known(getattr(found, key)) for key in ("ratio", "ci95_low", "ci95_high")},
        "differs": found.differs,
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


BASES = ("measured", "published", "proxy", "fitted", "assumed")
"""What numbers may rest on, the surest first."""

_KINDS = ("device", "implementation")
_TWO = 2
