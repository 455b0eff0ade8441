"""The simulator for those who use it: the command line and the report.

It wires and presents; whatever computes lies in `calibration` and `sim`, which never import it.
"""
