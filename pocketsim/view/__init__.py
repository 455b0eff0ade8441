"""The local page of runs: what differs between them, a run over time, a transaction by its steps.

It reads run directories and writes nothing there; a file of its own leads a browser to the page
(`forwarding`). What a library serves it with (`server`, `application`) is an optional extra, and
imported by name alone. How charts and tables look is `pocketsim.report`'s.
"""
