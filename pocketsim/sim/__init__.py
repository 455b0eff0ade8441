"""Phones that trade over TrustChain or pay with offline tokens, simulated on device profiles.

A profile says of every cost what it rests on and how sure it is: published measurements, proxies,
fits, assumptions. No real phone has run this project's probe yet.

A *scenario* describes devices, a network and a workload; the engine drives the protocols; a trace
comes out; metrics read it. This module only carries the version: importing `sim` is cheap.
"""

__version__ = "0.3.0"
