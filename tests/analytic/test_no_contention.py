"""Phones that share nothing: each trades as if its site, and the relay, were its own."""

import pytest

from support import engine_plans as plans

pytestmark = pytest.mark.engine
WIFI = {
    "standard": "802.11n",
    "channel_width_mhz": 20,
    "streams": 1,
    "aggregation": True,
    "block_ack_request": True,
    "queue_packets": 500,
}


def crowd(phones, *, contention, limited, own_sites=False):
    """A plan of pairs that all propose at once on a site of 100 kB/s, or of 802.11n."""
    made = plans.plan(phones, contention=contention)
    if not limited:
        made["access"] = [plans.access(up_bytes_per_s=0.0, down_bytes_per_s=0.0, wifi=WIFI)]
        made["phones"]["mcs"] = [7] * phones
    made["sites"] = {"capacity_bytes_per_s": [1e5 * limited]}
    if own_sites:
        made["sites"] = {"capacity_bytes_per_s": [1e5 * limited] * phones}
        made["phones"]["site"] = list(range(phones))
    for first in range(0, phones, 2):
        plans.arrive(made, 1.0, first, first + 1)
    return made


def stored_s(made):
    return sorted(plans.run(made).of("store").time_s.tolist())


@pytest.mark.parametrize("limited", [True, False], ids=["capacity", "802.11"])
def test_without_contention_a_crowd_trades_like_phones_on_sites_of_their_own(limited):
    alone = stored_s(crowd(12, contention=False, limited=limited))
    assert alone == stored_s(crowd(12, contention=True, limited=limited, own_sites=True))
    assert len(alone) == 6
    shared = stored_s(crowd(12, contention=True, limited=limited))
    assert shared[-1] > alone[-1]


def test_without_contention_others_change_nothing():
    pair = stored_s(crowd(2, contention=False, limited=True))
    crowded = stored_s(crowd(12, contention=False, limited=True))
    assert crowded == pytest.approx(6 * pair)
