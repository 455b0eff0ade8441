"""Files that say when the phones of one group are on: in them they are numbered from 0."""

import shutil

import pytest

from pocketsim.api.documents import catalog
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans

HEADER = "phone,on_s,off_s\n"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(catalog.PACKAGE / "scenarios/own_data", tmp_path / "own_data")


def plan(path, *overrides):
    document = load(path, overrides)
    (rung,) = resolve(document)
    files = document.paths()
    return engine_plans.lists(build_plan(rung.resolved, 0, files=files))


def transitions(found):
    columns = (found["churn"][name] for name in ("time_s", "phone", "on"))
    return [(time_s, phone, bool(on)) for time_s, phone, on in zip(*columns, strict=True)]


def of_third_group(folder, rows, *overrides):
    """Return the transitions of the three groups when the third has a file of these rows."""
    (folder / "third.csv").write_text(HEADER + rows)
    settings = ["devices[2].churn={file='third.csv'}", *overrides]
    return transitions(plan(folder / "rates_by_group.toml", *settings))


def test_phones_of_a_groups_file_are_counted_in_the_group(folder):
    rows = "3,0,5\n0,20,30\n0,30,600\n"
    found = of_third_group(folder, rows)
    assert [row for row in found if row[1] >= 12] == [
        (0.0, 12, False),
        (5.0, 15, False),
        (20.0, 12, True),
    ]
    # Whoever joins another group moves nothing of it, and it moves nothing of others.
    larger = of_third_group(folder, rows, "devices[0].count=13")
    assert [row[::2] for row in larger if row[1] >= 15] == [
        row[::2] for row in found if row[1] >= 12
    ]
    before = transitions(plan(folder / "rates_by_group.toml"))
    others = [row for row in found if row[1] < 12]
    assert others == [row for row in before if row[1] < 12] != []


def test_a_groups_file_may_begin_anywhere_and_serve_two(folder):
    rows = "1,100,150\n"
    late = "devices[2].churn.origin=90s"
    both = "devices[0].churn={file='third.csv', origin='90s'}"
    found = of_third_group(folder, rows, late, both)
    assert found == [
        (time_s, phone, on)
        for time_s, on in ((0.0, False), (10.0, True), (60.0, False))
        for phone in (1, 13)
    ]


def test_file_of_the_only_group_equals_the_scenarios_file(folder):
    path = folder / "churn_file.toml"
    before = plan(path)
    text = path.read_text().replace('[churn]\nfile = "churn.csv"\n', "")
    alone = path.with_name("alone.toml")
    alone.write_text(text.replace("count = 12", 'count = 12\nchurn = { file = "churn.csv" }'))
    assert "[churn]" not in alone.read_text()
    assert plan(alone) == before


def test_mistakes_in_a_groups_file_are_named(folder):
    def refused_rows(rows):
        with pytest.raises(ScenarioError) as caught:
            of_third_group(folder, rows)
        assert caught.value.file == str(folder / "third.csv")
        return f"{caught.value.key_path}: {caught.value.reason}"

    beyond = refused_rows("3,0,5\n4,0,5\n")
    assert beyond == "row 3: phone is 4; phones of devices[2] are numbered from 0 to 3"
    assert refused_rows("3,0,5\n3,4,6\n").startswith("row 3: overlaps row 2")
    assert "has nothing between 0 s and 600 s" in refused_rows("3,600,700\n")


def test_the_content_of_a_groups_file_is_what_a_run_depends_on(folder):
    (folder / "third.csv").write_text(f"{HEADER}3,0,5\n")
    document = load(folder / "rates_by_group.toml", ["devices[2].churn={file='third.csv'}"])
    (rung,) = resolve(document)
    files = document.paths()
    law = rung.resolved["devices"][2]["churn"]
    assert law == {"kind": "file", "file": "third.csv", "origin_s": 0.0, "digest": law["digest"]}
    assert files == {law["digest"]: str(folder / "third.csv")}
    (folder / "third.csv").write_text(f"{HEADER}3,0,6\n")
    with pytest.raises(ScenarioError, match="has changed since the run was resolved"):
        build_plan(rung.resolved, 0, files=files)
