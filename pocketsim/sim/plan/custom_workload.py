"""Proposals that custom classes make or choose partners for, before a repetition."""

from __future__ import annotations

from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pocketsim.sim.base import custom_code
from pocketsim.sim.base.custom_code import Mistake
from pocketsim.sim.base.tables import ROWS_MAX
from pocketsim.sim.base.user_policies import Setting
from pocketsim.sim.plan import arrivals
from pocketsim.sim.plan.arrivals import Arrivals
from pocketsim.sim.plan.phone_views import Phones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pocketsim.sim.plan import plan
    from pocketsim.sim.scenario import resolved as given
    from pocketsim.sim.scenario.resolved import Resolved


def proposals(resolved: Resolved, name: str, files: Mapping[str, str]) -> plan.Workload:
    """Return what the workload's class makes, in order of time, from stream "<name>/workload".

    Raises ProtocolError where the class fails or what it makes is no proposal of this scenario.
    """
    workload, run = resolved["workload"], resolved["run"]
    assert workload["kind"] == "python", "it has a class"
    path, phones = Path(files[workload["digest"]]), _count(resolved)
    setting = Setting(
        phones, run["duration_s"], workload["options"], run["seed"], f"{name}/workload"
    )
    kind = custom_code.load(workload["class"], workload["digest"], files)
    made: list[tuple[float, int, int, int]] = []
    try:
        for one in kind(setting).proposals():
            made.append(_checked(one, len(made), phones, run["duration_s"]))
    except BaseException as error:  # of any kind: it is the user's
        raise custom_code.failed(path, error, f", at proposal {len(made)}") from error
    made.sort(key=lambda one: one[0])
    time_s, phone, peer, payload_bytes = zip(*made, strict=True) if made else ((),) * 4
    found = Arrivals(np.array(time_s, float), np.array(phone, np.int64), np.array(peer, np.int64))
    return arrivals.proposals(found, np.array(payload_bytes, np.int64))


def chosen(
    found: Arrivals,
    partners: given.Partners,
    resolved: Resolved,
    name: str,
    files: Mapping[str, str],
) -> Arrivals:
    """Return proposals with the partners that a class chooses, from streams "<name>/partners/...".

    Raises ProtocolError where the class fails or whom it chooses is no other phone.
    """
    told, digest = partners["class"], partners["class_digest"]
    assert told is not None, "it has a class"
    assert digest is not None, "whose file has a digest"
    path, count = Path(files[digest]), _count(resolved)
    kind = custom_code.load(told, digest, files)
    asked = set(found.from_phone.tolist())
    choose: dict[int, Any] = {}
    peers = np.empty(found.time_s.size, np.int64)
    now_s, phone = 0.0, 0
    try:
        for one in Phones(resolved, name, files).of("partners", partners["options"]):
            if one.number in asked:
                phone = one.number
                choose[phone] = kind(one).choose
        rows = zip(found.time_s.tolist(), found.from_phone.tolist(), strict=True)
        for row, (now_s, phone) in enumerate(rows):
            peers[row] = _other(choose[phone](now_s), phone, count)
    except BaseException as error:  # of any kind: it is the user's
        where = f", at {now_s:.9g} s on phone {phone}"
        raise custom_code.failed(path, error, where) from error
    return Arrivals(found.time_s, found.from_phone, peers)


def _checked(one: Any, place: int, phones: int, duration_s: float) -> tuple[float, int, int, int]:
    if place == ROWS_MAX:
        raise Mistake(f"proposals: more than {ROWS_MAX:,}")
    try:
        time_s, phone, peer, payload_bytes = one
    except (TypeError, ValueError):
        reason = "a proposal must be (time_s, phone, peer, payload_bytes)"
        raise Mistake(f"{reason}, not {one!r}") from None
    if not isinstance(time_s, Real) or not 0 <= float(time_s) < duration_s:
        reason = f"time_s: the run is from 0 to before {duration_s:g} s"
        raise Mistake(f"{reason}, not {time_s!r}")
    if not _is_whole(phone, phones):
        raise Mistake(f"phone: a phone is 0 to {phones - 1}, not {phone!r}")
    if not _is_whole(payload_bytes, PAYLOAD_BYTES_END):
        raise Mistake(f"payload_bytes: a whole number below 2^31, not {payload_bytes!r}")
    return float(time_s), int(phone), _other(peer, phone, phones), int(payload_bytes)


def _other(peer: Any, phone: int, phones: int) -> int:
    if not _is_whole(peer, phones) or peer == phone:
        raise Mistake(f"must be another phone, of 0 to {phones - 1}, not {peer!r}")
    return int(peer)


def _is_whole(value: Any, end: float) -> bool:
    return isinstance(value, Integral) and 0 <= int(value) < end  # numpy's numbers, too


def _count(resolved: Resolved) -> int:
    return sum(group["count"] for group in resolved["devices"])


PAYLOAD_BYTES_END = 1 << 31
