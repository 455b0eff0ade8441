"""What users extend pocketsim with: protocols and policies of their own, and tools to test them."""
