"""The clocks that this machine is timed by: here they are the result, and nowhere else."""

from __future__ import annotations

import datetime as dt
import time
from typing import Protocol


class Clock(Protocol):
    """What timing needs; tests have one that they move themselves."""

    def wall_s(self) -> float:
        """Return the time, in s since some moment."""

    def cpu_s(self) -> float:
        """Return the core time that this thread has used, in s."""

    def sleep(self, duration_s: float) -> None:
        """Sleep for so long or longer."""

    def today(self) -> dt.date:
        """Return the date."""


class SystemClock:
    """The clocks of the system."""

    def wall_s(self) -> float:
        """Return the time, in s since some moment."""
        return time.perf_counter()

    def cpu_s(self) -> float:
        """Return the core time that this thread has used, in s."""
        return time.thread_time()

    def sleep(self, duration_s: float) -> None:
        """Sleep for so long or longer."""
        time.sleep(duration_s)

    def today(self) -> dt.date:
        """Return the date, where we are."""
        return dt.date.today()  # noqa: DTZ011 - a profile has a date, and no time zone
