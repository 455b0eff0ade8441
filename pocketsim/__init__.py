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
    from pocketsim.api import plot
    from pocketsim.api.calibrate import (
        Calibrated,
        calibrate,
        calibrate_contacts,
        calibrate_implementation,
        calibrate_this_machine,
        pin_profile,
    )
    from pocketsim.api.compare import Difference, compare
    from pocketsim.api.documents.catalog import devices, implementations, scenarios
    from pocketsim.api.documents.import_data import Imported, import_data
    from pocketsim.api.documents.scenarios import scenario, write_scenario
    from pocketsim.api.host.probe import Probe, Trade, find_probe, read_trade
    from pocketsim.api.profile_stats import (
        DeviceComparison,
        compare_devices,
        device_rates,
        lint_profile,
        shipped_profiles,
    )
    from pocketsim.api.profiles import Profile, device, implementation
    from pocketsim.api.results import Run, Runs, load
    from pocketsim.api.run import run
    from pocketsim.api.study import Status, Study
    from pocketsim.sim.base.errors import EngineError, ScenarioError, UserError
    from pocketsim.sim.scenario.load import Document

_HOMES = {
    **dict.fromkeys(
        (
            *("Calibrated", "calibrate", "calibrate_contacts", "calibrate_implementation"),
            *("calibrate_this_machine", "pin_profile"),
        ),
        "pocketsim.api.calibrate",
    ),
    **dict.fromkeys(("devices", "implementations", "scenarios"), "pocketsim.api.documents.catalog"),
    **dict.fromkeys(("Run", "Runs", "load"), "pocketsim.api.results"),
    **dict.fromkeys(("Difference", "compare"), "pocketsim.api.compare"),
    **dict.fromkeys(("scenario", "write_scenario"), "pocketsim.api.documents.scenarios"),
    **dict.fromkeys(("Imported", "import_data"), "pocketsim.api.documents.import_data"),
    **dict.fromkeys(("Probe", "Trade", "find_probe", "read_trade"), "pocketsim.api.host.probe"),
    **dict.fromkeys(("Profile", "device", "implementation"), "pocketsim.api.profiles"),
    "run": "pocketsim.api.run",
    **dict.fromkeys(("Status", "Study"), "pocketsim.api.study"),
    **dict.fromkeys(("EngineError", "ScenarioError", "UserError"), "pocketsim.sim.base.errors"),
    "Document": "pocketsim.sim.scenario.load",
    **dict.fromkeys(
        ("DeviceComparison", "compare_devices", "device_rates", "lint_profile", "shipped_profiles"),
        "pocketsim.api.profile_stats",
    ),
    "plot": "pocketsim.api",
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
    "calibrate_contacts",
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
    if name == "plot":  # a module
        found = importlib.import_module("pocketsim.api.plot")
    else:
        found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
