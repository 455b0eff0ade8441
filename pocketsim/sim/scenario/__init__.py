"""Scenario documents: the model, the loader and the JSON Schema."""

from pocketsim.sim.scenario.document import Scenario
from pocketsim.sim.scenario.load import Document, load

__all__ = ["Document", "Scenario", "load"]
