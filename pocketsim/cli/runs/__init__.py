"""Commands that make runs, compare them, export them and report on them."""
