"""What the comparison on a host says of models without a mechanism."""

import math
from dataclasses import replace

import pytest

from pocketsim.calibration.host import judging
from pocketsim.calibration.host.design import FULL, design
from pocketsim.calibration.host.figures import Figures
from pocketsim.calibration.host.judging import RTT_P50, RTT_P95, Compared

LOST = Figures(5, 0, math.nan, math.nan, 0.0, 0.0, 700.0, math.nan)


def traded(rtt_s):
    return Figures(5, 5, rtt_s, 2 * rtt_s, 1.0, 1.0, 700.0, 850.0)


def test_a_repetition_that_stored_nothing_leaves_the_median_of_its_carrier():
    several = (traded(1e-3), traded(1e-3), traded(1e-3))
    points = [replace(point, carrier="tftp", load_ratio=0.5) for point in design(FULL)[:2]]
    fitted, held_out = (
        Compared(replace(point, is_fitted=number == 0), several, several, several, (1e-4, 2e-4))
        for number, point in enumerate(points)
    )
    told = judging.judge([replace(fitted, measured=(*several, LOST)), held_out], FULL).rows[1]
    for quantity in (RTT_P50, RTT_P95):
        assert told.errors[quantity].nulls["carrier"] == pytest.approx(0.0)
    # Where most of them are lost, there is no round trip to be near to.
    told = judging.judge([replace(fitted, measured=(LOST, LOST, LOST)), held_out], FULL).rows[1]
    assert told.errors[RTT_P50].nulls["carrier"] == math.inf
