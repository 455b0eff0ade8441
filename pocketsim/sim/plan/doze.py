"""Doze: when Android keeps apps from the network while nobody uses the phone.

Two machines run from when the screen goes off on a phone that is not charging, until one of that
ends. The deep one waits until the phone lies still, and looks for motion from its second state on;
motion sends it back to its first, with a shorter wait. While it is idle or in one of its
maintenance windows the light one does not run, and begins anew afterwards. Their states and times
are those of AOSP's DeviceIdleController with LIGHT_PRE_IDLE, which is in Android 12 and later
(apex/jobscheduler/service/java/com/android/server/DeviceIdleController.java).

Left out: alarm clocks, which keep a phone from idling in the half hour before; the slack of
alarms, up to a minute for most; a sensing phase that ends early. An app's standby bucket is
`sim.plan.standby`'s, how people use and charge their phones `sim.plan.android`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pocketsim.sim.plan.intervals import Intervals, stacked, union, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from pocketsim.sim.base.streams import Floats
    from pocketsim.sim.plan.intervals import Indices


class Step(NamedTuple):
    """A state of a machine, and how long it lasts, in seconds."""

    state: str
    length_s: float


class Timetable(NamedTuple):
    """The states of both machines in order; the last two, idle and maintenance, come again."""

    light: tuple[Step, ...]
    deep: tuple[Step, ...]


def timetable(
    maintenance_s: float, pre_idle_s: float = 180.0, *, small_battery: bool = False
) -> Timetable:
    """Return the states of a phone whose jobs and alarms take `maintenance_s` in each window.

    A light window lasts 5 s at least, and at most its budget: 60 s, and what windows before have
    left of theirs, up to 300 s. As all take the same here, none takes more than 60 s. A deep window
    lasts 30 s at least, and at most 5 min, then 10 min. `pre_idle_s` is how long jobs keep the
    light machine from its first idle state: 180 s at most. Phones with small batteries, as watches
    have, lie still for half as long.
    """
    still_s = 900.0 if small_battery else 1800.0
    light_s = min(max(maintenance_s, _LIGHT_SHORTEST_S), _LIGHT_BUDGET_S)
    first_s, later_s = (min(max(maintenance_s, _DEEP_SHORTEST_S), most) for most in _DEEP_BUDGETS_S)
    return Timetable(
        (
            Step("inactive", 60),
            Step("pre_idle", pre_idle_s),
            *(Step("idle", 300), Step("maintenance", light_s)),
            *(Step("idle", 600), Step("maintenance", light_s)),
            *(Step("idle", 900), Step("maintenance", light_s)),
        ),
        (
            Step("inactive", still_s),
            Step("idle_pending", still_s),
            Step("sensing", 240),
            Step("locating", 30),
            *(Step("idle", 3600), Step("maintenance", first_s)),
            *(Step("idle", 7200), Step("maintenance", later_s)),
            *(Step("idle", 14_400), Step("maintenance", later_s)),
            *(Step("idle", 21_600), Step("maintenance", later_s)),
        ),
    )


def windows(
    screen: Intervals,
    charging: Intervals,
    motion: Intervals,
    steps: Timetable,
    whole: Intervals,
) -> Intervals:
    """Return when apps may use the network: the phone is awake, or in a maintenance window.

    `screen` says when screens are on. `whole` is the time that is looked at, an interval for each
    phone; who is neither used nor charged when it begins goes to sleep then.
    """
    awake = union(screen, charging)
    asleep = without(whole, awake)
    deep = _visits(steps.deep, asleep, union(motion))
    is_idle = {state: deep[state] for state in ("idle", "maintenance")}
    light = _visits(steps.light, without(asleep, union(*is_idle.values())), None)
    during = [light[state] for state in light if state != "idle"]
    return union(awake, deep["maintenance"], *during)


def _visits(
    steps: Sequence[Step], runs: Intervals, motion: Intervals | None
) -> dict[str, Intervals]:
    """Return when a machine is in which state that starts with each run and stops at its end.

    It looks for motion in all states but its first.
    """
    names = [step.state for step in steps]
    length_s = np.array([step.length_s for step in steps])
    moving = None if motion is None else _Motion(motion)
    phone, now_s, until_s = runs.phone, runs.begin_s, runs.end_s
    step, inactive_s = np.zeros(phone.size, np.int64), np.full(phone.size, length_s[0])
    found: dict[str, list[Intervals]] = {name: [] for name in names}
    while phone.size:
        end_s = np.minimum(now_s + np.where(step == 0, inactive_s, length_s[step]), until_s)
        moved_s = np.full(phone.size, np.inf) if moving is None else moving.after(phone, now_s)
        stopped = (step > 0) & (moved_s < end_s)
        end_s = np.where(stopped, moved_s, end_s)
        for number in np.unique(step):
            here = step == number
            found[names[number]].append(Intervals(phone[here], now_s[here], end_s[here]))
        following = np.where(step + 1 < len(steps), step + 1, len(steps) - 2)
        step = np.where(stopped, 0, following)
        inactive_s = np.where(stopped, _MOTION_INACTIVE_S, inactive_s)
        left = end_s < until_s
        phone, now_s, until_s = phone[left], end_s[left], until_s[left]
        step, inactive_s = step[left], inactive_s[left]
    return {name: stacked(parts) for name, parts in found.items()}


class _Motion:
    """When phones move, by phone and time: intervals that are apart."""

    def __init__(self, moving: Intervals) -> None:
        self.moving = moving
        self.first_s = float(moving.begin_s.min(initial=0.0))
        # Beyond the last of one phone, and so before the first of the next.
        self.span_s = float(moving.end_s.max(initial=0.0)) - self.first_s + 1.0
        self.ends = self._key(moving.phone, moving.end_s)

    def after(self, phone: Indices, now_s: Floats) -> Floats:
        """Return when each of these phones moves next, now if it does, or never."""
        at = np.searchsorted(self.ends, self._key(phone, now_s), side="right")
        known = at < self.ends.size
        known[known] = self.moving.phone[at[known]] == phone[known]
        found_s: npt.NDArray[np.float64] = np.full(phone.size, np.inf)
        found_s[known] = np.maximum(self.moving.begin_s[at[known]], now_s[known])
        return found_s

    def _key(self, phone: Indices, time_s: Floats) -> Floats:
        within_s = np.clip(time_s - self.first_s, 0.0, self.span_s - 0.5)
        key: Floats = phone * self.span_s + within_s
        return key


_LIGHT_SHORTEST_S, _LIGHT_BUDGET_S = 5.0, 60.0
_DEEP_SHORTEST_S, _DEEP_BUDGETS_S = 30.0, (300.0, 600.0)
_MOTION_INACTIVE_S = 600.0
