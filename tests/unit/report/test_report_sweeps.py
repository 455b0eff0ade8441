"""Sweeps in a report: every point is named and apart, in charts, labels and tables.

Charts are tested by the values and names of their lines. The runs are invented; their manifests
have the shape of real ones.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pocketsim import testing
from pocketsim.report import write_report
from pocketsim.report.charts import grids, rates
from pocketsim.report.runs import points, pooled
from pocketsim.report.runs.run import as_series, labels, load
from pocketsim.report.sections import provenance, towns
from pocketsim.sim.base import units
from pocketsim.sim.base.errors import ScenarioError

LATENCY = "network.access.home_wifi.latency"
LOSS = "network.access.home_wifi.loss_ratio"


def made(folder: Path, rate: float = 16.0, transport: str = "udp", **changes: Any) -> Path:
    """Make an invented run with other settings, phones, a seed, a draw or profiles."""
    settings = {key: as_setting(value) for key, value in changes.pop("settings", {}).items()}
    resolved = testing.resolved("sweep", rate, 100, transport, 2)
    resolved["run"] |= {key: changes.pop(key) for key in ("seed", "draw") if key in changes}
    resolved["devices"][0]["count"] = changes.pop("phones", 2)
    return testing.run_dir(folder, {**resolved, **changes}, testing.Shape(lost_ratio=0.1), settings)


def as_setting(value: Any) -> dict[str, Any]:
    value, unit = value if isinstance(value, tuple) else (value, "")
    return {"value": value, "unit": unit}


def lines(chart: tuple[str, str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the places of each line that the legend names."""
    return {line.name: line.x for line in chart[2].data if line.showlegend is not False}


def test_a_population_is_the_horizontal_axis(tmp_path: Path):
    poisson = {"kind": "poisson"}
    runs = [
        made(tmp_path, rate, phones=phones, workload=poisson)
        for phones in (2000, 50, 500, 200)
        for rate in (0.05, 0.2)
    ]
    charts = grids.charts(load(runs))
    for chart in charts:
        assert lines(chart) == dict.fromkeys(("0.05/s", "0.2/s"), (50, 200, 500, 2000))
        assert chart[2].layout.xaxis.title.text == "phones"
        assert chart[2].layout.xaxis.type == "log"
    table = provenance.scenarios(load(runs))
    assert '<td class="n">50, 200, 500, 2000</td>' in table
    assert "<td>0.05/s, 0.2/s<br>each phone</td>" in table


def test_latencies_are_in_a_unit_that_keeps_them_readable(tmp_path: Path):
    runs = [
        made(tmp_path, settings={LATENCY: (latency_s, "s")}) for latency_s in (0.02, 0.001, 0.1)
    ]
    (chart, *_) = grids.charts(load(runs))
    assert lines(chart) == {"simulated": (1.0, 20.0, 100.0)}
    assert chart[2].layout.xaxis.title.text == "latency, ms"
    assert "<br>latency 1 ms, 20 ms, 100 ms</td>" in provenance.scenarios(load(runs))


def test_an_axis_without_a_decade_or_with_zero_is_linear(tmp_path: Path):
    runs = [made(tmp_path, settings={LOSS: ratio}) for ratio in (0.0, 0.01, 0.1)]
    (chart, *_) = grids.charts(load(runs))
    assert lines(chart) == {"simulated": (0.0, 0.01, 0.1)}
    assert chart[2].layout.xaxis.type != "log"


def test_settings_that_are_no_numbers_make_lines(tmp_path: Path):
    runs = [
        made(tmp_path, rate, draw=draw) for draw in ("posterior", "mean") for rate in (4.0, 8.0)
    ]
    for chart in grids.charts(load(runs)):
        assert lines(chart) == {"draw mean": (4.0, 8.0), "draw posterior": (4.0, 8.0)}


def test_without_steps_runs_stand_beside_each_other_by_name(tmp_path: Path):
    runs = [made(tmp_path, draw=draw) for draw in ("posterior", "mean")]
    for chart in grids.charts(load(runs)):
        assert lines(chart) == {"simulated": ("draw mean", "draw posterior")}


def test_runs_that_differ_in_their_seeds_are_one_point(tmp_path: Path):
    runs = [made(tmp_path, rate, seed=seed) for seed in (1, 2, 3) for rate in (4.0, 8.0)]
    for chart in grids.charts(load(runs)):
        assert lines(chart) == {"simulated": (4.0, 8.0)}
    points = pooled.of_runs(load(runs))
    assert [point.repetitions for point in points] == [6, 6]
    (first, _) = points
    values = [run.values("success_ratio") for run in first.runs]
    assert first.mean("success_ratio") == pytest.approx(np.mean(values))
    low, high = first.bounds("success_ratio")
    (alone, *_) = first.runs
    assert high - low < np.diff(alone.bounds("success_ratio"))


def test_contents_of_a_profile_are_told_apart(tmp_path: Path):
    other = testing.profile()
    other["operations"]["sign"]["cpu_s"] *= 2
    runs = [
        made(tmp_path, profiles={"invented": content}) for content in (testing.profile(), other)
    ]
    found = labels(load(runs))
    assert len(set(found)) == 2
    assert all(re.fullmatch("content of invented [0-9a-f]{12}", label) for label in found)


def test_builds_are_told_apart(tmp_path: Path):
    runs = [made(tmp_path, versions={"pocketsim": "0", "build": letter * 12}) for letter in "ab"]
    assert labels(load(runs)) == [f"build {letter * 12}" for letter in "ab"]


def test_quantities_that_move_together_share_an_axis(tmp_path: Path):
    """Of phones and a latency that follows them one is the axis, the caption names the other."""
    runs = [
        made(tmp_path, phones=phones, settings={LATENCY: (latency_s, "s")}, seed=seed)
        for phones, latency_s in ((2, 0.001), (4, 0.002), (8, 0.002))
        for seed in (1, 2)
    ]
    (chart, *_) = grids.charts(load(runs))
    assert lines(chart) == {"simulated": (2, 4, 8)}
    assert chart[1].endswith("; along with it latency 1 ms, 2 ms")


def test_a_mix_of_groups_is_drawn_by_all_its_phones(tmp_path: Path):
    group = testing.resolved()["devices"][0]
    runs = [
        made(tmp_path, devices=[{**group, "count": 3 * size}, {**group, "count": size}], seed=seed)
        for size in (1, 10, 30)
        for seed in (1, 2)
    ]
    (chart, *_) = grids.charts(load(runs))
    assert lines(chart) == {"simulated": (4, 40, 120)}
    assert chart[2].layout.xaxis.title.text == "phones"
    assert "along with it devices[0] phones 3, 30, 90; devices[1] phones 1, 10, 30" in chart[1]
    table = provenance.scenarios(load(runs))
    assert "<br>devices[0] phones 3, 30, 90<br>devices[1] phones 1, 10, 30</td>" in table
    assert '<td class="n">4, 40, 120</td>' in table


def test_axes_that_cross_make_lines(tmp_path: Path):
    runs = [
        made(tmp_path, settings={LATENCY: (latency_s, "s"), LOSS: ratio})
        for latency_s in (0.001, 0.002, 0.003)
        for ratio in (0.0, 0.1)
    ]
    (chart, *_) = grids.charts(load(runs))
    assert lines(chart) == {f"loss_ratio {ratio}": (1.0, 2.0, 3.0) for ratio in ("0", "0.1")}


def test_axis_names_are_shortened_while_unique():
    one = {"value": 1, "unit": ""}
    keys = (
        *("devices[0].count", "devices[1].count", "network.access.wifi.latency"),
        *("network.access.lte.latency", "run.draw", "contacts.links.wifi.latency"),
    )
    assert [setting.name for setting in points.named(dict.fromkeys(keys, one)).values()] == [
        *("devices[0] phones", "devices[1] phones", "access wifi latency"),
        *("lte latency", "draw", "links wifi latency"),
    ]
    assert points.named({"devices[0].count": one})["devices[0].count"].name == "phones"


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (points.Setting(0.02, "s"), "20 ms"),
        (points.Setting(125e3, "B/s"), "1 Mbps"),
        (points.Setting(16.0, "/s"), "16/s"),
        (points.Setting(units.RATE.parse("1.1/day"), "/s"), "1.1/day"),
        (points.Setting(0.5, "EUR"), "50 ct"),
        (points.Setting(value=True), "true"),
        (points.Setting(None, "B"), "unset"),
        (points.Setting(0.0, "s"), "0 s"),
    ],
)
def test_values_are_printed_as_in_documents(setting: points.Setting, text: str):
    assert setting.text == text


def place(**values: Any) -> dict[str, points.Setting]:
    keys = {key.replace("__", "."): value for key, value in values.items()}
    return {key: points.Setting(value, "", key.rpartition(".")[2]) for key, value in keys.items()}


def test_option_of_one_transport_is_no_difference_of_its_own():
    plain, eva = (
        place(transport__mode="udp"),
        place(transport__mode="eva", transport__eva__window=1),
    )
    assert points.differing([plain, eva]) == ["transport.mode"]
    wide = place(transport__mode="eva", transport__eva__window=2)
    assert points.differing([plain, eva, wide]) == ["transport.mode", "transport.eva.window"]
    assert points.labels([plain, eva, wide], points.differing([plain, eva, wide])) == [
        *("mode udp", "mode eva, window 1", "mode eva, window 2")
    ]


def test_a_table_that_only_some_have_is_named_once():
    still, moving = place(churn=None), place(churn__shape=0.4, churn__scale=5, churn__gap=3)
    assert points.labels([still, moving], points.differing([still, moving])) == [
        *("no churn", "churn")
    ]


def test_of_many_keys_that_move_together_two_are_named():
    one, other = (place(a=at, b=at, c=at, d=at) for at in (1, 2))
    assert points.labels([one, other], "abcd") == ["a 1, b 1, and 2 more", "a 2, b 2, and 2 more"]


def test_equal_labels_of_different_values_are_numbered():
    places = [{"a": points.Setting(value)} for value in ("x", "x ", "x")]
    assert points.labels(places, "a") == ["x (1)", "x (2)", "x (1)"]


def test_rates_are_all_over_all_phones(tmp_path: Path):
    """What is asked for, sent and stored is on one basis, on both axes."""
    runs = [made(tmp_path, rate, phones=20, workload={"kind": "poisson"}) for rate in (4.0, 8.0)]
    (series,) = as_series(load(runs))
    chart = rates.rates(series)
    asked, sent, *_ = chart.data
    assert asked.x == asked.y == sent.x == (80.0, 160.0)
    assert chart.layout.xaxis.title.text.endswith(", all phones")
    assert chart.layout.yaxis.title.text.endswith(", all phones")


def test_rate_of_a_sender_loop_is_not_multiplied_by_phones(tmp_path: Path):
    runs = [made(tmp_path, rate, workload={"kind": "paced"}) for rate in (4.0, 8.0)]
    (series,) = as_series(load(runs))
    chart = rates.rates(series)
    assert chart.data[0].x == chart.data[0].y == (4.0, 8.0)
    assert "phones" not in chart.layout.yaxis.title.text


def test_requests_of_phones_that_are_off_are_named(tmp_path: Path):
    run = made(tmp_path, phones=20, workload={"kind": "poisson"}, churn={"session": {}})
    (series,) = as_series(load([run]))
    assert rates.rates(series).data[0].name == "asked for, were all phones on"


def test_all_of_a_sweep_is_in_a_page(tmp_path: Path):
    hostile = "</script><script>alert(1)</script>"
    runs = [made(tmp_path, settings={"run.app": app}) for app in ("restarted", hostile)]
    write_report(runs, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<h2 id="ladders">' in html
    assert hostile not in html


@pytest.mark.parametrize("lacks", ["scenario", "point"])
def test_a_run_of_an_older_version_is_refused(tmp_path: Path, lacks: str):
    run = made(tmp_path)
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest[lacks]
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ScenarioError, match="of another version; remove the run"):
        write_report([run], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_intervals_of_an_older_version_are_refused(tmp_path: Path):
    run = made(tmp_path)
    found = json.loads((run / "metrics.json").read_text())
    del found["metrics"]["success_ratio"]["ci95_low"]
    (run / "metrics.json").write_text(json.dumps(found))
    with pytest.raises(ScenarioError, match="of another version; remove the run"):
        load([run])


def test_towns_that_ask_for_other_payments_are_drawn_apart(tmp_path: Path):
    runs = []
    for rate, asked in ((1.0, [4, 8]), (2.0, [8, 16])):
        tokens = {"rules": "thesis", "handshake": "none"}
        run = made(tmp_path, rate, protocol={"kind": "tokens", "tokens": tokens})
        found = json.loads((run / "metrics.json").read_text())
        hours = {"payments_asked": asked, "payments_completed": asked}
        hours |= {"unverified_tokens": asked, "token_recipients_mean": asked}
        found["hourly"] = [hours]
        (run / "metrics.json").write_text(json.dumps(found))
        runs.append(run)
    paid = towns.charts(load(runs))[0][2]
    drawn = {line.name: list(line.y) for line in paid.data}
    assert drawn["asked for, 1/s"] == [4.0, 8.0]
    assert drawn["asked for, 2/s"] == [8.0, 16.0]
