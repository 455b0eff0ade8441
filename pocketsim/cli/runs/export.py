"""`export`: a run for other programs: a log, a graph, a timeline, tokens, or a crate of runs."""

from __future__ import annotations

import contextlib
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pocketsim.cli.runs.run_directories import complete
from pocketsim.cli.ui import console, options, output_paths
from pocketsim.cli.ui.options import output
from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    import pyarrow as pa

    from pocketsim.sim.scenario.resolved import Resolved


Format = Literal["csv", "graphml", "gexf", "json", "perfetto", "tokens", "ro-crate"]
"""What to export to; files, unlike folders, have their format as suffix."""
_FOLDERS = ("tokens", "ro-crate")


def export(
    run: Annotated[
        Path,
        typer.Argument(
            help="Run directory; of a crate also a folder that holds some.", metavar="RUN"
        ),
    ],
    to: Annotated[
        Format | None,
        typer.Option(
            "--to",
            help="csv: events, in the benchmark app's columns; graphml, gexf, json: phones and who "
            "paid or traded with whom; perfetto: what lanes spend and datagrams, over time, if "
            "output.trace is work; tokens: what phones have at the end, as batches of bytes; "
            "ro-crate: all files of runs in a Workflow Run RO-Crate, which describes them. "
            "Without, what the suffix of the file says, and csv where there is none.",
            parser=options.one_of(Format, "--to"),
        ),
    ] = None,
    out: Annotated[
        Path | None,
        output("File to write, or folder of tokens or of a crate; stdout without.", "PATH"),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="The same as --out, for csv.", metavar="FILE")
    ] = None,
    repetition: Annotated[
        int | None,
        typer.Option(help="Number of the repetition; default 0, of csv all.", metavar="N"),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence",
            "--license",
            help="Of a crate: an SPDX identifier or an address, as CC-BY-4.0.",
            metavar="NAME",
        ),
    ] = None,
) -> None:
    """Write a run as CSV, as a graph, as a timeline, as tokens, or runs as an RO-Crate."""
    if to == "ro-crate":
        _crate(complete(run), out, licence, (csv, repetition))
        return
    if licence is not None:
        raise ScenarioError("--licence", "", "is of a crate alone", "--to ro-crate")
    (directory,) = complete(run, several=False)
    from pocketsim.sim.run import results

    resolved = results.read_resolved(directory)
    check_repetition(resolved, repetition)
    if csv is not None and (to not in {None, "csv"} or out is not None):
        raise ScenarioError("--csv", "", "takes no --out and no other --to", "--out")
    target = csv or out
    if target is not None:
        output_paths.check_outside_runs(target)
    chosen = "csv" if csv is not None else _chosen(to, out)
    if chosen == "tokens":
        _tokens(directory, resolved, repetition or 0, out)
    elif chosen == "csv":
        _csv(directory, resolved, repetition, target)
    elif chosen == "perfetto":
        _timeline(directory, resolved, repetition or 0, out)
    else:
        _graph(directory, repetition or 0, out, chosen)


def _chosen(to: Format | None, file: Path | None) -> Format:
    """Return the format that is asked for, by name or by the suffix of the file."""
    if file is None or not file.suffix:
        return to or "csv"
    if to is None:
        return output_paths.by_suffix(file, _BY_SUFFIX, " or by --to")
    suffix = file.suffix.lower()
    said = _BY_SUFFIX.get(suffix)
    if said is not None and to not in {said, *_FOLDERS}:
        reason = f'"{suffix}" says that it is no {to}'
        raise ScenarioError(file, "", reason, f"--to {said}")
    return to


@contextlib.contextmanager
def _sink(file: Path | None) -> Iterator[BinaryIO]:
    """Yield what to write to: a file in the place of what is there, or stdout without one."""
    if file is None:
        yield sys.stdout.buffer
        return
    with output_paths.replacing(file) as aside, aside.open("wb") as sink:
        yield sink
    output_paths.tell(file)


def _csv(directory: Path, resolved: Resolved, repetition: int | None, file: Path | None) -> None:
    from pocketsim.sim.export.app_csv import write_csv
    from pocketsim.sim.run import results

    transport = results.read_metrics(directory)["rung"]["transport"]
    table = _events(directory, repetition)
    with _sink(file) as sink:
        write_csv(table, sink, transport, duration_s=resolved["run"]["duration_s"])


def _graph(directory: Path, repetition: int, file: Path | None, form: str) -> None:
    from pocketsim.sim.export import graph

    found = graph.of_run(directory, repetition)
    with _sink(file) as sink:
        graph.write(found, sink, form)


def _timeline(directory: Path, resolved: Resolved, repetition: int, file: Path | None) -> None:
    from pocketsim.sim.export import perfetto

    left_out = perfetto.check_kept(directory, resolved, repetition)
    with _sink(file) as sink:
        perfetto.of_run(directory, resolved, repetition, sink)
    if left_out:
        console.say(f"{left_out} rows are not there: a timeline keeps the first two million")


def _tokens(directory: Path, resolved: Resolved, repetition: int, folder: Path | None) -> None:
    from pocketsim.sim.export.verification import check_kept
    from pocketsim.sim.run import results, rundir
    from pocketsim.sim.trace import final_tokens, tables

    check_kept(directory, resolved, "tokens")
    folder = _new_folder(folder, "tokens are a folder of files", "--to tokens --out DIR")
    key = results.read_manifest(directory)["repetitions"][repetition]["authority_key"]
    file = directory / rundir.TOKENS
    with results.parquet(file):
        rows = tables.read(file, repetition)
    with output_paths.writing(folder):
        final_tokens.write_batches(rows, key, folder)
    console.data(str(folder))


def _crate(
    directories: list[Path], folder: Path | None, licence: str | None, others: tuple[object, ...]
) -> None:
    from pocketsim.sim.export import ro_crate

    if others != (None, None):
        reason = "takes no --csv and no --repetition: a crate has whole runs"
        raise ScenarioError("--to ro-crate", "", reason)
    folder = _new_folder(folder, "a crate is a folder of files", "--to ro-crate --out DIR")
    output_paths.check_outside_runs(folder)
    with output_paths.writing(folder):
        ro_crate.write(directories, folder, datetime.now(UTC).date(), licence)
    console.data(str(folder))


def _new_folder(folder: Path | None, what: str, example: str) -> Path:
    """Return the folder that is to appear; refuse none, and one that is there."""
    if folder is None:
        raise ScenarioError("--to", "", what, example)
    if not _can_appear(folder):
        raise ScenarioError(folder, "", "is there already; name a new folder")
    return folder


def _can_appear(folder: Path) -> bool:
    """Tell whether nothing is there but an empty folder, and not the one (".") we stand in."""
    is_empty = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    return bool(folder.name) and is_empty


def check_repetition(resolved: Resolved, repetition: int | None) -> None:
    """Refuse a repetition that a run does not have."""
    last = resolved["run"]["repetitions"] - 1
    if repetition is not None and not 0 <= repetition <= last:
        reason = f"there is no repetition {repetition}; they are 0 to {last}"
        raise ScenarioError("--repetition", "", reason, str(last))


def _events(directory: Path, repetition: int | None) -> pa.Table:
    from pocketsim.sim.run import results

    table = results.read_events(directory)
    if repetition is None:
        return table
    import pyarrow.compute as pc

    return table.filter(pc.equal(table["repetition"], repetition))


_BY_SUFFIX: dict[str, Format] = {
    ".csv": "csv",
    ".graphml": "graphml",
    ".gexf": "gexf",
    ".json": "json",
    ".pftrace": "perfetto",
}
