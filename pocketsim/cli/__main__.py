"""`python -m pocketsim.cli` is the command `pocketsim`."""

from pocketsim.cli import main

main()
