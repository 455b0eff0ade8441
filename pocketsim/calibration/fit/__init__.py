"""From reports of the probe to a device profile; from published rows to fitted numbers (`inverse`).

Nothing here judges whether a fit is good enough, or changes a document that is there.
"""
