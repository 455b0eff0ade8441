"""The one place where text with a unit becomes a number in SI units, and the other way round.

Durations become seconds, sizes bytes, bandwidths bytes per second, rates 1/s, amounts of money
cents, powers watts, energies joules, lengths metres and speeds metres per second. A number without
a unit is refused unless it is zero, because `5` hides whether somebody meant ms or s. What does not
live here: ratios, counts and sigmas, which are plain numbers in every document.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping  # noqa: TC003 - pydantic reads the hints of a Quantity
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from pocketsim.sim.base.errors import did_you_mean

_EXPONENT = r"(?:[eE][+-]?[0-9]{1,3})?"
_NUMBER = rf"(?:[0-9]+\.?[0-9]*|\.[0-9]+){_EXPONENT}"
_ZERO = rf"(?:0+\.?0*|\.0+){_EXPONENT}"
_QUANTITY = re.compile(rf"\s*([+-]?{_NUMBER}|nan|[+-]?inf)\s*(\S*)\s*")
# Both characters that look like it: of Latin-1, and of Greek.
_MICRO = str.maketrans({"\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u"})


# Compared by identity, so that a type may be annotated with one.
@dataclass(frozen=True, eq=False)
class Dimension:
    """What a quantity measures: valid suffixes with their SI factors, and the absurd.

    `unit` is what results say it is in; `per_unit` is how many of what `parse` returns make one,
    and `si` how a name ends that holds what `parse` returns.
    """

    name: str
    suffixes: Mapping[str, Fraction]
    maximum: float
    maximum_text: str
    example: str
    unit: str
    si: str
    per_unit: int = 1

    def parse(self, value: object) -> float:
        """Return `value` in SI units.

        Raises ValueError, with the valid suffixes, for anything but zero or a string holding a
        finite number from 0 to `maximum` and a suffix of this dimension.
        """
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            reason = f"must be a {self.name} such as {self.example!r}, not {value!r}"
            raise ValueError(reason)  # noqa: TRY004 - pydantic lets a TypeError through
        match = _QUANTITY.fullmatch(str(value))
        if match is None:
            raise ValueError(f"{value!r} is not a {self.name}; write it as {self.example!r}")
        return self._to_si(str(value), match[1], match[2])

    @property
    def pattern(self) -> str:
        """What `parse` takes but for the maximum, as a regular expression of JSON Schema."""
        suffixes = "|".join(
            re.sub("^u", "[u\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}]", suffix)
            for suffix in self.suffixes
        )
        return rf"^\s*(\+?{_NUMBER}\s*({suffixes})|[+-]?{_ZERO}\s*({suffixes})?)\s*$"

    def write(self, number: float) -> str:
        """Return a short text that `parse` reads as exactly `number`, in SI units.

        Of the units those come first in which it is at least 1 and less than 1000.
        """

        def clumsiness(text: str, suffix: str) -> tuple[bool, int]:
            return not 1 <= float(text.removesuffix(suffix)) < _CLUMSY_FROM, len(text)

        known = [
            (text, suffix) for suffix in self.suffixes if (text := self._spelling(number, suffix))
        ]
        assert known, f"{number!r} is not a {self.name} of at most {self.maximum_text}"
        return min(known, key=lambda spelling: clumsiness(*spelling))[0]

    def _spelling(self, number: float, suffix: str) -> str | None:
        exact = Fraction(repr(float(number))) / self.suffixes[suffix]
        for digits in _DIGITS:
            text = f"{Decimal(f'{float(exact):.{digits}g}'):f}{suffix}"
            with contextlib.suppress(ValueError):
                if self.parse(text) == number:
                    return text
        return None

    def _to_si(self, text: str, digits: str, suffix: str) -> float:
        number = float(digits)
        if not math.isfinite(number):
            raise ValueError(f"{text!r} is not finite")
        if number < 0:
            raise ValueError(f"{text!r} is negative")
        if number == 0 and not suffix:
            return 0.0
        suffix = suffix.translate(_MICRO)
        if suffix not in self.suffixes:
            raise ValueError(self._suffix_reason(text, suffix))
        if number == 0:
            return 0.0
        # Fraction keeps "122us" equal to 122e-6 to the last bit.
        scaled = Fraction(digits) * self.suffixes[suffix]
        if scaled > self.maximum:
            raise ValueError(f"{text!r} is more than the largest {self.name}, {self.maximum_text}")
        return float(scaled)

    def _suffix_reason(self, text: str, suffix: str) -> str:
        valid = f"a {self.name} takes {' '.join(self.suffixes)}"
        if not suffix:
            return f"{text!r} has no unit; {valid}"
        for other in DIMENSIONS:
            if suffix in other.suffixes:
                return f"{text!r} is a {other.name}; {valid}"
        return f"{text!r} has unknown unit {suffix!r}; {valid}{did_you_mean(self._nearest(suffix))}"

    def _nearest(self, suffix: str) -> str | None:
        """Return the unit that is spelt as `suffix` but for its case, or that this begins with."""
        for known in self.suffixes:
            if known.lower() == suffix.lower():
                return known
        able = [known for known in self.suffixes if suffix.startswith(known)]
        return max(able, key=len, default=None)


def _scale(**factors: str) -> Mapping[str, Fraction]:
    return MappingProxyType({suffix: Fraction(factor) for suffix, factor in factors.items()})


# Compared by identity, too.
@dataclass(frozen=True, eq=False)
class Counted:
    """What a plain number of a document counts; `si` is how a name ends that holds it."""

    si: str


@dataclass(frozen=True)
class Quantity:
    """A number in SI units that says itself what it measures; of a plain one that is None."""

    value: float
    dimension: Dimension | None

    def __str__(self) -> str:
        """Return it as it would be written in a document."""
        return self.dimension.write(self.value) if self.dimension else f"{self.value:.12g}"


BLOCKS = Counted("blocks")
PACKETS = Counted("packets")

DURATION = Dimension(
    "duration",
    _scale(ns="1e-9", us="1e-6", ms="1e-3", s="1", min="60", h="3600", d="86400"),
    maximum=3660.0 * 86400,
    maximum_text="3660d",  # ten years: longer than any phone is kept
    example="20ms",
    unit="s",
    si="s",
)
FIRST = "first"
"""What a document says instead of a moment for the earliest time in a file."""

MOMENT = Dimension(
    "moment",
    DURATION.suffixes,
    maximum=1e11,
    maximum_text="100000000000s",  # of Unix time 3000 years from now; a clock in ms is beyond it
    example="1385982000s",
    unit="s",
    si="s",
)
"""Seconds since whatever a clock counts from: the run's begin, or 1970-01-01T00:00:00Z."""
SIZE = Dimension(
    "size",
    _scale(B="1", kB="1e3", MB="1e6", KiB="1024", MiB="1048576"),
    maximum=2.0**30,
    maximum_text="1024MiB",  # larger than any buffer or message of a phone
    example="100B",
    unit="B",
    si="bytes",
)
BANDWIDTH = Dimension(
    "bandwidth",
    _scale(
        bps="1/8",
        kbps="125",
        Mbps="125e3",
        Gbps="125e6",
        Bps="1",
        kBps="1e3",
        MBps="1e6",
        GBps="1e9",
    ),
    maximum=1.25e11,
    maximum_text="1000Gbps",
    example="10Mbps",
    unit="B/s",
    si="bytes_per_s",
)
RATE = Dimension(
    "rate",
    MappingProxyType(
        {
            "/s": Fraction(1),
            "/min": Fraction(1, 60),
            "/h": Fraction(1, 3600),
            "/day": Fraction(1, 86400),
        }
    ),
    maximum=1e6,
    maximum_text="1000000/s",  # one a microsecond, faster than a phone's clock
    example="16/s",
    unit="/s",
    si="per_s",
)
MONEY = Dimension(
    "sum of money",
    _scale(ct="1", EUR="100"),
    maximum=1e8,
    maximum_text="1000000EUR",  # more than a shop's till; in cents it fits 32 bits
    example="50ct",
    unit="EUR",
    si="cents",
    per_unit=100,
)
POWER = Dimension(
    "power",
    _scale(uW="1e-6", mW="1e-3", W="1"),
    maximum=1e3,
    maximum_text="1000W",  # more than a phone could shed as heat
    example="1.6W",
    unit="W",
    si="w",
)
ENERGY = Dimension(
    "quantity of energy",
    _scale(nJ="1e-9", uJ="1e-6", mJ="1e-3", J="1", kJ="1e3"),
    maximum=1e5,
    maximum_text="100000J",  # more than a phone's battery holds
    example="300mJ",
    unit="J",
    si="j",
)
LENGTH = Dimension(
    "length",
    _scale(cm="1e-2", m="1", km="1e3"),
    maximum=1e6,
    maximum_text="1000km",  # farther than people go between two payments
    example="4500m",
    unit="m",
    si="m",
)
SPEED = Dimension(
    "speed",
    MappingProxyType({"m/s": Fraction(1)}),
    maximum=100.0,
    maximum_text="100m/s",  # a fast train
    example="1.5m/s",
    unit="m/s",
    si="m_per_s",
)
DIMENSIONS = (DURATION, SIZE, BANDWIDTH, RATE, MONEY, POWER, ENERGY, LENGTH, SPEED)
_CLUMSY_FROM = 1000
_DIGITS = (6, 12, 17)  # significant ones to try: 17 tell any two numbers apart
