"""From published rows to fitted numbers, by simulation. Nothing here changes a profile."""
