"""The probe as a program.

Nothing in this folder is a stand-in: the other side is aioquic, tftp-hpa, or sockets of Python's
own, and the trader in tests/support/interop_trader.py is written from the formats alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interop_programs import built


@pytest.fixture(scope="session")
def probe() -> Path:
    return built() / "probe"


@pytest.fixture(scope="session")
def tftp_example() -> Path:
    return built() / "examples" / "tftp"
