"""What tells the runs of a report apart: the values of their scenarios that differ, in words.

A run's manifest says every value that was in effect, in SI units. Here those that differ are found
and named, and one of them is chosen for a chart's horizontal axis. Nothing is drawn here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base import units
from pocketsim.sim.base.axes import leaf, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Place = Mapping[str, "Setting"]


@dataclass(frozen=True)
class Setting:
    """A value of a scenario in SI units, None where it is left out, and what readers call it."""

    value: Any
    unit: str = ""
    name: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it has a place on an axis of numbers."""
        return isinstance(self.value, int | float) and not isinstance(self.value, bool)

    @property
    def text(self) -> str:
        """The value as it stands in documents: "20 ms", "posterior", "0.05/s"."""
        if self.value is None:
            return "unset"
        if not self.is_number:
            return text(self.value) if isinstance(self.value, bool | str) else _json(self.value)
        known = _DIMENSIONS.get(self.unit)
        if known is None or (self.unit == "/s" and self.value >= _PER_SECOND_FROM):
            return f"{self.value:.12g}{self.unit}"
        dimension, per_unit = known
        return _SUFFIX.sub(r" \1", dimension.write(self.value * per_unit))

    @property
    def words(self) -> str:
        """Name and value: "home_wifi latency 20 ms", "site_capacity unset"."""
        return f"{self.name} {self.text}".strip()


@dataclass(frozen=True)
class Axis:
    """A horizontal axis: a key, and the keys whose values follow from its value.

    A value in SI units times `factor` is in the unit of the title.
    """

    key: str
    along: tuple[str, ...]
    title: str
    factor: float
    is_log: bool

    def at(self, place: Place) -> float:
        """Return where a run stands on it."""
        return round(float(place[self.key].value * self.factor), _DECIMALS)


def named(settings: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the flat values of a manifest with names: as much of each key as makes it unique."""
    shared = Counter(end for key in settings for end in _ends(key))
    names = {key: next((end for end in _ends(key) if shared[end] == 1), key) for key in settings}
    return {
        key: Setting(setting["value"], setting["unit"], _spoken(key, names[key]))
        for key, setting in settings.items()
    }


def differing(places: Sequence[Place]) -> list[str]:
    """Return the keys whose values differ, or that some places lack.

    What only one transport, task or distribution has is lacked for that reason: that says enough.
    """
    keys = dict.fromkeys(key for place in places for key in place)
    found = [key for key in keys if len(set(_column(places, key))) > 1]
    texts = [key for key in found if all(isinstance(_of(place, key), str) for place in places)]
    return [key for key in found if not _is_implied(places, key, texts)]


def labels(places: Sequence[Place], keys: Iterable[str]) -> list[str]:
    """Return for each place its values of `keys` in words; what moves together stands together.

    Of many keys that always move together two are named. Equal labels mean equal values.
    """
    groups: dict[tuple[int, ...], list[str]] = {}
    for key in keys:
        column = _column(places, key)
        groups.setdefault(tuple(column.index(value) for value in column), []).append(key)
    parts = [_words(places, group) for group in groups.values()]
    found = [", ".join(words for words in line if words) for line in zip(*parts, strict=True)]
    return _apart(found or [""] * len(places), list(groups), len(places))


def horizontal(
    places: Sequence[Place], last: Sequence[str] = (), first: Sequence[str] = ()
) -> Axis | None:
    """Return the quantity with the most steps between places that agree in everything else.

    Quantities that follow from it go along with it. Among equals, those of `first` come first, in
    their order, and those of `last` last. None where nothing has two steps.
    """
    numbers = quantities(places)
    able = sorted(
        numbers,
        key=lambda key: (first.index(key) if key in first else len(first), key in last),
    )
    if not able:
        return None
    following = {
        key: [other for other in numbers if other != key and _follows(places, key, other)]
        for key in able
    }
    others = {key: set(differing(places)) - {key, *following[key]} for key in able}
    steps = {key: _steps(places, key, sorted(others[key])) for key in able}
    best = max(able, key=lambda key: steps[key])
    return _axis(places, best, tuple(following[best])) if steps[best] > 1 else None


def along(places: Sequence[Place], key: str) -> Axis:
    """Return the axis of a quantity that is among `quantities`."""
    others = [other for other in quantities(places) if other != key]
    return _axis(places, key, tuple(other for other in others if _follows(places, key, other)))


def quantities(places: Sequence[Place]) -> list[str]:
    """Return the keys that differ and are numbers everywhere, but for seeds."""
    keys = [key for key in differing(places) if key not in SEEDS]
    return [key for key in keys if all(key in place and place[key].is_number for place in places)]


def listed(settings: Iterable[Setting]) -> str:
    """Return distinct values in order: all of a few, first and last of many."""
    found = {_json([one.value, one.unit]): one for one in settings}
    known = [one for one in found.values() if one.is_number]
    if len(known) == len(found):
        known.sort(key=lambda one: one.value)
        if len(known) > _FEW:
            return f"{known[0].text} to {known[-1].text} ({len(known)} values)"
        return ", ".join(one.text for one in known)
    return ", ".join(one.text for one in sorted(found.values(), key=lambda one: one.text))


def _ends(key: str) -> list[str]:
    """Return the ends of a key path, the shortest first: "latency", "wifi.latency"."""
    parts = key.split(".")
    return [".".join(parts[at:]) for at in range(len(parts) - 1, -1, -1)]


def _spoken(key: str, name: str) -> str:
    words = name.replace(".", " ")
    return f"{words.removesuffix('count')}phones" if _COUNT.fullmatch(key) else words


def _of(place: Place, key: str) -> Any:
    return place[key].value if key in place else None


def _column(places: Sequence[Place], key: str) -> list[str]:
    return [_json(place[key].value) if key in place else _MISSING for place in places]


def _is_implied(places: Sequence[Place], key: str, texts: Sequence[str]) -> bool:
    column = _column(places, key)
    if _MISSING not in column or len(set(column)) > len(_BOTH):
        return False
    return any(_follows(places, text, key) for text in texts)


def _words(places: Sequence[Place], keys: Sequence[str]) -> list[str]:
    """Return for each place its values of keys that always move together."""
    table = keys[0].partition(".")[0]
    there = [any(value is not None for value in row) for row in _rows(places, keys)]
    is_table = len(keys) > 1 and all(key.partition(".")[0] == table for key in keys)
    if (
        is_table
        and not all(there)
        and len({_json(row) for row in _rows(places, keys)}) == len(_BOTH)
    ):
        return [table if one else f"no {table}" for one in there]
    first = [key for key in keys if all(key in place for place in places)] or list(keys)
    more = [f"and {len(keys) - _NAMED} more"] if len(keys) > _NAMED else []
    rows = [[place[key].words for key in first[:_NAMED] if key in place] for place in places]
    return [", ".join([*row, *more]) if row else "" for row in rows]


def _rows(places: Sequence[Place], keys: Sequence[str]) -> list[tuple[Any, ...]]:
    return [tuple(_of(place, key) for key in keys) for place in places]


def _apart(found: list[str], signatures: Sequence[tuple[int, ...]], count: int) -> list[str]:
    """Number labels that are equal though what they stand for is not."""
    identities = [tuple(signature[at] for signature in signatures) for at in range(count)]
    known: dict[str, list[tuple[int, ...]]] = {}
    for label, identity in zip(found, identities, strict=True):
        alike = known.setdefault(label, [])
        if identity not in alike:
            alike.append(identity)
    return [
        f"{label} ({known[label].index(identity) + 1})" if len(known[label]) > 1 else label
        for label, identity in zip(found, identities, strict=True)
    ]


def _follows(places: Sequence[Place], key: str, other: str) -> bool:
    """Return whether each value of `key` comes with one value of `other`."""
    pairs = set(zip(_column(places, key), _column(places, other), strict=True))
    return len(pairs) == len(set(_column(places, key)))


def _steps(places: Sequence[Place], key: str, others: Sequence[str]) -> int:
    found: dict[str, set[float]] = {}
    for place, row in zip(places, _rows(places, others), strict=True):
        found.setdefault(_json(row), set()).add(place[key].value)
    return max(map(len, found.values()))


def _axis(places: Sequence[Place], key: str, along: tuple[str, ...]) -> Axis:
    values = [place[key].value for place in places]
    first = places[0][key]
    positive = [value for value in values if value > 0]
    scales = _SCALES.get(first.unit, ((1.0, first.unit),))
    least = min(positive, default=1.0)
    scale, unit = next((pair for pair in scales if least >= pair[0] * _WHOLE), scales[-1])
    unit = unit or _COUNTED.get(leaf(key), "")
    title = first.name.replace("_", " ") + (f", {unit}" if unit else "")
    # A share has a place between none and all.
    is_share = not unit and max(values) <= 1
    is_log = len(positive) == len(values) and max(values) >= _DECADE * min(values) and not is_share
    return Axis(key, along, title, 1 / scale, is_log)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


# A quantity's unit in manifests, what writes it, and how many of what that takes make one.
_DIMENSIONS = {
    "s": (units.DURATION, 1),
    "B": (units.SIZE, 1),
    "B/s": (units.BANDWIDTH, 1),
    "/s": (units.RATE, 1),
    "EUR": (units.MONEY, 100),
    "W": (units.POWER, 1),
    "J": (units.ENERGY, 1),
    "m": (units.LENGTH, 1),
    "m/s": (units.SPEED, 1),
}
# Units of an axis, the largest first.
_SCALES = {
    "s": ((3600.0, "h"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1e6, "MB"), (1.0, "bytes")),
    "B/s": ((125e3, "Mbit/s"), (125.0, "kbit/s")),
    "/s": ((1.0, "1/s"),),
    "W": ((1.0, "W"), (1e-3, "mW")),
    "J": ((1.0, "J"), (1e-3, "mJ")),
    "m": ((1e3, "km"), (1.0, "m")),
    "m/s": ((1.0, "m/s"),),
}
_COUNTED = {"window": "blocks", "min_window": "blocks"}
_COUNT = re.compile(r"devices\[\d+\]\.count")
_SUFFIX = re.compile(r"(?<=\d)([A-Za-z]+(?:/[a-z])?)$")
_MISSING = ""  # no value is written so
_BOTH = (True, False)  # there or not
SEEDS = {"run.seed", "run.first_repetition"}
"""Keys of numbers that measure nothing: what differs in them alone is one thing, repeated."""
_WHOLE = 1 - 1e-9  # 1 ms as 0.001 s over 1e-3 s may be a little less than one
_DECADE = 10.0
_DECIMALS = 12
_PER_SECOND_FROM = 0.01  # a slower rate reads better by the minute, hour or day
_FEW = 8
_NAMED = 2
