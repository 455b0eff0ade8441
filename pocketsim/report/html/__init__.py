"""The page as HTML, complete in one file."""
