"""A law of contacts fitted to a trace of a known law, and what a trace must have."""

import math

import numpy as np
import pytest

from pocketsim.api.calibrate import calibrate_contacts
from pocketsim.calibration.fit.people import contact_fit, trace
from pocketsim.calibration.fit.people.trace import DAY_S, Trace
from pocketsim.sim.base.errors import ScenarioError, UserError
from pocketsim.sim.base.streams import Streams
from pocketsim.sim.scenario import contact_law

KNOWN = {
    "people": 60,
    "resolution_s": 20.0,
    "there": [0.8, 0.8, 0.8, 0.8, 0.8, 0.0, 0.0],
    "hours": [0.0] * 8 + [1.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0] + [0.0] * 6,
    "leaves_s": {"p1": 45_000.0, "p50": 60_000.0, "p99": 68_000.0},
    "meets": {
        "probability": 0.15,
        "same_person_correlation": 0.1,
        "same_pair_correlation": 0.5,
    },
    "contacts": {"p40": 1.0, "p75": 4.0, "p95": 15.0, "p99.9": 60.0},
    "duration_s": {"p60": 20.0, "p90": 80.0, "p99": 300.0, "p99.9": 1500.0},
    "gap_s": {"p10": 20.0, "p35": 80.0, "p60": 400.0, "p80": 3000.0, "p95": 12_000.0},
    "activity_correlation": 0.3,
}


@pytest.fixture(scope="module")
def known():
    """Return what the law draws in twelve weeks: some thirty thousand contacts."""
    return trace.drawn(KNOWN, Streams(5, "known"), 84)


@pytest.fixture(scope="module")
def fitted(known):
    return contact_fit.fit(known, 20.0)


@pytest.fixture(scope="module")
def again(fitted):
    """Return what the fitted law draws in as many weeks, of streams that the fit has not seen."""
    return trace.drawn(fitted, Streams(77, "again"), 84)


VALUES = {
    "durations": Trace.durations_s,
    "gaps": lambda one: one.gaps_s(within_days=True),
    "contacts": lambda one: one.contacts_of_pair_days(),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_what_the_fitted_law_draws_has_the_quantiles_of_the_known_law(known, again, name, level):
    there, found = (np.sort(VALUES[name](one)) for one in (known, again))
    assert there.size > 3000
    value = there[math.ceil(level * there.size) - 1]
    # The shares of what is below the quantile and of what is not above it: values are in steps.
    for side in ("left", "right"):
        share = np.searchsorted(there, value, side) / there.size
        assert np.searchsorted(found, value, side) / found.size == pytest.approx(share, abs=0.015)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_gaps_are_within_a_tenth_of_the_known_law(known, again, level):
    there, found = (np.quantile(one.gaps_s(within_days=True), level) for one in (known, again))
    assert found == pytest.approx(there, rel=0.1, abs=20)


def test_who_meets_whom_is_found_again(known, fitted):
    assert fitted["people"] == 60
    assert fitted["there"] == [pytest.approx(0.8, abs=0.02)] * 5 + [0.0] * 2
    meets = fitted["meets"]
    # Who is sociable is drawn once for 60 people: the share that meets is not the law's.
    pairs = np.unique(np.stack([known.day, known.one, known.other]), axis=1).shape[1]
    assert meets["probability"] == pytest.approx(pairs / (60 * (47.9 * 46.9 / 2)), rel=0.05)
    assert meets["same_person_correlation"] == pytest.approx(0.1, abs=0.05)
    assert meets["same_pair_correlation"] == pytest.approx(0.5, abs=0.06)


def test_the_same_trace_gives_the_same_law(known, fitted):
    assert contact_fit.fit(known, 20.0) == fitted


def test_tables_without_a_cut_are_those_of_the_trace(known, fitted):
    duration_s = known.durations_s()
    for percent, value in fitted["duration_s"].items():
        share = (duration_s <= value).mean()
        assert float(percent[1:]) / 100 == pytest.approx(share, abs=2e-5)


def write(path, rows, header="phone_a,phone_b,begin_s,end_s\n"):
    path.write_text(header + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    return path


def test_contacts_that_overlap_or_touch_are_one():
    one, other = np.array([1, 2, 1, 1, 1]), np.array([0, 0, 0, 0, 2])
    begin_s = np.array([0.0, 0.0, 100.0, 20.0, 40.0])
    end_s = np.array([100.0, 20.0, 120.0, 40.0, 60.0])
    found = Trace.of(one, other, begin_s, end_s, 3)
    columns = (found.one, found.other, found.begin_s, found.end_s)
    assert list(zip(*map(np.ndarray.tolist, columns), strict=True)) == [
        (0, 1, 0.0, 120.0),
        (0, 2, 0.0, 20.0),
        (1, 2, 40.0, 60.0),
    ]


def test_gaps_are_told_within_days_and_over_nights():
    begin_s = np.array([100.0, 300.0, DAY_S + 40.0])
    found = Trace.of(np.zeros(3, int), np.ones(3, int), begin_s, begin_s + 20, 2)
    assert found.gaps_s(within_days=True).tolist() == [180.0]
    assert found.gaps_s(within_days=False).tolist() == [180.0, DAY_S - 280.0]
    assert found.contacts_of_pair_days().tolist() == [2, 1]


def test_both_formats_say_the_same(tmp_path):
    lines = tmp_path / "people.dat"
    lines.write_text("40020 a b\n40040 a b\n40020 b c\n90020 c a\n")
    rows = [("a", "b", 40000, 40040), ("b", "c", 40000.5, 40019), ("c", "a", 90000, 90020)]
    table = write(tmp_path / "people.csv", rows)
    one, other = trace.read(lines, "tij", 20.0, 0.0), trace.read(table, "columns", 20.0, 0.0)
    for name in ("one", "other", "begin_s", "end_s"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert one.day.tolist() == [0, 1, 0]
    later = trace.read(lines, "tij", 20.0, 40000.0)
    assert later.begin_s.min() == 0
    assert trace.read(lines, "tij", 20.0, "first").begin_s.min() == 40000


ROWS = [(at % 4, 4, 30_000 + 200 * at, 30_020 + 200 * at) for at in range(60)]


def test_the_library_writes_a_law_that_scenarios_take(tmp_path):
    path = write(tmp_path / "people.csv", ROWS)
    law = calibrate_contacts(path, tmp_path / "law.toml", about={"licence": "mine"})
    read = contact_law.load(tmp_path / "law.toml")
    assert contact_law.contents(read) == law
    assert read.law.licence == "mine"
    assert read.law.title == "people.csv"
    assert read.law.fitted_to.startswith("60 contacts of 5 people on 1 days, days 0 to 0")


def test_only_days_before_one_are_fitted_to(tmp_path):
    more = [(one, other, begin + 86_400, end + 86_400) for one, other, begin, end in ROWS[:20]]
    every = write(tmp_path / "every.csv", [*ROWS, *more])
    first = write(tmp_path / "first.csv", ROWS)
    law = calibrate_contacts(every, tmp_path / "law.toml", until_day=1)
    assert law == calibrate_contacts(first, tmp_path / "law.toml")
    assert law != calibrate_contacts(every, tmp_path / "law.toml")


MISTAKES = {
    "suffix": ({"path": "law.json"}, UserError, "law.json: a law's file ends in .toml"),
    "form": ({"form": "tji"}, UserError, r"form: 'tji' .* \(did you mean tij\?\)"),
    "resolution": ({"resolution": "20"}, UserError, "resolution: '20' has no unit"),
    "time": ({"origin": "9x"}, UserError, "origin: '9x' has unknown unit"),
    "table": ({"trace": "people.dat"}, ScenarioError, r"is no table, .* \(did you mean tij\?\)"),
    "long": ({"resolution": "2h"}, UserError, "resolution: '2h' is not more than 0 and at most"),
    "origin": ({"origin": "31000s"}, ScenarioError, "has contacts before the origin, 31000 s"),
    "day": ({"until_day": 0}, UserError, "has no day before day 0; it has days 0 to 0"),
    "file": ({"trace": "none.csv"}, ScenarioError, "none.csv"),
    "format": ({"form": "tij"}, ScenarioError, "people.csv"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_and_nothing_written(tmp_path, mistake):
    options, kind, text = mistake
    write(tmp_path / "people.csv", ROWS)
    asked = {"trace": "people.csv", "path": "law.toml", **options}
    names = {key: tmp_path / asked.pop(key) for key in ("trace", "path")}
    with pytest.raises(kind, match=text):
        calibrate_contacts(names["trace"], names["path"], **asked)
    assert not names["path"].exists()


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([(0, 1, 100 * at, 100 * at + 20) for at in range(9)], "contacts of 3 people or more"),
        ([(at, at + 1, 100, 120) for at in range(9)], "pairs that meet several times on a day"),
    ],
)
def test_a_trace_that_says_too_little_is_refused(tmp_path, rows, text):
    path = write(tmp_path / "people.csv", rows)
    with pytest.raises(UserError, match=text):
        calibrate_contacts(path, tmp_path / "law.toml")
