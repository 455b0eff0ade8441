"""The `pocketsim` command: wires files, runner and reports together, and holds no logic.

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
from pocketsim.cli import (
    common,
    console,
    exporting,
    fitting,
    inspect,
    measured,
    present,
    profiles,
    running,
    sweeping,
    targets,
)
from pocketsim.sim.base.errors import EngineError, UserError

app = typer.Typer(
    name="pocketsim",
    help="Simulate phones that trade over TrustChain, with calibrated device profiles.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
sweep = typer.Typer(help="Many runs over a grid of values.", no_args_is_help=True)
app.add_typer(sweep, name="sweep")
profile = typer.Typer(help="Profiles of devices and of implementations.", no_args_is_help=True)
app.add_typer(profile, name="profile")
calibrate = typer.Typer(cls=fitting.ReportsByDefault)
app.add_typer(calibrate, name="calibrate")
calibrate.command("reports")(common.command(measured.calibrate))
calibrate.command("published")(common.command(fitting.published))
calibrate.command("sensitivity")(common.command(fitting.sensitivity))
app.command("run")(common.command(running.run))
app.command("check")(common.command(inspect.check))
app.command("show")(common.command(inspect.show))
app.command("doctor")(common.command(inspect.doctor))
app.command("report")(common.command(present.report))
app.command("export")(common.command(exporting.export))
app.command("validate")(common.command(present.validate))
app.command("metrics")(common.command(measured.metrics))
profile.command("show")(common.command(profiles.show))
profile.command("split")(common.command(profiles.split))
sweep.command("run")(common.command(sweeping.run))
sweep.command("plan")(common.command(sweeping.plan))
sweep.command("collect")(common.command(sweeping.collect))


def main() -> None:
    """Run the command line and exit; only our own mistakes show a traceback."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        _call()
    except (UserError, EngineError) as error:
        console.fail(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        console.fail(_INTERRUPTED)
        sys.exit(_EXIT_INTERRUPTED)
    except OSError as error:
        explained = targets.explained(error)
        if explained is None:
            raise
        console.fail(str(explained))
        sys.exit(explained.exit_code)


def _call() -> None:
    """Run the command line, and see that what it printed is out."""
    try:
        app()
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
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    del version  # its callback has ended the program
    console.set_level(0)
    common.say_as_asked(quiet, verbose)


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


_EXIT_INTERRUPTED = 130
_INTERRUPTED = "interrupted; what was complete is kept, the same command goes on from there"
