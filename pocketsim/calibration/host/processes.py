"""Device profiles as those of processes of one computer, which are pinned to a core each.

What deliberately does not live here: how the costs of the computer are told from reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.devices.profile import load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Call(Protocol):
    """How much longer a `sendto` takes that wakes somebody after a rest; all in s."""

    @property
    def rest_s(self) -> float:
        """For how long neither end has done anything."""

    @property
    def longer_s(self) -> float:
        """By how much longer than one that wakes nobody."""

    @property
    def standard_error_s(self) -> float:
        """Standard error of that."""


def of_a_process(
    profile: Path, to: Path, calls: Sequence[Call] = (), priced_rest_s: float = 0.0
) -> None:
    """Write what `as_a_process` returns to the file at `to`."""
    to.write_text(as_a_process(profile, calls, priced_rest_s), encoding="utf-8")


def as_a_process(profile: Path, calls: Sequence[Call] = (), priced_rest_s: float = 0.0) -> str:
    """Return a device profile as the document of a process which is pinned to one core.

    Over the loopback the sender's call does the waking: it takes longer, the longer nothing was
    sent, and a wake-up is shorter by as much. A relay's call does so too, which is in the delay
    that it measures of itself. Who sends again at once finds the other awake. `calls` are by rest,
    ascending, empty where they are not known; a wake-up is priced after `priced_rest_s`. Raises
    ScenarioError for the profile of a process, of which that would be taken twice.
    """
    import tomli_w

    _, device = read_toml(profile)
    device["device"]["cores"] = {
        "value": 1.0,
        "standard_error": 0.0,
        "basis": "published",
        "source": "each end is pinned to a core",
    }
    known = load(profile)
    if known.scheduler.send_after:
        raise ScenarioError(profile, "scheduler.send_after", "is of a process already")
    send, wake = known.operations["udp_send"], known.operations.get("udp_wake")
    send_s = send.cpu + send.wait + send.per_byte * _BLOCK_BYTES
    if calls and wake is not None and send_s > 0:
        rests_s = [call.rest_s for call in calls]
        longer_s = [call.longer_s for call in calls]

        def left_s(rest_s: float, wait_s: float) -> float:
            call_s = float(np.interp(rest_s, rests_s, longer_s))
            return max(_LEFT_LEAST * wait_s, wait_s - call_s)

        priced_s = left_s(priced_rest_s, wake.wait)
        device["operations"]["udp_wake"]["wait"] = _seconds(priced_s)
        tables = device["scheduler"].get("wake_after", [])
        for table, each in zip(tables, known.scheduler.wake_after or (), strict=True):
            table["ratio"] = left_s(each.rest, each.ratio * wake.wait) / priced_s
            # The error is as many seconds as it was.
            table["standard_error"] = each.standard_error * wake.wait / priced_s
        told = [(call.rest_s, call.longer_s, call.standard_error_s) for call in calls]
        device["scheduler"]["send_after"] = [
            {
                "rest": _seconds(rest_s),
                "ratio": 1 + longer / send_s,
                "standard_error": error_s / send_s,
                "basis": "measured",
                "samples": wake.samples,
                "source": f"sent_s of {wake.source}",
            }
            for rest_s, longer, error_s in ((0.0, 0.0, 0.0), *told)
        ]
    return tomli_w.dumps(device)


def beside_a_relay(process: Path, to: Path) -> None:
    """Write the profile of a process again, as that of one on whose core a relay runs, too.

    Who passes the datagram on is on that core, which is awake: however long the process has rested,
    waking it is a change of threads, as of one that has not.
    """
    import tomli_w

    _, device = read_toml(process)
    rests: list[dict[str, Any]] = device["scheduler"].get("wake_after", [])
    for each in rests:
        each["ratio"] = rests[0]["ratio"]
    to.write_text(tomli_w.dumps(device), encoding="utf-8")


def _seconds(value_s: float) -> str:
    return f"{value_s * 1e9:.0f}ns"


_LEFT_LEAST = 0.1  # of a wake-up: something is left to be drawn
_BLOCK_BYTES = 668.0  # a block of the theses, as calls are timed
