"""Trials: values of the parameters, simulated, and what they cost. Each is made once and kept.

A trial patches copies of the documents in a temporary folder, lets the ordinary loader and resolver
read them, and simulates those rungs alone that rows point to. Scenarios keep their seeds, so all
trials share their random numbers. A journal holds every trial: a search that was killed goes over
the same ones again and finds them made.
"""

from __future__ import annotations

import dataclasses
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.calibration.inverse import likelihood
from pocketsim.calibration.inverse.journal import Journal
from pocketsim.calibration.inverse.key_paths import ROOT
from pocketsim.calibration.inverse.likelihood import Term, Terms
from pocketsim.calibration.inverse.patched_scenarios import Scenarios
from pocketsim.calibration.validate.answers import matching
from pocketsim.calibration.validate.validation import chain_replay
from pocketsim.sim.base.build import build_digest
from pocketsim.sim.base.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pocketsim.calibration.inverse.document import Loaded
    from pocketsim.calibration.inverse.key_paths import Documents, Unit
    from pocketsim.calibration.validate.answers import RungKey
    from pocketsim.sim.run.forks import Forks
    from pocketsim.sim.scenario.resolved import Resolved

Values = tuple[Any, ...]
"""Of the parameters, in their order; numbers in SI units."""


@dataclass(frozen=True)
class Trial:
    """Values and what they cost, row by row."""

    values: Values
    terms: Terms

    def loss(self, without: str | None = None) -> float:
        """Return the sum of the terms, but for those that only sections of a session inform."""
        return sum(
            term.loss for term in self.terms.values() if session(term.sections[0]) != without
        )


class Trials:
    """Makes trials of one fit document, remembers them, and tells of each that it makes."""

    def __init__(
        self,
        loaded: Loaded,
        documents: Documents,
        units: dict[str, Unit],
        forks: Forks,
        journal: Path,
    ) -> None:
        self._loaded, self._documents, self._units, self._forks = loaded, documents, units, forks
        self._scenarios = Scenarios.of(
            scenario_names(loaded),
            {name: table.set for name, table in loaded.fit.scenarios.items()},
            f"{loaded.path}: scenarios",
            self._is_asked_for,
        )
        self._replay = chain_replay()
        self._journal = Journal(journal, f"{loaded.digest} {build_digest()}")
        self.asked: dict[Values, Trial] = {}
        """What this search has asked for, made now or before."""
        self.told: Callable[[Trial, int], None] = _nothing
        """Called with each trial that is asked for the first time, and how many there were."""

    def make(self, several: Sequence[Values]) -> list[Trial]:
        """Return a trial for each of some values, side by side as far as there are cores."""
        found = self.look(several)
        for trial in found:
            if trial.values not in self.asked:
                self.asked[trial.values] = trial
                self.told(trial, len(self.asked))
        return found

    def look(self, several: Sequence[Values]) -> list[Trial]:
        """Return what `make` does, and leave the search as if nobody had asked."""
        missing = [at for at in dict.fromkeys(several) if self._journal.kept(str(at)) is None]
        if missing:
            with tempfile.TemporaryDirectory(prefix="pocketsim-") as folder:
                runs = [
                    self._runs(at, Path(folder) / str(number)) for number, at in enumerate(missing)
                ]
            every = [run for mine in runs for run in mine.values()]
            measured = iter(self._forks.measure(every, self._scenarios.files))
            for at, mine in zip(missing, runs, strict=True):
                rungs = {key: next(measured) for key in mine}
                terms = {name: dataclasses.astuple(one) for name, one in self._terms(rungs).items()}
                self._journal.keep(str(at), {"terms": terms})
        return [self._kept(at) for at in several]

    def _kept(self, at: Values) -> Trial:
        terms = self._journal.kept(str(at))["terms"].items()
        return Trial(
            at,
            {
                name: Term(loss, published, simulated, tuple(sections))
                for name, (loss, published, simulated, sections) in terms
            },
        )

    def _terms(self, rungs: dict[RungKey, Any]) -> Terms:
        found: Terms = {}
        for target in self._loaded.targets:
            found |= {
                f"{name} {target.table.loss}": term
                for name, term in likelihood.terms(target, rungs, self._replay).items()
            }
        return found

    def _runs(self, values: Values, folder: Path) -> dict[RungKey, Resolved]:
        """Return the rungs that rows point to, with `values` in the documents."""
        parameters = self._loaded.fit.parameters
        placed = [
            (place, self._units[parameter.name].write(value))
            for parameter, value in zip(parameters, values, strict=True)
            for place in (parameter, *parameter.also)
        ]
        patched = self._documents.patched(placed)
        try:
            return self._scenarios.resolved(patched, folder)
        except ScenarioError as error:
            said = ", ".join(f"{place.key} = {value}" for place, value in placed)
            file = error.file
            if Path(file).is_relative_to(folder):
                file = str(ROOT / Path(file).relative_to(folder))
            reason = f"{file}: {error.key_path}: {error.reason}; with {said}"
            raise ScenarioError(self._loaded.path, "parameters", reason, error.suggestion) from None

    def _is_asked_for(self, key: RungKey) -> bool:
        return any(matching(row.target, {key: {}}) for row in self._rows())

    def _rows(self) -> list[Any]:
        return [row for target in self._loaded.targets for row in target.played]


def scenario_names(loaded: Loaded) -> list[str]:
    """Return the scenarios that the rows of a fit need, in order of first use."""
    return list(
        dict.fromkeys(row.target.scenario for target in loaded.targets for row in target.played)
    )


def session(section: str) -> str:
    """Return the session in which the figures of a section of a thesis were measured."""
    return _SESSIONS.get(section, section)


def _nothing(_trial: Trial, _number: int) -> None:
    pass


_SESSIONS = {"B.1": "B.1/B.2", "B.2": "B.1/B.2", "B.3": "B.3/B.4", "B.4": "B.3/B.4"}
"""Sections of the throughput thesis that print the same runs; any other is a session of its own."""
