"""Cores of the ends that a hypervisor moves: when a trade counts, and what is said of it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from pocketsim.calibration.validate.host import computer, nearness
from pocketsim.calibration.validate.host.nearness import Nearness

if TYPE_CHECKING:
    from pathlib import Path

NEAR, FAR = ({"latency_s": each_s, "near": each_s < 1e-7} for each_s in (24e-9, 2e-7))
# Says the next line of a script, notes how it was asked, and repeats the last line for ever.
PROBE = """#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >> asked
count=$(wc -l < asked)
line=$(sed -n "${count}p" script)
[ -n "$line" ] || line=$(tail -n 1 script)
[ "$line" = unknown ] && exit 2
echo "$line"
"""


@pytest.fixture
def cores_that():
    allowed = sorted(os.sched_getaffinity(0))
    ends = computer.Cores(allowed[0], allowed[-1], allowed[0])

    def near(folder: Path, script: list[object], repeats: int = 3) -> Nearness:
        probe = folder / "probe"
        probe.write_text(PROBE, encoding="utf-8")
        probe.chmod(0o755)
        lines = [one if isinstance(one, str) else json.dumps(one) for one in script]
        (folder / "script").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return Nearness(probe, ends, computer.ASLEEP, repeats)

    return near


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text(encoding="utf-8").splitlines()


def trades():
    numbers = iter(range(100))
    return lambda: next(numbers)


def test_cores_that_stay_near_trade_once(tmp_path, cores_that):
    found, told = cores_that(tmp_path, [NEAR]).during(trades())
    assert found == 0
    assert told == {"core_to_core_s": [24e-9, 24e-9], "near": True, "attempts": 1}
    assert asked(tmp_path) == ["cores --json"] * 2


def test_cores_that_are_far_come_near_first(tmp_path, cores_that):
    found, told = cores_that(tmp_path, [FAR, NEAR]).during(trades())
    assert (found, told["near"], told["attempts"]) == (0, True, 1)
    assert asked(tmp_path)[1] == "cores --json --gather 5s"


def test_a_trade_during_which_they_moved_apart_does_not_count(tmp_path, cores_that):
    near = cores_that(tmp_path, [NEAR, FAR, NEAR, NEAR])
    found, told = near.during(trades())
    assert (found, told["near"], told["attempts"], near.repeats) == (1, True, 2, 2)


def test_trades_are_repeated_no_more_often_than_there_is_patience(tmp_path, cores_that):
    near = cores_that(tmp_path, [NEAR, FAR] * 4, repeats=2)
    found, told = near.during(trades())
    assert (found, told["near"], told["attempts"], near.repeats) == (2, False, 3, 0)


def test_cores_that_are_never_near_are_waited_for_some_times_and_traded_as_they_are(
    tmp_path, cores_that
):
    near = cores_that(tmp_path, [FAR], repeats=2)
    for number in range(4):
        found, told = near.during(trades())
        assert (found, told["near"], told["attempts"]) == (0, False, 1), number
    assert sum("--gather" in call for call in asked(tmp_path)) == 2


def test_a_probe_that_does_not_know_changes_nothing(tmp_path, cores_that):
    near = cores_that(tmp_path, ["unknown"])
    found, told = near.during(trades())
    assert found == 0
    assert told == {"core_to_core_s": [None, None], "near": False, "attempts": 1}
    assert near.report_options == []
    assert nearness.sentence([{"cores": told}, {"cores": None}]) is None


def test_reports_are_made_with_cores_near_and_awake(tmp_path, cores_that):
    near = cores_that(tmp_path, [NEAR])
    assert near.report_options == ["--near"]
    (tmp_path / "request").touch()
    with computer.awake(tmp_path / "request") as idle:
        near.idle = idle
        assert "--awake" in near.report_options


def test_the_page_says_how_many_were_near(tmp_path, cores_that):
    near = cores_that(tmp_path, [NEAR, FAR, NEAR, FAR], repeats=1)
    told = [{"cores": near.during(trades())[1]}, {"cores": None}]
    assert nearness.sentence(told) == (
        "The ends' cores were near each other in 0 of 1 repetitions; "
        "1 were traded again, as their cores had moved apart meanwhile."
    )
