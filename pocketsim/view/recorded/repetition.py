"""What one repetition of a run has recorded, as columns in memory.

The last ones asked for are kept, as a run never changes. What deliberately does not live here: what
the rows mean, which `activity`, `transactions` and `steps` say.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.sim.run import results, rundir
from pocketsim.sim.trace.columns import Columns, split

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np

    Array = np.ndarray[Any, Any]
    Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Repetition:
    """Events of one repetition of the run in `directory`, in order of time."""

    directory: Path
    repetition: int
    events: Columns

    @property
    def has_timeline(self) -> bool:
        """Whether work and datagrams were kept, too."""
        return (self.directory / rundir.TIMELINE).is_file()

    @functools.cached_property
    def switches(self) -> Columns:
        """The events of phones that go on and off."""
        return self.events.of_kinds("phone_on", "phone_off")

    def timeline(self, nodes: Sequence[int], from_s: float, until_s: float) -> list[Row]:
        """Return work and datagrams of some phones that a time has a part of, in their order."""
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        end_s, node, peer = pc.field("end_s"), pc.field("node"), pc.field("peer")
        wanted = (
            (pc.field("repetition") == self.repetition)
            & (pc.field("begin_s") <= until_s)
            & (end_s.is_null() | (end_s >= from_s))
            & node.isin(nodes)
            & (peer.is_null() | peer.isin(nodes))
        )
        path = self.directory / rundir.TIMELINE
        with results.parquet(path):
            found: list[Row] = pq.read_table(path, filters=wanted).to_pylist()
        return found


@functools.lru_cache(maxsize=2)
def read(directory: Path, repetition: int, repetitions: int) -> Repetition:
    """Return what one of the repetitions of a run recorded.

    Raises ScenarioError for a run that keeps no events, or whose file is damaged.
    """
    parts = split(results.read_events(directory), repetitions)
    return Repetition(directory, repetition, Columns.of(parts[repetition]))
