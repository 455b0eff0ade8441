"""Scenario documents: the model, the loader, what they resolve to, and the JSON Schema.

Importing this loads none of them: a child process reads resolved scenarios without the models.
"""
