"""The manual page of the command, made of what its help says: `python -m tools.manual > FILE`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from pocketsim import sim
from pocketsim.cli import app
from pocketsim.cli.ui.examples import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator


def manual() -> str:
    """Return pocketsim(1) in the man macros."""
    program = typer.main.get_command(app)
    parts = [
        f'.TH POCKETSIM 1 "" "pocketsim {sim.__version__}" "User Commands"',
        *(".SH NAME", f"pocketsim \\- {_text(_first(program))}"),
        *(
            ".SH SYNOPSIS",
            ".B pocketsim",
            "[\\fIoption\\fR]... \\fIcommand\\fR [\\fIargument\\fR]...",
        ),
        *(".SH DESCRIPTION", _text(_DESCRIPTION)),
        *(".SH OPTIONS", *_options(program)),
        ".SH COMMANDS",
        *(line for words, command in commands(program) for line in _command(words, command)),
        ".SH EXIT STATUS",
        *(line for code, text in _EXIT.items() for line in (".TP", f".B {code}", _text(text))),
        *(".SH EXAMPLES", *_examples("")),
        *(".SH SEE ALSO", _text(_SEE)),
    ]
    return "\n".join(parts) + "\n"


def commands(command: Any, words: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, with its words, in the order of the help."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, one in inner.items():
        yield from commands(one, f"{words} {name}".strip())


def _command(words: str, command: Any) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(_context(command)))
    yield f".SS pocketsim {words} {_text(usage)}"
    yield _text(" ".join((command.help or "").split()))
    yield from _options(command)
    yield from _examples(words)


def _options(command: Any) -> Iterator[str]:
    for one in command.params:
        record = one.get_help_record(_context(command))
        if record is not None:
            names, text = record
            yield from (".TP", f".B {_text(names)}", _text(" ".join(text.split())))


def _context(command: Any) -> Any:
    return command.make_context(command.name, [], resilient_parsing=True)


def _examples(words: str) -> Iterator[str]:
    yield from (".PP",) if words else ()  # a heading leaves room itself
    yield from (".nf", *(f".RS 4\n{_text(line)}\n.RE" for line in EXAMPLES[words]), ".fi")


def _first(command: Any) -> str:
    text = (command.help or "").split("\n")[0].rstrip(".")
    return text[:1].lower() + text[1:]


def _text(text: str) -> str:
    """Return text as roff shows it: hyphens to be pasted, no line taken for a request."""
    found = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^\.", r"\\&.", found)


_DESCRIPTION = (
    "Simulates phones that trade over TrustChain or pay with offline tokens, on device profiles "
    "whose every cost says where it is from and how sure it is. Data goes to stdout, progress to "
    "stderr."
)
_EXIT = {
    "0": "Done.",
    "1": "A crash, or the engine ended abnormally.",
    "2": "Usage, an invalid document, or a run that another process is at.",
    "3": "A check failed.",
    "4": "Some runs of a sweep failed, are missing or are being run by another process.",
    "5": "Environment missing or without room.",
    "6": "Only such bars are missed as are known to be.",
    "130": "Interrupted.",
}
_SEE = "The pages of docs/, which `make docs` builds; pocketsim COMMAND -h."

if __name__ == "__main__":
    print(manual(), end="")
