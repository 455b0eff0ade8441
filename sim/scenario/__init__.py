"""Scenario documents: the model, the loader and the JSON Schema."""

from sim.scenario.load import Document, load
from sim.scenario.model import Scenario

__all__ = ["Document", "Scenario", "load"]
