"""From reports of the device probe to a profile in a file, and as a table.

How numbers are made of reports is `calibration.fit.calibration`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pocketsim.catalog import document_file
from pocketsim.profiles import Profile, device
from pocketsim.sim.base.errors import UserError, did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.fit.calibration import Calibration


@dataclass(frozen=True, repr=False)
class Calibrated(Profile):
    """A device profile that was made of reports.

    `kept` says for each part that came from the base where it stands, what it rests on, and why no
    report gave it.
    """

    kept: tuple[str, ...] = ()


def calibrate(
    reports: str | Path | Sequence[str | Path],
    path: str | Path,
    *,
    base: str | Path | None = None,
    name: str | None = None,
    measured_by: str = "not stated",
    store: str = "file_append",
    allow_spoiled: bool = False,
) -> Calibrated:
    """Write the profile of a device to a file, made of the probe's reports, and return it.

    Args:
        reports: Files of reports (JSON) of one device, in any order; or one of them.
        path: Of the profile, which ends in .toml; a scenario names it so.
        base: Profile for what no report measured: one of `pocketsim.devices`, or a file. Without
            it, a gap is refused.
        name: Of the device, instead of the report's.
        measured_by: Who ran the probe.
        store: Kernel that prices `store`: file_append, file_append_fsync, sqlite_wal or
            sqlite_journal.
        allow_spoiled: Take reports that say what spoiled them; the profile then says so.

    Raises ScenarioError for what is no report, reports of several devices, a spoiled one or a gap,
    before anything is written.
    """
    from pocketsim.calibration.fit.write import write_profile

    target = Path(path)
    found = fitted(
        [Path(reports)] if isinstance(reports, str | Path) else [Path(one) for one in reports],
        target,
        base,
        name=name,
        measured_by=measured_by,
        store=store,
        allow_spoiled=allow_spoiled,
    )
    write_profile(found.profile_, target)
    kept = tuple(f"{part}: {part.why}" for part in found.kept_)
    return Calibrated(target.stem, device(target).contents, kept)


def fitted(
    reports: Sequence[Path],
    path: Path,
    base: str | Path | None,
    *,
    name: str | None,
    measured_by: str,
    store: str,
    allow_spoiled: bool,
) -> Calibration:
    """Return what `calibrate` writes; nothing is written."""
    from pocketsim.calibration.fit import probe_report
    from pocketsim.calibration.fit.calibration import Calibration
    from pocketsim.calibration.fit.kernels import STORES
    from pocketsim.sim.devices import profile

    if store not in STORES:
        hint = did_you_mean(nearest(store, STORES))
        raise UserError(f"store: {store!r} is not one of {', '.join(STORES)}{hint}")
    if path.suffix != ".toml":
        raise UserError(f"{path}: a profile's file ends in .toml")
    if not reports:
        raise UserError("there is no report to make a profile of")
    start = (str(base), profile.load(document_file(base, "device"))) if base is not None else None
    calibration = Calibration(
        start, name=name, measured_by=measured_by, store=store, allow_spoiled=allow_spoiled
    )
    return calibration.fit([probe_report.load(one) for one in reports])
