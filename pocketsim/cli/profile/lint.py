"""`profile lint`: what is allowed in profiles and still suspicious."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import AsJson, document

if TYPE_CHECKING:
    from pocketsim.sim.devices.lint import Finding


def lint(
    files: Annotated[
        list[str], document("Profiles, files or names.", "FILE...", "device", "implementation")
    ],
    as_json: AsJson = False,
) -> None:
    """Find valid but suspicious entries of profiles; exit 3 if there are any.

    What `check` refuses is refused here, too. Findings of shipped profiles are explained.
    """
    from pocketsim.api.profile_stats import lint_profile

    found = {str(file): lint_profile(file) for file in files}
    if as_json:
        console.json_data(_told(found))
    for file, findings in found.items():
        if not as_json:
            _say(file, findings)
    if any(not one.explained for findings in found.values() for one in findings):
        raise typer.Exit(_EXIT_CHECK_FAILED)


def _say(file: str, findings: list[Finding]) -> None:
    """Write what is suspicious as data; what is explained, and that there is nothing, to people."""
    for one in findings:
        line = f"{file}: {one.path}: {one.reason} [{one.rule}]"
        if one.explained:
            console.say(f"{line}; explained: {one.explained}")
        else:
            console.data(line)
    if all(one.explained for one in findings):
        console.say(f"{file}: ok")


def _told(found: dict[str, list[Finding]]) -> dict[str, Any]:
    from dataclasses import asdict

    findings = [{"profile": file, **asdict(one)} for file in found for one in found[file]]
    return {"findings": findings, "open": sum(not one["explained"] for one in findings)}


_EXIT_CHECK_FAILED = 3
