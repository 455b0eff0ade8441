"""Documents by name: what comes with the package, scenarios to change, their schemas, imports."""
