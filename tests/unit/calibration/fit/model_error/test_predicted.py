"""Where real runs are expected: what repetitions differ by, and what the model leaves out."""

from __future__ import annotations

import fnmatch
import math

import numpy as np
import pytest
import tomli_w

from pocketsim.calibration.fit.model_error import play
from pocketsim.calibration.fit.model_error.estimate import Predicted, estimated, left_out
from pocketsim.calibration.validate import published
from pocketsim.report.html.page import Page
from pocketsim.report.runs.run import load as load_runs
from pocketsim.report.sections import expected
from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.base.model_error import half_log, widened
from pocketsim.sim.devices import implementation, profile
from pocketsim.sim.metrics import predicted
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

APP = profile.IMPLEMENTATIONS / "trustchain_throughput_2025.toml"
ERROR = {
    "transports": ["udp"],
    "metrics": ["store_rate_per_s"],
    "sigma": 0.05,
    "degrees_of_freedom": 4,
    "rows": ["A1_w1_send"],
    "source": "a test",
}
UDP = "pocketsim/scenarios/throughput/udp_100b.toml"
OVERRIDES = ('workload.rate="4/s"', "run.repetitions=20", "run.duration=1s")


def program(tmp_path, **tables):
    _, told = read_toml(APP)
    path = tmp_path / APP.name
    path.write_text(tomli_w.dumps({**told, "model_error": tables}))
    return path


def resolved(tmp_path, draw, error):
    path = program(tmp_path, stores=error)
    asked = [*OVERRIDES, f"run.draw={draw}", f"implementation={path}"]
    return resolve(load(UDP, asked))[0].resolved


def metrics(values):
    return {name: {"values": values} for name in ("store_rate_per_s", "send_rate_per_s")}


def test_bounds_are_wider_than_the_repetitions_by_the_models_error(tmp_path):
    values = list(np.linspace(3.9, 4.1, 21))
    found = predicted.beside(metrics(values), resolved(tmp_path, "posterior", ERROR))
    told = found["store_rate_per_s"]
    half = half_log(0.05, 4)
    low, high = np.quantile(values, (0.05, 0.95))
    assert told["predicted90_low"] == pytest.approx(
        4.0 * math.exp(-math.hypot(math.log(4.0 / low), half))
    )
    assert told["predicted90_high"] == pytest.approx(
        4.0 * math.exp(math.hypot(math.log(high / 4.0), half))
    )
    assert half == pytest.approx(2.1318 * 0.05, rel=1e-4)  # Student's t, 4 degrees, 95 %


def test_metrics_without_an_estimate_and_other_transports_have_no_bounds(tmp_path):
    found = predicted.beside(metrics([4.0] * 20), resolved(tmp_path, "posterior", ERROR))
    assert set(found["send_rate_per_s"]) == {"values"}
    other = {**ERROR, "transports": ["quic_keep"]}
    found = predicted.beside(metrics([4.0] * 20), resolved(tmp_path, "posterior", other))
    assert all(set(told) == {"values"} for told in found.values())


def test_runs_at_the_means_have_no_bounds_and_do_not_depend_on_the_error(tmp_path):
    one = resolved(tmp_path, "mean", ERROR)
    assert "model_error" not in one["implementation"]
    found = predicted.beside(metrics([4.0] * 20), one)
    assert set(found["store_rate_per_s"]) == {"values"}


def test_a_handful_of_repetitions_has_no_range(tmp_path):
    found = predicted.beside(metrics([4.0] * 5), resolved(tmp_path, "posterior", ERROR))
    assert set(found["store_rate_per_s"]) == {"values"}


def test_a_bound_at_nothing_stays_there():
    low, high = widened(0.0, 2.0, 4.0, 0.3)
    assert low == 0.0
    assert high == pytest.approx(2.0 * math.exp(math.hypot(math.log(2), 0.3)))
    assert widened(0.0, 0.0, 4.0, 0.3) == (0.0, 4.0)


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("metrics", ["store_rate"], "store_rate_per_s"),
        ("transports", ["upd"], "udp"),
        ("sigma", -1.0, None),
        ("degrees_of_freedom", 0, None),
    ],
)
def test_an_error_of_a_model_that_says_nothing_is_refused_with_its_key(tmp_path, key, value, hint):
    path = program(tmp_path, stores={**ERROR, key: value})
    with pytest.raises(ScenarioError) as caught:
        implementation.load(path)
    assert f"model_error.stores.{key}" in str(caught.value)
    assert hint is None or hint in str(caught.value)


def test_one_metric_of_a_transport_has_one_error(tmp_path):
    with pytest.raises(ScenarioError, match="store_rate_per_s over udp is in two of its tables"):
        implementation.load(program(tmp_path, stores=ERROR, again=ERROR))


def drawn(chance, sigma, sessions=5, rows=6, own=0.01):
    """Return rows of sessions, each of which is off as a whole."""
    found = []
    for session in range(sessions):
        off = chance.normal(0.0, sigma)
        for row in range(rows):
            values = 10.0 * np.exp(chance.normal(0.0, own, 60))
            published = 10.0 * math.exp(off + chance.normal(0.0, own))
            found.append(
                Predicted(f"row {session} {row}", f"{session}", published, 0.0, tuple(values))
            )
    return found


@pytest.mark.slow
def test_ninety_percent_hold_ninety_where_sessions_are_off_as_a_whole():
    chance = np.random.default_rng(5)
    held, rows, without = 0, 0, 0
    for _ in range(200):
        for each in left_out(drawn(chance, 0.05)):
            held, rows, without = held + each.held, rows + each.rows, without + each.without
    assert 0.87 <= held / rows <= 0.93
    assert without / rows < 0.5


def test_rows_that_a_fit_has_seen_tell_no_error_and_are_not_counted():
    rows = drawn(np.random.default_rng(5), 0.05)
    fitted = [
        Predicted(row.row, "fitted", row.published * 100, 0.0, row.values, is_fitted=True)
        for row in rows
    ]
    assert estimated([*rows, *fitted]) == estimated(rows)
    assert left_out([*rows, *fitted]) == left_out(rows)


def test_degrees_of_freedom_are_sessions():
    assert estimated(drawn(np.random.default_rng(5), 0.05)).degrees_of_freedom == 5


@pytest.mark.engine
def test_a_drawn_run_says_where_real_runs_are_expected_and_its_report_does(tmp_path, cli):
    path = program(tmp_path, stores=ERROR)
    sets = [*OVERRIDES, "run.draw=posterior", f"implementation={path}"]
    done = cli("run", "udp_100b", *(word for one in sets for word in ("--set", one)))
    assert done.returncode == 0, done.stderr
    folders = [tmp_path / line for line in done.stdout.split()]
    (run,) = load_runs(folders)
    told = run.metrics["metrics"]["store_rate_per_s"]
    assert told["predicted90_low"] < told["ci95_low"] < told["ci95_high"] < told["predicted90_high"]
    page = Page("x")
    expected.add(page, [run])
    assert "Where real runs are expected" in page.html("plotly.js")


def test_shipped_errors_rest_on_published_rows_that_no_fit_of_theirs_has_seen():
    known = {row.id for row in published.rows()}
    for name in profile.shipped(profile.IMPLEMENTATIONS):
        found = implementation.load(profile.IMPLEMENTATIONS / f"{name}.toml")
        for error in (found.model_error or {}).values():
            assert set(error.rows) <= known
            fitted = {pattern for session in play.SESSIONS for pattern in session.fitted}
            assert not [
                row for row in error.rows for one in fitted if fnmatch.fnmatchcase(row, one)
            ]
