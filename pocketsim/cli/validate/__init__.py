"""`validate`: simulations beside what was published."""
