"""From measurements to device profiles, and from simulations back to what was published.

`fit` turns reports of the probe into device profiles, `validate` compares simulations with
published figures; neither knows the other. The profiles and the figures lie here as files.
"""
