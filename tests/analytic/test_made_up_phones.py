"""What a calibration says of its errors is right: two hundred phones whose true costs are known.

The whole is `python -m tools.made_up_phones`. By design a calibration that is right fails here once
in a thousand seeds, at most: half for how often intervals have the truth, half for uneven ranks.
"""

import numpy as np
import pytest
from scipy import stats

from tools.made_up_phones.checking import TOGETHER, calibrated, drawn, rows, uneven
from tools.made_up_phones.phones import made_up

pytestmark = pytest.mark.slow
PHONES = 200  # of sixty, costs that err alone and errors taken as known pass for right ones
SEED = 7
ALARM = 5e-4


@pytest.fixture(scope="module")
def profiles():
    phones = [made_up(SEED, number) for number in range(PHONES)]
    return [(phone, calibrated(phone)) for phone in phones]


@pytest.fixture(scope="module")
def ratios(profiles):
    return [drawn(phone, contents, SEED) for phone, contents in profiles]


def chances(found):
    """Return how likely each row's count of intervals with the truth is at 95 %, rising."""
    counts = [round(row.inside_ratio * PHONES) for row in found]
    return sorted(stats.binomtest(count, PHONES, 0.95).pvalue for count in counts)


def test_intervals_have_the_truth_as_often_as_they_say(ratios):
    found = chances(rows(ratios))
    # Holm's method: the least of as many as there are.
    assert found[0] * len(found) > ALARM


def test_rank_of_the_truth_among_draws_is_uniform(ratios):
    assert uneven(rows(ratios), ALARM) == []


def test_draws_have_the_truth_for_their_mean(ratios):
    for name in ratios[0]:
        means = np.array([each[name].mean() for each in ratios])
        error = means.std(ddof=1) / np.sqrt(PHONES)
        # Of 23 rows, five deviations: once in 80 000 seeds.
        assert means.mean() == pytest.approx(1, abs=5 * error)
        assert error < 0.01


def without(profiles, *keys):
    """Return what is drawn of profiles whose costs do not say `keys`."""
    for phone, contents in profiles:
        operations = {
            name: {key: value for key, value in cost.items() if key not in keys}
            for name, cost in contents["operations"].items()
        }
        yield drawn(phone, {**contents, "operations": operations}, SEED)


def test_costs_that_would_err_alone_are_too_sure_of_a_sum(profiles):
    found = rows(list(without(profiles, "common_factor", "common_ratio")))
    assert TOGETHER in uneven(found, ALARM)


def test_errors_taken_as_known_are_too_small(profiles):
    found = rows(list(without(profiles, "degrees_of_freedom")))
    assert uneven(found, ALARM)
    # Of half of the rows, not of the worst alone.
    assert chances(found)[len(found) // 2] * len(found) < ALARM
