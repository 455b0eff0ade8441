"""Profiles of a host that tests make scenarios of."""

from __future__ import annotations

from pathlib import Path

from pocketsim.calibration.host import prediction


def documents(device, beside_relay=None):
    """Return the files of a host whose ends have one profile, but for who has the relay beside."""
    return prediction.Documents(device, beside_relay or device, Path("probe"))
