"""A folder for a paper: figures for print, their data, and the methods section."""
