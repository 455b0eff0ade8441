"""Radios that sleep and links that vary, from a scenario on, against closed forms and files."""

import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "bench"))  # scripts, not a package
import radio

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def check(rows):
    assert not [row.text() for row in rows if row.off > row.bar]


def test_promotions_delay_as_the_closed_form_says_and_are_those_that_cost():
    rows = radio.idle_then_send(radio.MESSAGES)
    charged = [row for row in rows if "charged" in row.what]
    assert len(charged) == 3
    assert all(row.found == row.put_in > 0 for row in charged)
    check(rows)


def test_grants_on_durations_pages_retransmissions_and_beacons_delay_as_the_closed_forms_say():
    check(radio.waits(radio.MESSAGES // 4))


def test_links_deliver_the_rates_of_files_and_nothing_in_gaps():
    rows = radio.rates()
    assert len(rows) == 12
    check(rows)


def test_handovers_come_as_often_as_put_in_and_delay_what_comes_meanwhile():
    check(radio.interruptions(radio.MESSAGES // 4))
