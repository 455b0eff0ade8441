"""What commands share: options, the console, completion, paths to write to, warnings."""
