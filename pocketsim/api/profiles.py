"""Profiles of devices and implementations as tables: what each number is and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pocketsim.api.documents.catalog import document_file
from pocketsim.sim.base.errors import printable
from pocketsim.sim.devices import implementation as implementations
from pocketsim.sim.devices import profile as devices
from pocketsim.sim.devices.numbers import numbers

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from pocketsim.sim.devices.contents import Contents, ImplementationContents


@dataclass(frozen=True)
class Profile:
    """A profile: what a device costs, or what an implementation does.

    `contents` are its values in SI units, by key of the document with the unit last.
    """

    name: str
    contents: Contents | ImplementationContents

    def __repr__(self) -> str:
        """Return the name and how many numbers there are."""
        return f"<profile {printable(self.name)}: {sum(1 for _ in numbers(self.contents))} numbers>"

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number, by its path in the document.

        Columns: `value`, in the unit that ends the path, or `cpu_s`, `per_byte_s`, `wait_s`,
        `threads`, `spread_sigma` and `repetition_sigma` of a cost; `standard_error` in the same
        unit (a cost's is of `cpu_s`); `basis`, `samples`, `source`; `doubled`, what published rows
        say of it (docs/sensitivity.md). What a number does not have is missing.

        >>> float(device("moto_g04s").to_frame().loc["operations.sign", "cpu_s"])
        0.000122
        """
        import pandas as pd

        from pocketsim.calibration.validate.sensitivity import of_profile

        every = list(numbers(self.contents))
        told = of_profile(self.name, every)
        rows = {
            path: {
                **{name: number.get(name) for name in _COLUMNS},
                "standard_error": number.get("standard_error", number.get("standard_error_s")),
                **{name: number[name] for name in ("basis", "samples", "source")},
                "doubled": told.get(path),
            }
            for path, number in every
        }
        frame = pd.DataFrame.from_dict(rows, orient="index")
        frame.index.name = "number"
        return frame


def device(named: str | Path) -> Profile:
    """Return the profile of a device: one of `pocketsim.devices`, or a file.

    Raises ScenarioError for what is neither, or is no such profile.

    >>> device("moto_g04s").contents["device"]["cores"]["value"]
    8.0
    """
    path = document_file(named, "device")
    return Profile(path.stem, devices.contents(devices.load(path)))


def implementation(named: str | Path) -> Profile:
    """Return the profile of an implementation: one of `pocketsim.implementations`, or a file.

    Raises ScenarioError for what is neither, or is no such profile.

    >>> implementation("probe").contents["pacing"]["value"]
    'by_clock'
    """
    path = document_file(named, "implementation")
    return Profile(path.stem, implementations.contents(implementations.load(path)))


_COLUMNS = (
    *("value", "from", "to", "cpu_s", "per_byte_s", "wait_s"),
    *("threads", "spread_sigma", "repetition_sigma"),
)
