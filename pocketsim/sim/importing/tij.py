"""Lines `t i j [Ci Cj]`, as of SocioPatterns: who was near whom in the window that ends at t.

A header may name the columns in another order. The groups Ci and Cj are not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.sim.base.arrow import numbers
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.importing.lines import Form, Head, blocks
from pocketsim.sim.importing.source_data import ColumnBlocks, Options, SourceData, units_per_s

if TYPE_CHECKING:
    from pathlib import Path

WINDOW_S = 20.0
"""The window of a line, sociopatterns.org."""


def read(path: Path, options: Options) -> SourceData:
    """Return a contact for each line; raises ScenarioError with the first row that is none."""
    import pyarrow.compute as pc

    head, gathered = Head([], []), ColumnBlocks()
    per_s = units_per_s(options.time_unit or "s")
    window_s = WINDOW_S if options.window_s is None else options.window_s
    if window_s <= 0:
        raise ScenarioError("--window", "", "a line of tij lasts longer than 0 s")
    found = SourceData(f"t i j, each for the {window_s:.15g} s before t", per_s=per_s)
    for block in blocks(path, _FORM, head):
        t, i, j = _places(head)
        end = block.numbers(t, "t")
        ids = {"phone_a": block.names(i, "i"), "phone_b": block.names(j, "j")}
        is_event = numbers(pc.equal(ids["phone_a"], "CONN"))
        block.refuse(is_event, f"is an event of The ONE, not t i j: {_ONE}")
        gathered.add(ids, {"begin": end - window_s * per_s, "end": end})
        found.rows += end.size
    found.contacts = gathered.rows()
    return found


def _places(head: Head) -> list[int]:
    """Return where t, i and j stand: as the header says, if it names them."""
    words = [word.lower() for word in head.header]
    return [words.index(name) for name in "tij"] if {*"tij"} <= {*words} else [0, 1, 2]


_ONE = "`pocketsim import one` reads its logs"
_SAYS = f"a line is t i j, or t i j and the groups of i and j (of The ONE, {_ONE})"
_FORM = Form(3, 5, _SAYS, b" \t,;", number=0)
