"""Lists of contacts, as of the Haggle project and CRAWDAD: `id1 id2 start end [count [inter]]`.

What stands behind the end, the number of the pair's contact and the time since the one before, is
not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.importing.lines import Form, Head, blocks
from pocketsim.sim.importing.source_data import ColumnBlocks, Options, SourceData, units_per_s

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path, options: Options) -> SourceData:
    """Return the contacts in a list; raises ScenarioError with the first row that is none."""
    head, gathered = Head([], []), ColumnBlocks()
    found = SourceData("id1 id2 start end")
    for block in blocks(path, _FORM, head):
        begin, end = block.numbers(2, "start"), block.numbers(3, "end")
        block.refuse(end < begin, "ends before it begins")
        ids = {"phone_a": block.names(0, "id1"), "phone_b": block.names(1, "id2")}
        gathered.add(ids, {"begin": begin, "end": end})
        found.rows += begin.size
    found.contacts = gathered.rows()
    found.per_s = units_per_s(options.time_unit or "s")
    return found


_FORM = Form(4, 6, "a line is id1 id2 start end, count, inter", b" \t,;", number=2)
