"""The day of a run: a map of its phones with a slider of time, and charts by bins of time."""
