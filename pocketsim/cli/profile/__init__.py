"""`profile`: profiles of devices and of implementations."""
