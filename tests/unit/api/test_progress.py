import builtins
import io
import sys
import threading

import pytest
from rich.console import Console

from pocketsim.api import progress as meters
from pocketsim.cli.ui import console, progress
from pocketsim.sim.run.job import Share


@pytest.fixture
def off_a_terminal(monkeypatch):
    """Lines that were said, and an event for each; the half minute is next to nothing."""
    said, spoke = [], threading.Event()

    def say(text, level=0):
        if level == 0:
            said.append(text)
            spoke.set()

    monkeypatch.setattr(console, "say", say)
    monkeypatch.setattr(console, "_level", 0)
    monkeypatch.setattr(progress, "SILENCE_S", 0.001)
    return said, spoke


def test_remaining_time_follows_from_the_progress():
    meter = meters.Meter(total=4, started_s=100.0)
    meter.advance("udp-100B-16ps-0123456789ab", 0, 1.0)
    meter.advance("quic_keep-100B-16ps-0123456789ab", 1, 0.25)
    meter.advance("quic_keep-100B-16ps-0123456789ab", 1, 0.5)
    assert meter.done == 1.5
    line = meter.line(190.0)
    assert line == "1.5 of 4 repetitions in 1 min 30 s, 2 min 30 s left: quic_keep-100B-16ps"
    meter.advance("quic_keep-100B-16ps-0123456789ab", 1, 1.0)
    assert (meter.done, meter.under_way) == (2.0, {})


def test_how_fast_it_is_follows_from_events_and_simulated_seconds():
    meter = meters.Meter(total=3, started_s=100.0)
    assert meter.speed(101.0) == ""
    meter.advance("a-0", 0, Share.so_far(0.5, 1_000_000, 30.0))
    meter.advance("a-0", 0, Share.so_far(0.9, 1_800_000, 54.0))
    meter.advance("a-0", 0, 1.0)
    meter.advance("a-0", 1, Share.so_far(0.1, 200_000, 6.0))
    meter.advance("a-0", 2, 0.5)  # of somebody who tells no more
    assert meter.speed(100.0) == ""
    assert meter.speed(105.0) == "400 thousand events/s, 12 simulated s/s"
    line = meter.line(105.0)
    assert line.endswith(" left, 400 thousand events/s, 12 simulated s/s: a")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.123, "0.12"),
        (7.04, "7"),
        (342.0, "340"),
        (999.6, "1 thousand"),
        (45_678.0, "46 thousand"),
        (1_234_567.0, "1.2 million"),
    ],
)
def test_rates_are_printed_in_two_digits(value, text):
    assert meters.short(value) == text


def test_a_share_is_read_as_it_was_told():
    told = Share.so_far(0.25, 12, 7.5)
    read = Share.read(told.line().encode())
    assert (read, read.events, read.simulated_s) == (0.25, 12, 7.5)
    with pytest.raises(ValueError, match="not enough"):
        Share.read(b"0.25")


def test_a_run_is_called_as_its_label_says():
    meter = meters.Meter(4, 0.0, {"udp-100B-16ps-0123456789ab": "udp, 50 phones"})
    meter.advance("udp-100B-16ps-0123456789ab", 0, 0.5)
    assert meter.latest == "udp, 50 phones"


def test_remaining_time_is_unknown_at_the_start():
    assert meters.Meter(4, 0.0).line(31.0) == "0 of 4 repetitions in 31 s: starting"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s"), (10_920, "3 h 2 min")],
)
def test_durations_are_printed_in_two_units(seconds, text):
    assert meters.span(seconds) == text


def test_off_a_terminal_a_long_silence_is_broken_within_a_repetition(off_a_terminal):
    said, spoke = off_a_terminal
    with progress.progress(2) as step:
        step("udp-100B-16ps-0123456789ab", 0, 0.5)
        spoke.clear()
        assert spoke.wait(60)
    assert said[-1].startswith("0.5 of 2 repetitions in ")
    assert said[-1].endswith(": udp-100B-16ps")


def test_quiet_prints_no_progress(off_a_terminal, monkeypatch):
    said, _ = off_a_terminal
    monkeypatch.setattr(console, "_level", -1)
    with progress.progress(2) as step:
        step("udp-100B-16ps-0123456789ab", 0, 1.0)
    assert said == []


def test_a_label_is_no_markup_and_nothing_that_a_terminal_obeys():
    meter = meters.Meter(2, 0.0, {"a-b": "[/x] [bold]\x1b[31m"})
    meter.advance("a-b", 0, 0.5)
    with meters._drawn() as bar:
        bar.add_task(meter.latest, total=2, speed="")
        shown = io.StringIO()
        Console(file=shown, width=200).print(bar.get_renderable())
    assert "[/x] [bold]\\x1b[31m" in shown.getvalue()


def test_printed_text_is_escaped(capsys):
    console.table("a\x1b]0;title\x07", ("head",), [("\x1b[2J",)])
    console.fail("one\nline\x1b[2J")
    said = capsys.readouterr()
    assert said.out == "\na\\x1b]0;title\\x07\n  head\n  \\x1b[2J\n"
    assert said.err == "one\nline\\x1b[2J\n"


def test_a_bar_is_drawn_where_somebody_may_see_it(monkeypatch):
    class ZMQInteractiveShell:
        """In the place of IPython's in a notebook."""

    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not meters.is_watched()
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert meters.is_watched()
    monkeypatch.setattr(builtins, "get_ipython", lambda: None)
    assert not meters.is_watched()


def test_a_bar_moves(monkeypatch):
    drawn = io.StringIO()
    console = Console(file=drawn, width=200, force_terminal=True)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    with meters.bar(meters.Meter.of(4, {"a-b": "four phones"})) as step:
        step("a-b", 0, 1.0)
        step("a-b", 1, Share.so_far(0.5, 1_000, 30.0))
    assert "four phones" in drawn.getvalue()
    assert "1.5/4" in drawn.getvalue()
    assert "events/s, " in drawn.getvalue()
