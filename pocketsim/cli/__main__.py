"""`python -m sim.cli` is the command `pocketsim`."""

from sim.cli import main

main()
