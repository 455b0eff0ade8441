"""Runs of scenarios that have custom code beside them, in `mine.py`."""

import pytest

from pocketsim.sim.base.errors import ProtocolError
from pocketsim.sim.run import runner


def ran(path, *overrides, out="runs"):
    """Run the only rung of a scenario and return its directory, in a folder beside it."""
    (folder,) = runner.run(path, overrides, path.parent / out, jobs=1)
    return folder


def failed(path, *overrides):
    """Return what is said of a run that fails, of which nothing is left."""
    with pytest.raises(ProtocolError) as caught:
        ran(path, *overrides)
    assert not [one for one in (path.parent / "runs").rglob("*") if one.is_file()]
    said, begin = str(caught.value), f"{path.parent / 'mine.py'}: "
    assert said.startswith(begin)
    return said.removeprefix(begin)
