"""What tests of protocols and of readers of runs import, from `pocketsim.extend.testing`."""

from pocketsim.extend.testing import *  # noqa: F403 - its `__all__` is the list of names
