"""What every room stands on. Nothing here knows a scenario, a device or a run."""
