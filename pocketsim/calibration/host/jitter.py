"""The jitter of a link that delays datagrams in order, of how late they were.

The simulator draws a lognormal delay for each datagram, and lets none overtake another: one that
was drawn late holds up those behind it. A relay's own figures have all of them as late as they
were. So what is drawn has to be less late than what is measured, the more so the closer datagrams
follow one another: of draws `J` at a spacing `s`, the n-th is late by the largest `J[n-k] - k s`.
"""

from __future__ import annotations

import math

import numpy as np


def of_mean(median_s: float, mean_s: float) -> tuple[float, float]:
    """Return median (s) and sigma of draws that have this mean: what many of them take together.

    Holds for `0 < median_s < mean_s`, and for datagrams of which none holds up another.
    """
    return median_s, math.sqrt(2 * math.log(mean_s / median_s))


def drawn(median_s: float, p99_s: float, spacing_s: float) -> tuple[float, float]:
    """Return median (s) and sigma of draws for datagrams to be so late, at a regular spacing.

    Holds for `0 < median_s < p99_s` and a spacing above 0.
    """
    from scipy import optimize

    def over(sigma: float) -> float:
        return lateness(p99_s, _median_of(sigma, median_s, spacing_s), sigma, spacing_s) - 0.99

    most = math.log(p99_s / median_s) / _P99_SIGMAS  # where nobody holds anybody up
    while over(most) > _EXACT:
        most *= 1.5
    sigma = most if over(most) >= 0 else float(optimize.brentq(over, most / 100, most, xtol=1e-5))
    return _median_of(sigma, median_s, spacing_s), sigma


def lateness(time_s: float, median_s: float, sigma: float, spacing_s: float) -> float:
    """Return the share of datagrams that are late by `time_s` at most."""
    from scipy import special

    behind = min(_MOST_BEHIND, int(median_s * math.exp(_TAIL_SIGMAS * sigma) / spacing_s))
    later_s = time_s + spacing_s * np.arange(behind + 1)
    return float(np.exp(special.log_ndtr(np.log(later_s / median_s) / sigma).sum()))


def _median_of(sigma: float, lateness_s: float, spacing_s: float) -> float:
    """Return the median of draws with which half of the datagrams are late by `lateness_s`."""
    from scipy import optimize

    def over(median_s: float) -> float:
        return lateness(lateness_s, median_s, sigma, spacing_s) - 0.5

    if over(lateness_s) >= -_EXACT:
        return lateness_s
    least_s = lateness_s / 2
    while over(least_s) < 0:
        least_s /= 2
    return float(optimize.brentq(over, least_s, lateness_s, rtol=1e-6))


_P99_SIGMAS = 2.3263  # of a normal law, from its median to its 99th percentile
_TAIL_SIGMAS = 6.0  # nobody is later than that
_MOST_BEHIND = 5000
_EXACT = 1e-9
