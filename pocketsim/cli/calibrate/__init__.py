"""`calibrate`: profiles of what was measured, and what published rows say of numbers."""
