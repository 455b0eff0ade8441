"""Groups of commands of which one is meant where none is named."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class _WithDefault(TyperGroup):
    """A group whose `default` takes the arguments of a line that names none of its commands."""

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take what begins with no command as arguments of the default one."""
        # A shell that completes the first word is offered the commands.
        is_known = args[0] in self.commands if args else ctx.resilient_parsing
        return super().parse_args(ctx, args if is_known else [self.default, *args])


class ReportsByDefault(_WithDefault):
    """`calibrate REPORT...` is `calibrate reports REPORT...`."""

    default = "reports"


class PublishedByDefault(_WithDefault):
    """`validate` is `validate published`."""

    default = "published"
