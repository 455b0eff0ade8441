"""Cores of the ends that a hypervisor migrates: when a trade counts, and what is said of it."""

from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING

import pytest

from pocketsim.calibration.validate.host import computer, design, measuring, nearness
from pocketsim.calibration.validate.host.measuring import Bench
from pocketsim.calibration.validate.host.nearness import Nearness

if TYPE_CHECKING:
    from pathlib import Path

NEAR, FAR = ({"latency_s": each_s, "near": each_s < 1e-7} for each_s in (42e-9, 2e-7))
# Says the next line of a script, notes how it was asked, and repeats the last line for ever.
PROBE = """#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >> asked
[ "$1" = run ] && { cp request requested; touch "$5"; exit 0; }
count=$(grep -c ^cores asked)
line=$(sed -n "${count}p" script)
[ -n "$line" ] || line=$(tail -n 1 script)
[ "$line" = unknown ] && exit 2
[ "$line" = full ] && exit 5
echo "$line"
"""


class Clock:
    """A second goes by whenever somebody looks."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


@pytest.fixture
def cores_that(tmp_path):
    allowed = sorted(os.sched_getaffinity(0))
    ends = computer.Cores(allowed[0], allowed[-1], allowed[0])

    def near(script: list[object], repeats: int = 3, patience_s: float = 60.0) -> Nearness:
        probe = tmp_path / "probe"
        probe.write_text(PROBE, encoding="utf-8")
        probe.chmod(0o755)
        lines = [one if isinstance(one, str) else json.dumps(one) for one in script]
        (tmp_path / "script").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (tmp_path / "request").touch()
        return Nearness(probe, ends, computer.ASLEEP, repeats, patience_s, Clock())

    return near


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text(encoding="utf-8").splitlines()


def trades():
    numbers = iter(range(100))

    def trade(over):
        over()
        return next(numbers)

    return trade


def test_cores_that_stay_near_trade_once(tmp_path, cores_that):
    (one,) = cores_that([NEAR]).during(trades())
    assert (one.traded, one.was_near, one.core_to_core_s) == (0, True, [42e-9, 42e-9])
    assert asked(tmp_path) == ["cores --json"] * 2


def test_cores_that_are_far_come_near_first(tmp_path, cores_that):
    (one,) = cores_that([FAR, NEAR]).during(trades())
    assert (one.traded, one.was_near) == (0, True)
    assert asked(tmp_path)[1] == "cores --json --bring-near 5.000s"


def test_a_trade_during_which_they_moved_apart_is_set_aside(cores_that):
    near = cores_that([NEAR, FAR, NEAR, NEAR])
    aside, last = near.during(trades())
    assert (aside.traded, aside.was_near, aside.core_to_core_s) == (0, False, [42e-9, 2e-7])
    assert (last.traded, last.was_near, near.repeats_left) == (1, True, 2)


def test_trades_are_repeated_no_more_often_than_there_is_patience(cores_that):
    near = cores_that([NEAR, FAR] * 4, repeats=2)
    attempts = near.during(trades())
    assert [one.traded for one in attempts] == [0, 1, 2]
    assert (attempts[-1].was_near, near.repeats_left) == (False, 0)


def test_cores_that_are_never_near_are_waited_for_some_times_and_traded_as_they_are(
    tmp_path, cores_that
):
    near = cores_that([FAR], patience_s=2.0)
    for number in range(60):
        (one,) = near.during(trades())
        assert not one.was_near, number
    # A second each, and half a minute between the two.
    waits = [call.split()[-1] for call in asked(tmp_path) if "--bring-near" in call]
    assert waits == ["2.000s", "1.000s"]
    first, second = (
        number for number, call in enumerate(asked(tmp_path)) if "--bring-near" in call
    )
    assert second - first > 2 * 25


def test_a_probe_that_does_not_know_is_asked_once(tmp_path, cores_that):
    near = cores_that(["unknown", NEAR])
    (one,) = near.during(trades())
    assert (one.was_near, one.has_moved, one.core_to_core_s) == (False, False, [None, None])
    assert not near.knows()
    assert asked(tmp_path) == ["cores --json"]
    told = {"core_to_core_s": one.core_to_core_s, "near": False, "set_aside": []}
    assert nearness.sentence([{"cores": told}, {"cores": None}]) is None


def test_what_a_full_computer_does_not_tell_is_no_move_and_is_asked_again(cores_that):
    near = cores_that(["full", NEAR, "full", NEAR, NEAR, "full"])
    told = [[None, 42e-9], [None, 42e-9], [42e-9, None]]
    for core_to_core_s in told:
        (one,) = near.during(trades())
        assert one.core_to_core_s == core_to_core_s
        assert (one.was_near, one.has_moved, near.knows()) == (False, False, True)


@pytest.mark.parametrize("script", [[NEAR], ["unknown"]])
def test_reports_are_of_near_and_awake_cores_where_the_probe_sees_to_it(
    tmp_path, cores_that, script
):
    near = cores_that(script)
    with computer.awake(tmp_path / "request") as near.idle:
        bench = Bench(near.probe, near.cores, design.QUICK, Kept(), near=near)
        bench.report("before", tmp_path / "report.json")
    call = next(call for call in asked(tmp_path) if call.startswith("run"))
    requested_us = struct.unpack("=i", (tmp_path / "requested").read_bytes()[-4:])[0]
    if script == [NEAR]:
        assert call.endswith("--near --awake")
        assert requested_us == 2_000_000_000  # the probe asks for itself
    else:
        assert "--near" not in call
        assert requested_us == 0
    # Trades are of cores that are awake.
    assert struct.unpack("=i", (tmp_path / "request").read_bytes()[-4:])[0] == 0


def test_the_page_says_how_many_were_near(cores_that):
    told = [
        {"core_to_core_s": [42e-9, each["latency_s"]], "near": each["near"], "set_aside": aside}
        for each, aside in ((NEAR, []), (NEAR, [{}]), (FAR, []))
    ]
    told.append({"core_to_core_s": [42e-9, None], "near": False, "set_aside": [{}]})
    assert nearness.sentence([{"cores": one} for one in [*told, None]]) == (
        "The ends' cores were near each other before and after 2 of 4 repetitions, "
        "unknown of 1; trades set aside, as the cores had moved apart meanwhile: 2."
    )


class Kept(measuring.Kept):
    """Keeps nothing."""

    def kept(self, _made_from):
        return None

    def keep(self, _made_from, _value):
        pass
