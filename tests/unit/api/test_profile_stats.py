"""`pocketsim profile list` and `compare`, and the same from Python."""

import json
import shutil
import sys
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from conftest import command_line

import pocketsim as ps
from pocketsim.api.documents import catalog
from pocketsim.report.html.page import data_csv
from pocketsim.sim.base.documents import read_toml
from pocketsim.sim.devices import profile

THREE = ("moto_g04s", "pocophone_f1", "thinkpad_l13")


def test_the_list_counts_what_documents_say(cli):
    rows = json.loads(cli("profile", "list", "--json").stdout)["profiles"]
    assert rows == ps.shipped_profiles()
    assert [row["profile"] for row in rows] == [*ps.devices(), *ps.implementations()]
    for name, path in catalog.files("device").items():
        (row,) = [one for one in rows if one["profile"] == name]
        _, document = read_toml(path)
        costs = Counter(cost["basis"] for cost in document["operations"].values())
        others = [document["device"]["cores"], *document["scheduler"]["sleep_overshoot"].values()]
        every = costs + Counter(one["basis"] for one in others)
        assert row["costs"] == dict(costs)
        assert {basis: row[basis] for basis in every} == dict(every)
        assert row["measured"] == 0
        assert (row["by"], row["title"]) == (
            document["device"]["measured_by"],
            document["device"]["name"],
        )


def test_the_list_for_people_has_a_row_for_each_profile(cli):
    done = cli("profile", "list")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows if row and row[0] in {*ps.devices(), *ps.implementations()}]
    (moto,) = [row for row in rows if row and row[0] == "moto_g04s"]
    assert moto[1:7] == ["device", "-", "1", "4", "3", "18"]


def test_devices_are_compared_with_the_first(cli):
    found = ps.compare_devices(*THREE)
    told = json.loads(cli("profile", "compare", *THREE, "--json").stdout)
    assert told["first"] == found.first == "moto_g04s"
    assert told["size_bytes"] == 668
    assert told["rows"] == found.rows()
    assert len(told["rows"]) == 3 * 26
    signs = [row for row in told["rows"] if row["number"] == "operations.sign"]
    assert [row["device"] for row in signs] == list(THREE)
    assert [row["cpu_s"] for row in signs] == [122e-6, 51e-6, 25.2e-6]
    assert signs[0]["ratio"] is None
    assert signs[1]["ratio"] == pytest.approx(51 / 122)
    assert signs[1]["differs"]
    (cores, *_) = told["rows"]
    assert (cores["number"], cores["value"], cores["cpu_s"]) == ("device.cores", 8, None)


def test_bytes_are_those_that_are_asked_for(cli):
    def sign(*more):
        told = json.loads(
            cli("profile", "compare", "moto_g04s", "thinkpad_l13", "--json", *more).stdout
        )
        return next(one for one in told["rows"][1::2] if one["number"] == "operations.sign")

    assert sign("--payload", "0")["value"] == pytest.approx(25.2e-6)
    assert sign("--payload", "1000")["value"] == pytest.approx(25.2e-6 + 6.72e-6)


def test_the_table_marks_what_differs(cli):
    lines = cli("profile", "compare", "moto_g04s", "pocophone_f1").stdout.splitlines()
    sign = next(line for line in lines if "operations.sign " in line)
    store = next(line for line in lines if "operations.store " in line)
    assert "122 µs (proxy)" in sign
    assert "0.418 (0.21 to 0.82)" in sign
    assert sign.endswith("*")
    assert not store.endswith("*")
    assert lines[-1] == "* differs by more than the standard errors explain"


def test_two_files_of_one_name_are_told_apart(cli, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        shutil.copy(profile.DEVICES / "moto_g04s.toml", tmp_path / folder / "mine.toml")
    told = json.loads(cli("profile", "compare", "a/mine.toml", "b/mine.toml", "--json").stdout)
    assert {row["device"] for row in told["rows"]} == {"a/mine.toml", "b/mine.toml"}
    assert not any(row["differs"] for row in told["rows"])


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".html"])
def test_a_plot_is_written_by_its_suffix(cli, tmp_path, suffix):
    done = cli("profile", "compare", *THREE, "--plot", f"figure{suffix}", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert done.stderr == f"figure: figure{suffix}\n"
    content = (tmp_path / f"figure{suffix}").read_bytes()
    if suffix == ".svg":
        assert ET.fromstring(content).tag.endswith("svg")  # noqa: S314 - our own
    elif suffix == ".pdf":
        assert content.startswith(b"%PDF-1.")
    else:
        page = content.decode()
        assert (
            "<title>Costs of pocophone_f1 and thinkpad_l13 compared with moto_g04s</title>" in page
        )
        assert '<html lang="en">' in page


def test_a_plot_has_a_line_for_the_first_and_bars_for_the_others():
    found = ps.compare_devices(*THREE)
    chart = ps.plot.devices(found)
    line, *others = chart.data
    assert set(line.x) == {1.0}
    assert [trace.name for trace in others] == list(THREE[1:])
    for trace, ratios in zip(others, found.ratios.values(), strict=True):
        assert list(trace.x) == [one.ratio for one in ratios]
        low = [at - below for at, below in zip(trace.x, trace.error_x.arrayminus, strict=True)]
        assert low == pytest.approx([one.ci95_low for one in ratios])
    assert chart.layout.xaxis.type == "log"
    first = data_csv(chart).splitlines()[1 + len(line.x)].split(",")
    assert float(first[4]) == pytest.approx(others[0].error_x.arrayminus[0])
    # Labels of an axis as long as its intervals do not touch each other.
    assert len([at for at in chart.layout.xaxis.tickvals if 1e-4 <= at <= 10]) <= 6


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["moto_g04s"], "moto_g04s: name two devices or more"),
        (["moto_g04s", "pocophone"], "did you mean pocophone_f1?"),
        (["moto_g04s", "moto_g04s"], "is named twice"),
        (["moto_g04s", "thinkpad_l13", "--plot", "x.sgv"], "did you mean .svg?"),
        (["moto_g04s", "probe"], "no device that comes with the package has this name"),
    ],
)
def test_mistakes_are_exit_2_and_nothing_is_written(cli, tmp_path, arguments, said):
    done = cli("profile", "compare", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_is_said_what_is_missing(tmp_path):
    code = (
        "import importlib.util, sys\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *more: "
        "None if name == 'matplotlib' else find(name, *more)\n"
        "from pocketsim.cli import main\nmain()"
    )
    call = command_line(tmp_path, sys.executable, "-c", code, anew=True)
    done = call("profile", "compare", *THREE, "--plot", "x.svg")
    assert (done.returncode, done.stdout) == (5, "")
    assert "pip install 'pocketsim[paper]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_as_good_as_nothing_are_no_crash(cli, tmp_path):
    """Errors beyond all numbers, costs below all: what is not known is null, and all is JSON."""
    text = (profile.DEVICES / "moto_g04s.toml").read_text()
    text = text.replace('cpu = "122us"', 'cpu = "1e-320s"').replace('"25us"', '"3000d"')
    (tmp_path / "odd.toml").write_text(text.replace('cpu = "336us"', 'cpu = "1e-300s"'))
    for devices in (("moto_g04s", "odd.toml"), ("odd.toml", "moto_g04s")):
        done = cli("profile", "compare", *devices, "--json")
        assert done.returncode == 0, done.stderr
        rows = json.loads(done.stdout, parse_constant=pytest.fail)["rows"]
        assert rows
    done = cli("profile", "export", "odd.toml")
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    assert found["operations"][0]["per_s"] is None
    assert cli("profile", "lint", "odd.toml").returncode == 3
