"""Runs and logs of phones in the formats of other programs. Nothing here runs anything."""
