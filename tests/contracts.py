"""What run directories are about to say of themselves, written into those that do not yet."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from scipy import special

from sim import testing


def run_dir(folder: Path, of: dict[str, Any], *arguments: Any) -> Path:
    return intervals(testing.run_dir(folder, of, *arguments))


def intervals(path: Path) -> Path:
    """Give metrics their two bounds, and a share in flight."""
    found = json.loads((path / "metrics.json").read_text())
    ratios = [
        fate["in_flight"] / fate["sent"] if fate["sent"] else math.nan
        for fate in found.get("fates", [found["counts"]] * found["repetitions"])
    ]
    found["metrics"].setdefault("in_flight_ratio", plain(ratios))
    parts = [found["metrics"], found.get("energy_j", {}), found.get("cpu_s", {})]
    for part in parts:
        for name, of in part.items():
            if "ci95_low" not in of:
                part[name] = bounded(of, is_ratio=name.endswith("_ratio"))
    (path / "metrics.json").write_text(json.dumps(found))
    return path


def plain(values: list[float]) -> dict[str, Any]:
    known = [value for value in values if math.isfinite(value)]
    mean = sum(known) / len(known) if known else None
    return {"mean": mean, "values": [value if math.isfinite(value) else None for value in values]}


def bounded(of: dict[str, Any], *, is_ratio: bool = False) -> dict[str, Any]:
    known = [value for value in of["values"] if value is not None]
    low = high = None
    if len(known) > 1:
        scatter = math.sqrt(sum((value - of["mean"]) ** 2 for value in known) / (len(known) - 1))
        half = float(special.stdtrit(len(known) - 1, 0.975)) * scatter / math.sqrt(len(known))
        low, high = of["mean"] - half, of["mean"] + half
        if is_ratio:
            low, high = max(0.0, low), min(1.0, high)
    normal = of.get("ci95")
    return {
        "mean": of["mean"],
        "ci95_low": low,
        "ci95_high": high,
        "ci95_method": "t",
        "normal_ci95": normal,
        "values": of["values"],
    }
