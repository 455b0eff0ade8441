"""Options of transports as documents and profiles of implementations may have them.

The sections are made of what the engine declares (`sim.devices.options`), so that an option, its
bounds and its meaning stand in one place. Whoever checks types is told that any option is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from pocketsim.sim.base.documents import (
    Blocks,
    Count,
    Duration,
    OneOrMore,
    PositiveDuration,
    Section,
    Size,
)
from pocketsim.sim.base.units import BLOCKS
from pocketsim.sim.devices.options import EVA, TRANSPORT
from pocketsim.sim.devices.provenance import DurationNumber, Flag, Limit, Provenance, SizeNumber

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pocketsim.sim.devices.options import Option

    class TransportOptions(Section):  # noqa: D101 - what it is, it says where it is made
        def __getattr__(self, key: str) -> Any: ...

    EvaOptions = TransportOptions
    UdpProfile = TransportOptions
    QuicProfile = TransportOptions
    EvaProfile = TransportOptions


def _in_a_scenario(name: str, about: str, options: Iterable[Option]) -> Any:
    """Return the section of a scenario: what it leaves out is the implementation's."""
    return _section(
        name,
        about,
        {
            one.key: (
                _asked(one),
                # What no implementation sets is off unless it is asked for.
                None if one.set_by("implementation") else False,
                one.text + " A list makes several runs." * one.has_list,
            )
            for one in options
            if one.set_by("scenario")
        },
    )


def _asked(option: Option) -> Any:
    if not option.set_by("implementation"):
        return bool
    literal, one_or_more = _SUBSCRIPTED
    kind = literal[option.words] if option.words else _ASKED[option.kind][option.is_positive]
    return (one_or_more[kind] if option.has_list else kind) | None


def _in_a_profile(name: str, about: str, options: Iterable[Option], transport: str) -> Any:
    """Return the section of a profile, whose values say how they are known."""
    fields: dict[str, tuple[Any, Any, str]] = {}
    for one in options:
        if one.is_of(transport):
            kind = _chosen(one) if one.words else _KNOWN.get(one.kind, Limit)
            absent = f" Absent: {'no' if one.kind == 'flag' else 0}."
            says_absent = one.is_optional and not one.may_be_none
            default = None if one.is_optional else ...
            kind = kind | None if one.is_optional else kind
            fields[one.key] = (kind, default, one.text + absent * says_absent)
    return _section(name, about, fields)


def _chosen(option: Option) -> Any:
    literal, _ = _SUBSCRIPTED
    fields = {"value": (literal[option.words], ..., option.text)}
    return _section(f"{option.key.title()}Choice", "One of several words.", fields, Provenance)


def _section(
    name: str, about: str, fields: dict[str, tuple[Any, Any, str]], base: type[Section] = Section
) -> Any:
    """Return a section; of each field it gets the type, the default, if any, and the meaning."""
    made: dict[str, Any] = {
        key: (kind, Field(default=default, description=text))
        for key, (kind, default, text) in fields.items()
    }
    return create_model(name, __base__=base, __doc__=about, __module__=__name__, **made)


_COUNT_OR_ZERO = Annotated[int, Field(ge=0, le=1_000_000)]
_ASKED: dict[str, tuple[Any, Any]] = {
    "duration": (Duration, PositiveDuration),
    "size": (Size, Size),
    "flag": (bool, bool),
    "blocks": (Annotated[_COUNT_OR_ZERO, BLOCKS], Blocks),
    "count": (_COUNT_OR_ZERO, Count),
}
"""The type of an option in a scenario, by its kind: where it may be 0, and where not."""
_KNOWN: dict[str, Any] = {"duration": DurationNumber, "size": SizeNumber, "flag": Flag}
_SUBSCRIPTED: tuple[Any, Any] = (Literal, OneOrMore)  # by what is known at run time alone

if not TYPE_CHECKING:
    TransportOptions = _in_a_scenario(
        "TransportOptions", "Options of transports in a scenario.", TRANSPORT
    )
    EvaOptions = _in_a_scenario("EvaOptions", "Options of EVA in a scenario.", EVA)
    UdpProfile = _in_a_profile(
        "UdpProfile", "Plain UDP in a profile of an implementation.", TRANSPORT, "udp"
    )
    QuicProfile = _in_a_profile(
        "QuicProfile", "QUIC in a profile of an implementation.", TRANSPORT, "quic"
    )
    EvaProfile = _in_a_profile("EvaProfile", "EVA in a profile of an implementation.", EVA, "eva")
