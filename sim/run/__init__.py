"""From rungs to run directories, in child processes. Nothing here parses a document or draws."""
