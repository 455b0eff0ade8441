"""Device profiles: what operations cost on a phone, and how sure that is.

Nothing is measured or fitted here.
"""
