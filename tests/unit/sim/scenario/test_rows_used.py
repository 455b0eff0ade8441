"""How much of a user's file a run uses, from which moment on, and what is said of it."""

import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from pocketsim.api.documents.catalog import document_file
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from pocketsim.sim.scenario.warnings import warnings
from support.four_phones import HEAD

POISSON = '[workload]\nkind="poisson"\nrate="0.2/s"\npayload="100B"\n'
LINKS = '[contacts.links]\nble={share=1.0,rate="59kBps",latency="30ms",setup="1s"}\n'
UNIX_S = 1_385_982_000  # 2013-12-02T11:00:00Z
DATES = ("2013-12-02T11:00:20Z", "2013-12-02T12:00:40+01:00", "2013-12-02T11:20:00.250Z")
"""20 s, 40 s and 1200.25 s after that."""

KINDS = {
    "contacts": (POISSON + '[contacts]\nfile="d.csv"\n{}' + LINKS, "phone_a,phone_b,begin_s,end_s"),
    "churn": (POISSON + '[churn]\nfile="d.csv"\n{}', "phone,on_s,off_s"),
    "trades": ('[workload]\nkind="trace"\nfile="d.csv"\n{}', "time_s,from,to,payload_bytes"),
}
PLACES = {"contacts": "contacts.file", "churn": "churn.file", "trades": "workload.file"}


def row(kind, number, begin, end):
    one, other = (0, 1) if number % 2 == 0 else (2, 3)
    return {
        "contacts": f"{one},{other},{begin},{end}",
        "churn": f"{one},{begin},{end}",
        "trades": f"{begin},{one},{other},100",
    }[kind]


@pytest.fixture
def bring(tmp_path):
    """Return what loads a scenario whose file has rows from one time to another."""

    def brought(kind, times, origin=""):
        toml, head = KINDS[kind]
        rows = [row(kind, number, *two) for number, two in enumerate(times)]
        (tmp_path / "d.csv").write_text("\n".join([head, *rows]) + "\n")
        said = f"origin={origin}\n" if origin else ""
        (tmp_path / "s.toml").write_text(HEAD + toml.replace("{}", said))
        return load(tmp_path / "s.toml")

    return brought


def times_s(document, kind):
    """Return when in the run what a file says begins."""
    plan = build_plan(resolve(document)[0].resolved, 0, files=document.paths())
    if kind == "churn":
        return sorted(
            time
            for time, on in zip(plan["churn"]["time_s"], plan["churn"]["on"], strict=True)
            if on
        )
    return list(plan["proximity" if kind == "contacts" else "workload"]["time_s"])


def every(first, count=3, step=20, lasts=15):
    return [(first + number * step, first + number * step + lasts) for number in range(count)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "origin", [f'"{UNIX_S}s"', '"2013-12-02T11:00:00Z"', '"2013-12-02T12:00:00+01:00"']
)
def test_a_run_begins_at_a_moment_of_unix_time(bring, kind, origin):
    document = bring(kind, every(UNIX_S + 20), origin)
    assert times_s(document, kind) == [20, 40, 60]
    assert document.used[PLACES[kind]].rows == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_begins_at_the_earliest_time_of_a_file(bring, kind):
    document = bring(kind, every(UNIX_S + 20), '"first"')
    resolved = resolve(document)[0].resolved
    section = resolved["workload" if kind == "trades" else kind]
    assert section["origin_s"] == UNIX_S + 20
    assert times_s(document, kind) == ([20, 40] if kind == "churn" else [0, 20, 40])


@pytest.mark.parametrize("kind", KINDS)
def test_dates_in_a_file_are_moments(bring, kind):
    one, other, late = DATES
    times = [(one, "2013-12-02T11:00:30Z"), (other, late)]
    document = bring(kind, times, '"2013-12-02T11:00:00Z"')
    assert times_s(document, kind) == [20, 40]
    used = document.used[PLACES[kind]]
    assert used.first == "2013-12-02T11:00:20Z"
    assert used.last == (
        "2013-12-02T11:00:40Z" if kind == "trades" else "2013-12-02T11:20:00.250000Z"
    )
    assert times_s(bring(kind, times, '"first"'), kind) == ([20] if kind == "churn" else [0, 20])


@pytest.mark.parametrize("zone", ["UTC", None])
def test_timestamps_of_parquet_are_moments(tmp_path, zone):
    kind = pa.timestamp("us", zone)
    columns = {
        "time_s": pa.array([(UNIX_S + 20) * 10**6, (UNIX_S + 1200) * 10**6 + 1], pa.int64()).cast(
            kind
        ),
        "from": [0, 1],
        "to": [1, 2],
        "payload_bytes": [100, 100],
    }
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "d.parquet")
    toml = KINDS["trades"][0].replace("d.csv", "d.parquet")
    (tmp_path / "s.toml").write_text(HEAD + toml.replace("{}", f'origin="{UNIX_S}s"\n'))
    document = load(tmp_path / "s.toml")
    assert times_s(document, "trades") == [20]
    used = document.used["workload.file"]
    assert (used.rows, used.of_rows) == (1, 2)
    assert used.last == "2013-12-02T11:20:00.000001Z"


@pytest.mark.parametrize(
    ("dates", "row_", "reason"),
    [
        (("2013-12-02T11:00:20Z", "noon"), 3, "time_s is 'noon', no moment as the first row"),
        (("2013-12-02T11:00:20Z", "2013-12-02T11:00:40"), 3, "no moment as the first row has"),
        (("2013-12-02T11:00:20Z", "40"), 3, "time_s is '40', no moment as the first row has"),
        (("20", "2013-12-02T11:00:40Z"), 3, "time_s is '2013-12-02T11:00:40Z', no number"),
        (
            ("2013-12-02T11:00:20Z", "2013-12-02T11:00:10Z"),
            3,
            "time_s is 2013-12-02T11:00:10Z, less than 2013-12-02T11:00:20Z in the row before",
        ),
        (("2013-12-02T11:00:20Z",), 2, "time_s is 2013-12-02T11:00:20Z; the run is from 0 to"),
    ],
)
def test_invalid_timestamp_is_refused_with_its_row(bring, dates, row_, reason):
    with pytest.raises(ScenarioError) as caught:
        bring("trades", [(date, date) for date in dates])
    assert caught.value.key_path == f"row {row_}"
    assert reason in caught.value.reason


def test_payments_begin_at_an_origin(tmp_path):
    file = document_file("own_payments", "scenario")
    rows = (file.parent / "payments.csv").read_text().splitlines()
    later = [
        f"{float(time) + UNIX_S},{rest}" for time, rest in (row.split(",", 1) for row in rows[1:])
    ]
    (tmp_path / "payments.csv").write_text("\n".join([rows[0], *later]) + "\n")
    (tmp_path / "s.toml").write_text(file.read_text())
    plans = [
        build_plan(resolve(document)[0].resolved, 0, files=document.paths())
        for document in (load(file), load(tmp_path / "s.toml", [f"workload.origin={UNIX_S}s"]))
    ]
    paid_s = [plan["workload"]["time_s"] for plan in plans]
    assert list(paid_s[1]) == pytest.approx(list(paid_s[0]), abs=1e-6)


def test_trades_before_the_origin_and_after_the_end_are_left_out(bring):
    document = bring("trades", every(0, count=5, step=200), '"200s"')
    assert times_s(document, "trades") == [0, 200, 400]
    used = document.used["workload.file"]
    assert (used.rows, used.of_rows, used.origin_s) == (3, 5, 200)
    with pytest.raises(ScenarioError, match="row 5: time_s is 600; the run is from 0 to before"):
        bring("trades", every(0, count=5, step=200))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_has_nothing_in_the_run_is_refused_with_what_moves_it(bring, kind):
    with pytest.raises(ScenarioError, match='`origin` moves it: "first" to its first row'):
        bring(kind, every(UNIX_S), '"5s"')


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("origin", ['"0s"', '"first"'])
def test_times_that_look_like_milliseconds_are_warned_of(bring, kind, origin):
    in_ms = [(1000 * begin, 1000 * end) for begin, end in every(0, count=28)]
    (text,) = [said for key, said in warnings(bring(kind, in_ms, origin)) if key == PLACES[kind]]
    assert text.startswith("d.csv: 1 of 28 rows are in the run, which begins at 0 s;")
    assert "look like milliseconds, and are read as seconds: as milliseconds 28 of 28" in text


@pytest.mark.parametrize("kind", ["contacts", "churn"])
def test_round_milliseconds_are_warned_of_where_a_quarter_is_used(bring, kind):
    in_ms = [(0, 15_000), (0, 25_000), *((at, at + 5_000) for at in range(30_000, 90_000, 10_000))]
    document = bring(kind, in_ms)
    assert document.used[PLACES[kind]].rows == 2
    assert any("look like milliseconds" in text for _, text in warnings(document))


@pytest.mark.parametrize(
    "times",
    [
        [(0, 300_000), (0, 400_000)],  # one row for each phone, all of them in the run
        [(0, 123_457), (0, 98_765), (150_001, 290_017), (151_003, 580_009)],
    ],
)
def test_milliseconds_of_phones_that_are_on_from_the_start_are_warned_of(bring, times):
    (text,) = [text for key, text in warnings(bring("churn", times)) if key == "churn.file"]
    assert "look like milliseconds" in text


def test_a_short_run_of_a_longer_file_is_not_taken_for_milliseconds(bring):
    times = [(0, 1500), (0, 1700), (1800, 2900), (2000, 3600)]
    assert not [text for _, text in warnings(bring("churn", times)) if "millisec" in text]


def test_trades_in_milliseconds_are_refused_and_it_is_said_why(bring):
    in_ms = [(1000 * begin, 0) for begin, _ in every(0, count=28)]
    with pytest.raises(ScenarioError, match=r"row 3: .* as milliseconds 28 of 28 rows would be"):
        bring("trades", in_ms)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_which_few_rows_are_used_is_warned_of(bring, kind):
    times = every(0, count=100, step=7000, lasts=11)
    (text,) = [said for key, said in warnings(bring(kind, times, '"6999s"')) if "d.csv" in said]
    assert text.startswith("d.csv: 1 of 100 rows are in the run, which begins at 6999 s; its times")
    assert text.endswith("`origin` says where in the file the run begins")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_used_is_not_warned_of(bring, kind):
    assert not [text for key, text in warnings(bring(kind, every(0, count=20))) if "d.csv" in text]


def test_check_show_and_the_manifest_say_how_many_rows_are_used(bring, cli, tmp_path):
    bring("trades", every(0, count=5, step=200), '"200s"')
    line = (
        "workload.file: d.csv: 3 of 5 rows are in the run, which begins at 200 s; its times are "
        "from 0 s to 800 s"
    )
    assert line in cli("check", "s.toml").stderr
    assert line in cli("show", "s.toml").stdout.splitlines()
    done = cli("run", "s.toml", "-q")
    assert done.returncode == 0, done.stderr
    (manifest,) = tmp_path.glob("runs/s/*/manifest.json")
    assert json.loads(manifest.read_text())["files"] == {
        "workload.file": {
            "file": "d.csv",
            "rows": 5,
            "rows_used": 3,
            "first": "0 s",
            "last": "800 s",
            "origin": "200 s",
        }
    }
    resolved = json.loads((manifest.parent / "resolved.json").read_text())
    assert resolved["workload"]["origin_s"] == 200
