"""The report: complete in one file, the same bytes for the same runs, with nothing left empty."""

from __future__ import annotations

import base64
import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plotly.offline import get_plotlyjs

from pocketsim import testing
from pocketsim.calibration.validate import published, validation
from pocketsim.report import write_report
from pocketsim.report.charts import grids
from pocketsim.report.runs.run import as_series, load
from pocketsim.report.sections import provenance, towns
from pocketsim.sim import metrics, trace
from pocketsim.sim.devices.numbers import numbers, seconds
from pocketsim.sim.metrics import energy, per_phone
from pocketsim.sim.metrics import town as payments
from support.towns import town_runs


@pytest.fixture(scope="module")
def run_dirs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("runs")
    made = [
        ("udp_128b", "udp", 128, (8.0, 64.0), ()),
        ("iroh_keep_128b", "quic_keep", 128, (32.0, 64.0), (25.1, 14, 0.02, 25.1, 0.0)),
        *(("rate", "udp", size, (5.0, 50.0), ()) for size in (16, 512, 2048)),
        *(("rate", "quic_keep", size, (5.0, 50.0), ()) for size in (16, 512, 2048)),
    ]
    return [
        testing.run_dir(
            folder,
            testing.resolved(scenario, rate, payload, transport),
            testing.Shape(breaks_s=breaks_s),
        )
        for scenario, transport, payload, rates, breaks_s in made
        for rate in rates
    ]


@pytest.fixture(scope="module")
def html(run_dirs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(run_dirs, path, of_validation(run_dirs))
    return path.read_text(encoding="utf-8")


def of_validation(run_dirs: list[Path]) -> validation.ValidationResult:
    return replace(validation.judge(published.rows(), {}), run_dirs=tuple(run_dirs))


def body(html: str) -> str:
    """The page without plotly's own source."""
    return html[html.index('<div class="page">') :]


def test_page_loads_nothing_from_the_network(html: str):
    page = html[: html.index("<script>")] + body(html)
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page) == []
    assert "@import" not in page
    assert not re.search(r"url\(\s*['\"]?https?:", page)
    assert html.count(get_plotlyjs()[:200]) == 1


def test_equal_runs_give_equal_bytes(run_dirs: list[Path], html: str, tmp_path: Path):
    write_report(reversed(run_dirs), tmp_path / "b.html", of_validation(run_dirs))
    assert (tmp_path / "b.html").read_text(encoding="utf-8") == html


def test_contents_lead_to_sections(html: str):
    (contents,) = re.findall(r"<nav.*?</nav>", html, re.DOTALL)
    links = re.findall(r'<a href="#([\w-]+)"', contents)
    assert links == re.findall(r'<h2 id="([\w-]+)"', html)
    assert {"scenarios", "validation", "rates", "outcomes", "profiles", "limitations"} <= set(links)


def test_every_chart_has_its_own_id_and_data(html: str):
    ids = re.findall(r'<div id="(chart-\d+)" class="plotly-graph-div"', html)
    assert len(ids) == len(set(ids)) >= 10
    assert "Plotly.newPlot" in body(html)
    assert not re.search(r'Plotly\.newPlot\(\s*"chart-\d+",\s*\[\]', html)


def test_it_says_that_no_phone_ran_the_probe(html: str):
    assert "No phone has run the device probe yet." in html
    assert "does not claim: anything about a real phone" in html


def test_profiles_state_the_basis_of_every_number(run_dirs: list[Path]):
    profiles = provenance.profiles(load(run_dirs))
    assert list(profiles) == ["invented"]
    assert provenance.unprobed(profiles) == ["invented"]
    names = [name for name, _ in numbers(profiles["invented"])]
    assert "operations.sign" in names
    assert "scheduler.sleep_overshoot.base_s" in names
    grid = provenance.numbers_table("invented", profiles["invented"])
    assert grid.count("<tr>") == len(names) + 1
    assert "100 µs + 1 ns/B" in grid


def test_implementations_state_what_they_rest_on(run_dirs: list[Path], tmp_path: Path):
    found = provenance.implementations(load(run_dirs))
    assert list(found) == ["invented"]
    grid = provenance.numbers_table("invented", found["invented"])
    assert grid.count("<tr>") == len(list(numbers(found["invented"]))) + 1
    for text in ("own_costs.native_call", "floored_ms", "true", "30 s"):
        assert text in grid
    write_report(run_dirs, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Invented app does not claim: anything about a real app" in html


@pytest.mark.parametrize(
    ("value", "text"), [(1.5, "1.5 s"), (2e-3, "2 ms"), (122e-6, "122 µs"), (0.0, "0 s")]
)
def test_times_are_readable(value: float, text: str):
    assert seconds(value) == text


def test_series_find_their_published_rows(run_dirs: list[Path]):
    found = {(one.scenario, one.payload_bytes): one for one in as_series(load(run_dirs, run_dirs))}
    udp = found["udp_128b", 128]
    assert [run.rate_per_s for run in udp.runs] == [8.0, 64.0]
    assert len(udp.published("store_rate_per_s")) == 10  # nine workloads and a claim
    assert udp.published("stored_block_bytes_mean", "run")


def test_a_report_needs_a_run(tmp_path: Path):
    with pytest.raises(ValueError, match="at least one run"):
        write_report([], tmp_path / "a.html")


def test_runs_without_stores_do_not_break_it(tmp_path: Path):
    dead = testing.Shape(breaks_s=(0.0,) * 5)
    resolved = testing.resolved("iroh_keep_128b", 64.0, 128, "quic_keep")
    run = testing.run_dir(tmp_path, resolved, dead)
    write_report([run], tmp_path / "a.html")
    assert "Runs over a kept connection" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_axes_are_named_and_make_series_of_their_own(tmp_path: Path):
    key = "transport.eva.window"
    made = [
        testing.run_dir(
            tmp_path, testing.resolved("grid", 8.0, 10, "eva", axes={key: window}), testing.Shape()
        )
        for window in (256, 64)
    ]
    found = as_series(load(made))
    assert [series.name for series in found] == ["EVA, 10 B, window 64", "EVA, 10 B, window 256"]
    rates, *_ = grids.charts(load(made))
    assert [(line.name, line.x) for line in rates[2].data] == [("simulated", (64, 256))]
    write_report(made, tmp_path / "report.html")
    assert "<br>window 64, 256</td>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_rates_and_transports_make_lines_of_their_own(tmp_path: Path):
    made = [
        testing.run_dir(
            tmp_path,
            testing.resolved("grid", rate, 10, transport, 1, {"transport.socket_buffer": size}),
            testing.Shape(),
        )
        for transport in ("udp", "eva")
        for rate in (4.0, 8.0)
        for size in (1000, 2000)
    ]
    rates, *_ = grids.charts(load(made))
    assert {line.name: line.x for line in rates[2].data} == {
        f"{transport}, {rate}/s": (1000, 2000) for transport in ("EVA", "UDP") for rate in (4, 8)
    }


def computing(task: str, **axes: Any) -> dict[str, Any]:
    workload = {"kind": "compute", "start_s": 0.0, "threads": axes.get("workload.threads", 1)}
    axes = {"workload.task": task, **axes}
    sections = {"workload": workload, "protocol": {"kind": "compute"}}
    scenario = "sign_and_verify" if len(axes) > 1 else "authority_cpu"
    return testing.resolved(scenario, 0.0, 147, "none", 1, axes, **sections)


def run_of_tasks(folder: Path, resolved: dict[str, Any], count: int) -> Path:
    """An invented run of `count` tasks in a second."""
    name = "-".join(str(value) for value in resolved["rung"]["axes"].values())
    path = folder / resolved["scenario"] / name
    path.mkdir(parents=True)
    done = np.arange(1, count + 1)
    filled = {"repetition": 0, "node": 0, "kind": "compute", "peer": 0, "message_size": 147}
    columns = {key: np.full(count, value) for key, value in filled.items()}
    table = trace.build(
        **columns,
        time_s=done / count,
        message_id=done,
        reason=np.full(count, None, object),
        logged=np.ones(count, dtype=bool),
    )
    (path / "resolved.json").write_text(json.dumps(resolved), encoding="utf-8")
    (path / "manifest.json").write_text(
        json.dumps(testing.manifest(resolved, {})), encoding="utf-8"
    )
    (path / "metrics.json").write_text(
        json.dumps({**metrics.measure(table, resolved), "point": {}}), encoding="utf-8"
    )
    return path


def test_grids_of_threads_and_shares_of_parts_are_drawn(tmp_path: Path):
    made = [
        run_of_tasks(tmp_path, computing(task, **{"workload.threads": threads}), 10 * threads)
        for task in ("sign_token", "verify_token")
        for threads in (2, 1)
    ]
    parts = [
        run_of_tasks(tmp_path, computing(task), count)
        for task, count in (("verify_token", 10), ("sign_token", 30))
    ]
    (rates, data), (shares,) = (grids.charts(load(runs, runs)) for runs in (made, parts))
    lines = {line.name: (line.x, line.y) for line in rates[2].data}
    assert lines["task sign_token"] == ((1, 2), (10.0, 20.0))
    assert lines["published"] == ((1,), (38239.0,))
    assert [line.name for line in data[2].data][-1] == "published"
    bars, printed = shares[2].data
    assert dict(zip(bars.y, bars.x, strict=True)) == {
        "task verify_token": pytest.approx(75.0),
        "task sign_token": pytest.approx(25.0),
    }
    assert dict(zip(printed.y, printed.x, strict=True))["task sign_token"] == 8.0
    write_report([*made, *parts], tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<h2 id="ladders">' in text
    assert '<h2 id="rates">' not in text


@pytest.fixture
def town_dirs(tmp_path: Path) -> list[Path]:
    return town_runs(tmp_path)


def test_a_towns_day_is_drawn_offline_beside_online(town_dirs: list[Path]):
    paid, waiting, hands, spent = (chart for _, _, chart in towns.charts(load(town_dirs)))
    lines = {line.name: (list(line.x), list(line.y)) for line in paid.data}
    assert lines == {
        "asked for": ([0.5, 1.5], [5.0, 8.0]),
        "completed, acceptance offline": ([0.5, 1.5], [4.0, 7.0]),
        "completed, acceptance online": ([0.5, 1.5], [3.0, 0.0]),
    }
    assert [list(line.x) for line in waiting.data] == [[1.0, 2.0]] * 2
    assert [list(line.y) for line in hands.data] == [[2.5, None]] * 2
    # 0.11 J over 11 payments.
    assert [dot for dots in spent.data for dot in dots.y] == pytest.approx([10.0] * 10)
    for chart in (paid, waiting, hands):
        assert [(shape.x0, shape.x1) for shape in chart.layout.shapes] == [(1.0, 2.0)]


def test_charts_that_a_sampled_trace_cannot_give_are_left_out(town_dirs: list[Path]):
    def sample(path: Path) -> None:
        found = json.loads((path / "metrics.json").read_text())
        for day in found["hourly"]:
            day |= {"unverified_tokens": [None, None], "token_recipients_mean": [None, None]}
        (path / "metrics.json").write_text(json.dumps(found))

    charts = {title: chart for title, _, chart in towns.charts(load(town_dirs))}
    sample(town_dirs[0])
    one = {title: chart for title, _, chart in towns.charts(load(town_dirs))}
    for title in ("Tokens that wait", "Hands of a token"):
        # What is left keeps its colour.
        assert list(one[title].data) == [charts[title].data[1]]
    sample(town_dirs[1])
    none = [title for title, _, _ in towns.charts(load(town_dirs))]
    assert none == ["Payments", "Energy of a payment"]


def test_the_only_hour_of_a_town_is_drawn_beside_another_run_alone(town_dirs: list[Path]):
    for path in town_dirs:
        found = json.loads((path / "metrics.json").read_text())
        found["hourly"] = [{key: day[key][:1] for key in day} for day in found["hourly"]]
        (path / "metrics.json").write_text(json.dumps(found))
    titles = [
        [title for title, *_ in towns.charts(load(some))] for some in (town_dirs, town_dirs[:1])
    ]
    hourly = ["Payments", "Tokens that wait", "Hands of a token"]
    assert titles == [[*hourly, "Energy of a payment"], ["Energy of a payment"]]


def test_a_towns_metrics_stand_in_a_table_with_units_and_meanings(town_dirs: list[Path]):
    html = towns.figures_table(load(town_dirs))
    row = re.search(r"<tr><td><code>payments_completed</code>.*?</tr>", html)
    assert row
    # 12.71 times a deviation of sqrt(2), over sqrt(2); below, no less than nothing.
    assert row[0].count('>11<br><span class="interval">0 to 23.7</span>') == 2
    assert "whose payer has a receipt" in row[0]
    assert "<td>min</td>" in html
    assert "energy_mj_per_payment" not in html  # a run without it has no such row


def test_every_metric_of_a_town_has_a_meaning(town_dirs: list[Path]):
    known = [name for rows in towns.METRICS.values() for name in rows]
    (run, _) = load(town_dirs)
    priced = {**run.resolved, "energy": {}}
    assert sorted(known) == sorted([*payments.NAMES, *energy.names(priced), *per_phone.USE])


def test_a_report_on_towns_has_no_charts_of_trades(town_dirs: list[Path], tmp_path: Path):
    write_report(town_dirs, tmp_path / "towns.html")
    html = (tmp_path / "towns.html").read_text(encoding="utf-8")
    assert re.findall(r'<h2 id="([\w-]+)"', html) == [
        *("answer", "towns", "scenarios", "profiles", "implementations", "limitations"),
    ]
    assert "The theses did not measure" not in html
    assert html.count("plotly-graph-div") - get_plotlyjs().count("plotly-graph-div") == 5


def test_a_copy_of_a_run_is_the_same_run(tmp_path: Path):
    run = testing.run_dir(tmp_path, testing.resolved(), testing.Shape())
    copy = tmp_path / "elsewhere" / run.parent.name / run.name
    shutil.copytree(run, copy)
    assert len(load([run, copy])) == 1


def test_every_chart_has_its_data(html):
    links = re.findall(r'download="chart-(\d+)\.csv" href="data:text/csv;base64,([^"]*)"', html)
    assert [int(number) for number, _ in links] == list(range(1, len(links) + 1))
    assert len(links) == len(set(re.findall(r'<div id="(chart-\d+)"', html)))
    texts = [base64.b64decode(data).decode() for _, data in links]
    tables = [list(csv.DictReader(text.splitlines())) for text in texts]
    assert all(tables)
    assert any(row["above"] for rows in tables for row in rows), "intervals"
    assert any(row["median"] for rows in tables for row in rows), "boxes"


def test_pages_share_what_draws_charts(run_dirs, tmp_path):
    write_report(run_dirs, tmp_path / "report.html", plotly_js="shared/plot&ly.js")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<script src="shared/plot&amp;ly.js"></script>' in html
    assert get_plotlyjs()[:200] not in html


@pytest.mark.engine
def test_the_shared_file_is_found_from_the_page(cli, run_dirs, tmp_path):
    page, shared = tmp_path / "pages" / "report.html", tmp_path / "shared.js"
    done = cli("report", run_dirs[0], "-o", page, "--plotly-js", shared)
    assert done.returncode == 0, done.stderr
    assert '<script src="../shared.js"></script>' in page.read_text(encoding="utf-8")
    assert shared.read_text(encoding="utf-8") == get_plotlyjs()
