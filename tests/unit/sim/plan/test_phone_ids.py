"""Ids of people in a user's files: the same person has the same phone in all of them."""

import csv

import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support.four_phones import HEAD

CONTACTS = """
[contacts]
file = "c.dat"
format = "tij"
links.ble = { share = 1.0, rate = "59kBps", latency = "30ms", setup = "1s" }
"""
POISSON = (
    '[workload]\nkind="poisson"\nrate="0.2/s"\npayload="100B"\npartners={graph="g.edgelist"}\n'
)
TRACE = '[workload]\nkind="trace"\nfile="t.csv"\n'
TRADES = "time_s,from,to,payload_bytes\n"


@pytest.fixture
def plan(tmp_path):
    def made(toml, **files):
        (tmp_path / "s.toml").write_text(HEAD + toml)
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text)
        document = load(tmp_path / "s.toml")
        return document, build_plan(resolve(document)[0].resolved, 0, files=document.paths())

    return made


def pairs(plan):
    proximity = plan["proximity"]
    return set(zip(proximity["phone_a"], proximity["phone_b"], strict=True))


def partners(plan):
    work = plan["workload"]
    return {tuple(sorted(two)) for two in zip(work["from_phone"], work["to_phone"], strict=True)}


@pytest.mark.parametrize(
    "names", [(101, 102, 103, 104), (9, 10, 11, 100), ("ann", "bob", "c", "d")]
)
def test_friends_in_a_graph_are_those_who_meet_whatever_they_are_called(plan, names):
    a, b, c, d = names
    _, made = plan(
        POISSON + CONTACTS, g_edgelist=f"{d} {a}\n{c} {b}\n", c_dat=f"20 {a} {d}\n40 {b} {c}\n"
    )
    assert pairs(made) == partners(made) == {(0, 3), (1, 2)}


def test_ids_that_are_numbers_of_phones_stay_as_they_are(plan):
    document, made = plan(POISSON + CONTACTS, g_edgelist="3 1\n2 0\n", c_dat="20 1 3\n")
    assert document.people == ()
    assert pairs(made) == {(1, 3)}
    assert partners(made) == {(1, 3), (0, 2)}


def test_ids_of_one_file_that_look_like_phones_are_those_of_the_others(plan):
    _, made = plan(POISSON + CONTACTS, g_edgelist="1 4\n2 3\n", c_dat="20 2 3\n")
    assert pairs(made) == {(1, 2)}


def test_trades_and_churn_have_the_ids_of_contacts(plan):
    document, made = plan(
        TRACE + CONTACTS + '[churn]\nfile="u.csv"\n',
        t_csv=f"{TRADES}5,101,104,100\n6,103,102,100\n",
        c_dat="20 101 104\n40 102 104\n",
        u_csv="phone,on_s,off_s\n104,10,20\n",
    )
    assert document.people == ("101", "102", "103", "104")
    assert list(made["workload"]["from_phone"]) == [0, 2]
    assert list(made["workload"]["to_phone"]) == [3, 1]
    assert set(made["churn"]["phone"]) == {3}


def test_trades_among_numbers_of_phones_stay_beside_contacts_with_ids(plan):
    _, made = plan(TRACE + CONTACTS, t_csv=f"{TRADES}5,0,3,100\n", c_dat="20 101 104\n")
    assert (made["workload"]["from_phone"][0], made["workload"]["to_phone"][0]) == (0, 3)


def test_a_file_that_may_mean_ids_or_numbers_is_refused(plan):
    with pytest.raises(ScenarioError, match="'0', which is the number of a phone and nobody's id"):
        plan(TRACE + CONTACTS, t_csv=f"{TRADES}5,0,2,100\n", c_dat="20 2 4\n")


def test_more_people_in_all_files_than_phones_are_refused(plan):
    with pytest.raises(ScenarioError, match="is about 5 people, with those of other files; there"):
        plan(
            TRACE + CONTACTS,
            t_csv=f"{TRADES}5,101,105,100\n",
            c_dat="20 101 102\n40 103 104\n",
        )


def test_a_run_directory_and_check_say_who_is_which_phone(cli, tmp_path):
    (tmp_path / "c.dat").write_text("20 30 4\n")
    (tmp_path / "t.csv").write_text(f"{TRADES}5,30,4,100\n")
    short = HEAD.replace("10min", "30s").replace("count = 4", "count = 3")
    (tmp_path / "s.toml").write_text(short + TRACE + CONTACTS)
    done = cli("check", "s.toml")
    assert "people in files: 2 ids; 4 is phone 0, 30 is phone 1" in done.stdout + done.stderr
    assert cli("run", "s.toml").returncode == 0
    with next((tmp_path / "runs").rglob("phones.csv")).open() as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["4", "30", ""]
    assert [row["number"] for row in rows] == ["0", "1", "2"]
    assert {row["group"] for row in rows} == {"0"}


def test_a_log_of_the_one_is_named_and_its_word_is_no_person(plan):
    with pytest.raises(
        ScenarioError, match=r"is a log of connections of The ONE.*pocketsim import one"
    ):
        plan(TRACE + CONTACTS, t_csv=f"{TRADES}5,0,2,100\n", c_dat="0.0 CONN 0 1 up\n")


@pytest.mark.parametrize("origin", ['"1385982000s"', '"2013-12-02T12:00:00+01:00"'])
def test_a_run_begins_at_a_moment_of_unix_time(plan, origin):
    toml = TRACE + CONTACTS.replace("format =", f"origin = {origin}\nformat =")
    _, made = plan(toml, t_csv=f"{TRADES}5,0,3,100\n", c_dat="1385982040 1 3\n")
    assert pairs(made) == {(1, 3)}
    assert list(made["proximity"]["time_s"]) == [20.0]


def test_a_moment_in_no_time_zone_is_refused(plan):
    toml = TRACE + CONTACTS.replace("format =", 'origin = "2013-12-02T12:00:00"\nformat =')
    with pytest.raises(ScenarioError, match="is in no time zone; end it with Z"):
        plan(toml, t_csv=f"{TRADES}5,0,3,100\n", c_dat="1385982040 1 3\n")
