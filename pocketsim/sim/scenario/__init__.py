"""Scenario documents: the model, the loader and the JSON Schema."""

from sim.scenario.document import Scenario
from sim.scenario.load import Document, load

__all__ = ["Document", "Scenario", "load"]
