"""Where finished runs of a sweep are: in directories, or their metrics in packs.

A study of a hundred thousand short runs would be as many directories. Where only metrics are kept,
those of each finished run become a line of a shard's *journal*, and its directory goes; when the
shard is done, the journal becomes its *pack*, one Parquet table. Both are found by the run's name,
which has its digest, so a killed shard goes on where it was. What metrics are does not matter here.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
from typing import IO, TYPE_CHECKING, Self, cast

from pocketsim.sim.base import arrow, files
from pocketsim.sim.base.errors import RunInProgressError, ScenarioError, room_for
from pocketsim.sim.run import results, rundir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pocketsim.sim.run.results import Metrics


class Store:
    """Finished runs: directories, and what is in the packs of a folder, if there is one.

    `folder` is read once, when it is first asked for.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._packed: dict[str, str] | None = None

    def has(self, directory: Path) -> bool:
        """Tell whether the run is there."""
        return rundir.is_complete(directory) or self.is_packed(directory)

    def is_packed(self, directory: Path) -> bool:
        """Tell whether a pack has the metrics of this run."""
        return _name(directory) in self._texts()

    def metrics(self, directory: Path) -> Metrics:
        """Return the metrics of a run that is there; raise ScenarioError for a damaged one."""
        text = self._texts().get(_name(directory))
        if text is None:
            return results.read_metrics(directory)
        return cast("Metrics", json.loads(text))

    def know(self, directory: Path, text: str) -> None:
        """Know the metrics of a run that was packed."""
        self._texts()[_name(directory)] = text

    def read_again(self) -> None:
        """Forget what was read: other processes may have packed more."""
        self._packed = None

    def _texts(self) -> dict[str, str]:
        if self._packed is None:
            self._packed = {}
            if self._folder is not None:
                # In this order: a journal that another process has just made a pack of is gone.
                for path in sorted(self._folder.glob("*.journal")):
                    with contextlib.suppress(FileNotFoundError):
                        self._packed |= _read_journal(path)[0]
                for path in sorted(self._folder.glob("*.parquet")):
                    self._packed |= _read_pack(path)
        return self._packed


class Packing:
    """Puts finished runs of one shard away; a context that leaves a pack. For any thread.

    Runs are made in the folder `scratch`, if there is one. Raises RunInProgressError where another
    process packs the same shard.
    """

    def __init__(self, folder: Path, shard: str, store: Store, scratch: Path | None = None) -> None:
        self._pack = folder / f"{shard}.parquet"
        self._journal = folder / f"{shard}.journal"
        self._store = store
        self._scratch = scratch
        self._lock = threading.Lock()
        self._file: IO[bytes]

    def __enter__(self) -> Self:
        """Take the shard's journal, and cut off what a killed process wrote half of."""
        self._journal.parent.mkdir(parents=True, exist_ok=True)
        self._file = _open_locked(self._journal)
        self._file.truncate(_read_journal(self._journal)[1])
        return self

    @contextlib.contextmanager
    def building(self, directory: Path) -> Iterator[Path]:
        """Yield a folder to make a run in, of which the metrics are kept when the block ends well.

        The directory itself is never there. The caller holds its lock.
        """
        with files.aside(directory, self._scratch) as aside:
            yield aside
            self._keep(directory, results.read_metrics(aside))

    def add(self, directory: Path) -> None:
        """Keep the metrics of a run whose directory is there; who made that may need it."""
        if not self._store.is_packed(directory):
            self._keep(directory, results.read_metrics(directory))

    def _keep(self, directory: Path, metrics: Metrics) -> None:
        text = json.dumps(metrics, sort_keys=True, allow_nan=False)
        line = json.dumps({"run": _name(directory), "metrics": text}) + "\n"
        with self._lock, room_for(self._journal):
            self._file.write(line.encode())
            self._file.flush()
            os.fsync(self._file.fileno())
            self._store.know(directory, text)

    def __exit__(self, *_: object) -> None:
        """Write the pack; the journal goes when it is there."""
        try:
            packed = _read_journal(self._journal)[0]
            if packed:
                if self._pack.exists():
                    packed = {**_read_pack(self._pack), **packed}
                with room_for(self._pack):
                    _write_pack(packed, self._pack)
            self._journal.unlink()
        finally:
            self._file.close()


def _open_locked(path: Path) -> IO[bytes]:
    while True:
        descriptor = files.open_plain(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        file = os.fdopen(descriptor, "ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            if rundir.is_of_another(error):
                reason = f"{path.stem} is being run by another process"
                raise RunInProgressError(reason) from None
            raise rundir.without_locks(path.parent, error) from None
        # Who had it may have made a pack of it, and removed it, between our open and our lock.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()


def _name(directory: Path) -> str:
    return f"{directory.parent.name}/{directory.name}"


def _read_journal(path: Path) -> tuple[dict[str, str], int]:
    """Return the metrics by run of a journal's whole lines, and how many bytes those are."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    found = {}
    for number, line in enumerate(content[:whole].splitlines(), 1):
        with _damaged(path, f"line {number}"):
            told = json.loads(line)
            found[told["run"]] = told["metrics"]
    return found, whole


def _read_pack(path: Path) -> dict[str, str]:
    import pyarrow.parquet as pq

    with results.parquet(path), pq.ParquetFile(path) as file:
        table = file.read(["run", "metrics"])
        return dict(zip(table["run"].to_pylist(), table["metrics"].to_pylist(), strict=True))


def _write_pack(packed: Mapping[str, str], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = sorted(packed)
    columns = {"run": names, "metrics": [packed[name] for name in names]}
    arrays = [arrow.texts(column) for column in columns.values()]
    table = pa.Table.from_arrays(arrays, list(columns))
    aside = path.with_suffix(".tmp")
    descriptor = files.open_plain(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    with os.fdopen(descriptor, "wb") as file:
        pq.write_table(table, file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    aside.rename(path)


@contextlib.contextmanager
def _damaged(path: Path, place: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError) as error:
        raise ScenarioError(path, place, f"is damaged ({error}); remove the file") from None
