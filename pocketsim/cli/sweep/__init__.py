"""`sweep`: many runs over a grid of values."""
