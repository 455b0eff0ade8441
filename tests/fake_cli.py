"""The command line with a fake engine and fake metrics, for tests in another process."""

import sys
import types
from pathlib import Path

import sim
import sim.children

sim.children.COMMAND = [sys.executable, str(Path(__file__).with_name("fake_child.py"))]
metrics = types.ModuleType("sim.metrics")
metrics.compute = lambda table, resolved: {"rung": resolved["rung"], "rows": table.num_rows}
sys.modules["sim.metrics"] = metrics
sim.metrics = metrics

from sim.cli import main  # noqa: E402 - after the fakes are in place

main()
