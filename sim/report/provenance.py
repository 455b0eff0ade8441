"""Tables of what a run rests on: its settings, and every number of its device profiles."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

from sim import axes
from sim.report import theme
from sim.report.page import table, tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sim.report.runs import Run


def scenarios(runs: Sequence[Run]) -> str:
    """Return one line for each scenario: what was run, how often, from which seed and version."""
    head = (
        *("scenario", "rungs", "repetitions", "duration", "phones"),
        *("transports", "payloads", "rates, 1/s", "seed", "version"),
    )
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run.scenario, []).append(run)
    return table(head, [_scenario(of) for of in grouped.values()], numeric=(1, 2, 3, 4, 8))


def profiles(runs: Sequence[Run]) -> dict[str, Mapping[str, Any]]:
    """Return the device profiles of `runs` by name; a name used twice is numbered."""
    found: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        for name, content in run.resolved["profiles"].items():
            if content not in found.values():
                found[name if name not in found else f"{name} ({len(found) + 1})"] = content
    return found


def unprobed(of: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the names of the profiles that no probe run on the phone stands behind."""
    return [name for name, profile in of.items() if profile["device"].get("probe") == "none"]


def bases(profile: Mapping[str, Any]) -> str:
    """Return how many numbers of a profile rest on what, as coloured tags."""
    counts = Counter(number["basis"] for _, number in numbers(profile))
    known = [name for name in theme.BASIS_COLOURS if counts[name]]
    return " ".join(tag(f"{counts[name]} {name}", theme.BASIS_COLOURS[name]) for name in known)


def numbers_table(profile: Mapping[str, Any]) -> str:
    """Return one line for each number of a profile: value, uncertainty, basis and source."""
    head = ("number", "value", "standard error", "basis", "samples", "source")
    lines = [
        (
            f"<code>{escape(name)}</code>",
            escape(_value(name, of)),
            escape(_error(name, of)),
            tag(of["basis"], theme.BASIS_COLOURS.get(of["basis"], theme.NEUTRAL)),
            str(of.get("samples", 0) or ""),
            escape(_source(of)),
        )
        for name, of in numbers(profile)
    ]
    return table(head, lines, numeric=(1, 2, 4))


def numbers(profile: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every number that carries a basis, with its path in the profile."""
    yield from _numbers("", profile)


def _numbers(path: str, part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if "basis" in part:
        yield path, part
        return
    for key, inner in part.items():
        if isinstance(inner, dict):
            yield from _numbers(f"{path}.{key}" if path else key, inner)


def _scenario(of: Sequence[Run]) -> tuple[str, ...]:
    first = of[0].resolved
    run = first["run"]
    payloads = sorted({one.payload_bytes for one in of})
    rates = sorted({one.rate_per_s for one in of})
    return (
        f"<b>{escape(of[0].title)}</b><br><code>{escape(of[0].scenario)}</code>{_axes(of)}",
        str(len(of)),
        str(run["repetitions"]),
        f"{run['duration_s']:g} s",
        str(sum(group["count"] for group in first["devices"])),
        escape(", ".join(sorted({one.transport for one in of}))),
        ", ".join(f"{size} B" for size in payloads),
        ", ".join(f"{rate:g}" for rate in rates if rate),  # none without a network
        str(run["seed"]),
        _version(first["versions"]),
    )


def _axes(of: Sequence[Run]) -> str:
    """Return a line for each axis of some runs with its values, such as "window 64 128"."""
    values: dict[str, list[Any]] = {}
    for run in of:
        for key, value in run.axes.items():
            values.setdefault(key, []).append(value)
    lines = (
        " ".join([axes.leaf(key), *(axes.text(value) for value in sorted(set(found)))])
        for key, found in values.items()
    )
    return "".join(f"<br>{escape(line)}" for line in lines)


def _version(of: Mapping[str, str]) -> str:
    build = of.get("build", "")[:_DIGITS]
    return f"{escape(of['pocketsim'])}<br><code>{escape(build)}</code>"


def _value(name: str, of: Mapping[str, Any]) -> str:
    if "cpu" in of:
        parts = [seconds(of["cpu"])]
        if of.get("per_byte"):
            parts.append(f"{seconds(of['per_byte'])}/B")
        if of.get("wait"):
            parts.append(f"{seconds(of['wait'])} waiting")
        return " + ".join(parts)
    if "from" in of:
        return f"{seconds(of['from'])} to {seconds(of['to'])}"
    return _scaled(name, of["value"])


def _error(name: str, of: Mapping[str, Any]) -> str:
    error = of["standard_error"]
    return seconds(error) if "cpu" in of or "from" in of else _scaled(name, error)


def _scaled(name: str, value: float) -> str:
    leaf = name.rpartition(".")[2]
    if leaf in _DURATIONS:
        return seconds(value)
    return f"{value:g} 1/s" if leaf.endswith("rate") else f"{value:g}"


def seconds(value: float) -> str:
    """Return a time with the unit that keeps it readable."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns" if value else "0 s"


def _source(of: Mapping[str, Any]) -> str:
    fitted = of.get("fitted_to") or []
    return str(of["source"]) + (f" (fitted to {', '.join(fitted)})" if fitted else "")


_DURATIONS = {"base", "coefficient"}  # numbers of a profile that are times but not costs
_DIGITS = 12
