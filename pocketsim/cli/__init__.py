"""The `pocketsim` command: wires files, runner and reports together, and holds no logic.

Importing this loads no command (`pocketsim.cli.ui.groups`).

stdout is data, stderr is progress. Exit codes: 0 done, 1 crash, 2 usage, an invalid document or a
run that another process is at, 3 a check failed, 4 some runs of a sweep failed or are missing, 5
environment missing or without room, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import Annotated

import typer

from pocketsim import sim
from pocketsim.cli.commands import COMMANDS
from pocketsim.cli.ui import console, examples, groups, options
from pocketsim.sim.base.errors import (
    NO_MEMORY,
    EngineError,
    EnvironmentMissingError,
    UserError,
)

app = typer.Typer(
    name="pocketsim",
    cls=groups.of(COMMANDS),
    help="Simulate phones that trade over TrustChain, with calibrated device profiles.",
    epilog=examples.epilog(""),
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_sweep = typer.Typer(
    cls=groups.of(COMMANDS, "sweep"),
    help="Many runs over a grid of values.",
    epilog=examples.epilog("sweep"),
    no_args_is_help=True,
)
app.add_typer(_sweep, name="sweep")
_profile = typer.Typer(
    cls=groups.of(COMMANDS, "profile"),
    help="Profiles of devices and of implementations.",
    epilog=examples.epilog("profile"),
    no_args_is_help=True,
)
app.add_typer(_profile, name="profile")
_calibrate = typer.Typer(
    cls=groups.of(COMMANDS, "calibrate", default="reports"),
    help="Make profiles from measurements, and fit numbers to published rows.",
    epilog=examples.epilog("calibrate"),
)
app.add_typer(_calibrate, name="calibrate")
_validate = typer.Typer(
    cls=groups.of(COMMANDS, "validate", default="published"),
    help="Compare simulations with published figures, or with this computer.",
    epilog=examples.epilog("validate"),
)
app.add_typer(_validate, name="validate")


def main() -> None:
    """Run the command line and exit; only our own mistakes show a traceback."""
    signal.signal(signal.SIGTERM, _interrupt)
    _open_streams()
    try:
        _call()
    except (UserError, EngineError) as error:
        console.fail(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        console.fail(_INTERRUPTED)
        sys.exit(_EXIT_INTERRUPTED)
    except (MemoryError, ImportError, SystemError) as error:
        # A library that has no room to be loaded is an error of the import; some functions of
        # CPython that get no memory fail and do not say why.
        if not isinstance(error, MemoryError) and not any(part in str(error) for part in _NO_ROOM):
            raise
        console.fail(NO_MEMORY)
        sys.exit(EnvironmentMissingError.exit_code)
    except OSError as error:
        from pocketsim.cli.ui import output_paths

        explained = output_paths.explained(error)
        if explained is None:
            raise
        console.fail(str(explained))
        sys.exit(explained.exit_code)


def _open_streams() -> None:
    """Let what goes to a stream that was closed before we began go nowhere."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > number and not _is_open(number):
            # Else the next file that is opened has its number.
            os.dup2(descriptor, number)
            descriptor = number
        setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _call() -> None:
    """Run the command line, and see that what it printed is out."""
    try:
        app(prog_name="pocketsim")
    except SystemExit as ended:
        # This is what becomes of an interrupt in a command.
        if ended.code == _EXIT_INTERRUPTED:
            raise KeyboardInterrupt from None
        _flush_output()
        raise


def _flush_output() -> None:
    try:
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:
            raise


def _version(wanted: bool) -> None:
    if wanted:
        console.data(sim.__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
    quiet: options.QuietByDefault = False,
    verbose: options.Verbose = False,
) -> None:
    del version  # its callback has ended the program
    console.set_level(0)
    options.say_as_asked(quiet, verbose)


def _interrupt(_signal: int, _frame: object) -> None:
    # Whoever ends a job may tell a process and its parent, which hands it on: the second must not
    # interrupt what the first has begun to end.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


_EXIT_INTERRUPTED = 130
# In the words of the dynamic linker, and of CPython.
_NO_ROOM = ("failed to map segment", "returned NULL without setting an exception")
_INTERRUPTED = "interrupted; what was complete is kept, the same command goes on from there"
