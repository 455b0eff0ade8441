"""`view`: a local page about some runs."""

from __future__ import annotations

import contextlib
import functools
import secrets
import sys
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.runs.run_directories import complete
from pocketsim.cli.sweep.study import EXIT_SOME_LACK, WHOLE, run_command, study_of
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import OUT, Out

if TYPE_CHECKING:
    from pocketsim.view.recorded.run_folder import RunFolder


def view(
    path: Annotated[
        Path,
        typer.Argument(
            help="Run directory, folder that holds some, or sweep (TOML).",
            metavar="RUN|STUDY",
        ),
    ],
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; a free one by default.")
    ] = 0,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    out: Out = OUT,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs that it would show; serve nothing.")
    ] = False,
) -> None:
    """Show runs on a local page, until Ctrl-C: side by side, over time, and each transaction.

    Prints the page's address, which holds a token. Only this computer reaches it, and no run is
    written to. --out is where the runs of a sweep are.
    """
    from pocketsim.view import forwarding, server

    server.check()
    folder = _folder(path, out)
    if dry_run:
        for name in folder.listed().by_name:
            console.data(name)
        return

    with contextlib.ExitStack() as until_the_end:

        def ready(address: str) -> None:
            console.say("Ctrl-C ends it.")
            console.data(address)
            sys.stdout.flush()
            if open_:  # a browser of a terminal is waited for, and itself waits for the page
                page = until_the_end.enter_context(forwarding.leading_to(address))
                threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

        server.serve(folder, port, secrets.token_urlsafe(), ready)


def _folder(path: Path, out: Path) -> RunFolder:
    from pocketsim.view.recorded.run_folder import RunFolder

    if path.is_dir():
        path = path.resolve()  # "." has no name
        complete(path)
        return RunFolder(path, functools.partial(complete, path))
    study = study_of(path, out, WHOLE)
    if not study.runs:
        console.fail(f"no run has a directory; `{run_command(path, out, WHOLE)}` makes them")
        raise typer.Exit(EXIT_SOME_LACK)
    return RunFolder(study.out, lambda: [run.directory for run in study.runs], study.asked)
