"""What the tidy tests look at: the files of the repository, as git knows them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def repository() -> list[Path]:
    """Return every file that git tracks or would add, without deleted ones."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if listing.returncode:
        pytest.skip("not a git checkout")
    names = sorted(set(filter(None, listing.stdout.split("\0"))))
    return [ROOT / name for name in names if (ROOT / name).is_file()]
