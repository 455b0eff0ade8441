"""From a resolved scenario to one repetition: all that is drawn before a run. No documents."""
