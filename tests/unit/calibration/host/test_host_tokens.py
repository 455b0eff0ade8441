"""Batches of tokens on a host: the design, what is asked of a probe, prices and judgement."""

import math
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from pocketsim.calibration.host.judging import FLOOR_MAX
from pocketsim.calibration.host.tokens import (
    design,
    judging,
    measuring,
    prediction,
    tables,
)
from pocketsim.calibration.host.tokens.comparing import TokenComparison
from pocketsim.calibration.host.tokens.design import (
    CHECK,
    DISK,
    FULL,
    MEMORY,
    OPERATIONS,
    QUICK,
    Batch,
    Stage,
)
from pocketsim.calibration.inverse.journal import Journal
from pocketsim.report.host import tokens as token_section
from pocketsim.report.html.page import Page
from pocketsim.sim.base.errors import EnvironmentMissingError
from pocketsim.sim.devices.profile import DEVICES
from pocketsim.sim.devices.profile import load as load_device
from support import fake_probe
from support.token_batches import (
    BENT_S,
    CHECK_S,
    PRICED,
    SIGN_S,
    Free,
    judged,
    real,
)

PROBE = Path(fake_probe.__file__)
MOTO = DEVICES / "moto_g04s.toml"
TEN = Batch(10, DISK)
COINS_CENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)


@pytest.fixture
def calls(tmp_path, monkeypatch):
    log = tmp_path / "calls"
    monkeypatch.setenv("FAKE_PROBE_LOG", str(log))
    return lambda: log.read_text().splitlines()


@pytest.fixture
def counter(tmp_path):
    places = {MEMORY: tmp_path, DISK: tmp_path}
    core = min(os.sched_getaffinity(0))
    return measuring.Counter(PROBE, core, places, Journal(tmp_path / "host.journal", "this"))


def coins(amount_cents):
    """Return how many coins pay every amount up to this one, each at most a cent more than all
    before it."""
    count = sum_cents = 0
    while sum_cents < amount_cents:
        most = min(amount_cents - sum_cents, sum_cents + 1)
        sum_cents += max(coin for coin in COINS_CENTS if coin <= most)
        count += 1
    return count


def test_amounts_are_minted_as_so_many_tokens():
    assert {tokens: coins(cents) for tokens, cents in design.AMOUNTS_CENTS.items()} == {
        tokens: tokens for tokens in (1, 10, 100, 1000)
    }


def test_each_turn_has_every_batch_in_an_order_of_its_own():
    several = design.batches(FULL, (MEMORY, DISK))
    turns = [design.order(several, turn) for turn in range(3)]
    assert [Counter(turn) for turn in turns] == [Counter(several)] * 3
    assert len({tuple(turn) for turn in turns}) == 3
    assert design.order(several, 1) == turns[1]


def test_a_token_has_challenges_in_all_pairs_but_the_first():
    assert [design.held_bytes(count) for count in (1, 2, 3)] == [287, 441, 595]


def test_a_round_goes_through_every_command_on_one_core(counter, calls, tmp_path):
    before = os.sched_getaffinity(0)
    costs = counter.repetition(TEN, 0)
    assert os.sched_getaffinity(0) == before
    commands = [command.name for every in OPERATIONS.values() for command in every]
    assert set(costs) == {*(idle.name for idle in design.IDLE), "take", *commands}
    assert {line.partition("]")[0] for line in calls()} == {f"[{counter.core}"}
    assert sum("tokens request" in line for line in calls()) == 2
    assert sum("tokens verify bank garbage -o none" in line for line in calls()) == 1
    assert not list(tmp_path.glob("pocketsim-tokens-*"))  # money is not left lying about


def test_what_is_there_is_not_measured_again(counter, calls):
    first = counter.repetition(TEN, 0)
    count = len(calls())
    assert counter.repetition(TEN, 0) == first
    assert len(calls()) == count
    counter.repetition(TEN, 1)
    assert len(calls()) == 2 * count


def test_batches_that_disagree_are_measured_as_often_as_others(counter, monkeypatch):
    asked = []

    def made_up(_self, batch, number):
        asked.append((batch, number))
        return real(batch, 2.0 if batch.place == DISK and number % 2 else 1.0)

    monkeypatch.setattr(measuring.Counter, "repetition", made_up)
    effort = design.Effort((10,), repetitions=3, draws=1)
    found = counter.measure(effort, lambda _line: None)
    assert {batch.place: len(several) for batch, several in found.items()} == {MEMORY: 3, DISK: 3}
    assert len(set(asked)) == len(asked) == 6


def test_a_report_is_of_the_core_and_the_disk_of_the_batches(counter, calls, tmp_path):
    file = tmp_path / "report.json"
    for _ in range(2):
        counter.report("tokens_before", file)
    assert file.is_file()
    (call,) = calls()  # what is there is not measured again
    assert call.startswith(f"[{counter.core}] run --full")
    assert call.endswith(f"--only file_*_fsync --scratch {tmp_path}")
    in_memory = replace(counter, places={MEMORY: tmp_path})
    in_memory.report("tokens_after", tmp_path / "after.json")
    assert "--scratch" not in calls()[-1]


def test_signatures_are_those_of_the_time_of_the_batches(tmp_path):
    to = tmp_path / "now.toml"

    class Now(Free):
        def sign_s(self, size_bytes):
            return 20e-6 + size_bytes * 4e-9

        def check_s(self, size_bytes):
            return 50e-6 - size_bytes * 1e-9  # by noise: no byte takes less than nothing

    prediction.at_that_time(MOTO, to, Now())
    before, after = load_device(MOTO).operations, load_device(to).operations
    assert (after["sign"].cpu, after["sign"].per_byte) == pytest.approx((20e-6, 4e-9))
    assert (after["verify"].cpu, after["verify"].per_byte) == pytest.approx((50e-6, 0.0))
    assert {name for name in before if before[name] != after[name]} == {"sign", "verify"}


def test_a_probe_that_signs_another_number_of_times_is_refused(counter, monkeypatch):
    once = replace(design.VERIFY, stages=(Stage(CHECK, 3),))  # as if nothing were reissued
    monkeypatch.setattr(design, "VERIFY", once)
    what = r"verify: tokens.*\(10, 11, 31\) instead of \(10, 1, 31\)"
    with pytest.raises(EnvironmentMissingError, match=what):
        counter.repetition(TEN, 0)


def test_a_probe_that_fails_is_told_with_its_last_line(counter):
    failing = replace(counter, probe=Path("/bin/false"))
    with pytest.raises(EnvironmentMissingError, match="new-authority` failed with exit code 1"):
        failing.repetition(TEN, 0)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("{}", "{}"),
        ('{"key": 1, "challenge": "00", "tokens": 10}', "key"),
        ('{"key": "a", "challenge": "00", "cost": {"duration_s": 0.0}}', "key"),
        ('{"key": "a", "challenge": "00", "cost": null}', "key"),
        ("[1]", r"\[1\]"),
        ("no JSON at all", "no JSON at all"),
        (r"\377", "\ufffd"),
        ("", "nothing"),
    ],
)
def test_an_answer_that_nobody_understands_is_told(counter, tmp_path, said, shown):
    other = tmp_path / "other"
    other.write_text(f"#!/bin/sh\nprintf '{said}'\n[ \"$2\" != verify ] || exit 3\n")
    other.chmod(0o755)
    what = rf"`probe tokens [a-z-]+` said .*{shown}.*: another version of the probe\?"
    with pytest.raises(EnvironmentMissingError, match=what):
        replace(counter, probe=other).repetition(TEN, 0)


def test_without_files_in_memory_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "_SHARED_MEMORY", tmp_path / "none")
    with pytest.raises(EnvironmentMissingError, match="no folder in memory"):
        measuring.places(tmp_path)


def test_a_folder_in_memory_is_not_the_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(measuring, "_SHARED_MEMORY", tmp_path)
    assert measuring.places(tmp_path) == {MEMORY: tmp_path}  # of one device


def test_another_file_system_in_memory_is_not_the_disk_either(monkeypatch, tmp_path):
    device = tmp_path.stat().st_dev
    row = f"1 2 {os.major(device)}:{os.minor(device)} / /mnt rw shared:1 - {{}} x rw\n"
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(measuring, "_MOUNTS", mounts)
    found = {}
    for kind in ("tmpfs", "ext4"):
        mounts.write_text(row.format(kind))
        found[kind] = set(measuring.places(tmp_path))
    assert found == {"tmpfs": {MEMORY}, "ext4": {MEMORY, DISK}}


def test_an_authority_that_takes_anything_is_refused(counter, monkeypatch):
    monkeypatch.setattr(design, "GARBAGE", b"[0, 0, false]")  # the fake reads no further
    monkeypatch.setenv("FAKE_PROBE_TAKES", "garbage")
    with pytest.raises(EnvironmentMissingError, match="verify` failed with exit code 0"):
        counter.repetition(TEN, 0)


def test_an_idle_command_that_checks_a_signature_is_refused(counter, monkeypatch):
    checking = replace(design.REFUSE, checked_bytes=1)
    monkeypatch.setattr(design, "REFUSE", checking)
    what = r"refuse: tokens.*\(0, 0, 0\) instead of \(0, 0, 1\)"
    with pytest.raises(EnvironmentMissingError, match=what):
        counter.repetition(TEN, 0)


def test_without_the_disk_memory_is_judged_alone_and_that_is_said():
    whole, rings, _ = judged()
    measured = {batch: several for batch, several in whole.items() if batch.place == MEMORY}
    judgement = judging.judge(measured, rings, PRICED, is_judged=True)
    assert judgement.is_met
    assert not any(DISK in bar.name for bar in judgement.bars)
    comparison = TokenComparison(judgement, measured, rings)
    (told,) = comparison.as_json()["left_out"]
    assert told.startswith("Nothing was measured on the disk")
    page = Page("this host")
    token_section.add(page, comparison)
    assert told in page.html()
    both = TokenComparison(judgement, {**measured, TEN: ()}, rings)
    assert both.left_out == ()


def missed(judgement):
    return [bar.name for bar in judgement.bars if not bar.is_met]


def test_a_prediction_that_is_right_meets_every_bar():
    _, _, judgement = judged()
    assert len(judgement.rows) == len(OPERATIONS) * 2 * len(FULL.sizes)
    assert all(row.error == pytest.approx(0.0, abs=1e-9) for row in judgement.rows)
    assert judgement.is_met
    assert missed(judgement) == []


def test_signatures_that_are_too_dear_miss_the_bar_of_rates():
    _, _, judgement = judged(1.2)
    assert {f"largest error, tokens/s, {one}" for one in (MEMORY, DISK)} <= set(missed(judgement))
    slow = next(row for row in judgement.rows if row.batch.tokens == 1000)
    assert -math.log(1.2) < slow.error < -0.1  # fewer tokens a second


def null_missed(null, *places):
    return [f"median error of null {null} in those predicted, tokens/s, {one}" for one in places]


def test_a_mechanism_without_what_signatures_lack_is_no_better_than_their_prices():
    # Nothing but signatures is known of what a token takes: in memory no more than the null knows.
    _, _, judgement = judged(prices=Free(sign_s=SIGN_S, check_s=CHECK_S))
    assert null_missed(judging.SIGNATURES, MEMORY)[0] in missed(judgement)


def test_a_prediction_that_is_as_far_off_as_other_sizes_misses():
    # Close enough for the bar of rates, and still no better than half of what other sizes say.
    _, _, judgement = judged(1.09)
    assert missed(judgement) == null_missed(judging.LINE, MEMORY, DISK)


def test_a_null_through_other_sizes_has_not_seen_its_own_batch():
    measured, rings, judgement = judged()
    batch = Batch(1000, MEMORY)
    slow = {**measured, batch: tuple(real(batch, 3.0) for _ in range(5))}
    changed = judging.judge(slow, rings, PRICED, is_judged=True)
    before, after = (
        next(row for row in one.rows if (row.operation, row.batch) == ("mint", batch))
        for one in (judgement, changed)
    )
    own = after.nulls[judging.LINE] - before.nulls[judging.LINE]
    assert own == pytest.approx(math.log(3.0))
    alone = {batch: slow[batch]}
    (row, *_) = judging.judge(alone, rings, PRICED, is_judged=False).rows
    assert math.isnan(row.nulls[judging.LINE])  # no other size


def test_where_real_is_far_from_real_nothing_is_judged():
    _, _, judgement = judged(spread=0.2)
    assert {row.is_dropped for row in judgement.rows} == {True}
    assert min(row.floor for row in judgement.rows) > FLOOR_MAX
    assert len(missed(judgement)) == len(judgement.bars)


def test_a_quick_look_has_no_bars():
    assert judged(is_judged=False)[2].bars == ()
    assert len(QUICK.sizes) == 1


def test_table_and_chart_have_every_row():
    measured, rings, judgement = judged(1.2)
    comparison = TokenComparison(judgement, measured, rings)
    drawn = token_section.chart(comparison)
    *operations, equal = drawn.data
    assert [one.name for one in operations] == list(OPERATIONS)
    assert (equal.name, {len(one.x) for one in operations}) == ("equal", {8})
    rows = tables.rows_of(judgement.rows)
    assert {len(row) for row in rows} == {len(tables.HEAD)}
    assert rows[0][:3] == ("mint", "1", MEMORY)
    told = comparison.as_json()
    assert len(told["rows"]) == len(rows)
    assert told["rings_s"]["10"][0]["check 3"] == pytest.approx(
        1.2 * (10**0.5 * BENT_S + 10 * 3 * CHECK_S)
    )
