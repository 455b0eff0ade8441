"""Traces, graphs and payments of others, made files that a scenario reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pocketsim.sim.base.files import at_home
from pocketsim.sim.importing import columns, folder, formats, source
from pocketsim.sim.importing.formats import FORMATS
from pocketsim.sim.importing.source_data import UNITS_PER_S, Options

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FORMATS", "Imported", "import_data"]


@dataclass(frozen=True)
class Imported:
    """What was imported: the folder, its files by kind, and the note that lies there."""

    folder: Path
    note: Mapping[str, Any]

    @property
    def files(self) -> dict[str, Path]:
        """Return the files that a scenario names, as "contacts" or "partners"."""
        return {Path(name).stem: self.folder / name for name in self.note["rows_written"]}


def import_data(  # noqa: PLR0913 - each is an option of the command
    form: str,
    source_file: str | Path,
    out: str | Path,
    *,
    time_unit: str | None = None,
    origin: str | float | None = None,
    window_s: float | None = None,
    columns_by_role: Mapping[str, str] | None = None,
    amount_unit: str = "ct",
    undirected: bool = False,
    force: bool = False,
) -> Imported:
    """Make files for a scenario of a source in the format `form`, in the new folder `out`.

    `FORMATS` has the formats. `time_unit` is the source's: "s", "ms", "us" or, of payments, "iso".
    `origin` is the source's time that is 0 s in our files, its first if left out; `window_s` how
    long a line of `tij`, or a contact that ends when it begins, lasts. `columns_by_role` has the
    source's columns by payer, payee, time and amount or payload. An earlier import in `out` is made
    again with `force` alone. Raises ScenarioError, with the row where there is one, for a source
    that is not of its format; then nothing is written.
    """
    path, target = at_home(source_file), at_home(out)
    folder.check(target, force=force)
    text = None if origin is None else str(origin)
    options = Options(
        time_unit, text, window_s, dict(columns_by_role or {}), amount_unit, undirected
    )
    digest = source.digest(path)
    found = formats.read(form, path, options)
    made = columns.written(path, found, options)
    note: dict[str, Any] = {"source": path.name, "sha256": digest, "format": form}
    note["time_unit"] = None if made.origin is None else _unit(options, found.per_s)
    return Imported(target, folder.write(target, note, found, made))


def _unit(options: Options, per_s: float) -> str:
    said = next(unit for unit, per in UNITS_PER_S.items() if per == per_s)
    return options.time_unit or said
