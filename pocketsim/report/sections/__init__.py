"""The sections of a page about runs, each with its charts and tables, and their order."""
