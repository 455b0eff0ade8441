"""Where a presence law comes from: a trace in a file, or a law that says what it was fitted to."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.calibration.fit.people.presence_summary import summary
from pocketsim.calibration.fit.people.watched_phones import WatchedPhones
from pocketsim.sim.base import tables
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.tables import Column
from pocketsim.sim.scenario import presence_law

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from pocketsim.calibration.fit.people.presence_fit import Fit
    from pocketsim.sim.scenario.presence_summary import PresenceSummary


@dataclass(frozen=True)
class Source:
    """What is to be fitted, and what the law will say of itself."""

    wanted: PresenceSummary
    title: str
    source: str


def of_law(path: Path) -> Source:
    """Return what the law at `path` was fitted to; raises ScenarioError where it does not say."""
    law = presence_law.read(path)
    if law.fitted_to is None:
        reason = "the law does not say what it was fitted to; give a trace, phones.csv"
        raise ScenarioError(path, "fitted_to", reason)
    return Source(law.fitted_to, law.title, law.source)


def of_trace(path: Path, watched: Path) -> Source:
    """Return the summary of a trace: intervals in `path`, and when each phone was watched.

    Raises ScenarioError with file and row for what is wrong with either.
    """
    stretch = tables.read(watched, (_PHONE, _time("begin_s"), _time("end_s")))
    called, begin_s, end_s = stretch.columns.values()
    stretch.refuse(end_s <= begin_s, "end_s is {end_s:.15g}, which is not after begin_s")
    order = np.argsort(called, kind="stable")
    stretch.refuse(_again(called, order), "phone is {phone}, which is in a row before")
    intervals = tables.read(path, (_PHONE, _time("on_s"), _time("off_s")))
    phone, on_s, off_s = intervals.columns.values()
    intervals.refuse(off_s <= on_s, "off_s is {off_s:.15g}, which is not after on_s")
    place = np.minimum(np.searchsorted(called[order], phone), called.size - 1)
    number = order[place]
    intervals.refuse(called[number] != phone, "phone is {phone}, which " + f"{watched} has not")
    seen = WatchedPhones.of_intervals(number, on_s, off_s, begin_s, end_s)
    try:
        wanted = summary(seen)
    except ValueError as error:
        raise ScenarioError(path, "", str(error)) from None
    return Source(wanted, path.stem, f"{path.name}, {called.size} phones")


def as_toml(found: Fit, source: Source) -> str:
    """Return a law with what it was fitted to, as a document with four digits to a number."""
    import tomli_w

    law: dict[str, Any] = {**found.law, "fitted_to": source.wanted.model_dump()}
    return tomli_w.dumps(_short(law))


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _again(called: npt.NDArray[np.int64], order: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    again = np.zeros(called.size, dtype=bool)
    again[order[1:]] = called[order[1:]] == called[order[:-1]]
    return again


def _time(name: str) -> Column:
    return Column(name, 0, sys.float_info.max, "a time is 0 or more, and finite", is_time=True)


_PHONE = Column("phone", 0, 2**32 - 1, "phones are numbered from 0 on", is_whole=True)
