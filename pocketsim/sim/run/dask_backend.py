"""A backend that makes runs on the workers of a dask scheduler, which may come and go.

A worker gets an order with the contents of its data files, and returns the contents of the run
directory: no folder is shared. A worker with other versions of our code makes nothing. What a run
is, and what becomes of it here, is in `sim.run.runner`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import importlib.util
import tempfile
import threading
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pocketsim.sim.base.build import versions
from pocketsim.sim.base.errors import EngineError, EnvironmentMissingError, UserError
from pocketsim.sim.run import children
from pocketsim.sim.run.backend import LocalBackend

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from distributed import Client, Future

    from pocketsim.sim.run.backend import Heard
    from pocketsim.sim.run.job import Job, Order


class RunFiles(NamedTuple):
    """What a worker gives back: the content of files by name, and core seconds that it took."""

    files: dict[str, bytes]
    core_s: float


class Crashed(NamedTuple):
    """What a worker gives back of a repetition that crashed: whose, and what it said."""

    what: str
    tail: str
    repetition: int
    first_index: list[int] | None
    stderr: str


class Refused(NamedTuple):
    """What a worker with other versions gives back: of what differs, its version and ours."""

    worker: str
    differs: dict[str, tuple[str, str]]


Answer = RunFiles | Crashed | Refused


class DaskBackend:
    """Makes runs on the workers of a client, of which it has `jobs` at a time.

    All of their files, or with `whole` False their metrics alone. What a worker had that is lost,
    dask gives to another, up to its `distributed.scheduler.allowed-failures`. Raises
    EnvironmentMissingError where the scheduler or a worker has no pocketsim with this module.
    """

    def __init__(self, client: Client, whole: bool, jobs: int | None = None) -> None:  # noqa: FBT001
        _check(client)
        self.jobs = jobs or _JOBS
        self._client = client
        self._wanted = None if whole else ["metrics.json"]
        self._lock = threading.Lock()
        self._under_way: dict[str, Future] = {}
        self._contents: dict[str, Future] = {}
        self._stopped = False

    def make(self, order: Order, folder: Path, failed: Path, heard: Heard) -> float:
        """Do as `Backend.make` says; raises EnvironmentMissingError for a worker that cannot."""
        try:
            made = self._made(order, failed)
        finally:
            for repetition in range(order["resolved"]["run"]["repetitions"]):
                heard(repetition, 1.0)
        for name, content in made.files.items():
            (folder / name).write_bytes(content)
        return made.core_s

    def stop(self) -> None:
        """Cancel what no worker has begun; a run that one has begun is discarded."""
        with self._lock:
            self._stopped = True
            under_way = list(self._under_way.values())
        if under_way:
            self._client.cancel(under_way, force=True)

    def _made(self, order: Order, failed: Path) -> RunFiles:
        contents = {digest: self._content(digest, path) for digest, path in order["files"].items()}
        given = self._result(order, contents, failed)
        if isinstance(given, Crashed):
            job = _job(order, given.repetition, given.first_index)
            raise EngineError(given.what, given.tail, children.keep(job, given.stderr, failed))
        if isinstance(given, Refused):
            differs = ", ".join(
                f"{name} is {theirs}, here {ours}" for name, (theirs, ours) in given.differs.items()
            )
            raise EnvironmentMissingError(f"worker {given.worker} would not do the same: {differs}")
        return given

    def _result(self, order: Order, contents: Mapping[str, Future], failed: Path) -> Answer:
        from distributed import KilledWorker

        with self._lock:
            if self._stopped:
                raise children.StoppedError
            future = self._client.submit(made, order, contents, self._wanted, pure=False)
            self._under_way[future.key] = future
        try:
            given: Answer = future.result()
        except CancelledError:
            if self._stopped:
                raise children.StoppedError from None
            raise EnvironmentMissingError(_GONE) from None
        except KilledWorker as error:
            name, where = order["manifest"]["name"], error.last_worker.address
            what = f"{name}: workers died at it, the last at {where}"
            replay = children.keep(_job(order, 0, order["first_index"]), "", failed)
            raise EngineError(what, "", replay) from None
        else:
            return given
        finally:
            with self._lock:
                del self._under_way[future.key]

    def _content(self, digest: str, path: str) -> Future:
        with self._lock:
            if digest not in self._contents:
                # A task, not scattered data: if all who have it are lost, dask makes it again.
                self._contents[digest] = self._client.submit(bytes, Path(path).read_bytes())
            return self._contents[digest]


def _check(client: Client) -> None:
    # By a function of the standard library, which arrives also where nothing of ours is.
    find = importlib.util.find_spec
    found = client.run(find, __name__, on_error="return")
    try:
        found |= {"the scheduler": client.run_on_scheduler(find, __name__)}
    except ImportError:
        found |= {"the scheduler": None}
    for who, spec in found.items():
        if not isinstance(spec, importlib.machinery.ModuleSpec):
            raise EnvironmentMissingError(f"{who} has no pocketsim, or an older one")


@contextlib.contextmanager
def connected(scheduler: str | None) -> Iterator[Client]:
    """Yield a client of a scheduler: an address, the file that it wrote, or what dask is told.

    Raises EnvironmentMissingError without dask.distributed, or where no scheduler answers, and
    UserError where none is named.
    """
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise EnvironmentMissingError(_NO_DASK) from None
    where = scheduler or dask.config.get("scheduler-address", None)
    if not where:
        raise UserError("--scheduler: name one, such as tcp://login:8786, or a scheduler's file")
    named = {"scheduler_file": where} if Path(where).is_file() else {"address": where}
    try:
        client = Client(**named, timeout=_PATIENCE_S, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise EnvironmentMissingError(f"no dask scheduler at {where} ({reason})") from None
    with client:
        yield client


def made(order: Order, contents: Mapping[str, bytes], wanted: list[str] | None) -> Answer:
    """Make a run on a worker, in its own folder; return what its files hold, or those wanted."""
    from distributed import get_worker

    worker = get_worker()
    differs = _differs(order["resolved"]["versions"])
    if differs:
        return Refused(worker.address, differs)
    with tempfile.TemporaryDirectory(dir=worker.local_directory) as name:
        data, folder, failed = (Path(name) / part for part in ("data", "run", "failed"))
        folder.mkdir()
        files = {
            digest: str(_written(data / digest / Path(order["files"][digest]).name, content))
            for digest, content in contents.items()
        }
        try:
            core_s = _local(worker.state.nthreads).make(
                {**order, "files": files}, folder, failed, lambda _repetition, _share: None
            )
        except EngineError as error:
            return _crashed(error, order)
        names = wanted or [path.name for path in folder.iterdir()]
        return RunFiles({name: (folder / name).read_bytes() for name in sorted(names)}, core_s)


@functools.cache
def _local(threads: int) -> LocalBackend:
    """Return the one backend of this process, whose children go with it."""
    return LocalBackend(threads)


def _written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True)  # its name stays: the suffix says what is in it
    path.write_bytes(content)
    return path


def _crashed(error: EngineError, order: Order) -> Crashed:
    job, stderr = children.kept(error) or (_job(order, 0, order["first_index"]), "")
    return Crashed(error.what, error.stderr_tail, job["repetition"], job["first_index"], stderr)


def _differs(theirs: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the versions that differ from those with which a run was resolved: here, and there."""
    here = versions()
    return {name: (here[name], theirs[name]) for name in here if here[name] != theirs.get(name)}


def _job(order: Order, repetition: int, first_index: list[int] | None) -> Job:
    return {
        "resolved": order["resolved"],
        "repetition": repetition,
        "first_index": first_index,
        "out_dir": "",
        "files": order["files"],
    }


_JOBS = 256  # keeps a pool of some hundred cores busy; each waits in a thread of ours
_PATIENCE_S = 10.0
_NO_DASK = "dask.distributed is not there; `pip install 'pocketsim[dask]'` installs it"
_GONE = "the dask scheduler is gone; what was complete is kept, the same command goes on from there"
