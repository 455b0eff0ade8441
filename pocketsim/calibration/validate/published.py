"""The published figures that simulations are compared with: facts, targets and bars.

Everything comes from the documents in `calibration/published/`; nothing is computed or compared
here. A row is one printed number with the place where a simulation answers it. Figures that their
authors' documents do not print are not here.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base import axes

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).resolve().parents[1] / "published"


@dataclass(frozen=True)
class Target:
    """Where a simulation answers a row: rungs of a scenario, a metric and a statistic over both.

    Rates are 1/s; a span covers every rung in it. `payload_bytes` None covers every payload.
    `statistic`: "mean" over the repetitions of one rung; "min", "max" or "median" of that over the
    span; "run", one value per repetition; "classes", outcomes of repetitions;
    "versus_<transport>", compared with another transport at the same rates; "growth", the last of
    a span over its first; "share_percent" of the sum over all axes; "sum" over the span; "" for
    none. `transport` "" covers every transport, `also` are further scenarios whose rungs count.
    `axes` are the values of the rung's other axes, by key of the scenario; of a pair, the first and
    last of a span. An axis that is not named may have any value.
    """

    scenario: str
    transport: str
    rate_min_per_s: float
    rate_max_per_s: float
    payload_bytes: int | None
    metric: str
    statistic: str
    axes: tuple[tuple[str, Any], ...] = ()
    also: tuple[str, ...] = ()

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Every scenario whose rungs count."""
        return (self.scenario, *self.also)

    def covers(self, axes: Mapping[str, Any]) -> bool:
        """Return whether a rung with these axes is among those that answer."""
        return all(key in axes and _within(axes[key], said) for key, said in self.axes)


@dataclass(frozen=True)
class Row:
    """One printed number: `value` in `unit`, rounded to `resolution`; None where none is printed.

    `ci95` is half the printed interval, over `runs` runs, as its document defines it. `run` numbers
    the run in tables that list runs. `session` names the runs that were made together. `basis` is
    "fitted", "predicted", "reproduced from format", or "not compared" when nothing is simulated.
    """

    id: str
    document: str
    section: str
    quantity: str
    value: float | None
    resolution: float
    ci95: float | None
    runs: int
    unit: str
    run: int | None
    group: str
    basis: str
    note: str
    target: Target
    session: str = ""

    @property
    def what(self) -> str:
        """The row in words."""
        target = self.target
        run = "" if self.run is None else f", run {self.run}"
        spans = {key: _span(said) for key, said in target.axes}
        parts = [f"{self.section} {self.quantity}", _conditions(target), axes.words(spans)]
        return ", ".join(part for part in parts if part) + run


@dataclass(frozen=True)
class Ceiling:
    """How far a bar that is known to be missed may be missed: `metric` of its group's errors.

    It is "median_error_ratio", "worst_error_ratio", "claim_error_ratio", by how much the worst
    claim fails, or "p_shortfall_ratio", by how much a p-value is too small.
    """

    metric: str
    ceiling_ratio: float


@dataclass(frozen=True)
class Outcomes:
    """How outcomes of runs are judged: from a rate on, over so many repetitions, by a p-value."""

    p_min: float
    repetitions: int
    from_rate_per_s: float


@dataclass(frozen=True)
class Group:
    """How rows of one kind are compared, and the bar that they have to reach; see bars.toml."""

    name: str
    title: str
    comparison: str
    median_error_ratio_max: float | None = None
    worst_error_ratio_max: float | None = None
    row_error_ratio_max: float | None = None
    ci95_suffices: bool = False
    reported_only: bool = False
    known_missed: Ceiling | None = None
    outcomes: Outcomes | None = None
    basis: str = "predicted"


def rows(folder: Path = FOLDER) -> tuple[Row, ...]:
    """Return every row of every document, in the order of the documents.

    Raises ValueError when an id is not unique, or a list names an unknown row, group or section.
    """
    of_group = groups(folder)
    lists = _toml(folder / "fitted_rows.toml")
    fitted = {name for names in lists.values() for name in names}
    found: list[Row] = []
    for document, about in documents(folder).items():
        with (folder / f"{document}.csv").open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        found += [_row(document, about, of_group, fitted, line) for line in lines]
    known = [row.id for row in found]
    if len(set(known)) != len(known):
        raise ValueError(f"{folder}: ids are not unique")
    if unknown := fitted - set(known):
        raise ValueError(f"{folder}/fitted_rows.toml: no row {min(unknown)!r}")
    return tuple(found)


def groups(folder: Path = FOLDER) -> dict[str, Group]:
    """Return the groups of bars.toml by name."""
    found = _toml(folder / "bars.toml")
    return {name: _group(name, options) for name, options in found.items()}


def documents(folder: Path = FOLDER) -> dict[str, Any]:
    """Return for each document its title, device, conditions and sections."""
    return _toml(folder / "documents.toml")


def _group(name: str, options: dict[str, Any]) -> Group:
    parts = {"known_missed": Ceiling, "outcomes": Outcomes}
    made = {key: part(**options[key]) for key, part in parts.items() if key in options}
    return Group(name=name, **{**options, **made})


def _conditions(target: Target) -> str:
    """Return transport, payload and rate in words; what is done without a network has none."""
    size = "" if target.payload_bytes is None else f" {target.payload_bytes} B"
    if target.transport == NO_TRANSPORT:
        return size.strip()
    rates = f"{target.rate_min_per_s:g}"
    if target.rate_max_per_s != target.rate_min_per_s:
        rates += f"-{target.rate_max_per_s:g}"
    return f"{TRANSPORTS.get(target.transport, 'both transports')}{size} at {rates}/s"


def _within(value: Any, said: Any) -> bool:
    return said[0] <= value <= said[1] if isinstance(said, tuple) else bool(value == said)


def _span(said: Any) -> Any:
    return f"{said[0]} to {said[1]}" if isinstance(said, tuple) else said


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _row(
    document: str,
    about: dict[str, Any],
    of_group: dict[str, Group],
    fitted: set[str],
    line: dict[str, str],
) -> Row:
    place = f"{document}.csv: {line['id']}"
    if line["group"] not in of_group:
        raise ValueError(f"{place}: unknown group {line['group']!r}")
    if line["section"] not in about["sections"]:
        raise ValueError(f"{place}: unknown section {line['section']!r}")
    if line["ci95"] and "runs" not in about:
        raise ValueError(f"{place}: an interval over an unknown number of runs")
    section = about["sections"][line["section"]]
    return Row(
        id=line["id"],
        document=document,
        section=line["section"],
        quantity=line["quantity"],
        value=_number(line["value"]),
        resolution=_resolution(line["value"]),
        ci95=_number(line["ci95"]),
        runs=about.get("runs", 1),
        unit=line["unit"],
        run=int(line["run"]) if line["run"] else None,
        group=line["group"],
        basis=_basis(line, of_group[line["group"]], fitted),
        note=line["note"],
        target=replace(_target(section["scenario"], line), also=tuple(section.get("also", ()))),
        session=f"{document}: {section.get('session', line['section'])}",
    )


def _target(scenario: str, line: dict[str, str]) -> Target:
    return Target(
        scenario=scenario,
        transport=line["transport"],
        rate_min_per_s=float(line["rate_min_per_s"] or 0),
        rate_max_per_s=float(line["rate_max_per_s"] or 0),
        payload_bytes=int(line["payload_bytes"]) if line["payload_bytes"] else None,
        metric=line["metric"],
        statistic=line["statistic"],
        axes=_axes(line.get("axes") or ""),
    )


def _axes(text: str) -> tuple[tuple[str, Any], ...]:
    """Return axes as a row writes them: "transport.eva.window=256; workload.threads=4..8"."""
    pairs = [part.partition("=") for part in text.split(";") if part.strip()]
    return tuple((key.strip(), _axis_value(value.strip())) for key, _, value in pairs)


def _axis_value(text: str) -> Any:
    if ".." in text:
        first, _, last = text.partition("..")
        return int(first), int(last)
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if text.isdecimal() else text


def _basis(line: dict[str, str], group: Group, fitted: set[str]) -> str:
    if group.comparison == "none" and not line["metric"]:
        return "not compared"
    return "fitted" if line["id"] in fitted else group.basis


def _number(text: str) -> float | None:
    return float(text) if text else None


def _resolution(text: str) -> float:
    """Return the step of the last printed digit: 0.01 for "15.46"."""
    return float(10 ** -len(text.partition(".")[2]))


NO_TRANSPORT = "none"
TRANSPORTS = {
    "udp": "UDP",
    "quic_keep": "quic_keep",
    "quic_reconnect": "quic_reconnect",
    "tftp": "TFTP",
    "ipv8": "IPv8",
    "ipv8_sealed": "IPv8 sealed",
    "eva": "EVA",
}
"""What tables and figures call the transports: as scenarios do, or by their proper names."""
