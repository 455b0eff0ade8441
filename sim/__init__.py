"""Phones that trade over TrustChain, simulated with the costs that real phones measured.

A *scenario* describes devices, a network and a workload; the engine drives the protocols; a trace
comes out; metrics read it. This module only carries the version: importing `sim` is cheap.
"""

__version__ = "0.1.0"
