"""Finished runs, for notebooks: their metrics as one tidy table, their events, graphs and numbers.

Reads run directories and nothing else. Data frames are pandas'; docs/metrics.md defines metrics,
`sim.trace.schema` columns of events.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

from pocketsim.api import run_tables
from pocketsim.sim.base import defaults
from pocketsim.sim.base.errors import UserError, did_you_mean, nearest
from pocketsim.sim.base.files import at_home
from pocketsim.sim.run import collect, results, rundir

if TYPE_CHECKING:
    from collections.abc import Mapping

    import networkx as nx
    import pandas as pd
    import pyarrow as pa
    import xarray as xr

    from pocketsim.api.profiles import Profile
    from pocketsim.sim.run.results import Manifest, Metrics
    from pocketsim.sim.scenario.point_values import Value
    from pocketsim.sim.scenario.resolved import Resolved


@dataclass(frozen=True)
class Run:
    """One finished run: a rung of a scenario with all its repetitions, in a directory.

    `point` is where it lies among others: values in SI units by key path, with their units.
    """

    directory: Path
    point: Mapping[str, Value]

    @property
    def name(self) -> str:
        """The scenario and the rung with its digest, as the folders are called."""
        return f"{self.directory.parent.name}/{self.directory.name}"

    @property
    def metrics(self) -> Metrics:
        """The content of metrics.json."""
        return results.read_metrics(self.directory)

    @property
    def manifest(self) -> Manifest:
        """The content of manifest.json, with seed, versions, digests, every value in effect."""
        return results.read_manifest(self.directory)

    @property
    def resolved(self) -> Resolved:
        """The content of resolved.json, what determines the run, in SI units."""
        return results.read_resolved(self.directory)

    @property
    def devices(self) -> dict[str, Profile]:
        """The profiles of its phones as they were, by name."""
        from pocketsim.api.profiles import Profile

        profiles = self.resolved["profiles"]
        return {name: Profile(one["drawn_as"], one) for name, one in profiles.items()}

    @property
    def implementation(self) -> Profile:
        """The profile of its implementation as it was."""
        from pocketsim.api.profiles import Profile

        found = self.resolved["implementation"]
        return Profile(found["called"], found)

    @property
    def events(self) -> pd.DataFrame:
        """The trace, a row for each event, in order of repetition and time; docs/metrics.md.

        Raises ScenarioError for a run with `output.trace = "metrics"`, which has `histograms`.
        """
        frame: pd.DataFrame = results.read_events(self.directory).to_pandas()
        return frame

    @property
    def histograms(self) -> pd.DataFrame:
        """How many round trips took how long, a row for each bucket; docs/metrics.md.

        Raises ScenarioError for a run that keeps events instead.
        """
        frame: pd.DataFrame = results.read_histograms(self.directory).to_pandas()
        return frame

    def values(self, metric: str) -> list[float | None]:
        """Return a metric of each repetition, None where it is undefined; docs/metrics.md.

        Raises UserError for one that the run does not have.
        """
        found = self.metrics["metrics"]
        if metric not in found:
            hint = did_you_mean(nearest(metric, found))
            raise UserError(f"{self.name} has no metric {metric!r}{hint}")
        return found[metric]["values"]

    def graph(self, repetition: int = 0) -> nx.DiGraph:
        """Return who paid or traded with whom in a repetition, as `sim.export.graph` describes.

        Raises IndexError where there is no such repetition.
        """
        from pocketsim.sim.export import graph

        return graph.of_run(self.directory, repetition)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each repetition; see `Runs.to_frame`."""
        return Runs([self]).to_frame()

    def _repr_html_(self) -> str:
        return Runs([self])._repr_html_()


class Runs(Sequence[Run]):
    """Finished runs, in order."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = tuple(runs)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice) -> Runs: ...
    def __getitem__(self, place: int | slice) -> Run | Runs:
        return Runs(self._runs[place]) if isinstance(place, slice) else self._runs[place]

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return f"<{len(self)} run{'' if len(self) == 1 else 's'}>"

    def finding(self, metric: str = "", *, x: str = "", by: str = "") -> str:
        """Return what the runs show, in a sentence or two: as a report's first screen says it.

        `x` and `by` are key paths: the quantity that changes, and what is compared. What is left
        out is chosen by rule (docs/studies.md). Raises UserError where no run has them, and where
        there is nothing to say.
        """
        from pocketsim.report.answer import opening
        from pocketsim.report.runs.asked import Asked

        asked = Asked(metric=metric, x=x, by=by)
        found = opening.finding_of([run.directory for run in self], asked)
        if not found:
            raise UserError("these runs have no metric that a sentence could be about")
        return found

    def _repr_html_(self) -> str:
        return run_tables.as_html(self._runs)

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy table: one row for each run and repetition.

        Columns: `directory`, `repetition`; `transport`, `payload_bytes`, `rate_per_s` of the rung;
        each value that was asked for or varies, by its key path with its unit last; every metric,
        `cpu_s.<operation>`, `energy_j.<component>`, `energy_by_network_j.<component>.<network>`;
        `sent`, `stored`, `in_flight`, `lost` and `lost.<reason>`. What a run does not have is
        missing.
        """
        frame: pd.DataFrame = self._table().to_pandas()
        return frame

    def to_xarray(self) -> xr.Dataset:
        """Return metrics as arrays over the axes of the runs' points and `repetition`.

        Dimensions are what differs between the points, called as the columns of `to_frame`; what is
        the same in all is a coordinate without one. Each metric has `units` and `long_name`. Where
        there is no run of a combination, and what a run does not have, is NaN; `directory` tells
        which run is where. Raises UserError for two runs at one point and for points that are no
        grid, as those of a design, EnvironmentMissingError without xarray.
        """
        return run_tables.dataset(self._table(), [run.point for run in self._runs])

    def _table(self) -> pa.Table:
        return collect.rows_of((run.directory, run.point) for run in self._runs)


def load(*patterns: str | Path) -> Runs:
    """Return the finished runs in some folders, sorted; `**` in a pattern stands for any folders.

    A run directory is found by itself, and by any folder that it is in; without a pattern, those
    in the folder that `pocketsim.run` takes. Raises UserError where
    there is none.

    >>> load("no/such/folder")
    Traceback (most recent call last):
    pocketsim.sim.base.errors.UserError: no finished run in no/such/folder
    """
    patterns = patterns or (defaults.out(),)
    found: dict[Path, None] = {}
    for pattern in patterns:
        # Path.glob takes no pattern that begins at the root.
        for name in sorted(glob.glob(str(at_home(pattern)), recursive=True)):  # noqa: PTH207
            found.update(dict.fromkeys(rundir.runs_in(Path(name))))
    if not found:
        said = ", ".join(map(str, patterns))
        raise UserError(f"no finished run in {said}")
    return Runs([Run(path, results.read_manifest(path)["point"]) for path in found])
