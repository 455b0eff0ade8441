"""A host against its own simulation: real trades of `probe trade` beside the same, simulated.

docs/validation.md, "On this host", says what it shows and what not.
"""
