"""Options that several commands have, and what makes a function a command."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from pocketsim.api.documents import catalog
from pocketsim.cli.ui import completion, console
from pocketsim.sim.base import defaults
from pocketsim.sim.base.errors import UserError, did_you_mean, nearest, shown
from pocketsim.sim.base.files import at_home

Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")]
QuietByDefault = Annotated[
    bool, typer.Option("-q", "--quiet", help="No progress.", envvar=defaults.QUIET)
]
"""Of the whole program alone: what is said of a command itself stands above the environment."""
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print more.")]


def document(text: str, metavar: str, *kinds: str) -> Any:
    """Return an argument that is a document of these kinds: a file, or a name."""
    return typer.Argument(help=text, metavar=metavar, autocompletion=completion.documents(*kinds))


def document_option(name: str, text: str, metavar: str, kind: str) -> Any:
    """Return an option that is a document of a kind: a file, or a name."""
    return typer.Option(name, help=text, metavar=metavar, autocompletion=completion.documents(kind))


def output(text: str, metavar: str = "FILE", name: str = "--out") -> Any:
    """Return the option -o of what is written."""
    return typer.Option("-o", name, help=text, metavar=metavar)


ScenarioFile = Annotated[
    Path,
    document(
        "Scenario file (TOML), or the name of one that comes with the project.", "FILE", "scenario"
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Override, such as workload.rate=16/s.",
        metavar="KEY=VALUE",
        autocompletion=completion.overrides,
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", help="Folder for run directories.", envvar=defaults.OUT),
]
OUT = Path(defaults.USUAL_OUT)
"""What `Out` is by default."""
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Children at a time.", envvar=defaults.JOBS),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def say_as_asked(quiet: bool, verbose: bool) -> None:
    """Set how much is said, if the options say so; of both, more."""
    if quiet or verbose:
        console.set_level(1 if verbose else -1)
    if verbose:
        console.listen()


def from_here(overrides: list[str] | None) -> list[str]:
    """Return overrides, of which paths of documents are from where the user is."""
    parts = [override.partition("=") for override in overrides or []]
    return [f"{key}{equals}{catalog.from_here(value)}" for key, equals, value in parts]


def one_of(words: Any, name: str) -> Callable[[str], str]:
    """Return what reads one of the words of a Literal as the argument or option `name`.

    It raises UserError with the nearest of them for another.
    """
    known = get_args(words)

    def read(said: str) -> str:
        if said in known:
            return said
        hint = did_you_mean(nearest(said, known))
        raise UserError(f"{name}: {shown(repr(said))} is not one of {', '.join(known)}{hint}")

    return read


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return `function` as a command that takes -q and -v, too."""

    @functools.wraps(function)
    def called(*, quiet: bool, verbose: bool, **named: Any) -> None:
        from pocketsim.cli.ui import output_paths

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
