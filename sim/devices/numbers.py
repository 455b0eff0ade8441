"""Every number of a profile's plain contents, with where it stands.

A number is a table that says how it is known (`basis`): with a `value`, a window `from` to `to`, or
a cost. What a number means is not known here.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def numbers(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every number of a profile that carries a basis, with its path in it."""
    yield from _numbers("", document)


def bases(document: Mapping[str, Any]) -> Counter[str]:
    """Return how many numbers of a profile rest on what."""
    return Counter(number["basis"] for _, number in numbers(document))


def _numbers(path: str, part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "basis" in part:
        yield path, part
        return
    for key, inner in part.items():
        if isinstance(inner, dict):
            yield from _numbers(f"{path}.{key}" if path else key, inner)
