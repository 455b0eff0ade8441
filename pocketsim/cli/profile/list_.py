"""`profile list`: on what the numbers of shipped profiles rest."""

from __future__ import annotations

from pocketsim.cli.ui import console
from pocketsim.cli.ui.options import AsJson


def names(as_json: AsJson = False) -> None:
    """List shipped profiles, with basis and source of their numbers."""
    from pocketsim.api.profile_stats import BASES, shipped_profiles

    rows = shipped_profiles()
    if as_json:
        console.json_data({"profiles": rows})
        return
    head = ("profile", "kind", *BASES, "costs alone", "on", "by")
    cells = [
        [
            *(row[key] for key in ("profile", "kind")),
            *(row[basis] or "-" for basis in BASES),
            ", ".join(f"{count} {basis}" for basis, count in row["costs"].items()) or "-",
            *(row[key] for key in ("on", "by")),
        ]
        for row in rows
    ]
    console.table("numbers of each profile, by what they rest on", head, cells)
