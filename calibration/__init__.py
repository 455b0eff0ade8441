"""From measurements to device profiles: models, fitting, validation and the profiles themselves."""
