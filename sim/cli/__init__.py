"""The `pocketsim` command: wires files, runner and reports together, and holds no logic.

stdout is data, stderr is progress. Exit codes: 0 done, 1 crash, 2 usage or invalid document, 3 a
check failed, 4 some runs of a sweep failed or are missing, 5 environment missing, 130 interrupted.
"""

from __future__ import annotations

import errno
import signal
import sys
from typing import Annotated

import typer

import sim
from sim.cli import console, exporting, inspect, measured, present, running, sweeping
from sim.errors import EngineError, UserError

app = typer.Typer(
    name="pocketsim",
    help="Simulate phones that trade over TrustChain, with calibrated device profiles.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
sweep = typer.Typer(help="Many runs over a grid of values.", no_args_is_help=True)
app.add_typer(sweep, name="sweep")
app.command("run")(running.run)
app.command("check")(inspect.check)
app.command("show")(inspect.show)
app.command("doctor")(inspect.doctor)
app.command("report")(present.report)
app.command("export")(exporting.export)
app.command("validate")(present.validate)
app.command("calibrate")(measured.calibrate)
app.command("metrics")(measured.metrics)
sweep.command("run")(sweeping.run)
sweep.command("plan")(sweeping.plan)
sweep.command("collect")(sweeping.collect)


def main() -> None:
    """Run the command line and exit; only our own mistakes show a traceback."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except (UserError, EngineError) as error:
        console.fail(str(error))
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno not in _WRONG_PATH:
            raise
        console.fail(f"{error.filename}: {error.strerror}")
        sys.exit(UserError.exit_code)


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
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Say more.")] = False,
) -> None:
    del version  # its callback has ended the program
    console.set_level(-1 if quiet else int(verbose))


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


# A path of the user's that cannot be read or written; a full disk, say, is not of these.
_WRONG_PATH = {
    errno.EACCES,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
