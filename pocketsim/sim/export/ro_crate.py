"""Finished runs as a Workflow Run RO-Crate: their files, and who made what of what as JSON-LD.

The crate follows RO-Crate 1.1 and the Process Run Crate profile 0.5: each run is a `CreateAction`
of this program, whose inputs are the scenario and the values of its point. A run does not record
when it was made, since the same run gives the same bytes, so its action has no times.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pocketsim.sim.base import files
from pocketsim.sim.base.axes import text
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.run import results, rundir
from pocketsim.sim.scenario.resolved import digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from pocketsim.sim.scenario.point_values import Value
    from pocketsim.sim.scenario.resolved import Resolved

    Entity = dict[str, Any]

METADATA = "ro-crate-metadata.json"


def write(
    directories: Sequence[Path], folder: Path, published: date, licence: str | None = None
) -> None:
    """Make `folder` of copies of some run directories and what describes them.

    `licence` is an SPDX identifier or an address: under what the crate may be used. The folder
    appears whole or not at all. Raises ScenarioError for a run that is damaged, or of another
    version, and for a licence that is neither.
    """
    used = _licence(licence)
    with files.aside(folder) as aside:
        runs = [_run(directory, aside) for directory in directories]
        graph = [*_root(runs, published, used), *_unique(one for run in runs for one in run)]
        whole = {"@context": _CONTEXT, "@graph": graph}
        written = json.dumps(whole, indent=2, ensure_ascii=False)
        (aside / METADATA).write_text(f"{written}\n", encoding="utf-8")
        aside.rename(folder)


def _root(runs: Sequence[list[Entity]], published: date, used: Entity) -> list[Entity]:
    """Return what describes the crate as a whole, and the profile that it follows."""
    whole = [run[0] for run in runs]
    count = "one run" if len(runs) == 1 else f"{len(runs)} runs"
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{count} of pocketsim: {', '.join(dict.fromkeys(one['name'] for one in whole))}",
        "description": f"Scenarios, events and metrics of {count} simulated by pocketsim.",
        "datePublished": published.isoformat(),
        "license": {"@id": used["@id"]},
        "conformsTo": {"@id": _PROFILE},
        "hasPart": _ids(whole),
        "mentions": _ids(run[1] for run in runs),
    }
    about = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    version = _PROFILE.rpartition("/")[2]
    profile = {
        "@id": _PROFILE,
        "@type": "CreativeWork",
        "name": "Process Run Crate",
        "version": version,
    }
    return [about, root, profile, used]


def _run(directory: Path, crate: Path) -> list[Entity]:
    """Copy a run into the crate; return its folder, its action, and what these refer to."""
    directory = directory.resolve()  # "." has no name
    resolved = results.read_resolved(directory)
    point = results.read_manifest(directory)["point"]
    name = f"{directory.parent.name}/{directory.name}"
    (crate / name).mkdir(parents=True)
    there = [_file(path, name, crate) for path in sorted(directory.iterdir()) if path.is_file()]
    seed: Value = {"value": resolved["run"]["seed"], "unit": ""}
    asked = {"run.seed": seed, **point}
    values = [_value(name, key, one["value"], one["unit"]) for key, one in asked.items()]
    identifier = _value(name, "sha256 of the resolved scenario", digest(resolved))
    inputs = [one for one in there if one["name"] in _INPUTS]
    outputs = [one for one in there if one["name"] not in _INPUTS]
    program = _program(resolved)
    folder = {
        "@id": quote(f"{name}/"),
        "@type": "Dataset",
        "name": resolved["title"],
        "description": f"Run {name}.",
        "identifier": {"@id": identifier["@id"]},
        "hasPart": _ids(there),
    }
    action = {
        "@id": f"#{quote(name)}",
        "@type": "CreateAction",
        "name": f"Simulation {name}",
        "description": "; ".join(
            f"{key}={text(one['value'])}{one['unit']}" for key, one in asked.items()
        ),
        "instrument": {"@id": program["@id"]},
        "object": _ids([*inputs, *values]),
        "result": _ids(outputs),
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    return [folder, action, program, _APACHE, *there, *values, identifier]


def _file(path: Path, run: str, crate: Path) -> Entity:
    """Copy a file into the crate and return what it is."""
    shutil.copyfile(path, crate / run / path.name)
    with (crate / run / path.name).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    said = {"description": _FILES[path.name]} if path.name in _FILES else {}
    return {
        "@id": quote(f"{run}/{path.name}"),
        "@type": "File",
        "name": path.name,
        **said,
        "encodingFormat": _TYPES.get(path.suffix, "application/octet-stream"),
        "contentSize": str(path.stat().st_size),
        "sha256": sha256,
    }


def _value(run: str, name: str, value: Any, unit: str = "") -> Entity:
    units = {"unitText": unit} if unit else {}
    found = {"@type": "PropertyValue", "name": name, "value": "" if value is None else value}
    return {"@id": f"#{quote(f'{run}/{name}')}", **found, **units}


def _program(resolved: Resolved) -> Entity:
    """Return what simulated: a version of this program and its build."""
    version, build = (resolved["versions"][key] for key in ("pocketsim", "build"))
    return {
        "@id": f"#pocketsim-{version}-{build}",
        "@type": "SoftwareApplication",
        "name": "pocketsim",
        "description": f"Discrete-event network simulator of phones, build {build}.",
        "softwareVersion": version,
        "license": {"@id": _APACHE["@id"]},
    }


def _licence(named: str | None) -> Entity:
    """Return a licence by its SPDX identifier or address; of none that none is stated."""
    if named is None:
        said = "Whoever made this crate states no licence. Ask before you use it further."
        return {"@id": "#no-licence", "@type": "CreativeWork", "name": "none", "description": said}
    is_address = re.fullmatch(r"https?://\S+", named) is not None
    if not is_address and not re.fullmatch(r"[A-Za-z0-9.+-]+", named):
        reason = f'"{named}" is no SPDX identifier and no address'
        raise ScenarioError("--licence", "", reason, "CC-BY-4.0")
    address = named if is_address else f"{_SPDX}{named}"
    return {"@id": address, "@type": "CreativeWork", "name": named, "description": named}


def _ids(entities: Any) -> list[Entity]:
    return [{"@id": one["@id"]} for one in entities]


def _unique(entities: Any) -> list[Entity]:
    return list({one["@id"]: one for one in entities}.values())


_SPDX = "https://spdx.org/licenses/"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_CONTEXT = [
    "https://w3id.org/ro/crate/1.1/context",
    "https://w3id.org/ro/terms/workflow-run/context",
]
_APACHE = {
    "@id": f"{_SPDX}Apache-2.0",
    "@type": "CreativeWork",
    "name": "Apache-2.0",
    "description": "Apache License, version 2.0",
}
_INPUTS = ("scenario.toml", "resolved.json")
_FILES = {
    "scenario.toml": "the scenario, its overrides as comments",
    "resolved.json": "every number that determines the run",
    "manifest.json": "seed, versions, profiles, options of the model, counters",
    "metrics.json": "metrics with 95 % intervals",
    "log.txt": "what the simulation said",
    rundir.EVENTS: "every event",
    rundir.HISTOGRAMS: "durations in buckets, of a run that keeps no events",
    rundir.TOKENS: "tokens that phones hold at the end",
    rundir.BLOCKS: "blocks that phones stored",
    rundir.TIMELINE: "work of lanes and datagrams, over time",
    rundir.PHONES: "which person of the data is which phone",
}
_TYPES = {
    ".toml": "application/toml",
    ".json": "application/json",
    ".parquet": "application/vnd.apache.parquet",
    ".csv": "text/csv",
    ".txt": "text/plain",
}
