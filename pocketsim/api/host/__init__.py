"""Trades of this computer and of another build of the probe, compared with their simulation."""
