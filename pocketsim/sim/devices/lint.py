"""What in a profile is allowed and still suspicious: what a reviewer would ask about.

Each rule looks at plain contents and yields findings; none of them refuses a profile, which is
`sim.devices.profile`'s. A finding of a shipped profile is mended, or explained in
`calibration/profiles/explained.toml`. What does not live here: whether numbers agree with published
rows (`calibration.validate`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.devices import implementation, profile
from pocketsim.sim.devices.numbers import numbers, seconds
from pocketsim.sim.devices.prices import REFERENCE_BYTES
from pocketsim.sim.devices.ratios import cost_estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pocketsim.sim.devices.contents import Contents, ImplementationContents

    Rule = Callable[[Mapping[str, Any]], Iterable["Finding"]]

EXPLAINED = profile.PROFILES / "explained.toml"
"""Why findings of shipped profiles are as they should be, by profile, rule and path."""


@dataclass(frozen=True)
class Finding:
    """Something suspicious: which rule says so, where it stands, what is suspicious about it.

    `explained` says why it is as it should be; empty where nobody has.
    """

    rule: str
    path: str
    reason: str
    explained: str = ""


def lint(path: Path) -> list[Finding]:
    """Return what is suspicious in the profile of a device or of an implementation, in order.

    Raises ScenarioError for what is no profile, as `sim.devices.profile.load` does.
    """
    _, data = read_toml(path)
    if isinstance(data.get("implementation"), dict):
        program = implementation.contents(implementation.load(path))
        found = list(of_implementation(program))
    else:
        device = profile.contents(profile.load(path))
        found = list(of_device(device, _others(path)))
    return [replace(one, explained=_explanation(path, one)) for one in found]


def of_device(device: Contents, others: Sequence[Contents]) -> Iterator[Finding]:
    """Yield what is suspicious in a device's contents; `others` are profiles to measure it by."""
    for rule in (*_OF_ALL, *_OF_DEVICES):
        yield from rule(device)
    yield from _far_from(device, others)


def of_implementation(program: ImplementationContents) -> Iterator[Finding]:
    """Yield what is suspicious in an implementation's contents."""
    for rule in _OF_ALL:
        yield from rule(program)


def explanations() -> list[dict[str, str]]:
    """Return the tables of EXPLAINED: `profile`, `rule`, `path` (maybe several) and `why`."""
    _, data = read_toml(EXPLAINED)
    found: list[dict[str, str]] = data["explained"]
    return found


def _explanation(path: Path, finding: Finding) -> str:
    if path.resolve().parent not in {profile.DEVICES, profile.IMPLEMENTATIONS}:
        return ""
    return next(
        (
            one["why"]
            for one in explanations()
            if one["profile"] == path.stem
            and one["rule"] == finding.rule
            and finding.path in one["path"].split()
        ),
        "",
    )


def _others(path: Path) -> list[Contents]:
    """Return the shipped devices but for the one in the file at `path`."""
    files = (profile.DEVICES / f"{name}.toml" for name in profile.shipped())
    return [profile.contents(profile.load(one)) for one in files if one != path.resolve()]


def _errors(document: Mapping[str, Any]) -> Iterator[Finding]:
    for path, number in numbers(document):
        error, value, basis = _error(number), _fixed(number), number["basis"]
        # What code or a data sheet sets is exact, and cores are counted.
        if error == 0 and basis != "published" and path != "device.cores" and _size(number) > 0:
            yield Finding("no_error", path, f"is {basis}, but has no uncertainty")
        if not error or not value:
            continue
        ratio = error / value
        if ratio > 1:
            reason = f"its standard error is {ratio:.3g} times as large as it is"
            yield Finding("error_above_value", path, reason)
        elif basis in {"assumed", "proxy"} and ratio < _SURE:
            yield Finding("sure_guess", path, f"is {basis}, but said to be known to {ratio:.2%}")
        elif basis == "measured" and ratio < _CLOCK:
            reason = f"is measured to {ratio:.2g} of itself: no quartz clock is as good"
            yield Finding("surer_than_clocks", path, reason)


def _thin_source(document: Mapping[str, Any]) -> Iterator[Finding]:
    for path, number in numbers(document):
        if _is_thin(number["source"]):
            reason = f"{number['source']!r} is no source that somebody could look up"
            yield Finding("thin_source", path, reason)
        elif number["basis"] == "proxy" and not _NAMES_A_PART.search(number["source"]):
            reason = "is a proxy, but its source names no part that it was taken from"
            yield Finding("proxy_of_what", path, reason)


def _claims(document: Mapping[str, Any]) -> Iterator[Finding]:
    section = "implementation" if "implementation" in document else "device"
    about = document[section]
    for number, claim in enumerate(about["does_not_claim"]):
        if _is_thin(claim):
            path = f"{section}.does_not_claim[{number}]"
            yield Finding("thin_claim", path, f"{claim!r} keeps nobody from reading too much")
    who = "measured_by" if section == "device" else "described_by"
    if about[who].strip().lower() in _NOBODY:
        yield Finding("nobody", f"{section}.{who}", f"{about[who]!r} can answer no question")


def _free_bytes(device: Mapping[str, Any]) -> Iterator[Finding]:
    for name, why in _GROWS.items():
        cost = device["operations"].get(name)
        # What was measured says itself that it is less than can be seen.
        if cost and cost["per_byte_s"] == 0 and cost["basis"] != "measured":
            yield Finding("free_bytes", f"operations.{name}", f"per_byte is 0, but {why}")


def _free(device: Mapping[str, Any]) -> Iterator[Finding]:
    for name, cost in device["operations"].items():
        if not cost["cpu_s"] and not cost["wait_s"] and not cost["per_byte_s"]:
            yield Finding("free", f"operations.{name}", "takes no time at all")
        elif not cost["spread_sigma"]:
            reason = "spread_sigma is 0: every execution would take exactly as long"
            yield Finding("no_spread", f"operations.{name}", reason)


def _swapped(device: Mapping[str, Any]) -> Iterator[Finding]:
    sign, verify = (device["operations"][name] for name in ("sign", "verify"))
    if verify["cpu_s"] < sign["cpu_s"]:
        reason = (
            f"{seconds(verify['cpu_s'])} is less than signing takes, {seconds(sign['cpu_s'])}; "
            "an Ed25519 verification takes two to three times as long"
        )
        yield Finding("swapped", "operations.verify", reason)


def _too_many_cores(device: Mapping[str, Any]) -> Iterator[Finding]:
    known = device["device"]
    counted = sum(known["core_classes"].values())
    if counted and known["cores"]["value"] > counted:
        reason = f"{known['cores']['value']:g} share work, but core_classes has {counted}"
        yield Finding("too_many_cores", "device.cores", reason)


def _far_from(device: Contents, others: Sequence[Contents]) -> Iterator[Finding]:
    """Yield core times that a wrong unit explains better than another device.

    Waits are left out: what reaches flash memory takes a thousand times as long as what does not.
    """
    for name, cost in device["operations"].items():
        known = [one["operations"][name] for one in others if name in one["operations"]]
        found_s, known_s = _core_s(cost), [s for one in known if (s := _core_s(one))]
        if not found_s or not known_s:
            continue
        low_s, high_s = min(known_s), max(known_s)
        if found_s > high_s * _FAR:
            times, said_s, which = found_s / high_s, high_s, "slowest"
        elif found_s < low_s / _FAR:
            times, said_s, which = found_s / low_s, low_s, "fastest"
        else:
            continue
        reason = (
            f"{seconds(found_s)} of core time at {REFERENCE_BYTES:g} B is {times:.3g} times what "
            f"the {which} shipped device takes, {seconds(said_s)}: is the unit right?"
        )
        yield Finding("far_away", f"operations.{name}", reason)
    found, sizes = (
        device["device"]["socket_buffer_bytes"],
        [one["device"]["socket_buffer_bytes"] for one in others],
    )
    if found and sizes and not min(sizes) / _FAR <= found <= max(sizes) * _FAR:
        reason = f"{found:g} B is far from {sizes[0]:g} B of shipped devices: is the unit right?"
        yield Finding("far_away", "device.socket_buffer_bytes", reason)


def _core_s(cost: Mapping[str, Any]) -> float:
    found: float = cost["cpu_s"] + cost["per_byte_s"] * REFERENCE_BYTES
    return found


def _error(number: Mapping[str, Any]) -> float | None:
    """Return the standard error of a number; None of a choice or count, which has none.

    Of a cost whose two parts err each by itself, that of the whole at a block's size.
    """
    if "per_byte_standard_error_s" in number:
        return cost_estimate(number, REFERENCE_BYTES).standard_error  # type: ignore[arg-type]
    found: float | None = number.get("standard_error", number.get("standard_error_s"))
    return found


def _fixed(number: Mapping[str, Any]) -> float:
    """Return what the standard error is of: a value, or core time and waiting; 0 of a window."""
    if "per_byte_standard_error_s" in number:
        return cost_estimate(number, REFERENCE_BYTES).value  # type: ignore[arg-type]
    if "cpu_s" in number:
        found: float = number["cpu_s"] + number["wait_s"]
        return found
    value = number.get("value", 0.0)
    return value if isinstance(value, float | int) else 0.0


def _size(number: Mapping[str, Any]) -> float:
    found: float = _fixed(number) + number.get("per_byte_s", 0.0)
    return found


def _is_thin(text: str) -> bool:
    words = re.findall(r"[^\W_]+", text)
    return len(words) < _WORDS or bool(words and words[0].lower() in _PLACEHOLDERS)


_OF_ALL: tuple[Rule, ...] = (_errors, _thin_source, _claims)
_OF_DEVICES: tuple[Rule, ...] = (_free_bytes, _free, _swapped, _too_many_cores)

_HASHES = "Ed25519 hashes the whole message (RFC 8032, 5.1.6 and 5.1.7)"
_COPIES = "the kernel copies every byte"
# What a longer message cannot leave as it is.
_GROWS = {
    "sign": _HASHES,
    "verify": _HASHES,
    "hash": "SHA-256 reads every byte",
    "encode": "every byte is written",
    "decode": "every byte is read",
    "udp_send": _COPIES,
    "udp_receive": _COPIES,
    "packet_seal": "every byte is encrypted",
    "packet_open": "every byte is decrypted",
    "sealed_box_seal": "every byte is encrypted",
    "sealed_box_open": "every byte is decrypted",
}
_SURE = 0.05  # relative: another part of the same maker is rarely nearer
_CLOCK = 1e-4  # relative: quartz clocks are off by some 1e-5 to 1e-4
_FAR = 1000**0.5  # beyond it on a logarithmic scale a slip of a thousand is nearer than none
_WORDS = 2
_NAMES_A_PART = re.compile(r"\bas\b|\bof\b|\bon\b|\bfor\b|\bfrom\b")
_PLACEHOLDERS = {"fixme", "none", "tbd", "todo", "unknown", "xxx"}
_NOBODY = {"", "not stated", "somebody", "unknown", "tbd", "todo", "me"}
