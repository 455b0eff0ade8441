"""A rate may be as low as a float goes: then the second proposal is after the end of every run."""

import pytest

from pocketsim.sim.scenario.resolve import interval_s


@pytest.mark.parametrize("pacing", ["by_clock", "floored_ms", "spread"])
@pytest.mark.parametrize("rate_per_s", [1e-12, 1e-306, 5e-324])
def test_a_pause_between_proposals_is_a_number_longer_than_any_run(pacing, rate_per_s):
    assert 3660 * 86400 < interval_s(pacing, rate_per_s) < 1e12
