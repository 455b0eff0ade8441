"""What run directories hold, read back: whatever is wrong with a file is a ScenarioError.

They were written by `sim.run.runner`, but may be of another version, or be damaged since. Nothing
here says what a value means: that is `sim.metrics`.
"""

from __future__ import annotations

import contextlib
import functools
import json
from typing import TYPE_CHECKING, Any, NotRequired, cast

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # that of 3.11 says too little to pydantic

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.files import key_path, opened
from pocketsim.sim.run import rundir
from pocketsim.sim.scenario.point_values import Value  # noqa: TC001 - hints are read at run time
from pocketsim.sim.scenario.resolved import SCHEMA, Resolved, Rung

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa


class Estimate(TypedDict):
    """A metric over repetitions, as `sim.metrics.summary` makes it; None where it is undefined."""

    value: float | None
    mean: float | None
    ci95_low: float | None
    ci95_high: float | None
    values: list[float | None]
    predicted90_low: NotRequired[float]
    predicted90_high: NotRequired[float]


class Fates(TypedDict):
    """What became of transactions; `lost` by reason."""

    sent: int
    stored: int
    in_flight: int
    lost: dict[str, int]


class Metrics(TypedDict):
    """The content of metrics.json, of which docs/metrics.md has the meaning."""

    rung: Rung
    repetitions: int
    metrics: dict[str, Estimate]
    cpu_s: NotRequired[dict[str, Estimate]]
    energy_j: NotRequired[dict[str, Estimate]]
    energy_by_network_j: NotRequired[dict[str, Estimate]]
    hourly: NotRequired[list[dict[str, list[float | None]]]]
    day: NotRequired[list[dict[str, Any]]]
    quantile_error: NotRequired[float]
    counts: Fates
    fates: list[Fates]
    point: dict[str, Value]


class RepetitionRecord(TypedDict):
    """What a manifest has of a repetition; the key where the run keeps tokens."""

    counters: NotRequired[dict[str, int]]
    authority_key: NotRequired[str]


class Manifest(TypedDict):
    """Of manifest.json what is read back."""

    scenario: dict[str, Value]
    point: dict[str, Value]
    profiles: dict[str, str]
    implementation: dict[str, str]
    repetitions: list[RepetitionRecord]
    final_index: list[int] | None


def read_metrics(directory: Path) -> Metrics:
    """Return the metrics of a run; raise ScenarioError where they are not what they should be."""
    return cast("Metrics", _checked(directory / "metrics.json", Metrics))


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest of a run; raise ScenarioError where it is not what it should be."""
    return cast("Manifest", _checked(directory / "manifest.json", Manifest))


def read_resolved(directory: Path) -> Resolved:
    """Return what a run depended on; raise ScenarioError for one of another version."""
    path = directory / "resolved.json"
    resolved = _json(path)
    if not isinstance(resolved, dict) or resolved.get("schema") != SCHEMA:
        raise ScenarioError(path, "schema", "was made by another version; run it again")
    return cast("Resolved", resolved)


def read_events(directory: Path) -> pa.Table:
    """Return the trace of a run; raise ScenarioError where it keeps none, or it cannot be read."""
    path = directory / rundir.EVENTS
    if not keeps_events(directory):
        reason = 'the run keeps no events; run it with output.trace = "full" for what needs them'
        raise ScenarioError(directory, "output.trace", reason, "full")
    from pocketsim.sim import trace

    with parquet(path):
        return trace.read(path)


def keeps_events(directory: Path) -> bool:
    """Tell whether a run keeps events, or else histograms."""
    return not (directory / rundir.HISTOGRAMS).is_file()


def read_histograms(directory: Path) -> pa.Table:
    """Return the histograms of a run without events; raise ScenarioError where it has none."""
    import pyarrow.parquet as pq

    path = directory / rundir.HISTOGRAMS
    if keeps_events(directory):
        reason = "the run keeps events, and no histograms"
        raise ScenarioError(directory, "output.trace", reason, "metrics")
    with parquet(path):
        return pq.read_table(path)


@contextlib.contextmanager
def parquet(path: Path) -> Iterator[None]:
    """Raise ScenarioError where the block, which reads the table at `path`, cannot."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ScenarioError(path, "", f"{_DAMAGED} ({reason})") from None


def _checked(path: Path, kind: Any) -> Any:
    found = _json(path)
    try:
        _validator(kind).validate_python(found, strict=True)
    except ValidationError as error:
        place = key_path(error.errors()[0]["loc"])
        raise ScenarioError(path, place, _DAMAGED) from None
    return found


@functools.cache
def _validator(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _json(path: Path) -> Any:
    with opened(path) as file:
        text = file.read()
    try:
        return json.loads(text)
    except (RecursionError, ValueError) as error:
        raise ScenarioError(path, "", f"{_DAMAGED} ({error})") from None


_DAMAGED = "is damaged or of another version; remove the run directory and run it again"
