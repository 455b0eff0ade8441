"""The command line, which is signalled at a chosen file operation in a folder, for tests.

Arguments: signal number, number of the operation (0 for never), folder, file that has a byte for
each operation, then those of `pocketsim`.
"""

import sys
from pathlib import Path

import dying

import pocketsim.sim.run.children
from pocketsim.cli import main

dying.begin(*sys.argv[1:5])
sys.argv[1:] = sys.argv[5:]
pocketsim.sim.run.children.SERVER = [
    sys.executable,
    str(Path(__file__).with_name("dying_server.py")),
]
dying.watch()
main()
