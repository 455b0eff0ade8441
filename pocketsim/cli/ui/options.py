"""What commands have in common: how much they say, words to choose from, a bad --out's blame."""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from pocketsim.cli.ui import console, output_paths
from pocketsim.sim.base.errors import UserError, did_you_mean, nearest, shown
from pocketsim.sim.base.files import at_home

Words = TypeVar("Words", bound=enum.StrEnum)

Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Say more.")]


def say_as_asked(quiet: bool, verbose: bool) -> None:
    """Set how much is said, if the options say so."""
    if quiet or verbose:
        console.set_level(-1 if quiet else 1)


def one_of(known: type[Words], name: str) -> Callable[[str], Words]:
    """Return what reads one of some words as the argument or option `name`.

    It raises UserError with the nearest of them for another.
    """

    def read(said: str) -> Words:
        if said in set(known):
            return known(said)
        hint = did_you_mean(nearest(said, known))
        raise UserError(f"{name}: {shown(repr(said))} is not one of {', '.join(known)}{hint}")

    return read


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return `function` as a command that takes -q and -v, too."""

    @functools.wraps(function)
    def called(*, quiet: bool, verbose: bool, **named: Any) -> None:
        say_as_asked(quiet, verbose)
        named = {name: _at_home(value) for name, value in named.items()}
        out = named.get("out")
        with output_paths.writing(out) if isinstance(out, Path) else contextlib.nullcontext():
            function(**named)

    # typer reads the options off the signature.
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    known = [
        parameter.replace(annotation=hints[name])
        for name, parameter in signature.parameters.items()
    ]
    more = [_flag("quiet", Quiet), _flag("verbose", Verbose)]
    setattr(called, "__signature__", signature.replace(parameters=[*known, *more]))  # noqa: B010
    called.__annotations__ = {**hints, "quiet": Quiet, "verbose": Verbose}
    return called


def _at_home(value: Any) -> Any:
    """Return the value of an argument or option, of paths with "~" as the home folder.

    A shell leaves it where it stands after a "=".
    """
    if isinstance(value, Path):
        return at_home(value)
    return [_at_home(one) for one in value] if isinstance(value, list) else value


def _flag(name: str, annotation: Any) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=False, annotation=annotation)
