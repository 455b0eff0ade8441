"""Batches of offline tokens on a host: `probe tokens` beside what the simulator's machine takes.

docs/validation.md, "Tokens on this host", says what it shows and what not.
"""
