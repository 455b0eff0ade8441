"""The fit document: which numbers, from which published rows, how far off what costs how much.

Here are the model and what a document must be on its own. What does not live here: whether the
places that it names exist (`calibration.inverse.key_paths`) and what a likelihood comes to.
"""

from __future__ import annotations

import fnmatch
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from pocketsim.calibration.validate import published
from pocketsim.sim.base.documents import Section, read_toml, validate
from pocketsim.sim.base.errors import ScenarioError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Written = str | float | int
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class LogNormal(Section):
    """Its logarithm is normal."""

    kind: Literal["lognormal"]
    median: Written = Field(description="Median, as the document writes it.")
    sigma: Positive = Field(description="Standard deviation of the logarithm.")


class Normal(Section):
    """Normal."""

    kind: Literal["normal"]
    mean: Written = Field(description="Mean, as the document writes it.")
    sigma: Written = Field(description="Standard deviation, as the document writes it.")


class Uniform(Section):
    """All between the bounds as likely."""

    kind: Literal["uniform"]


class Beta(Section):
    """Of a probability."""

    kind: Literal["beta"]
    a: Positive = Field(description="First shape.")
    b: Positive = Field(description="Second shape.")


class Choice(Section):
    """One of a few values, each tried."""

    kind: Literal["choice"]
    values: list[bool | int | float | str] = Field(min_length=2, max_length=16)


class Place(Section):
    """Where a number stands."""

    document: str = Field(min_length=1, description="TOML file, relative to the project.")
    key: str = Field(min_length=1, description="Key path in it, such as operations.sign.cpu.")


class Parameter(Place):
    """A number that is searched."""

    name: str = Field(min_length=1, max_length=40, pattern=r"^[a-z][a-z0-9_]*$")
    also: list[Place] = Field(default=[], description="Other places that have the same value.")
    prior: Annotated[LogNormal | Normal | Uniform | Beta | Choice, Field(discriminator="kind")] = (
        Field(description="Where the search starts, and how wide; no part of the loss.")
    )
    start: Written | None = Field(default=None, alias="from", description="Least, but of a choice.")
    end: Written | None = Field(default=None, alias="to", description="Most, but of a choice.")
    today: bool | int | float | str | None = Field(
        default=None, description="What holds where the document leaves the key out."
    )
    rows: list[str] | None = Field(
        default=None, description="Rows that the number rests on; all, if left out."
    )
    nuisance: bool = Field(default=False, description="Searched with the others, and not fitted.")

    @model_validator(mode="after")
    def _has_bounds(self) -> Parameter:
        bounds = (self.start is not None) + (self.end is not None)
        if bounds != (0 if self.prior.kind == "choice" else 2):
            raise ValueError("needs 'from' and 'to', and a choice neither")
        return self


class Rows(Section):
    """Some published rows, and how their simulation is judged; docs/fits.md has the formulas."""

    ids: list[str] = Field(min_length=1, description="Ids of rows, or patterns of them.")
    loss: Literal["mean", "scatter", "claim", "outcome", "stalled_stores", "outstanding"] = Field(
        description="What is compared, and how."
    )
    model_error: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="Standard deviation of what the model leaves out, as a ratio."
    )
    outcome: Literal["stalled", "partial", "complete"] | None = Field(
        default=None, description="Of loss = 'outcome': which kind of run was counted."
    )
    count: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="Of loss = 'outcome': how many published runs were of it."
    )
    runs: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Of loss = 'outcome': of how many."
    )
    played_by: str | None = Field(
        default=None,
        description="Of loss = 'outcome': the row whose rung stands for those of all.",
    )

    @model_validator(mode="after")
    def _counts_outcomes(self) -> Rows:
        said = [self.outcome, self.count, self.runs].count(None)
        if said != (0 if self.loss == "outcome" else 3):
            raise ValueError(
                "loss = 'outcome' needs outcome, count and runs, and no other has them"
            )
        if self.played_by is not None and self.loss != "outcome":
            raise ValueError("only loss = 'outcome' has played_by")
        if self.count is not None and self.runs is not None and self.count > self.runs:
            raise ValueError("count is more than runs")
        return self


class ScenarioTable(Section):
    """What is different when a scenario is played for a fit."""

    set: list[str] = Field(min_length=1, description="Overrides, such as run.repetitions=10.")


class Fit(Section):
    """A fit document."""

    title: str = Field(min_length=1, description="What is fitted.")
    seed: int = Field(ge=0, le=2**31 - 1, description="Of the search; scenarios keep their own.")
    trials: Annotated[int, Field(ge=4, le=10_000)] = Field(description="Budget of the search.")
    steps: Annotated[int, Field(ge=1, le=12)] = Field(
        default=6, description="Most values of a parameter on either side, for its interval."
    )
    alternative: bool = Field(
        default=False, description="Another explanation of the rows of another fit."
    )
    parameters: list[Parameter] = Field(min_length=1, description="What is searched.")
    rows: list[Rows] = Field(min_length=1, description="What it is searched from.")
    scenarios: dict[str, ScenarioTable] = Field(default={}, description="By scenario's file.")


@dataclass(frozen=True)
class Target:
    """Rows of one `[[rows]]` table, as they stand in the theses."""

    table: Rows
    rows: tuple[published.Row, ...]

    @property
    def played(self) -> tuple[published.Row, ...]:
        """The rows whose rungs are simulated."""
        if self.table.played_by is None:
            return self.rows
        return tuple(row for row in self.rows if row.id == self.table.played_by)


@dataclass(frozen=True)
class Loaded:
    """A fit document with its rows; `digest` is the SHA-256 of the file, in hex."""

    path: Path
    digest: str
    fit: Fit
    targets: tuple[Target, ...]

    def rows_of(self, parameter: Parameter) -> list[str]:
        """Return the ids of the rows that a parameter rests on, in order of the document."""
        every = [row.id for target in self.targets for row in target.rows]
        if parameter.rows is None:
            return every
        return [name for name in every if matches(name, parameter.rows)]


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Tell whether an id is one of `patterns`, or matches one."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def load(path: Path) -> Loaded:
    """Return the fit document at `path`.

    Raises ScenarioError with file, key path, reason and the nearest row for what is wrong with it.
    """
    text, data = read_toml(path)
    fit = validate(Fit, data, path)
    every = published.rows()
    targets = tuple(
        Target(table, _rows(table.ids, every, path, f"rows[{number}].ids"))
        for number, table in enumerate(fit.rows)
    )
    for number, target in enumerate(targets):
        if not target.played:
            reason, known = "is not one of ids", [row.id for row in target.rows]
            hint = nearest(target.table.played_by or "", known)
            raise ScenarioError(path, f"rows[{number}].played_by", reason, hint)
    found = Loaded(path, hashlib.sha256(text.encode()).hexdigest(), fit, targets)
    _check_parameters(found)
    used = {row.target.scenario for target in targets for row in target.rows}
    for name in fit.scenarios:
        if name not in used:
            reason = "no row of this fit is played by it"
            raise ScenarioError(path, f"scenarios.{name}", reason, nearest(name, sorted(used)))
    return found


def _check_parameters(found: Loaded) -> None:
    known = [row for target in found.targets for row in target.rows]
    names = [parameter.name for parameter in found.fit.parameters]
    for number, parameter in enumerate(found.fit.parameters):
        place = f"parameters[{number}]"
        if names.index(parameter.name) != number:
            raise ScenarioError(found.path, f"{place}.name", "is used before")
        if parameter.rows is not None:
            _rows(parameter.rows, known, found.path, f"{place}.rows")


def _rows(
    patterns: Sequence[str], every: Sequence[published.Row], path: Path, place: str
) -> tuple[published.Row, ...]:
    for number, pattern in enumerate(patterns):
        if not any(fnmatch.fnmatchcase(row.id, pattern) for row in every):
            suggestion = nearest(pattern, [row.id for row in every])
            raise ScenarioError(path, f"{place}[{number}]", "no such published row", suggestion)
    return tuple(row for row in every if matches(row.id, patterns))
