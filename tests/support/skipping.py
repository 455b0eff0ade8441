"""What a test says where this machine lacks what it needs, and CI does not take for an answer."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def skip(reason: str) -> NoReturn:
    """Skip the test, or fail it where nothing may be skipped (POCKETSIM_NO_SKIP)."""
    if "POCKETSIM_NO_SKIP" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)
