"""Verifies what a run keeps for others to verify: tokens, or blocks, of each repetition.

What deliberately does not live here: how either is verified (`sim.export.token_check`,
`block_check`), and whatever cannot be: tags of "counted" cryptography.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.export import block_check, token_check
from pocketsim.sim.run import results, rundir
from pocketsim.sim.trace import tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from pocketsim.sim.export.findings import Findings
    from pocketsim.sim.scenario.resolved import Resolved


def check_kept(directory: Path, resolved: Resolved, what: str) -> None:
    """Raise ScenarioError unless a run keeps `what`, "tokens" or "blocks", for others to verify."""
    protocol, kind = resolved["protocol"], _KINDS[what]
    if protocol["kind"] != kind:
        reason = f'protocol "{protocol["kind"]}" has no {what} to keep'
        raise ScenarioError(directory, "protocol.kind", reason, f'protocol.kind = "{kind}"')
    wanted = f"output.{what} = true"
    if protocol["crypto"] != "real":
        reason = f'signatures of "{protocol["crypto"]}" are tags that nobody else can verify'
        wanted = f'a run with protocol.crypto = "real" and {wanted}'
        raise ScenarioError(directory, "protocol.crypto", reason, wanted)
    if not (resolved["output"]["tokens"] if what == "tokens" else resolved["output"]["blocks"]):
        raise ScenarioError(directory, f"output.{what}", f"the run kept no {what}", wanted)


def of_run(directory: Path, repetitions: range) -> Iterator[Findings]:
    """Yield what is found in each of these repetitions of a run; nothing is written.

    Raises ScenarioError for a run that keeps nothing to verify, and for a damaged one.
    """
    resolved = results.read_resolved(directory)
    what = "blocks" if resolved["protocol"]["kind"] == _KINDS["blocks"] else "tokens"
    check_kept(directory, resolved, what)
    for repetition in repetitions:
        if what == "tokens":
            yield _tokens(directory, resolved, repetition)
        else:
            yield _blocks(directory, resolved, repetition)


def of_folder(folder: Path) -> Findings:
    """Return what is found in a folder that `export --to tokens` made."""
    return token_check.check(*token_check.read_folder(folder))


def _tokens(directory: Path, resolved: Resolved, repetition: int) -> Findings:
    key = results.read_manifest(directory)["repetitions"][repetition]["authority_key"]
    with results.parquet(directory / rundir.TOKENS):
        rows = tables.read(directory / rundir.TOKENS, repetition)
    findings = token_check.check(rows, bytes.fromhex(key))
    if resolved["output"]["trace"] != "sampled":
        _compare(findings, results.read_events(directory), repetition)
    return findings


def _blocks(directory: Path, resolved: Resolved, repetition: int) -> Findings:
    with results.parquet(directory / rundir.BLOCKS):
        rows = tables.read(directory / rundir.BLOCKS, repetition)
    continued = resolved["run"]["app"] == "continued"
    return block_check.check(rows, continued=continued)


def _compare(findings: Findings, events: pa.Table, repetition: int) -> None:
    """Note double spends that the trace does not have: nobody else cheats in a simulation."""
    import pyarrow.compute as pc

    is_meant = pc.and_(
        pc.equal(events["repetition"], repetition), pc.equal(events["kind"], "double_spend")
    )
    rows = events.filter(is_meant)
    nodes, serials = rows["node"].to_pylist(), rows["message_id"].to_pylist()
    traced = Counter(zip(nodes, serials, strict=True))
    by_serial = Counter(serials)
    for spend in findings.double_spends:
        serial = int.from_bytes(bytes.fromhex(spend.serial), signed=True)
        known = by_serial[serial] if spend.phone is None else traced[spend.phone, serial]
        if known < len(spend.payees) - 1:
            reason = f"signed over to {len(spend.payees)}; the trace has {known} double spends"
            findings.fail(
                -1 if spend.phone is None else spend.phone, f"token {spend.serial}", reason
            )


_KINDS = {"tokens": "tokens", "blocks": "trustchain"}
"""Which protocol has what."""
