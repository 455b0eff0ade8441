"""Axes of `ps.run`: whatever holds several values in Python."""

import numpy as np
import pandas as pd
import pytest

from pocketsim.api import run


@pytest.mark.parametrize(
    "axis",
    [[1, 2], (1, 2), range(1, 3), np.array([1, 2]), pd.Series([1, 2]), [np.int64(1), np.int64(2)]],
    ids=["list", "tuple", "range", "array", "series", "numbers of numpy"],
)
def test_an_axis_is_anything_that_holds_several_values(axis):
    values = run._values(axis)
    assert values == [1, 2]
    assert {type(one) for one in values} == {int}


@pytest.mark.parametrize("value", ["4/s", 0.5, np.float64(0.5), True])
def test_single_value_is_an_axis_of_one_value(value):
    (one,) = run._values(value)
    assert one == value
    assert type(one) in (str, float, bool)
