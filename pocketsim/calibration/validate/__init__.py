"""Published figures against simulations. Nothing here changes a profile."""
