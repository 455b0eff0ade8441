"""By how much the shipped throughput implementation is off where no fit has looked: estimated."""
