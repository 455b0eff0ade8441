"""What `compare` reads of its arguments and prints: which runs are A and B, and a table of both."""

from __future__ import annotations

import glob
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.cli.runs.run_directories import complete
from pocketsim.cli.ui import console
from pocketsim.sim.base.errors import UserError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.api.results import Run
    from pocketsim.report.runs.difference import Difference


def sides(arguments: Sequence[str]) -> tuple[list[Run], list[Run]]:
    """Return the runs of A and of B.

    Of two arguments each is a side. More, as a shell makes of patterns, are split by scenario: runs
    that differ in seed and repetitions alone are one side. Raises UserError where that makes no two
    sides, or a side of several scenarios.
    """
    from pocketsim.api.compare import by_scenario

    several = [_runs(argument) for argument in arguments]
    if len(several) == _BOTH:
        for argument, runs in zip(arguments, several, strict=True):
            if len(groups := by_scenario(runs)) > 1:
                raise UserError(
                    f"{argument} holds {len(runs)} runs of {len(groups)} scenarios "
                    f"({_names(groups)}); name one of them, or a pattern that matches one scenario"
                )
        return several[0], several[1]
    groups = by_scenario([run for runs in several for run in runs])
    if len(groups) != _BOTH:
        raise UserError(
            f"A and B are two scenarios, not {len(groups)} ({_names(groups)}); name one run of "
            "each, or a quoted pattern for each: compare 'runs/x/a-*' 'runs/x/b-*'"
        )
    return groups[0], groups[1]


def show(
    one: Sequence[Run],
    other: Sequence[Run],
    found: Sequence[Difference],
    differs: Sequence[tuple[str, Any, Any]],
    detect: str,
    share: float,
    *,
    as_json: bool,
) -> None:
    """Print how two sides differ, and in what their scenarios do, as text or JSON."""
    from pocketsim.report.runs.difference import holm

    adjusted = holm(found)
    rows = [_row(one, share, p_holm) for one, p_holm in zip(found, adjusted, strict=True)]
    clear = [row["metric"] for row in rows if row["p_holm"] is not None and row["p_holm"] < _LEVEL]
    if as_json:
        told = {
            "a": [str(run.directory) for run in one],
            "b": [str(run.directory) for run in other],
            "differs": [{"key": key, "a": ours, "b": theirs} for key, ours, theirs in differs],
            "differences": rows,
            "compared": len(rows),
            "clear_of_0_after_holm": clear,
        }
        console.json_data(told)
        return
    _say_what_differs(differs)
    head = ("metric", "A", "B", "B - A", "95 % interval", "of A", f"to see {detect}")
    paired = "paired by random numbers" if all(one.is_paired for one in found) else "not paired"
    console.table(f"{_side(one)} and {_side(other)}, {paired}", head, map(_cells, rows))
    for line in _notes(found, rows, clear):
        console.data(line)


def _runs(argument: str) -> list[Run]:
    from pocketsim.api.results import load

    matches = [Path(name) for name in sorted(glob.glob(argument))]  # noqa: PTH207 - from the root
    paths = [path for path in matches if path.is_dir()] or [Path(argument)]
    return list(load(*(glob.escape(str(run)) for path in paths for run in complete(path))))


def _names(groups: Sequence[Sequence[Run]]) -> str:
    names = [group[0].name for group in groups[:_NAMED]]
    return ", ".join([*names, "..."] if len(groups) > _NAMED else names)


def _side(runs: Sequence[Run]) -> str:
    more = f" and {len(runs) - 1} more of its scenario" if len(runs) > 1 else ""
    return f"{runs[0].name}{more}"


def _say_what_differs(differs: Sequence[tuple[str, Any, Any]]) -> None:
    if not differs:
        console.data("\nA and B are the same scenario")
        return
    rows = [
        (shown(key), _written(ours), _written(theirs)) for key, ours, theirs in differs[:_LINES]
    ]
    console.table("what differs", ("key", "A", "B"), rows)
    if len(differs) > _LINES:
        console.data(f"  and {len(differs) - _LINES} more; all with --json")


def _written(value: object) -> str:
    return "-" if value is None else shown(json.dumps(value, ensure_ascii=False), _WIDE)


def _notes(
    found: Sequence[Difference], rows: Sequence[dict[str, Any]], clear: Sequence[str]
) -> list[str]:
    outside = sum(one.is_clear_of_0 for one in found)
    compared = f"{len(rows)} metric{'s' * (len(rows) != 1)} compared"
    after = f"After Holm's adjustment for {len(rows)}: {', '.join(clear) or 'none'}."
    lines = [f"  {compared}; intervals of {outside} exclude 0. {after}"]
    baseless = [one.metric for one in found if one.first_mean and not one.has_base]
    if baseless:
        lines.append(f"  No share of A where A's mean is not clear of 0: {', '.join(baseless)}.")
    return lines


def _row(found: Difference, share: float, p_holm: float) -> dict[str, Any]:
    asked = abs(found.first_mean) * share
    return {
        "metric": found.metric,
        "a_mean": found.first_mean,
        "b_mean": found.second_mean,
        "difference": found.difference,
        "ci95_low": _finite(found.ci95_low),
        "ci95_high": _finite(found.ci95_high),
        "ratio": _finite(found.ratio) if found.has_base else None,
        "p_value": _finite(found.p_value),
        "p_holm": _finite(p_holm),
        "is_paired": found.is_paired,
        "repetitions_to_see": found.repetitions_to_see(asked),
    }


def _cells(row: dict[str, Any]) -> list[str]:
    low, high = row["ci95_low"], row["ci95_high"]
    needed = row["repetitions_to_see"]
    return [
        row["metric"],
        *(short(row[name]) for name in ("a_mean", "b_mean", "difference")),
        "unknown" if low is None else f"{short(low)} to {short(high)}",
        _of_base(row),
        "-" if needed is None else f"{needed} repetitions",
    ]


def _of_base(row: dict[str, Any]) -> str:
    ratio = row["ratio"]
    if ratio is None:
        return "-"
    return f"{ratio:+.1%}" if ratio < _TIMES else f"{short(ratio + 1)} times"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def short(value: object) -> str:
    """Return a number with three significant digits, anything else as it is."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


_BOTH = 2
_LEVEL = 0.05
_LINES = 10  # keys that differ; a sweep's runs differ in one or two
_NAMED = 4
_WIDE = 40
_TIMES = 9.0  # from ten times as much on, a percentage is hard to read
