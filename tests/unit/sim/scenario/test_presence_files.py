"""Files that say who is on and who is near whom: what is refused, and the plan that comes out."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pocketsim.api.documents import catalog
from pocketsim.sim.base import tables
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario import presence_files
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans

SHIPPED = catalog.PACKAGE / "scenarios/own_data"
CHURN_HEADER = "phone,on_s,off_s\n"
CONTACTS_HEADER = "phone_a,phone_b,begin_s,end_s\n"
COLUMNS = {"contacts.format": "columns"}

# What stands in the file, then the place, a part of the reason, and the suggestion.
CHURN_MISTAKES = {
    "unknown column": ("fone,on_s,off_s\n0,1,2\n", "row 1", "unknown column 'fone'", "phone"),
    "missing column": ("phone,on_s\n0,1\n", "row 1", "has no column off_s", None),
    "column twice": ("phone,on_s,on_s\n0,1,2\n", "row 1", "has several columns on_s", None),
    "other delimiter": ("phone|on_s|off_s\n0|1|2\n", "row 1", "unknown column 'phone|on", None),
    "no header": ("0,1,2\n3,4,5\n", "row 1", "unknown column '0'", None),
    "empty": ("", "", "has no rows", None),
    "blank": ("\n \n", "", "has no rows", None),
    "header only": (CHURN_HEADER, "", "has no rows", None),
    "not text": (b"\x89PNG\r\n\x1a\n\xff", "row 1", "is not UTF-8 text", None),
    "not UTF-8": (CHURN_HEADER.encode() + b"0,1,\xff\n", "row 2", "is not UTF-8 text", None),
    "NaN": (f"{CHURN_HEADER}0,1,2\n1,nan,4\n", "row 3", "on_s is empty or no number", None),
    "empty cell": (f"{CHURN_HEADER}0,1,2\n,3,4\n", "row 3", "phone is empty or no", None),
    "empty line": (f"{CHURN_HEADER}0,1,2\n\n1,3,4\n", "row 3", "is blank, and rows follow", None),
    "infinite": (f"{CHURN_HEADER}0,1,inf\n", "row 2", "off_s is inf; a time is", None),
    "text": (f"{CHURN_HEADER}0,1,2\n0,3,late\n", "row 3", "off_s is 'late', no number", None),
    "half a phone": (f"{CHURN_HEADER}0.5,1,2\n", "row 2", "phone is 0.5, which is not whole", None),
    "too many values": (f"{CHURN_HEADER}0,1,2\n0,3,4,5\n", "row 3", "has 4 values, not 3", None),
    "cut off": (f"{CHURN_HEADER}0,1,2\n0,3", "row 3", "has 2 values, not 3", None),
    "negative": (f"{CHURN_HEADER}0,-1,2\n", "row 2", "on_s is -1; a time is 0 or more", None),
    "off before on": (
        f"{CHURN_HEADER}0,1,2\n1,9,8\n",
        "row 3",
        "off_s is 8, which is not after on_s",
        None,
    ),
    "no time": (f"{CHURN_HEADER}0,1,1\n", "row 2", "not after on_s", None),
    "unknown phone": (
        f"{CHURN_HEADER}0,1,2\n12,1,2\n",
        "row 3",
        "phones are numbered from 0 to 11",
        None,
    ),
    "no phone": (f"{CHURN_HEADER}-1,1,2\n", "row 2", "phone is -1; phones are numbered", None),
    "overlap": (
        f"{CHURN_HEADER}0,50,90\n1,0,99\n0,10,51\n",
        "row 4",
        "overlaps row 2, of the same phone",
        None,
    ),
    "contained": (f"{CHURN_HEADER}0,0,90\n0,10,20\n0,95,96\n", "row 3", "overlaps row 2", None),
    "another clock": (
        f"{CHURN_HEADER}0,1385982020,1385982120\n",
        "",
        "has nothing between 0 s and 600 s, where the run is; its times are from 1385982020 s",
        None,
    ),
}
CONTACT_MISTAKES = {
    "unknown column": ("phone_a,phone_b,start_s,end_s\n0,1,2,3\n", "row 1", "'start_s'", None),
    "near itself": (f"{CONTACTS_HEADER}0,1,2,3\n4,4,2,3\n", "row 3", "near itself", None),
    "unknown phone": (
        f"{CONTACTS_HEADER}0,6,2,3\n",
        "row 2",
        "phone_b is 6; phones are numbered from 0 to 5",
        None,
    ),
    "ends first": (
        f"{CONTACTS_HEADER}0,1,3,2\n",
        "row 2",
        "end_s is 2, which is not after begin_s",
        None,
    ),
    "overlap": (f"{CONTACTS_HEADER}0,1,2,9\n1,0,8,12\n", "row 3", "overlaps row 2", None),
    "another clock": (f"{CONTACTS_HEADER}0,1,601,602\n", "", "has nothing between 0 s", None),
}
TIJ_MISTAKES = {
    "two values": ("20 1\n", "row 1", "has 2 values; a line is t i j", None),
    "commas": ("20,1,2\n", "row 1", "has 1 values; a line is t i j", None),
    "too few": ("20 1 2\n40 1\n", "row 2", "has 2 values, not 3", None),
    "no time": ("20 1 2\nx 1 2\n", "row 2", "t is 'x', no number", None),
    "negative": ("20 1 2\n-20 1 2\n", "row 2", "t is -20; a time is 0", None),
    "itself": ("20 1 2\n40 2 2\n", "row 2", "near itself", None),
    "many": ("".join(f"20 {i} {i + 1}\n" for i in range(6)), "", "7 people; there are 6", None),
    "empty": ("", "", "has no rows", None),
}


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(SHIPPED, tmp_path / "own_data")


def refused(scenario, file, content, overrides=()):
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ScenarioError) as caught:
        load(scenario, overrides)
    assert "\n" not in str(caught.value)
    return caught.value


def check(error, file, mistake):
    _, place, reason, suggestion = mistake
    assert error.file == str(file)
    assert error.key_path == place
    assert reason in error.reason
    assert error.suggestion == suggestion


@pytest.mark.parametrize("mistake", CHURN_MISTAKES.values(), ids=CHURN_MISTAKES)
def test_mistakes_in_a_file_of_churn_are_named(folder, mistake):
    file = folder / "churn.csv"
    check(refused(folder / "churn_file.toml", file, mistake[0]), file, mistake)


@pytest.mark.parametrize("mistake", CONTACT_MISTAKES.values(), ids=CONTACT_MISTAKES)
def test_mistakes_in_a_file_of_contacts_are_named(folder, mistake):
    file = folder / "contacts.csv"
    settings = ["contacts.format=columns", "contacts.file=contacts.csv"]
    check(refused(folder / "contacts_file.toml", file, mistake[0], settings), file, mistake)


@pytest.mark.parametrize("mistake", TIJ_MISTAKES.values(), ids=TIJ_MISTAKES)
def test_mistakes_in_a_file_of_sociopatterns_are_named(folder, mistake):
    file = folder / "contacts.dat"
    check(refused(folder / "contacts_file.toml", file, mistake[0]), file, mistake)


@pytest.mark.parametrize(
    ("table", "place", "reason"),
    [
        ({"phone": [0], "on_s": [1.0], "of_s": [2.0]}, "", "unknown column 'of_s'"),
        ({"phone": [0, None], "on_s": [1, 3], "off_s": [2, 4]}, "row 2", "phone is empty"),
        (
            {"phone": [0], "on_s": [float("nan")], "off_s": [2.0]},
            "row 1",
            "on_s is empty or no number",
        ),
        (
            {"phone": ["0"], "on_s": [1.0], "off_s": [2.0]},
            "",
            "column phone has values of type string",
        ),
        ({"phone": [0.5], "on_s": [1.0], "off_s": [2.0]}, "row 1", "phone is 0.5, which is not wh"),
        ({"phone": [0, 0], "on_s": [1, 2], "off_s": [2, 1]}, "row 2", "not after on_s"),
    ],
)
def test_mistakes_in_parquet_are_named(folder, table, place, reason):
    file = folder / "churn.parquet"
    pq.write_table(pa.table(table), file)
    with pytest.raises(ScenarioError) as caught:
        load(folder / "churn_file.toml", ["churn.file=churn.parquet"])
    assert (caught.value.file, caught.value.key_path) == (str(file), place)
    assert reason in caught.value.reason


@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_parquet_that_is_cut_or_none_is_refused(folder, kept):
    file = folder / "churn.parquet"
    rows = np.arange(1000.0)
    columns = {"phone": np.zeros(1000, np.int64), "on_s": rows, "off_s": rows + 1}
    pq.write_table(pa.table(columns), file)
    whole = file.read_bytes()
    for content in (whole[: int(kept * len(whole))], b"phone,on_s,off_s\n0,1,2\n"):
        error = refused(folder / "churn_file.toml", file, content, ["churn.file=churn.parquet"])
        assert error.reason.startswith("is not Parquet: ")


@pytest.mark.parametrize(
    ("setting", "blamed"),
    [
        ("churn.file=gone.csv", "--set: churn.file: no such file"),
        ("churn.file=chrun.csv", "own_data/churn.csv?)"),
        ("churn.file='churn.csv\\u0000'", "--set: churn.file: no such file"),
        (f"churn.file={'x' * 300}.csv", "--set: churn.file: no such file"),
        ("churn.file=.", "--set: churn.file: no such file"),
        ("churn.file=''", "--set: churn.file: must not be empty"),
        ("churn.files=churn.csv", "--set: churn.files: unknown key (did you mean file?)"),
        (
            "churn.kind=fil",
            "--set: churn.kind: must be one of drawn, file, law, android, not 'fil' (did you",
        ),
        ("churn.origin=1", "--set: churn.origin: '1' has no unit"),
        (
            "churn={kind='none'}",
            "--set: churn.kind: must be one of drawn, file, law, android, not 'none'",
        ),
        ("churn.file=['churn.csv']", "--set: churn.file: must be text, not ['churn.csv']"),
        ("contacts.file=contacts.dat", "--set: contacts.links: is required"),
        (
            "contacts={file='contacts.dat', links={ble={share=1.0}}}",
            "--set: contacts.links.ble.rate: is required",
        ),
        (
            "contacts={file='c', links={ble={share=0.5, rate='1kBps', latency='0s'}}}",
            "--set: contacts: shares of links add up to 0.5, not 1",
        ),
        (
            "churn.file=churn_file.toml",
            "churn_file.toml: its name ends in none of .csv, .csv.gz, .parquet",
        ),
    ],
)
def test_a_file_that_is_not_there_is_the_scenarios_mistake(folder, setting, blamed):
    with pytest.raises(ScenarioError) as caught:
        load(folder / "churn_file.toml", [setting])
    assert blamed in str(caught.value)


def test_the_authority_and_groups_with_churn_of_their_own_are_in_no_file(folder, root):
    market = root / "pocketsim/scenarios/tokens/market.toml"
    file = folder / "churn.csv"
    authority = load(market).scenario.phone_count() - 1
    error = refused(market, file, f"{CHURN_HEADER}{authority},1,2\n", [f"churn.file={file}"])
    assert error.key_path == "row 2"
    assert "the tokens' authority, which is always on" in error.reason
    groups = folder / "rates_by_group.toml"
    settings = ["churn={file='churn.csv'}"]
    error = refused(groups, file, f"{CHURN_HEADER}9,1,2\n11,1,2\n", settings)
    assert error.key_path == "row 3"
    assert error.reason == "phone is 11, whose churn devices[1].churn says"
    file.write_text(f"{CHURN_HEADER}9,1,2\n")
    assert load(groups, settings).tables


def plan_of(path, *overrides, repetition=0):
    document = load(path, overrides)
    (rung,) = resolve(document)
    return engine_plans.lists(build_plan(rung.resolved, repetition, files=document.paths()))


def transitions(plan):
    return [
        (time_s, phone, bool(on)) for time_s, phone, on in zip(*plan["churn"].values(), strict=True)
    ]


def test_phones_follow_their_rows_and_others_are_on(folder):
    # Unsorted; of phone 0 two rows touch; phone 2 is off throughout; 3 is on at both ends.
    rows = "1,5,10\n0,20,30\n0,0,20\n2,700,800\n3,590,9000\n3,0,7\n"
    (folder / "churn.csv").write_text(CHURN_HEADER + rows)
    plan = plan_of(folder / "churn_file.toml")
    assert transitions(plan) == [
        (0.0, 1, False),
        (0.0, 2, False),
        (5.0, 1, True),
        (7.0, 3, False),
        (10.0, 1, False),
        (30.0, 0, False),
        (590.0, 3, True),
    ]
    # Who is asked does not hang on that: the engine counts what comes while a phone is off.
    assert set(plan["workload"]["from_phone"]) == set(range(12))


def test_a_run_may_begin_anywhere_in_the_file(folder):
    (folder / "churn.csv").write_text(f"{CHURN_HEADER}0,0,100\n0,150,250\n1,90,101\n1,200,1e9\n")
    plan = plan_of(folder / "churn_file.toml", "churn.origin=100s", "run.duration=100s")
    assert transitions(plan) == [(0.0, 0, False), (1.0, 1, False), (50.0, 0, True)]


def test_churn_file_matches_a_simple_model(folder):
    generator = np.random.default_rng(5)
    rows = []
    for phone in range(10):
        edges = np.sort(generator.choice(np.arange(0, 900), 8, replace=False))
        rows += [(phone, on_s, off_s) for on_s, off_s in zip(edges[::2], edges[1::2], strict=True)]
    generator.shuffle(rows)
    text = "".join(f"{phone},{on_s},{off_s}\n" for phone, on_s, off_s in rows)
    (folder / "churn.csv").write_text(CHURN_HEADER + text)
    state = dict.fromkeys(range(12), True)
    changes = transitions(plan_of(folder / "churn_file.toml", "churn.origin=50s"))
    for second in range(600):
        while changes and changes[0][0] <= second:
            _, phone, on = changes.pop(0)
            assert state[phone] != on
            state[phone] = on
        at = second + 50
        expected = {phone: any(p == phone and a <= at < b for p, a, b in rows) for phone in state}
        assert state == expected | {10: True, 11: True}


def test_parquet_and_csv_give_the_same_plan(folder):
    table = tables.read(folder / "churn.csv", presence_files.PRESENCE)
    narrow = {**table.columns, "phone": table.columns["phone"].astype(np.int16)}
    pq.write_table(pa.table(narrow), folder / "churn.parquet")
    path = folder / "churn_file.toml"
    assert plan_of(path, "churn.file=churn.parquet") == plan_of(path)


def test_files_from_spreadsheets_are_read(folder):
    path, file = folder / "churn_file.toml", folder / "churn.csv"
    before, text = plan_of(path), file.read_text()
    header, *rows = text.splitlines()
    quoted = [",".join(f'"{value}"' for value in row.split(",")) for row in rows]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([header, *quoted]).encode())
    assert plan_of(path) == before


def test_the_content_of_a_file_is_what_a_run_depends_on(folder, tmp_path):
    def names():
        return [rung.name for rung in resolve(load(folder / "churn_file.toml"))]

    before, file = names(), folder / "churn.csv"
    resolved = resolve(load(folder / "churn_file.toml"))[0].resolved
    assert resolved["churn"]["digest"] == tables.read(file, presence_files.PRESENCE).digest
    moved = shutil.copytree(folder, tmp_path / "elsewhere") / "churn_file.toml"
    assert [rung.name for rung in resolve(load(moved))] == before
    file.write_text(file.read_text() + "9,950,960\n")
    assert names() != before


def test_a_file_that_changed_since_is_refused(folder):
    document = load(folder / "churn_file.toml")
    (rung,) = resolve(document)
    files = document.paths()
    assert files == {rung.resolved["churn"]["digest"]: str(folder / "churn.csv")}
    assert build_plan(rung.resolved, 0, files=files)["churn"]["time_s"].size
    file = folder / "churn.csv"
    file.write_text(file.read_text() + "9,950,960\n")
    with pytest.raises(ScenarioError, match="has changed since the run was resolved"):
        build_plan(rung.resolved, 0, files=files)


def contacts(plan):
    near = plan["proximity"]
    columns = (near[name] for name in ("phone_a", "phone_b", "time_s", "duration_s"))
    return list(zip(*columns, strict=True))


def test_lines_of_sociopatterns_become_contacts(folder):
    # 4 and 11 meet for a minute, once with a pause; 4 comes before 11, as numbers do.
    lines = ["20 11 4", "40 4 11", "60 11 4", "100 4 11", "40 700 11", "610 700 4"]
    (folder / "contacts.dat").write_text("\n".join(lines))
    plan = plan_of(folder / "contacts_file.toml")
    assert contacts(plan) == [
        (0, 1, 0.0, 60.0),
        (1, 2, 20.0, 20.0),
        (0, 1, 80.0, 20.0),
        (0, 2, 590.0, 20.0),
    ]


@pytest.mark.parametrize("delimiter", [" ", "\t"])
@pytest.mark.parametrize("groups", ["", "{d}5A{d}MP"])
def test_contact_ids_may_be_names_and_carry_groups(folder, delimiter, groups):
    text = "".join(f"20{{d}}{one}{{d}}{other}{groups}\n" for one, other in ("ba", "cb"))
    (folder / "contacts.dat").write_text(text.replace("{d}", delimiter))
    near = contacts(plan_of(folder / "contacts_file.toml"))
    assert near == [(0, 1, 0.0, 20.0), (1, 2, 0.0, 20.0)]


def columns_of(folder, *rows):
    text = "".join(f"{','.join(map(str, row))}\n" for row in rows)
    (folder / "near.csv").write_text(CONTACTS_HEADER + text)
    return ["contacts.file=near.csv", "contacts.format=columns"]


def test_contacts_are_cut_to_the_run(folder):
    settings = columns_of(folder, (1, 0, 0, 60), (2, 3, 40, 90), (4, 5, 700, 800), (3, 2, 90, 95))
    path = folder / "contacts_file.toml"
    assert contacts(plan_of(path, *settings)) == [(0, 1, 0.0, 60.0), (2, 3, 40.0, 55.0)]
    later = plan_of(path, *settings, "contacts.origin=60s")
    assert contacts(later) == [(2, 3, 0.0, 35.0)]


def links_of(plan):
    near = plan["proximity"]
    keys = zip(near["phone_a"], near["phone_b"], near["time_s"], strict=True)
    return dict(zip(keys, near["link"], strict=True))


def test_kinds_of_link_have_their_shares_and_stay_with_their_contact(folder):
    rows = [(one, one + 1, at, at + 1) for at in range(0, 500, 2) for one in range(5)]
    path = folder / "contacts_file.toml"
    links = links_of(plan_of(path, *columns_of(folder, *rows)))
    share = np.mean([link == 0 for link in links.values()])
    assert share == pytest.approx(0.7, abs=4 * (0.7 * 0.3 / len(rows)) ** 0.5)
    less = links_of(plan_of(path, *columns_of(folder, *(row for row in rows if row[0] != 2))))
    assert less == {key: link for key, link in links.items() if key[0] != 2}
    assert links != links_of(plan_of(path, *columns_of(folder, *rows), repetition=1))


def test_contact_file_applies_to_every_family_that_sends(root, folder):
    market = root / "pocketsim/scenarios/tokens/market.toml"
    columns_of(folder, (0, 1, 5, 60))
    links = "links={ble={share=1.0, rate='59kBps', latency='30ms'}}"
    setting = f"contacts={{file='{folder / 'near.csv'}', {links}}}"
    energy = "energy.contacts={ble={active='1W'}}"
    before, after = plan_of(market), plan_of(market, setting, energy)
    assert contacts(after) == [(0, 1, 5.0, 55.0)]
    assert after["workload"] == before["workload"]
    compute = root / "pocketsim/scenarios/tokens/data_size.toml"
    with pytest.raises(ScenarioError, match="contacts: phones that compute send nothing"):
        load(compute, [setting])


@pytest.mark.parametrize("kind", ["churn", "contacts"])
def test_mistake_in_a_block_is_reported_before_reading_on(folder, monkeypatch, kind):
    monkeypatch.setattr(tables, "_BLOCK_ROWS", 1000)
    whose = {"phone": [1] * 9000} if kind == "churn" else {"phone_a": [1] * 9000}
    times = ("on_s", "off_s") if kind == "churn" else ("begin_s", "end_s")
    if kind == "contacts":
        whose["phone_b"] = [2] * 9000
    # All rows are the same but those of later blocks, which have no number.
    begin, end = [1.0] * 3000 + [float("nan")] * 6000, [2.0] * 9000
    path = folder / "mine.parquet"
    pq.write_table(pa.table({**whose, times[0]: begin, times[1]: end}), path)
    settings = [f"{kind}.file=mine.parquet"]
    if kind == "contacts":
        settings.append("contacts.format=columns")
    with pytest.raises(ScenarioError, match=r"row 2: overlaps row 1, of the same"):
        load(folder / f"{kind}_file.toml", settings)
