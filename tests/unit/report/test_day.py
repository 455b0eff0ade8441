"""The day on a page: what a map carries, its charts, and that other runs have none of it."""

import base64
import json
import re

import numpy as np
import pytest

import pocketsim as ps
from pocketsim.report.day import charts, packing, section
from pocketsim.report.page_layout import arranged
from pocketsim.report.runs.run import load
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.trace import places
from pocketsim.sim.trace.places import Rows

FEW = {
    "run.duration": "2min",
    "run.repetitions": 2,
    "devices[0].count": 30,
    "devices[1].count": 4,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("walkers")


@pytest.fixture(scope="module")
def run(folder):
    (found,) = ps.run("walkers", FEW, out=folder, progress=False)
    return load([found.directory])[0]


def content(html):
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])


def test_a_page_has_a_map_that_says_whose_it_is_and_how_it_was_made(run):
    html = arranged([run]).html()
    assert "Positions are drawn from the scenario, not measured." in html
    assert "The map shows the first repetition." in html
    assert "Of 34 phones, " in html
    assert content(html)["duration_s"] == 120.0
    assert html.count('querySelectorAll("figure.map")') == 1


def test_a_run_without_a_map_has_none(folder):
    (found,) = ps.run("walkers", FEW | {"output.map": False}, out=folder, progress=False)
    assert not (found.directory / "map.parquet").exists()
    html = arranged(load([found.directory])).html()
    assert 'class="map"' not in html
    assert 'id="day"' not in html


def test_people_who_come_and_go_have_charts_and_no_map(tmp_path):
    few = {
        "run.duration": "40min",
        "run.repetitions": 2,
        **{f"devices[{number}].count": 10 for number in range(3)},
        "workload.rate": "20/h",
    }
    (found,) = ps.run("1k", few, out=tmp_path, progress=False)
    (loaded,) = load([found.directory])
    parts = section.events(loaded)
    on, asked = (chart for _, _, chart in charts.charts(loaded, parts))
    assert {trace.name for trace in on.data} >= {"on", "reachable by wifi"}
    bars = sum(sum(trace.y) for trace in asked.data if trace.type == "bar")
    assert bars * 2 == pytest.approx(loaded.metrics["counts"]["sent"])
    page = arranged([loaded]).html()
    assert 'id="day"' in page
    assert 'class="map"' not in page


def test_an_hour_is_the_mean_of_its_bins(run):
    day = {"on_share": [1.0, 0.5], "reachable_share": [0.5, 0.0]}
    run.metrics["day"][0].update(day)
    run.resolved["run"]["duration_s"] = 600.0
    ((begin, end, on, reachable),) = charts.hourly(run)
    assert (begin, on, reachable) == (0.0, pytest.approx(0.75), pytest.approx(0.25))
    assert end == pytest.approx(1 / 6)


def hand_made():
    """Return a map of two phones: the first off for a while, the second moving to Wi-Fi."""
    phone = np.array([3, 3, 7])
    parts = [
        Rows(
            "waypoint",
            phone,
            np.array([0.0, 90.0, 0.0]),
            np.array([0.1, 299.9, 50.0]),
            np.array([200.0, 0.0, 66.6]),
        ),
        Rows(
            "place", np.array([-1]), np.zeros(1), np.array([50.0]), np.array([66.6]), np.array([2])
        ),
        Rows("off", np.array([3]), np.array([0.0])),
        Rows("on", np.array([3]), np.array([60.0])),
        Rows("access", np.array([3, 7, 7]), np.array([0.0, 0.0, 30.0]), name=np.array([0, 0, 1])),
    ]
    about = {places.WIDTH: "300.0", places.HEIGHT: "200.0"}
    return places.build(0, parts, ["lte", "wifi", "stand"]).replace_schema_metadata(about)


def numbers(text, kind):
    return np.frombuffer(base64.b64decode(text), kind).tolist()


def test_what_is_packed_is_what_was_kept_within_half_a_step():
    drawing = packing.drawing(hand_made(), None)
    found = packing.packed(drawing, 100.0)
    for name, most, kept in (
        ("time", 100.0, drawing.way.time_s),
        ("x", 300.0, drawing.way.values[0]),
        ("y", 200.0, drawing.way.values[1]),
    ):
        again = packing.unpacked(found["way"][name], most)
        assert again == pytest.approx(kept, abs=most / packing.STEPS / 2 + 1e-9)
    assert numbers(found["way"]["begins"], "<u4") == [0, 2, 3]
    assert numbers(found["phones"], "<u4") == [3, 7]
    (stalls,) = found["places"]
    assert stalls["name"] == "stall"
    assert packing.unpacked(stalls["x"], 300.0) == pytest.approx([50.0], abs=0.003)


def test_states_are_off_or_the_network_that_a_phone_is_on():
    drawing = packing.drawing(hand_made(), None)
    assert drawing.networks == ("lte", "wifi")
    begins = drawing.states.begins.tolist()
    rows = list(zip(drawing.states.time_s.tolist(), drawing.states.values[0].tolist(), strict=True))
    assert rows[begins[0] : begins[1]] == [(0.0, 1), (0.0, 0), (60.0, 1)]
    assert rows[begins[1] : begins[2]] == [(0.0, 1), (30.0, 2)]


def test_every_random_place_comes_back_within_half_a_step(run):
    import pyarrow.parquet as pq

    table = pq.read_table(run.path / "map.parquet")
    drawing = packing.drawing(table, section.events(run)[0])
    found = packing.packed(drawing, 120.0)
    again = packing.unpacked(found["way"]["x"], 300.0)
    assert np.abs(again - drawing.way.values[0]).max() <= 300.0 / packing.STEPS / 2 + 1e-9
    fate = numbers(found["trades"]["fate"], "u1")
    counted = run.metrics["fates"][0]
    assert (len(fate), fate.count(1)) == (counted["sent"], counted["stored"])


def test_too_many_phones_are_thinned_to_each_nth(run):
    import pyarrow.parquet as pq

    whole = packing.drawing(pq.read_table(run.path / "map.parquet"), section.events(run)[0])
    assert packing.fitted(whole, packing.BUDGET_BYTES)[1:] == (1, 1)
    part, every, _ = packing.fitted(whole, packing._bytes(whole) // 2)
    assert every >= 2
    assert part.phones.tolist() == whole.phones[::every].tolist()
    for place, phone in enumerate(part.phones):
        before = whole.phones.tolist().index(phone)
        one = slice(*part.way.begins[place : place + 2])
        same = slice(*whole.way.begins[before : before + 2])
        assert part.way.time_s[one].tolist() == whole.way.time_s[same].tolist()
        assert part.way.values[0][one].tolist() == whole.way.values[0][same].tolist()
    assert set(part.trades.one) <= set(part.phones)
    html = section.map_html(run, section.events(run), 1, packing._bytes(whole) // 2)
    assert f"One phone in {every} of 34 is shown." in html


def test_the_same_scenario_gives_the_same_bytes(run, tmp_path):
    (again,) = ps.run("walkers", FEW, out=tmp_path, progress=False)
    for name in ("map.parquet", "resolved.json"):
        assert (again.directory / name).read_bytes() == (run.path / name).read_bytes()


def test_a_map_takes_places(tmp_path):
    with pytest.raises(ScenarioError, match=r"output\.map: phones have no places"):
        ps.run("1k", {"output.map": True}, out=tmp_path, progress=False)


def test_a_town_has_lines_of_payments_and_no_square_for_homes(tmp_path):
    small = {"run.duration": "37h", "run.repetitions": 1}
    small |= {f"devices[{group}].count": count for group, count in enumerate((30, 20, 3))}
    (town,) = ps.run("town_day", small, out=tmp_path, progress=False)
    (run,) = load([town.directory])
    html = section.map_html(run, section.events(run), 1, packing.BUDGET_BYTES)
    assert "A line joins the two phones of a payment of the last 5 minutes." in html
    assert '"name": "payment that is done"' in html
    assert '"name": "workplace"' in html
    assert '"name": "home"' not in html


def test_words_say_when_most_and_fewest_are_on(run):
    said = section.in_words(run)
    assert said.startswith("Of 34 phones, ")
    assert said.endswith("The chart below has all hours.")
