"""The view that each phone has of itself and of the others, for objects of custom classes."""

from __future__ import annotations

import itertools
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.custom_protocol import Others, Phone
from pocketsim.sim.plan import custom_data

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pocketsim.sim.scenario.resolved import Resolved


class Phones:
    """The phones of one repetition, whose draws are of streams under its `name`."""

    def __init__(self, resolved: Resolved, name: str, files: Mapping[str, str]) -> None:
        self._seed, self._name = resolved["run"]["seed"], name
        self._groups = [group["count"] for group in resolved["devices"]]
        self._count = sum(self._groups)
        self._peers = _peers(resolved, name, files)

    def of(self, what: str, options: Mapping[str, Any]) -> Iterator[Phone]:
        """Yield each phone in order, for a class that is given `options`.

        Its stream is called "<name>/<what>/<group>/<place in the group>", so that a phone added to
        a group moves no draw of another.
        """
        everybody = tuple(range(self._count)) if self._count <= _LISTED_MAX else ()
        number, shown = 0, MappingProxyType(options)  # all have the same, so none may change it
        for group, count in enumerate(self._groups):
            for place in range(count):
                others: Sequence[int] = everybody[:number] + everybody[number + 1 :]
                if not others:
                    others = Others(number, self._count)
                yield Phone(
                    number,
                    self._count,
                    self._peers[number] if self._peers else others,
                    shown,
                    self._seed,
                    f"{self._name}/{what}/{group}/{place}",
                )
                number += 1


def _peers(resolved: Resolved, name: str, files: Mapping[str, str]) -> list[Sequence[int]]:
    """Return the neighbours of each phone in the graph of the workload; of none without one."""
    workload = resolved["workload"]
    partners = workload["partners"] if workload["kind"] == "poisson" else None
    found = custom_data.partners(partners, resolved, files, f"{name}/partners")
    if found is None:
        return []
    start, node = found.start.tolist(), found.node.tolist()
    return [tuple(node[one:end]) for one, end in itertools.pairwise(start)]


_LISTED_MAX = 2000  # phones whose others are a tuple, five times as quick: 32 MB of them
