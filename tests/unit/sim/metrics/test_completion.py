"""Shares done over the time since the send: by hand, beside plain shares, and of runs cut short."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.metrics import completion


def curve(*watched: tuple[float | None, float]) -> completion.Curve:
    """A curve of transactions: done after so long or not, and their age at the end, in seconds."""
    done_s = [np.nan if done is None else done for done, _ in watched]
    return completion.product_limit(np.array(done_s), np.array([age for _, age in watched]))


def test_a_curve_by_hand_is_kaplan_and_meiers():
    """Four at risk at 1 s, and two at 3 s: one is censored at 2 s."""
    found = curve((1.0, 9.0), (None, 2.0), (3.0, 8.0), (None, 10.0))
    shares = [found.within(since_s) for since_s in (0.5, 1.0, 2.5, 3.0, 10.0)]
    assert shares == pytest.approx([0, 1 / 4, 1 / 4, 1 - 3 / 4 * 1 / 2, 1 - 3 / 4 * 1 / 2])


def test_lost_transactions_stay_in_the_denominator():
    found = curve((1.0, 60.0), (None, 60.0), (None, 60.0), (2.0, 60.0))
    assert [found.within(1.0), found.within(60.0)] == pytest.approx([1 / 4, 2 / 4])


def test_share_is_nan_beyond_the_longest_observation():
    found = curve((1.0, 25.0), (2.0, 20.0))
    assert found.within(25.0) == 1
    assert np.isnan(found.within(25.1))


def test_censored_transactions_do_not_lower_the_share():
    """Half are done after an exponential time, half never, of runs that end at different times."""
    generator = np.random.default_rng(7)
    done_s = np.where(generator.random(40_000) < 0.5, generator.exponential(10.0, 40_000), np.inf)
    sent_s = generator.uniform(0, 60, done_s.size)
    for end_s in (60.0, 120.0):
        age_s = end_s - sent_s
        found = completion.product_limit(np.where(done_s <= age_s, done_s, np.nan), age_s)
        for since_s in (1.0, 10.0, 40.0):
            expected = 0.5 * (1 - np.exp(-since_s / 10))
            assert found.within(since_s) == pytest.approx(expected, abs=0.015), (end_s, since_s)
    plain = (done_s <= 60 - sent_s).mean()
    assert plain < 0.44, "the plain share at the end is too low"


DONE = st.lists(st.tuples(st.one_of(st.none(), st.floats(0, 50)), st.floats(0, 100)), min_size=1)


@given(DONE)
def test_shares_only_grow_and_are_plain_ones_where_all_are_watched(
    drawn: list[tuple[float | None, float]],
):
    watched = [(done if done is None or done <= age else None, age) for done, age in drawn]
    found = curve(*watched)
    assert np.all(np.diff(found.share) >= -1e-12)
    assert np.all((found.share >= -1e-12) & (found.share <= 1 + 1e-12))
    since_s = min(age for _, age in watched)
    plain = np.mean([done is not None and done <= since_s for done, _ in watched])
    assert found.within(since_s) == pytest.approx(plain)


def _by_bucket(durations_s: np.ndarray) -> dict[str, object]:
    """What the engine's histogram has of durations: 64 buckets for each power of two."""
    exponent = np.floor(np.log2(durations_s))
    bucket = np.floor((durations_s / 2**exponent - 1) * 64)
    from_s, counts = np.unique(2**exponent * (1 + bucket / 64), return_counts=True)
    to_s = from_s + 2 ** np.floor(np.log2(from_s)) / 64
    columns = {"from_s": from_s, "to_s": to_s, "count": counts}
    return {"sum_s": 0.0, **{name: column.tolist() for name, column in columns.items()}}


def test_a_ledgers_buckets_give_the_curve_of_each_transaction():
    generator = np.random.default_rng(3)
    done_s = np.where(generator.random(20_000) < 0.7, generator.lognormal(2, 1.5, 20_000), np.inf)
    age_s = generator.uniform(0, 700, done_s.size)
    is_done = done_s <= age_s
    exact = completion.product_limit(np.where(is_done, done_s, np.nan), age_s)
    found = completion.of_ledger(
        {
            "watched": _by_bucket(age_s),
            "done_watched": _by_bucket(age_s[is_done]),
            "done": _by_bucket(done_s[is_done]),
        }
    )
    assert exact.within(600) < 0.72
    for within_s in completion.DEADLINES_S.values():
        assert found.within(within_s) == pytest.approx(exact.within(within_s), abs=2e-4)


def test_a_ledger_that_watched_nothing_says_nothing():
    nothing = {"sum_s": 0.0, "from_s": [], "to_s": [], "count": []}
    found = completion.of_ledger(dict.fromkeys(("watched", "done_watched", "done"), nothing))
    assert np.isnan(found.within(1.0))


def test_the_time_until_a_share_is_done_is_where_the_curve_comes_to_it():
    # Ten are sent and watched for 100 s: nine are done, one after each second, and one is lost.
    done_s = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, np.nan])
    curve = completion.product_limit(done_s, np.full(10, 100.0))
    assert [curve.until(share) for share in (0.05, 0.1, 0.5, 0.9)] == [1.0, 1.0, 5.0, 9.0]
    assert np.isnan(curve.until(0.91))
    found = completion.metrics(curve)
    assert (found["done_50_percent_s"], found["done_90_percent_s"]) == (5.0, 9.0)
    assert np.isnan(found["done_99_percent_s"])


def test_of_nothing_no_share_is_ever_done():
    assert np.isnan(completion.product_limit(np.array([np.nan]), np.array([1.0])).until(0.5))


@pytest.mark.parametrize(
    ("within_s", "name"),
    [
        (0.25, "done_within_250ms_ratio"),
        (1.5, "done_within_1500ms_ratio"),
        (600.0, "done_within_600s_ratio"),
        (86400.0, "done_within_86400s_ratio"),
    ],
)
def test_a_deadline_has_a_metric_of_its_own(within_s, name):
    assert completion.metric_name(within_s) == name
