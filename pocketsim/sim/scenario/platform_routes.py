"""Routes between the netpoints of a platform that SimGrid reads, as SimGrid 4.1 finds them.

They are asked of SimGrid once, in a process of its own, and kept in a file that names the platform
by the SHA-256 of its content: beside the platform, as those of shipped ones are, or else among the
user's cached files. Whoever reads that file needs no SimGrid. Latency is that of `Host::route_to`,
which is more than the sum of the links' in a Vivaldi zone. Children read these files, so no import
here loads the models of documents.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from pocketsim.sim.base.build import simgrid_file
from pocketsim.sim.base.engine_facts import SIMGRID
from pocketsim.sim.base.errors import ScenarioError, nearest, room_for
from pocketsim.sim.base.files import beside, check_same, opened, read_json

if TYPE_CHECKING:
    from collections.abc import Sequence

# Data beside the packages, not an import.
PLATFORMS = Path(__file__).resolve().parents[2] / "platforms"
PLATFORM = "network.core.platform"


@dataclass(frozen=True)
class Wanted:
    """Between which netpoints routes are wanted: those of these names, and all hosts or not."""

    names: tuple[str, ...] = ()
    hosts: bool = False


@dataclass(frozen=True)
class Routes:
    """Routes between some netpoints of a platform, from each to each, a row for each sender.

    `latency_s` is one way, None where there is no route; `bytes_per_s` that of the slowest link,
    None where there is no link; `shared` whether flows share a link. `hosts` and `netpoints` are
    all of the platform, sorted by name. `path` is the file with all this, `digest` its SHA-256.
    """

    path: Path
    digest: str
    hosts: tuple[str, ...]
    netpoints: tuple[str, ...]
    between: tuple[str, ...]
    latency_s: list[list[float | None]]
    bytes_per_s: list[list[float | None]]
    shared: list[list[bool]]
    wifi: list[list[bool]]

    def places(self, names: Sequence[str]) -> list[int]:
        """Return where netpoints stand in the rows."""
        at = _numbers(self.between)
        return [at[name] for name in names]

    def has(self, wanted: Wanted) -> bool:
        """Tell whether these are between all that are wanted, of those that there are."""
        names = set(wanted.names) & set(self.netpoints)
        return set(self.between) >= (names | set(self.hosts) if wanted.hosts else names)

    def shares(self, names: Sequence[str]) -> bool:
        """Tell whether flows share a link between any of these netpoints."""
        places = self.places(names)
        return any(self.shared[one][other] for one in places for other in places)


@functools.lru_cache(maxsize=8)
def _numbers(names: tuple[str, ...]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


def find(name: str, document: Path) -> Path:
    """Return the platform that the document at `document` calls `name`.

    It is a shipped one by its name, or a path of a .xml file relative to the document. Raises
    ScenarioError where there is none.
    """
    if name.endswith(".xml"):
        return beside(document, PLATFORM, name)
    known = shipped()
    if name in known:
        return PLATFORMS / f"{name}.xml"
    reason = f"no platform {name!r}; there is {', '.join(known)}, or your own file, NAME.xml"
    raise ScenarioError(document, PLATFORM, reason, nearest(name, known))


def shipped() -> list[str]:
    """Return the names of the platforms that are shipped."""
    return sorted(path.stem for path in PLATFORMS.glob("*.xml"))


def digest(path: Path) -> str:
    """Return the SHA-256 of a platform's file, in hex; raises ScenarioError where it is none.

    Links that change with time are refused: a route has one latency here.
    """
    with opened(path) as file:
        content = file.read(_LARGEST_BYTES + 1)
    if len(content) > _LARGEST_BYTES:
        raise ScenarioError(path, "", f"is larger than {_LARGEST_BYTES >> 20} MiB")
    _check(path, content)
    return hashlib.sha256(content).hexdigest()


@functools.lru_cache(maxsize=8)
def _check(path: Path, content: bytes) -> None:
    try:
        root = ET.fromstring(content)  # noqa: S314 - expat bounds what entities come to
    except ET.ParseError as error:
        line, column = error.position
        place = f"line {line}, column {column + 1}"
        raise ScenarioError(path, place, "is not XML, which a platform of SimGrid is") from None
    if root.tag != "platform":
        raise ScenarioError(path, "", f"is no platform of SimGrid: its root is {root.tag!r}")
    for element in root.iter():
        varying = [key for key in element.attrib if element.tag == "link" and key in _VARYING]
        if varying or element.tag == "trace_connect":
            what = f"{element.get('id', '')}: {', '.join(varying) or element.tag}"
            raise ScenarioError(path, what, "links that change with time are not modelled")


def known(platform: Path, wanted: Wanted, document: Path) -> Routes:
    """Return the routes between netpoints of a platform.

    `document` is what names the platform. Raises ScenarioError for what is no platform, and where
    SimGrid would have to be asked and is not built.
    """
    told = digest(platform)
    for path in (_beside(platform), _cached(told, wanted)):
        found = _read(path, told, path.stat().st_mtime_ns) if path.is_file() else None
        if found is not None and found.has(wanted):
            return found
    if not simgrid_file().exists():
        reason = (
            f"the routes of {platform.name} are not known yet, and SimGrid, which finds them, is"
            f" not built: run `make simgrid` once, or take a shipped platform"
        )
        raise ScenarioError(document, PLATFORM, reason, shipped()[0])
    return _write(_cached(told, wanted), ask(platform, wanted))


def again(path: Path, expected: str) -> Routes:
    """Return the routes in a file; raises ScenarioError where it is not what it was."""
    content = path.read_bytes() if path.is_file() else b""
    check_same(path, hashlib.sha256(content).hexdigest(), expected)
    return _routes(path, content)


def ask(platform: Path, wanted: Wanted) -> dict[str, Any]:
    """Return what SimGrid says of a platform, as it is kept; a process of its own asks.

    Raises ScenarioError with what SimGrid says of a file that is no platform.
    """
    asked = json.dumps({"platform": str(platform), "names": wanted.names, "hosts": wanted.hosts})
    done = subprocess.run(ASKING, input=asked, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ScenarioError(platform, "", f"SimGrid does not read it: {_reason(done.stderr)}")
    found = json.loads(done.stdout)
    return {"platform_sha256": digest(platform), "simgrid": SIMGRID, **found}


def text(found: dict[str, Any]) -> str:
    """Return routes as they are kept: JSON with a line for each row."""
    lines = []
    for key, value in found.items():
        rows = isinstance(value, list) and value and isinstance(value[0], list)
        said = ",\n  ".join(json.dumps(row) for row in value) if rows else json.dumps(value)
        lines.append(f'"{key}": [\n  {said}\n]' if rows else f'"{key}": {said}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _beside(platform: Path) -> Path:
    return platform.with_name(f"{platform.stem}.routes.json")


def _cached(told: str, wanted: Wanted) -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    names = hashlib.sha256("\0".join(wanted.names).encode()).hexdigest()[:12]
    which = f"{'hosts-' if wanted.hosts else ''}{names}"
    return folder / "pocketsim" / "platforms" / f"{told[:16]}-{which}.json"


@functools.lru_cache(maxsize=8)
def _read(path: Path, told: str, _changed_ns: int) -> Routes | None:
    """Return the routes in a file, if they are of the platform with this digest."""
    _, data = read_json(path)
    if data.get("platform_sha256") != told or data.get("simgrid") != SIMGRID:
        return None
    return _routes(path, path.read_bytes())


def _routes(path: Path, content: bytes) -> Routes:
    data = json.loads(content)
    return Routes(
        path=path,
        digest=hashlib.sha256(content).hexdigest(),
        hosts=tuple(data["hosts"]),
        netpoints=tuple(data["netpoints"]),
        between=tuple(data["between"]),
        latency_s=data["latency_s"],
        bytes_per_s=data["bytes_per_s"],
        shared=data["shared"],
        wifi=data["wifi"],
    )


def _write(path: Path, found: dict[str, Any]) -> Routes:
    content = text(found).encode()
    with room_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    return _routes(path, content)


def _reason(said: str) -> str:
    """Return the line of what SimGrid said that tells what is wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "CRITICAL" in line or "what()" in line]
    return (telling or lines or ["it says nothing"])[-1].removeprefix("Error: ")


# -P: what lies in the user's folder is no module here.
ASKING = [sys.executable, "-P", "-m", "pocketsim.sim.run.ask_simgrid"]
_LARGEST_BYTES = 64 << 20
_VARYING = ("bandwidth_file", "latency_file", "state_file")
