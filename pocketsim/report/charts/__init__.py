"""Charts: plotly figures of runs, and the theme that they share."""
