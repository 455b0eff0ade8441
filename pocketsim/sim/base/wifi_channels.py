"""Channels of IEEE 802.11n and 802.11ac: widths, and schemes by which frames are sent on them."""

from __future__ import annotations

DISTANCES = {"near": 9, "room": 7, "next_room": 4, "edge": 1}
"""Modulation and coding scheme by how far a phone is from its access point.

Of 80 MHz at 5 GHz with 20 dBm, 5, 10, 20 and 40 m inside a home (TGax residential path loss, IEEE
802.11-14/0980r16, and the receivers' minimum sensitivities of IEEE Std 802.11-2020, table 21-25)
give 9, 8, 4 and 1. Where a channel has no scheme so high, its highest.
"""

SCHEMES_MAX = {"802.11n": {20: 7, 40: 7}, "802.11ac": {20: 8, 40: 9, 80: 9}}
"""Highest modulation and coding scheme by width in MHz (IEEE Std 802.11-2020, 19.5 and 21.5)."""


def width_mhz(standard: str, given_mhz: int | None) -> int:
    """Return the width of a channel, MHz: 20 of 802.11n and 80 of 802.11ac unless it is given."""
    usual_mhz = 20 if standard == "802.11n" else 80
    return given_mhz or usual_mhz


def scheme_max(standard: str, given_mhz: int | None) -> int:
    """Return the highest modulation and coding scheme of a channel that exists."""
    return SCHEMES_MAX[standard][width_mhz(standard, given_mhz)]
