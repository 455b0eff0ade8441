"""Runs that predict each session from fits to the others, and the document's tables.

`python -m pocketsim.calibration.fit.model_error.play -o FILE` writes the `[model_error]` tables of
`trustchain_throughput_2025.toml`, and says how many published figures their intervals hold.
What a fit says without a session is in `calibration/fits/results` (docs/fits.md). Where it says
nothing without one, the session's rows that it has seen count as fitted.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.fit.model_error.estimate import Predicted, estimated, left_out
from pocketsim.calibration.validate import published
from pocketsim.calibration.validate.answers import matching
from pocketsim.calibration.validate.validation import read_rungs
from pocketsim.sim.base.documents import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[3]
IMPLEMENTATION = "calibration/profiles/implementations/trustchain_throughput_2025.toml"
REPETITIONS = 60
RESULTS = ROOT / "calibration" / "fits" / "results"


@dataclass(frozen=True)
class Session:
    """Runs that were made together, the scenario that plays them, and what is set without them.

    `others` are overrides with what the other sessions' fits say, `breaks_without` the session in
    the fit of breaks. `fitted` are patterns of rows that a fit has seen that has nothing without.
    """

    name: str
    scenario: str
    others: tuple[str, ...] = ()
    breaks_without: str = ""
    fitted: tuple[str, ...] = ()


SESSIONS = (
    # The factor of A.2 is what its own fit found; without A.2 an endpoint is that of A.1, and back.
    Session("A.1", "iroh_reconnect_10b", ("devices[0].cost={iroh_bind=0.765}",)),
    Session("A.2", "iroh_reconnect_100b", ("devices[0].cost_factors.iroh_bind.value=1.0",)),
    Session("A.3", "iroh_keep_100b", breaks_without="A.3"),
    # How often a second dial stalls a run was seen in this session alone.
    Session("B.1, B.2", "iroh_keep_128b", breaks_without="B.1/B.2", fitted=("B1_w*_store",)),
    # So was the law of sleeps in this one.
    Session("B.3, B.4", "udp_128b", fitted=("B3_*",)),
    Session("4.2.3", "udp_100b"),
)


@dataclass(frozen=True)
class Table:
    """A table of the document: whose error it is, and which rows tell it."""

    name: str
    transports: tuple[str, ...]
    metrics: tuple[str, ...]
    told_by: tuple[str, ...]
    """Patterns of rows."""


SENDS = ("send_rate_per_s", "send_count")
STORES = ("store_rate_per_s", "store_count")
EVERY_SEND = ("A*_send", "B*_send", "S423_*_send")
TABLES = (
    # One sender loop: what it is off by is common to all transports.
    Table("sends", ("udp", "quic_keep", "quic_reconnect"), SENDS, EVERY_SEND),
    # What is stored there is what was sent, less what repetitions draw: stalls and breaks.
    Table(
        "stores",
        ("udp", "quic_keep"),
        STORES,
        (*EVERY_SEND, "A3_*_store", "B*_store", "S423_*_store"),
    ),
    Table("stores_new", ("quic_reconnect",), STORES, ("A1_*_store", "A2_*_store")),
)


def main() -> None:
    """Play every session, estimate, check by leaving out, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, required=True, help="tables to write (TOML)")
    parser.add_argument("--runs", type=Path, default=Path("runs/model_error"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    options = parser.parse_args()
    rows = [
        row
        for session in SESSIONS
        for row in predicted(session, options.runs, options.jobs, options.repetitions)
    ]
    options.out.write_text(document(rows), encoding="utf-8")
    sys.stdout.write("\n".join(told(rows)) + "\n")


def predicted(session: Session, out: Path, jobs: int, repetitions: int) -> Iterator[Predicted]:
    """Run a session's rungs that rows point to, and yield those rows."""
    from pocketsim.sim.run import runner
    from pocketsim.sim.scenario.load import load

    rows = [row for row in published.rows() if _is_of(row, session)]
    folder = out / session.name.replace(", ", "_")
    rates = ", ".join(f'"{rate:g}/s"' for rate in sorted({_rate(row) for row in rows}))
    overrides = [
        *("run.draw=posterior", f"run.repetitions={repetitions}", "output.trace=metrics"),
        *(f"workload.rate=[{rates}]", *session.others),
    ]
    if session.breaks_without:
        overrides.append(f"implementation={_without(session.breaks_without, folder)}")
    scenario = f"scenarios/throughput/{session.scenario}.toml"
    tasks = runner.tasks_of(load(ROOT / scenario, overrides), folder)
    runner.run_tasks(tasks, jobs)
    rungs = read_rungs(scenario, (task.folder / rung.name for task in tasks for rung in task.rungs))
    for row in rows:
        (rung,) = matching(row.target, rungs)
        values = rung["metrics"][row.target.metric]["values"]
        is_fitted = any(fnmatch.fnmatchcase(row.id, pattern) for pattern in session.fitted)
        yield Predicted(
            row.id,
            session.name,
            row.value or 0.0,
            row.ci95 or 0.0,
            tuple(values),
            is_fitted,
            row.resolution,
        )


def _is_of(row: published.Row, session: Session) -> bool:
    """Return whether a row is a mean over runs, of a session; a row of one run is in those."""
    is_mean = row.run is None and row.target.statistic in {"mean", "classes"}
    return is_mean and row.session == f"throughput_thesis: {session.name}" and bool(row.value)


def _rate(row: published.Row) -> float:
    return row.target.rate_min_per_s


def _without(session: str, folder: Path) -> Path:
    """Write the implementation with the rate of breaks that the other sessions say."""
    import tomli_w

    _, fit = read_toml(RESULTS / "kept_connection_breaks.toml")
    (values,) = (part["values"] for part in fit["left_out"] if part["session"] == session)
    _, program = read_toml(ROOT / IMPLEMENTATION)
    program["quic_keep"]["kept_connection"]["break_rate"]["value"] = values["break_rate"]
    folder.mkdir(parents=True, exist_ok=True)
    path = (folder / Path(IMPLEMENTATION).name).resolve()
    path.write_text(tomli_w.dumps(program), encoding="utf-8")
    return path


def of_table(table: Table, rows: Iterable[Predicted]) -> list[Predicted]:
    """Return the rows that tell a table's error."""
    return [row for row in rows if any(fnmatch.fnmatchcase(row.row, one) for one in table.told_by)]


def document(rows: Sequence[Predicted]) -> str:
    """Return the tables as TOML, to be put into the implementation's document."""
    import tomli_w

    tables: dict[str, Any] = {}
    for table in TABLES:
        own = [row for row in of_table(table, rows) if not row.is_fitted]
        error = estimated(own)
        tables[table.name] = {
            "transports": list(table.transports),
            "metrics": list(table.metrics),
            "sigma": round(error.sigma, 4),
            "degrees_of_freedom": error.degrees_of_freedom,
            "rows": [row.row for row in own],
            "source": SOURCE,
        }
    return tomli_w.dumps({"model_error": tables})


def told(rows: Sequence[Predicted]) -> Iterator[str]:
    """Yield what is held, session by session, and in all."""
    for table in TABLES:
        own = of_table(table, rows)
        error = estimated(own)
        yield f"{table.name}: sigma {error.sigma:.4f}, {error.degrees_of_freedom} sessions"
        counts = left_out(own)
        for each in counts:
            yield (
                f"  without {each.session}: sigma {each.error.sigma:.4f}; holds {each.held} of "
                f"{each.rows}, repetitions alone {each.without}"
            )
        held, without, all_ = (sum(column) for column in zip(*map(_counts, counts), strict=True))
        yield f"  in all: {held} of {all_}, repetitions alone {without}"
        fitted = [row for row in own if row.is_fitted]
        if fitted:
            held = sum(row.is_held(error) for row in fitted)
            yield f"  fitted rows, which have no part in it: holds {held} of {len(fitted)}"


def _counts(held: Any) -> tuple[int, int, int]:
    return held.held, held.without, held.rows


SOURCE = (
    "python -m pocketsim.calibration.fit.model_error.play: sessions of the throughput thesis, each "
    "predicted by fits to the others"
)

if __name__ == "__main__":
    main()
