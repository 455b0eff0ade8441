"""Scripts of the build; nothing here is installed."""
