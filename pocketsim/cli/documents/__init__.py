"""Commands that list, check, show and write documents."""
