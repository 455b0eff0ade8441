"""What a protocol of your own imports; `pocketsim.extend.protocol` says what each name is."""

from pocketsim.extend.protocol import *  # noqa: F403 - its `__all__` is the list of names
