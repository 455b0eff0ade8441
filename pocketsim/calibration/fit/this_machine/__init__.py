"""A quick profile of the machine at hand, from Python alone: no probe, and no phone."""
