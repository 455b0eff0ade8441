"""Tables of what a run rests on: its settings, and every number of its profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pocketsim.calibration.validate import sensitivity
from pocketsim.report.charts import theme
from pocketsim.report.html.page import markup, table, tag
from pocketsim.report.runs.points import Setting, listed
from pocketsim.report.runs.run import PAYLOAD, RATE, TRANSPORT, by_scenario, transport_name
from pocketsim.sim.devices import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pocketsim.report.runs.run import Run
    from pocketsim.sim.devices.contents import Contents, Shipped, ShippedImplementation


def scenarios(runs: Sequence[Run]) -> Markup:
    """Return one line for each scenario: what was run, how often, from which seed and version.

    Every column holds all values of its runs; below the name are those of whatever else differs,
    and what was asked for differently than the document says.
    """
    head = (
        *("scenario", "rungs", "repetitions", "duration", "phones"),
        *("transports", "payloads", "rates", "seed", "version"),
    )
    lines = [_scenario(group) for group in by_scenario(runs).values()]
    return table(head, lines, numeric=(1, 2, 3, 4, 8))


def profiles(runs: Sequence[Run]) -> dict[str, Shipped]:
    """Return the device profiles of `runs` by name; a name used twice is numbered."""
    found: dict[str, Shipped] = {}
    for run in runs:
        for name, content in run.resolved["profiles"].items():
            if content not in found.values():
                found[name if name not in found else f"{name} ({len(found) + 1})"] = content
    return found


def unprobed(contents: Mapping[str, Contents]) -> list[str]:
    """Return the names of the profiles that no probe run on the phone stands behind."""
    return [name for name, profile in contents.items() if profile["device"]["probe"] == "none"]


def implementations(runs: Sequence[Run]) -> dict[str, ShippedImplementation]:
    """Return the implementations of `runs` by name; a name used twice is numbered."""
    found: dict[str, ShippedImplementation] = {}
    for run in runs:
        content = run.resolved["implementation"]
        if content not in found.values():
            name = content["called"]
            found[name if name not in found else f"{name} ({len(found) + 1})"] = content
    return found


def not_claimed(runs: Sequence[Run]) -> list[str]:
    """Return what the profiles of `runs` say that their numbers do not cover, a line for each."""
    about = [
        *(profile["device"] for profile in profiles(runs).values()),
        *(content["implementation"] for content in implementations(runs).values()),
    ]
    said = [
        f"{one['name']} does not claim: {text}" for one in about for text in one["does_not_claim"]
    ]
    return list(dict.fromkeys(said))  # profiles of one device may differ in a cost alone


def bases(document: Mapping[str, Any]) -> Markup:
    """Return how many numbers of a profile rest on what, as coloured tags."""
    counts = numbers.bases(document)
    known = [name for name in theme.BASIS_COLOURS if counts[name]]
    return Markup(" ").join(
        tag(f"{counts[name]} {name}", theme.BASIS_COLOURS[name]) for name in known
    )


def numbers_table(stem: str, document: Mapping[str, Any]) -> Markup:
    """Return one line for each number of a profile: value, uncertainty, basis, effect and source.

    `stem` is what the shipped profile is called that the numbers may be of.
    """
    told = sensitivity.of_profile(stem, numbers.numbers(document))
    head = (
        *("number", "value", "standard error", "basis", "samples"),
        *("if doubled", "source"),
    )
    lines = [
        (
            markup("<code>{}</code>", name),
            numbers.number_text(name, number),
            numbers.error_text(name, number),
            tag(number["basis"], theme.BASIS_COLOURS.get(number["basis"], theme.NEUTRAL)),
            str(number.get("samples", 0) or ""),
            told.get(name, ""),
            _source(number),
        )
        for name, number in numbers.numbers(document)
    ]
    return table(head, lines, numeric=(1, 2, 4), prose=True)


def _scenario(runs: Sequence[Run]) -> tuple[str, ...]:
    sections = [run.resolved["run"] for run in runs]
    rates = [Setting(run.rate_per_s, "/s") for run in runs if run.rate_per_s]  # none: no network
    payloads = [Setting(run.payload_bytes, "B") for run in runs if run.payload_bytes]
    each = markup("<br>each phone" if any(run.senders > 1 for run in runs) else "")
    return (
        markup("<b>{}</b><br><code>{}</code>{}", runs[0].title, runs[0].scenario, _axes(runs)),
        str(len(runs)),
        listed(Setting(run["repetitions"]) for run in sections),
        listed(Setting(run["duration_s"], "s") for run in sections),
        listed(Setting(run.phones) for run in runs),
        ", ".join(sorted({transport_name(run.transport) for run in runs})),
        listed(payloads),
        markup("{}{}", listed(rates), each if rates else ""),
        listed(Setting(run["seed"]) for run in sections),
        Markup("<br>").join(dict.fromkeys(_version(run.resolved["versions"]) for run in runs)),
    )


def settings(runs: Sequence[Run]) -> list[str]:
    """Return a line for each key whose values differ among some runs, or that was asked for.

    "latency 1 ms, 20 ms, 100 ms"; what stands in columns of its own is left out.
    """
    found: dict[str, list[Setting]] = {}
    for run in runs:
        asked = {key: run.settings[key] for key in run.point if key in run.settings}
        for key, setting in {**run.axes, **asked}.items():
            found.setdefault(key, []).append(setting)
    shown = {
        key: values
        for key, values in found.items()
        if key not in _COLUMNS and values[0].name != "phones"  # of the one group that there is
    }
    return [f"{values[0].name} {listed(values)}" for values in shown.values()]


def _axes(runs: Sequence[Run]) -> Markup:
    lines = settings(runs)
    if len(lines) > _LINES:
        lines[_LINES - 1 :] = [f"and {len(lines) - _LINES + 1} keys more"]
    return Markup().join(markup("<br>{}", line) for line in lines)


def _version(versions: Mapping[str, str]) -> Markup:
    build = versions["build"][:_DIGITS]
    return markup("{}<br><code>{}</code>", versions["pocketsim"], build)


def _source(number: Mapping[str, Any]) -> str:
    fitted = number.get("fitted_to") or []
    return str(number["source"]) + (f" (fitted to {', '.join(fitted)})" if fitted else "")


_DIGITS = 12
_COLUMNS = {TRANSPORT, PAYLOAD, RATE, "run.repetitions", "run.duration", "run.seed", "build"}
_LINES = 12
