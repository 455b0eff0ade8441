"""From rungs to run directories, in child processes. Nothing draws; sweeps alone are read here."""
