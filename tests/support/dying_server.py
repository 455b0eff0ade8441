"""The process that forks, whose forks count their file operations as `dying_cli.py` does."""

import sys

from dying import watch

from pocketsim.sim.run import forkserver

watch()
sys.exit(forkserver.main())
