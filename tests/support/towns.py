"""Two invented runs of a town, for tests of what reads its day."""

from __future__ import annotations

import json
from pathlib import Path

from pocketsim import testing
from pocketsim.sim import metrics

HOURS = {
    "offline": [{"asked": [4, 8], "paid": [4, 6]}, {"asked": [6, 8], "paid": [4, 8]}],
    "online": [{"asked": [4, 8], "paid": [2, 0]}, {"asked": [6, 8], "paid": [4, 0]}],
}


def town_runs(folder: Path) -> list[Path]:
    """Two runs of a town of two hours and two repetitions, the second hour without a network."""
    found = []
    for acceptance, repetitions in HOURS.items():
        resolved = testing.resolved(
            "town",
            repetitions=2,
            axes={"protocol.tokens.acceptance": acceptance},
            protocol={"kind": "tokens", "tokens": {"rules": "thesis", "handshake": "none"}},
            outages=[{"access": None, "start_s": 3600.0, "end_s": 7200.0}],
        )
        path = testing.run_dir(folder, resolved, testing.Shape())
        resolved["run"]["duration_s"] = 7200.0
        (path / "resolved.json").write_text(json.dumps(resolved))
        found_metrics = json.loads((path / "metrics.json").read_text())
        found_metrics["hourly"] = [
            {
                "payments_asked": hours["asked"],
                "payments_completed": hours["paid"],
                "unverified_tokens": hours["paid"],
                "token_recipients_mean": [2.5, None],
            }
            for hours in repetitions
        ]
        found_metrics["metrics"]["payments_completed"] = metrics.summary([10.0, 12.0])
        parts = ("cpu", "contact", "access_active", "access_promotion", "access_tail")
        found_metrics["energy_j"] = {part: metrics.summary([0.1, 0.12]) for part in parts}
        (path / "metrics.json").write_text(json.dumps(found_metrics))
        found.append(path)
    return found
