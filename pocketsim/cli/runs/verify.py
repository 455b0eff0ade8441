"""`verify`: signatures, links and double spends of what a run keeps, by PyNaCl alone."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli.runs import export
from pocketsim.cli.runs.run_directories import complete
from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import AsJson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pocketsim.sim.export.findings import Findings


def verify(
    run: Annotated[
        Path,
        typer.Argument(
            help="Run directory, or a folder that `export --to tokens` made.", metavar="RUN"
        ),
    ],
    repetition: Annotated[
        int | None, typer.Option(help="Number of the repetition; default all.", metavar="N")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the tokens or the blocks that a run keeps: exit 0 if all checks hold, else 3.

    Every signature, and whose it is; links, sequence numbers and both parties' copies of blocks;
    tokens that were spent twice, which are listed. It shares no code with the engine. A run keeps
    them with protocol.crypto = "real" and output.tokens = true, or output.blocks = true.
    """
    found = dict(_findings(run, repetition))
    if as_json:
        console.json_data([_plain(name, each) for name, each in found.items()])
    else:
        for name, each in found.items():
            _print(name, each)
    if failed := sum(len(each.failures) for each in found.values()):
        console.say(f"{failed} checks failed")
        raise typer.Exit(_EXIT_FAILED)


def _findings(run: Path, repetition: int | None) -> Iterable[tuple[int | None, Findings]]:
    from pocketsim.sim.export import verification
    from pocketsim.sim.run import results

    if (run / "authority.pub").is_file():
        return [(None, verification.of_folder(run))]
    (directory,) = complete(run, several=False)
    resolved = results.read_resolved(directory)
    export.check_repetition(resolved, repetition)
    every = range(resolved["run"]["repetitions"])
    meant = every if repetition is None else range(repetition, repetition + 1)
    return zip(meant, verification.of_run(directory, meant), strict=True)


def _print(repetition: int | None, found: Findings) -> None:
    names = _COLUMNS[found.kind]
    of_which = "" if repetition is None else f" of repetition {repetition}"
    rows = [
        (phone, *(counts[name] for name in names)) for phone, counts in sorted(found.counts.items())
    ]
    total = sum(counts[found.kind] for counts in found.counts.values())
    console.table(f"{total} {found.kind}{of_which}", ("phone", *names), rows)
    if found.double_spends:
        spends = [
            (_phone(spend.phone), spend.serial, " ".join(map(_phone, spend.payees)))
            for spend in found.double_spends
        ]
        console.table("spent twice", ("phone", "token", "signed over to"), spends)
    if found.failures:
        failures = [dataclasses.astuple(failure) for failure in found.failures]
        console.table("checks that failed", ("phone", "what", "reason"), failures)


def _phone(number: int | None) -> str:
    return "unknown" if number is None else str(number)


def _plain(repetition: int | None, found: Findings) -> dict[str, Any]:
    names = _COLUMNS[found.kind]
    return {
        "repetition": repetition,
        "kind": found.kind,
        "phones": {
            str(phone): {name: counts[name] for name in names}
            for phone, counts in sorted(found.counts.items())
        },
        "double_spends": [dataclasses.asdict(spend) for spend in found.double_spends],
        "failures": [dataclasses.asdict(failure) for failure in found.failures],
    }


_COLUMNS = {
    "tokens": (
        *("tokens", "held", "pending", "disputed", "signed_away"),
        *("proofs", "double_spends", "failed"),
    ),
    "blocks": ("blocks", "proposed", "countersigned", "unanswered", "failed"),
}
_EXIT_FAILED = 3
