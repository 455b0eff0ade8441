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
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim import sim
from pocketsim.cli import doctor, view
from pocketsim.cli.calibrate import implementation, published, reports, this_machine
from pocketsim.cli.calibrate import sensitivity as calibrate_sensitivity
from pocketsim.cli.documents import check, import_, list_, new, notebooks, schema, show
from pocketsim.cli.profile import compare as profile_compare
from pocketsim.cli.profile import export as profile_export
from pocketsim.cli.profile import lint, pin, split
from pocketsim.cli.profile import list_ as profile_list
from pocketsim.cli.profile import show as profile_show
from pocketsim.cli.runs import compare, export, metrics, report, run, verify
from pocketsim.cli.sweep import collect, plan, sensitivity, slurm, status
from pocketsim.cli.sweep import report as sweep_report
from pocketsim.cli.sweep import run as sweep_run
from pocketsim.cli.ui import console, default_command, examples, options, output_paths
from pocketsim.cli.validate import host as validate_host
from pocketsim.cli.validate import published as validate_published
from pocketsim.sim.base.errors import (
    NO_MEMORY,
    EngineError,
    EnvironmentMissingError,
    UserError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(
    name="pocketsim",
    help="Simulate phones that trade over TrustChain, with calibrated device profiles.",
    epilog=examples.epilog(""),
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_sweep = typer.Typer(
    help="Many runs over a grid of values.",
    epilog=examples.epilog("sweep"),
    no_args_is_help=True,
)
app.add_typer(_sweep, name="sweep")
_profile = typer.Typer(
    help="Profiles of devices and of implementations.",
    epilog=examples.epilog("profile"),
    no_args_is_help=True,
)
app.add_typer(_profile, name="profile")
_calibrate = typer.Typer(
    cls=default_command.ReportsByDefault,
    help="Make profiles from measurements, and fit numbers to published rows.",
    epilog=examples.epilog("calibrate"),
)
app.add_typer(_calibrate, name="calibrate")
_validate = typer.Typer(
    cls=default_command.PublishedByDefault,
    help="Compare simulations with published figures, or with this computer.",
    epilog=examples.epilog("validate"),
)
app.add_typer(_validate, name="validate")


def _add(group: typer.Typer, words: str, function: Callable[..., None]) -> None:
    """Add a command, called by the last of its words."""
    name = words.rpartition(" ")[2]
    group.command(name, epilog=examples.epilog(words))(options.command(function))


_add(app, "list", list_.names)
_add(app, "new", new.new)
_add(app, "notebooks", notebooks.notebooks)
_add(app, "schema", schema.schema)
_add(app, "run", run.run)
_add(app, "check", check.check)
_add(app, "show", show.show)
_add(app, "doctor", doctor.doctor)
_add(app, "report", report.report)
_add(app, "view", view.view)
_add(app, "export", export.export)
_add(app, "import", import_.import_)
_add(app, "verify", verify.verify)
_add(app, "compare", compare.compare)
_add(app, "sensitivity", sensitivity.sensitivity)
_add(app, "metrics", metrics.metrics)
_add(_sweep, "sweep run", sweep_run.run)
_add(_sweep, "sweep plan", plan.plan)
_add(_sweep, "sweep status", status.status)
_add(_sweep, "sweep collect", collect.collect)
_add(_sweep, "sweep report", sweep_report.report)
_add(_sweep, "sweep slurm", slurm.slurm)
_add(_profile, "profile list", profile_list.names)
_add(_profile, "profile show", profile_show.show)
_add(_profile, "profile compare", profile_compare.compare)
_add(_profile, "profile lint", lint.lint)
_add(_profile, "profile export", profile_export.export)
_add(_profile, "profile pin", pin.pin)
_add(_profile, "profile split", split.split)
_add(_calibrate, "calibrate reports", reports.calibrate)
_add(_calibrate, "calibrate implementation", implementation.implementation)
_add(_calibrate, "calibrate this-machine", this_machine.this_machine)
_add(_calibrate, "calibrate published", published.published)
_add(_calibrate, "calibrate sensitivity", calibrate_sensitivity.sensitivity)
_add(_validate, "validate published", validate_published.validate)
_add(_validate, "validate host", validate_host.host)


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
    except MemoryError:
        console.fail(NO_MEMORY)
        sys.exit(EnvironmentMissingError.exit_code)
    except OSError as error:
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
    quiet: options.Quiet = False,
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
_INTERRUPTED = "interrupted; what was complete is kept, the same command goes on from there"
