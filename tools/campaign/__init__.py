"""Thousands of small scenarios, drawn and run: each ends, and accounts for all that it sent."""
