"""The page of `validate host`."""
