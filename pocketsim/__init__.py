"""Phones that trade over TrustChain or pay with offline tokens, simulated on device profiles.

>>> import pocketsim as ps
>>> runs = ps.run("udp_100b", {"workload.rate": ["4/s", "16/s"]})  # doctest: +SKIP
>>> runs.to_frame()[["rate_per_s", "repetition", "store_rate_per_s"]]  # doctest: +SKIP

Importing this loads nothing else: what a name needs is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pocketsim.sim import __version__

if TYPE_CHECKING:
    from pocketsim import plot
    from pocketsim.calibrating import (
        Calibrated,
        calibrate,
        calibrate_implementation,
        calibrate_this_machine,
        pin_profile,
    )
    from pocketsim.catalog import devices, implementations, scenarios
    from pocketsim.comparing import Difference, compare
    from pocketsim.documents import scenario, write_scenario
    from pocketsim.importing import Imported, import_data
    from pocketsim.probing import Probe, Trade, find_probe, read_trade
    from pocketsim.profiles import Profile, device, implementation
    from pocketsim.results import Run, Runs, load
    from pocketsim.running import run
    from pocketsim.sim.base.errors import EngineError, ScenarioError, UserError
    from pocketsim.sim.scenario import Document
    from pocketsim.studies import Status, Study
    from pocketsim.weighing import (
        DeviceComparison,
        compare_devices,
        device_rates,
        lint_profile,
        shipped_profiles,
    )

_HOMES = {
    **dict.fromkeys(
        (
            *("Calibrated", "calibrate", "calibrate_implementation"),
            *("calibrate_this_machine", "pin_profile"),
        ),
        "pocketsim.calibrating",
    ),
    **dict.fromkeys(("devices", "implementations", "scenarios"), "pocketsim.catalog"),
    **dict.fromkeys(("Run", "Runs", "load"), "pocketsim.results"),
    **dict.fromkeys(("Difference", "compare"), "pocketsim.comparing"),
    **dict.fromkeys(("scenario", "write_scenario"), "pocketsim.documents"),
    **dict.fromkeys(("Imported", "import_data"), "pocketsim.importing"),
    **dict.fromkeys(("Probe", "Trade", "find_probe", "read_trade"), "pocketsim.probing"),
    **dict.fromkeys(("Profile", "device", "implementation"), "pocketsim.profiles"),
    "run": "pocketsim.running",
    **dict.fromkeys(("Status", "Study"), "pocketsim.studies"),
    **dict.fromkeys(("EngineError", "ScenarioError", "UserError"), "pocketsim.sim.base.errors"),
    "Document": "pocketsim.sim.scenario",
    **dict.fromkeys(
        ("DeviceComparison", "compare_devices", "device_rates", "lint_profile", "shipped_profiles"),
        "pocketsim.weighing",
    ),
    "plot": "pocketsim",
}

__all__ = [
    "Calibrated",
    "DeviceComparison",
    "Difference",
    "Document",
    "EngineError",
    "Imported",
    "Probe",
    "Profile",
    "Run",
    "Runs",
    "ScenarioError",
    "Status",
    "Study",
    "Trade",
    "UserError",
    "__version__",
    "calibrate",
    "calibrate_implementation",
    "calibrate_this_machine",
    "compare",
    "compare_devices",
    "device",
    "device_rates",
    "devices",
    "find_probe",
    "implementation",
    "implementations",
    "import_data",
    "lint_profile",
    "load",
    "pin_profile",
    "plot",
    "read_trade",
    "run",
    "scenario",
    "scenarios",
    "shipped_profiles",
    "write_scenario",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOMES[name] == __name__:  # a module of ours
        return importlib.import_module(f"{__name__}.{name}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
