"""Groups of commands: a command's module is loaded when the command is called, or asked for help.

What the help of a group says of its commands stands beside their names (`pocketsim.cli.commands`),
so that it loads none of them. Of some groups one command is meant where none is named.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup

from pocketsim.cli.ui import examples, options

if TYPE_CHECKING:
    Table = Mapping[str, "Entry"]
    """Commands by their words, such as "sweep run"."""


class Entry(NamedTuple):
    """Where a command is, "runs.run:run" below `pocketsim.cli`, and the first line of its help."""

    place: str
    summary: str


class LazyGroup(TyperGroup):
    """A group whose commands are those of a table, and other groups.

    Its `default` takes the arguments of a line that names none of its commands.
    """

    table: ClassVar[Table]
    words: ClassVar[str]
    default: ClassVar[str | None]

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _Commands(self.words, self.table, self.commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take what begins with no command as arguments of the default one, if there is one."""
        # A shell that completes the first word is offered the commands.
        is_known = args[0] in self.commands if args else ctx.resilient_parsing
        if self.default is not None and not is_known:
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, _ctx: Any) -> list[str]:
        """Return the names of the commands, in the order of the table, then those of groups."""
        return list(self.commands)

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write a row for each command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands.summary(name)) for name in self.commands])


class _Commands(Mapping[str, Any]):
    """The commands of a group by name, each loaded when it is looked up."""

    def __init__(self, words: str, table: Table, groups: Mapping[str, Any]) -> None:
        prefix = f"{words} " if words else ""
        within = {words: words.removeprefix(prefix) for words in table if words.startswith(prefix)}
        self._words = {name: words for words, name in within.items() if " " not in name}
        self._table, self._groups = table, groups
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self._groups:
            return self._groups[name]
        words = self._words[name]
        if name not in self._loaded:
            self._loaded[name] = _loaded(words, self._table[words].place)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._words or name in self._groups

    def __iter__(self) -> Iterator[str]:
        return iter((*self._words, *self._groups))

    def __len__(self) -> int:
        return len(self._words) + len(self._groups)

    def get(self, name: str, default: Any = None) -> Any:
        # Not the mapping's own, which would hide a KeyError of a module that is loaded.
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`

    def summary(self, name: str) -> str:
        if name in self._groups:
            return str(self._groups[name].help)
        return self._table[self._words[name]].summary


def of(table: Table, words: str = "", default: str | None = None) -> type[TyperGroup]:
    """Return the group of those commands of `table` that are called by `words` and one more."""
    own = {"table": table, "words": words, "default": default}
    return type("Group", (LazyGroup,), own)


def _loaded(words: str, place: str) -> Any:
    module, _, name = place.partition(":")
    function = getattr(importlib.import_module(f"pocketsim.cli.{module}"), name)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    called = alone.command(words.rpartition(" ")[2], epilog=examples.epilog(words))
    called(options.command(function))
    return typer.main.get_command(alone)
