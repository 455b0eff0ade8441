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


def number_text(name: str, number: Mapping[str, Any]) -> str:
    """Return the value of a number that is called so, in words: "1 ms + 2 ns/B + 3 ms waiting"."""
    if "cpu_s" in number:
        parts = [seconds(number["cpu_s"])]
        if number["per_byte_s"]:
            parts.append(f"{seconds(number['per_byte_s'])}/B")
        if number["wait_s"]:
            parts.append(f"{seconds(number['wait_s'])} waiting")
        return " + ".join(parts)
    if "from" in number:
        return f"{seconds(number['from'])} to {seconds(number['to'])}"
    return _scaled(name, number["value"])


def error_text(name: str, number: Mapping[str, Any]) -> str:
    """Return the standard error of a number in words; nothing where it has none."""
    if "cpu_s" in number:
        return seconds(number["standard_error_s"])
    return _scaled(name, number["standard_error"]) if "standard_error" in number else ""


def _scaled(name: str, value: float | str) -> str:
    if isinstance(value, bool | str):  # a choice
        return str(value).lower()
    if name.endswith("_bytes"):
        return f"{value:g} B"
    if name.endswith("_per_s"):
        return f"{value:g} 1/s"
    return seconds(value) if name.endswith("_s") else f"{value:g}"


def seconds(value: float) -> str:
    """Return a time with the unit that keeps it readable."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns" if value else "0 s"


def _numbers(path: str, part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "basis" in part:
        yield path, part
        return
    for key, inner in part.items():
        if isinstance(inner, dict):
            yield from _numbers(f"{path}.{key}" if path else key, inner)
