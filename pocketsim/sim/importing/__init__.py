"""Traces and graphs in the formats of others, as files that a scenario reads. It runs nothing."""
