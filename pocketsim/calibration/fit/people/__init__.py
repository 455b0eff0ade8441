"""Laws of what people do and of how they meet, fitted to traces."""
