"""The command line with a fake engine, for tests in another process."""

import sys
from pathlib import Path

import pocketsim.sim.run.children
from pocketsim.cli import main

pocketsim.sim.run.children.SERVER = [
    sys.executable,
    str(Path(__file__).with_name("fake_child.py")),
]

main()
