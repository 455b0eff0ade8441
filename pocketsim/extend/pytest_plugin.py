"""Fixtures for tests of protocols and of what reads runs, in any project that has pocketsim.

pytest loads this module wherever pocketsim is installed, so it imports nothing but pytest: what a
fixture needs is imported by the first test that asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pocketsim.extend.harness import Harness
    from pocketsim.extend.testing import Shape
    from pocketsim.sim.scenario.resolved import Resolved


@pytest.fixture
def pocketsim_harness() -> type[Harness]:
    """Return `pocketsim.testing.Harness`, which drives a protocol of your own without an engine."""
    from pocketsim.extend.harness import Harness

    return Harness


@pytest.fixture
def pocketsim_run(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes an invented run into the test's folder, by a scenario and a shape.

    Without, they are those of `pocketsim.testing.resolved` and `pocketsim.testing.Shape`.
    """

    def write(resolved: Resolved | None = None, shape: Shape | None = None) -> Path:
        from pocketsim.extend import testing

        return testing.run_dir(
            tmp_path / "runs", resolved or testing.resolved(), shape or testing.Shape()
        )

    return write
