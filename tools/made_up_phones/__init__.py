"""Phones whose true costs are known, to see whether a calibration says what it should of them."""
