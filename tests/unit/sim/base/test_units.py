import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pocketsim.sim.base.units import (
    BANDWIDTH,
    DIMENSIONS,
    DURATION,
    ENERGY,
    LENGTH,
    MONEY,
    POWER,
    RATE,
    SIZE,
    SPEED,
)

# The same table is read by the probe's tests.
VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "quantities.json"
SPELLINGS = json.loads(VECTORS.read_text(encoding="utf-8"))["rows"]


@pytest.mark.parametrize(
    ("dimension", "text", "expected"),
    [
        (DURATION, "122us", 122e-6),
        (DURATION, " 1.5 ms ", 1.5e-3),
        (DURATION, "2min", 120),
        (DURATION, "1e3s", 1000),
        (DURATION, "1d", 86400),
        (DURATION, "0", 0),
        (DURATION, 0, 0),
        (SIZE, "1.2kB", 1200),
        (SIZE, "7MiB", 7 << 20),
        (BANDWIDTH, "10Mbps", 1.25e6),
        (BANDWIDTH, "10kBps", 1e4),
        (RATE, "16/s", 16),
        (RATE, "3/min", 0.05),
        (RATE, "216/day", 0.0025),
        (MONEY, "83EUR", 8300),
        (MONEY, "0.05EUR", 5),
        (MONEY, "2.5ct", 2.5),
        (POWER, "132.86mW", 0.13286),
        (POWER, "45uW", 45e-6),
        (ENERGY, "416nJ", 416e-9),
        (ENERGY, "0.3J", 0.3),
        (LENGTH, "4.5km", 4500),
        (LENGTH, "10m", 10),
        (SPEED, "1.5m/s", 1.5),
    ],
)
def test_values_in_si(dimension, text, expected):
    assert dimension.parse(text) == expected


@pytest.mark.parametrize(("name", "text", "expected"), SPELLINGS)
def test_spellings_mean_what_they_mean_to_the_probe(name, text, expected):
    dimension = next(one for one in DIMENSIONS if one.name == name)
    if expected is None:
        with pytest.raises(ValueError, match=re.escape(repr(text))):
            dimension.parse(text)
    else:
        assert dimension.parse(text) == expected


@pytest.mark.parametrize(("name", "text", "expected"), SPELLINGS)
def test_the_schema_takes_the_spellings_that_are_taken(name, text, expected):
    dimension = next(one for one in DIMENSIONS if one.name == name)
    taken = re.search(dimension.pattern, text) is not None
    assert taken or expected is None
    if taken and expected is None:
        # A pattern does not know how much is too much.
        with pytest.raises(ValueError, match=r"more than the largest|not finite"):
            dimension.parse(text)


@pytest.mark.parametrize(
    ("dimension", "text", "reason"),
    [
        (DURATION, "5", "no unit; a duration takes ns us ms s min h d"),
        (DURATION, 5, "no unit"),
        (DURATION, "5m", "is a length; a duration takes ns us ms s min h d"),
        (DURATION, "5B", "is a size"),
        (DURATION, "-5ms", "negative"),
        (DURATION, "inf", "not finite"),
        (DURATION, "nans", "not finite"),
        (DURATION, "1e300s", "more than the largest duration, 3660d"),
        (DURATION, "1e999s", "not finite"),
        (DURATION, "fast", "is not a duration"),
        (DURATION, True, "must be a duration"),
        (DURATION, [1], "must be a duration"),
        (SIZE, "1GB", "unknown unit 'GB'"),
        (SIZE, "2000MiB", "more than the largest size"),
        (BANDWIDTH, "1.5 mbps", "unknown unit"),
        (RATE, "16", "no unit; a rate takes /s /min /h"),
        (MONEY, "83", "no unit; a sum of money takes ct EUR"),
        (MONEY, "8USD", "unknown unit 'USD'"),
        (POWER, "3J", "is a quantity of energy; a power takes uW mW W"),
        (POWER, "2kW", "unknown unit 'kW'"),
        (ENERGY, "1W", "is a power"),
        (RATE, "1e9/s", "more than the largest rate"),
        (LENGTH, "10", "no unit; a length takes cm m km"),
        (SPEED, "5m", "is a length; a speed takes m/s"),
        (SPEED, "101m/s", "more than the largest speed, 100m/s"),
    ],
)
def test_refusals_say_why(dimension, text, reason):
    with pytest.raises(ValueError, match=reason.replace("(", r"\(")):
        dimension.parse(text)


@given(st.floats(1e-6, 1e3), st.sampled_from(DIMENSIONS), st.data())
def test_a_number_and_its_unit_multiply(number, dimension, data):
    suffix = data.draw(st.sampled_from(sorted(dimension.suffixes)))
    factor = float(dimension.suffixes[suffix])
    if number * factor > dimension.maximum:
        return
    assert math.isclose(dimension.parse(f"{number!r}{suffix}"), number * factor, rel_tol=1e-15)


@given(st.text(max_size=12), st.sampled_from(DIMENSIONS))
def test_any_text_is_a_number_in_range_or_refused(text, dimension):
    try:
        value = dimension.parse(text)
    except ValueError:
        return
    assert 0 <= value <= dimension.maximum


@pytest.mark.parametrize(
    ("dimension", "number", "text"),
    [
        (DURATION, 122e-6, "122us"),
        (DURATION, 0.0015, "1.5ms"),
        (DURATION, 0.0, "0s"),
        (DURATION, 1.5e-12, "0.0015ns"),
        (DURATION, 90.0, "90s"),
        (SIZE, 212992, "208KiB"),
        (SIZE, 1500, "1.5kB"),
        (SIZE, 668, "668B"),
        (RATE, 15 / 3600, "15/h"),
        (RATE, 16.0, "16/s"),
        (LENGTH, 4500.0, "4.5km"),
        (SPEED, 0.5, "0.5m/s"),
    ],
)
def test_numbers_are_written_as_people_would(dimension, number, text):
    assert dimension.write(number) == text


@given(st.sampled_from(DIMENSIONS), st.floats(1e-15, 1.0))
def test_written_quantity_is_read_back_exactly(dimension, share):
    number = share * dimension.maximum
    assert dimension.parse(dimension.write(number)) == number
