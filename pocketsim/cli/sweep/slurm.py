"""`sweep slurm`: a sweep as an array job, printed or submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pocketsim.cli.sweep.study import Keep, SweepFile, study_of
from pocketsim.cli.ui import code_consent, console
from pocketsim.cli.ui.code_consent import AllowCode
from pocketsim.cli.ui.options import OUT, Out

if TYPE_CHECKING:
    from typing import Literal


def slurm(  # noqa: PLR0913 - each is an option
    file: SweepFile,
    array: Annotated[
        str, typer.Option(help="Elements of the array; %M: M at a time.", metavar="N[%M]")
    ],
    *,
    time: Annotated[
        str | None,
        typer.Option(help="Limit of each element: 90m, 1h or as SLURM has it.", metavar="TIME"),
    ] = None,
    partition: Annotated[
        str | None, typer.Option(help="Partition of the job.", metavar="NAME")
    ] = None,
    account: Annotated[str | None, typer.Option(help="Account of the job.", metavar="NAME")] = None,
    out: Out = OUT,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Cores of each element.")] = 1,
    keep: Keep = "metrics",
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--sbatch", help="Another option of sbatch, such as --mem=4G.", metavar="OPTION"
        ),
    ] = None,
    setup: Annotated[
        list[str] | None,
        typer.Option(
            "--setup",
            help="A line of shell to run first, such as a module load.",
            metavar="LINE",
        ),
    ] = None,
    submit: Annotated[
        bool, typer.Option("--submit", help="Submit it with sbatch; prints the job's number.")
    ] = False,
    allow_code: AllowCode = False,
) -> None:
    """Print a batch script for SLURM: each element runs one shard of the missing runs.

    Runs are made on a disk of the node, none is begun that would not end before the limit, and an
    element that is requeued goes on where it was.
    """
    from pocketsim.api import slurm as batch

    study = study_of(file, out, "1/1")
    documents = [task.document for point in study.sweep.points for task in point.tasks]
    code_consent.ask(documents, allow=allow_code)
    needs_yes = any(document.code_outside() for document in documents)
    request = batch.Request(
        *batch.elements_of(array, len(study.sweep.points)),
        time=time,
        partition=partition,
        account=account,
        cores=jobs,
        options=options or (),
        setup=setup or (),
    )
    kept: Literal["metrics", "events"] = "metrics" if keep == "metrics" else "events"
    text = batch.script(study, request, kept, allow_code=needs_yes)
    if submit:
        out.mkdir(parents=True, exist_ok=True)
        console.data(batch.submit(text))
    else:
        console.data(text.rstrip("\n"))
