"""The comparison of a law of contacts with later days passes a law that holds, and only that."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

from pocketsim.calibration.fit.people import trace
from pocketsim.sim.base.streams import Streams

# Eight weeks of one law, or four of each of two.
KNOWN = {
    "people": 80,
    "resolution_s": 20.0,
    "there": [0.9] * 5 + [0.0] * 2,
    "hours": [0.0] * 8 + [1.0] * 9 + [0.0] * 7,
    "leaves_s": {"p1": 50_000.0, "p99": 68_000.0},
    "meets": {
        "probability": 0.3,
        "same_person_correlation": 0.1,
        "same_pair_correlation": 0.5,
    },
    "contacts": {"p40": 1.0, "p75": 4.0, "p95": 15.0, "p99.9": 60.0},
    "duration_s": {"p60": 20.0, "p90": 80.0, "p99": 300.0},
    "gap_s": {"p10": 20.0, "p35": 80.0, "p60": 400.0, "p80": 2000.0, "p95": 6000.0},
    "activity_correlation": 0.2,
}
SLOWER = {**KNOWN, "gap_s": {percent: 2 * gap_s for percent, gap_s in KNOWN["gap_s"].items()}}


def compared(tmp_path, later):
    """Compare the days of eight weeks, the first half by the known law, the second by another."""
    first, second = (
        trace.drawn(law, Streams(7, "bench"), 56).between(*days)
        for law, days in ((KNOWN, (0, 28)), (later, (28, 56)))
    )
    lines = []
    for half in (first, second):
        for one, other, begin_s, end_s in zip(
            half.one, half.other, half.begin_s, half.end_s, strict=True
        ):
            ends = np.arange(begin_s + 20, end_s + 20, 20)
            lines += [f"{at:.0f} {one} {other}\n" for at in ends]
    path = tmp_path / "people.dat"
    path.write_text("".join(lines))
    command = [sys.executable, ROOT / "bench" / "contacts.py", path, "--until", "28"]
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=300
    )


def verdicts(done):
    """Return the verdicts of the grouped quantiles by name."""
    table = done.stdout.split("\n\n")[1].splitlines()[2:]
    return {line[:24].strip(): line.split()[-1] for line in table}


@pytest.mark.slow
def test_days_of_the_same_law_are_predicted(tmp_path):
    done = compared(tmp_path, KNOWN)
    assert done.returncode == 0, done.stdout + done.stderr
    found = verdicts(done)
    assert len(found) == 6
    assert set(found.values()) == {"yes"}


@pytest.mark.slow
def test_days_of_another_law_are_not(tmp_path):
    done = compared(tmp_path, SLOWER)
    assert done.returncode == 3, done.stdout + done.stderr
    found = verdicts(done)
    assert found["duration, p50"] == found["duration, p90"] == "yes"
    assert found["gap within a day, p50"] == found["gap within a day, p90"] == "no"
