"""Energy in a report: each price beside what it rests on, and a warning where one decides."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from pocketsim import testing
from pocketsim.report import write_report
from pocketsim.report.answer import limits
from pocketsim.report.runs.run import load
from pocketsim.report.sections import energy, towns
from pocketsim.sim import metrics
from support.towns import town_runs

LTE = {"basis": "published", "source": "Huang et al., <MobiSys>", "year": 2012}
TAIL = "of the energy goes into the tail of lte radios, at a price that was published in 2012."


@pytest.fixture
def town_dirs(tmp_path):
    """Two towns of a hundred phones and two hours; of 100 J the tail of LTE takes 30 and 60."""
    directories = town_runs(tmp_path)
    for path, parts_j in zip(directories, ((35.0, 35.0, 30.0), (10.0, 30.0, 60.0)), strict=True):
        names = ("cpu", "access_active.lte", "access_tail.lte")
        price(path, dict(zip(names, parts_j, strict=True)))
    return directories


def price(path, energy_j):
    """Give a run joules by network, and prices."""
    resolved, found = (
        json.loads((path / name).read_text()) for name in ("resolved.json", "metrics.json")
    )
    resolved["energy"] = {
        "core_w": 1.0,
        "access": {"lte": {"active_w": 1.0, **LTE}},
        "contacts": {},
    }
    resolved["devices"][0]["count"] = 100
    found["energy_by_network_j"] = {
        name: metrics.summary([joules]) for name, joules in energy_j.items()
    }
    found["metrics"]["energy_j_per_phone_day"] = metrics.summary([12.0])
    found["metrics"]["mb_per_phone_day"] = metrics.summary([0.25])
    (path / "resolved.json").write_text(json.dumps(resolved))
    (path / "metrics.json").write_text(json.dumps(found))


def rows(html):
    """Return the cells of each row of a table, without their tags."""
    lines = re.findall(r"<tr>(.*?)</tr>", str(html), re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line, re.DOTALL) for line in lines]
    return [[unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in line] for line in cells]


def test_every_price_stands_beside_its_share_basis_year_and_source(town_dirs):
    head, *lines = rows(energy.prices_table(load(town_dirs)[1:]))
    assert head[1:] == [
        *("cause", "network", "J per phone and day", "share"),
        *("basis of the price", "year", "source"),
    ]
    # 100 phones for a twelfth of a day: 60 J are 7.2 J of each in a day.
    assert [line[1:] for line in lines] == [
        ["radios, tails", "lte", "7.2", "60 %", *LTE_CELLS],
        ["radios, active", "lte", "3.6", "30 %", *LTE_CELLS],
        ["busy cores", "\N{EN DASH}", "1.2", "10 %", "assumed", "\N{EN DASH}", "no source given"],
    ]


LTE_CELLS = ("published", "2012", "Huang et al., <MobiSys>")


def test_joules_and_mb_of_a_phone_and_day_stand_in_a_table(town_dirs):
    head, line, _ = rows(energy.phones_table(load(town_dirs)))
    assert head == ["run", "J per phone and day", "MB per phone and day"]
    assert line[1:] == ["12", "0.25"]


def test_a_price_that_decides_is_among_the_limits_and_beside_the_figure(town_dirs):
    runs = load(town_dirs)
    even, most = f"60 % of the energy of some runs {TAIL[14:]}", f"60 % {TAIL}"
    assert even in limits.sentences(None, runs)
    assert most in limits.sentences(None, runs[1:])
    assert not any("goes into" in sentence for sentence in limits.sentences(None, runs[:1]))
    (caption,) = [text for title, text, _ in towns.charts(runs) if title == "Energy of a payment"]
    for text in (caption, str(towns.figures_table(runs))):
        assert even in text
        assert "filling them is in it" in text
    assert energy.note(runs[:1]) == "No energy was compared with a measurement."


def test_a_page_has_a_section_on_energy_whatever_the_family(town_dirs, tmp_path):
    trades = testing.run_dir(tmp_path, testing.resolved("trades"), testing.Shape())
    price(trades, {"cpu": 1.0})
    for paths, has_section in ((town_dirs, True), ([trades], True)):
        write_report(paths, tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert ('<h2 id="energy">' in text) is has_section
    assert "100 % of the energy goes into busy cores, at an assumed price." in text
    plain = testing.run_dir(tmp_path / "plain", testing.resolved("plain"), testing.Shape())
    write_report([plain], tmp_path / "page.html")
    assert '<h2 id="energy">' not in (tmp_path / "page.html").read_text(encoding="utf-8")
