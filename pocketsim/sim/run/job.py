"""What child processes are given, tell and leave: jobs, shares, the summary, the files' names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NotRequired, Self, TypedDict

from pocketsim.sim.base.engine_output import EngineOutput

if TYPE_CHECKING:
    from pathlib import Path

    from pocketsim.sim.scenario.resolved import (
        Resolved,
    )
    from pocketsim.sim.scenario.resolved_measures import Output


class Job(TypedDict):
    """One repetition; `first_index` where its chains go on from another's.

    `files` are paths of files of data that `resolved` names, by the digests that it names them by.
    Code that has changed since the run was resolved refuses it, unless it only `is_replay`.
    """

    resolved: Resolved
    repetition: int
    first_index: list[int] | None
    out_dir: str
    files: NotRequired[dict[str, str]]
    is_replay: NotRequired[bool]


class Share(float):
    """The share of a repetition that is done, with its events and simulated seconds so far."""

    events: int
    simulated_s: float

    @classmethod
    def so_far(cls, share: float, events: int, simulated_s: float) -> Self:
        """Return one with all that is known of it."""
        made = cls(share)
        made.events, made.simulated_s = events, simulated_s
        return made

    @classmethod
    def read(cls, line: str | bytes) -> Self:
        """Return what a line says; ValueError for one that says something else."""
        share, events, simulated_s = line.split()
        return cls.so_far(float(share), int(events), float(simulated_s))

    def line(self) -> str:
        """Return it as a line that can be read back."""
        return f"{self:g} {self.events} {self.simulated_s:g}\n"


class Order(TypedDict):
    """A run that is to be made, by whom and wherever: all that its files depend on.

    `first_index` and `files` are those of its repetitions' jobs, `target` is what the run is called
    in messages, the rest goes into its assembly.
    """

    resolved: Resolved
    first_index: list[int] | None
    files: dict[str, str]
    target: str
    scenario: str
    manifest: Asked
    only_metrics: bool


class Summary(EngineOutput):
    """What a repetition came to beside its events; the key where it keeps tokens."""

    repetition: int
    engine_seed: int
    clock_s: float
    final_index: list[int]
    authority_key: NotRequired[str]


class Assembly(TypedDict):
    """What is to be put together: all that a run directory tells beside what was simulated.

    Repetitions left their files in `folder`, which will be `target`; `logs` are what they said,
    `scenario` the text of the document, `manifest` what who asked knows of the run. Nothing but
    `metrics.json` is asked for where `only_metrics` are kept.
    """

    resolved: Resolved
    folder: str
    target: str
    logs: list[str]
    scenario: str
    manifest: Asked
    only_metrics: bool


class Asked(TypedDict):
    """What the manifest of a run says that its repetitions do not know.

    `files` are the user's that have times, by their keys in the scenario: how many rows they have
    and the run uses, and their first and last time.
    """

    name: str
    continues: str | None
    scenario: dict[str, Any]
    point: dict[str, Any]
    git_commit: str | None
    files: dict[str, dict[str, Any]]


def parquet_path(directory: Path, repetition: int) -> Path:
    """Return where a child puts the events of a repetition."""
    return directory / f"repetition-{repetition}.parquet"


def keeps_events(output: Output) -> bool:
    """Tell whether a run keeps what happened, or else what its metrics need of it."""
    return output["trace"] != "metrics"


def kept(output: Output) -> list[str]:
    """Return which tables a run keeps beside its events, by the names of their files."""
    wanted = {
        "tokens": output["tokens"],
        "blocks": output["blocks"],
        "timeline": output["trace"] == "work",
        MAP: output.get("map", False),
    }
    return [name for name, is_wanted in wanted.items() if is_wanted]


def keepers(name: str, repetitions: int) -> range:
    """Return which repetitions leave the table of this name that `kept` has."""
    return range(1) if name == MAP else range(repetitions)


def kept_path(directory: Path, repetition: int, name: str) -> Path:
    """Return where a child puts one of the tables that `kept` names."""
    return directory / f"repetition-{repetition}.{name}.parquet"


def summary_path(directory: Path, repetition: int) -> Path:
    """Return where a child puts counters and chain indices of a repetition."""
    return directory / f"repetition-{repetition}.json"


def read(path: Path) -> Any:
    """Return the content of a JSON file that a child left."""
    return json.loads(path.read_text(encoding="utf-8"))


MAP = "map"
"""The table of where phones are, which the first repetition of a run leaves."""
