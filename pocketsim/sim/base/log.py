"""What is said of runs as they go on, to whoever listens: the logger `pocketsim` of `logging`.

A program that sets up no logging hears nothing. Runs begin and end at INFO, repetitions at DEBUG,
what people should know of a scenario and what went wrong by itself are WARNING.
"""

from __future__ import annotations

import logging

logger = logging.getLogger("pocketsim")
logger.addHandler(logging.NullHandler())
