"""Writes docs/metrics.md: metrics, fates, columns and kinds of events, from the code that has them.

`python -m tools.reference` rewrites the page; a test fails when it is stale. Metrics and columns
are described where they are computed, reasons and kinds in the machine contract's own comments.
The text around the tables is tools/metrics.md.in.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.sim import trace
from pocketsim.sim.metrics import reference
from pocketsim.sim.trace import blocks, final_tokens, histograms, places, timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pocketsim.sim.metrics.definition import Metric
    from pocketsim.sim.trace.fields import Column

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "metrics.md"
TEMPLATE = ROOT / "tools" / "metrics.md.in"
CONTRACT = ROOT / "sim" / "protocols" / "src" / "contract.rs"


def main() -> int:
    """Write the page; return the exit code."""
    PAGE.write_text(text(), encoding="utf-8")
    return 0


def text() -> str:
    """Return the page."""
    contract = CONTRACT.read_text(encoding="utf-8")
    tables = {
        **{f"metrics_{name}": metrics_table(metrics) for name, metrics in metrics_tables().items()},
        "reasons": table(("reason", "what happened"), named(contract, "Reason")),
        "columns": columns(trace.COLUMNS),
        "histograms": columns(histograms.COLUMNS),
        "spans": columns(timeline.COLUMNS),
        "places": columns(places.COLUMNS),
        "tokens": columns(final_tokens.COLUMNS),
        "blocks": columns(blocks.COLUMNS),
        "kinds": table(("kind", "when"), named(contract, "EventKind")),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    for name, found in tables.items():
        assert page.count(f"{{{name}}}\n") == 1, name
        page = page.replace(f"{{{name}}}\n", found)
    return page


def metrics_tables() -> dict[str, Mapping[str, Metric]]:
    """Return every table of metrics; those of energy are one, whose lines have two names."""
    tables: dict[str, Mapping[str, Metric]] = dict(reference.TABLES)
    payments, transactions = (tables.pop(f"energy_of_{each}") for each in _ENERGIES)
    pairs = zip(payments.items(), transactions, strict=True)
    energies = {f"{ours}`, `{theirs}": metric for (ours, metric), theirs in pairs}
    return {**tables, "energy": energies}


def metrics_table(metrics: Mapping[str, Metric]) -> str:
    """Return one line for each metric: name, unit, formula, meaning."""
    rows = [
        (name, metric.unit, f"`{metric.formula}`", metric.meaning)
        for name, metric in metrics.items()
    ]
    return table(("metric", "unit", "formula", "what it is"), rows)


def columns(declared: Mapping[str, Column]) -> str:
    """Return one line for each column: name, type, unit, meaning."""
    rows = [(name, one.kind, one.unit or "-", one.meaning) for name, one in declared.items()]
    return table(("column", "type", "unit", "what it is"), rows)


def named(contract: str, enum: str) -> list[tuple[str, str]]:
    """Return name and comment of each variant of a named enum of the machine contract.

    Raises ValueError for one without a comment.
    """
    body = contract.split(f"    {enum} {{\n", 1)[1].split("\n    }\n", 1)[0]
    found: list[tuple[str, str]] = []
    comment: list[str] = []
    for line in map(str.strip, body.splitlines()):
        if line.startswith("///"):
            comment.append(line.removeprefix("///").strip())
        elif match := re.fullmatch(r'\w+ = "(\w+)",', line):
            if not comment:
                raise ValueError(f"{enum} {match[1]} has no comment")
            found.append((match[1], " ".join(comment).rstrip(".")))
            comment = []
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown, whose first column is code."""
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join((f'`{first}`', *rest))} |" for first, *rest in rows]
    return "\n".join(lines) + "\n"


_ENERGIES = ("payments", "transactions")

if __name__ == "__main__":
    raise SystemExit(main())
