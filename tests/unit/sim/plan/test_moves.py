"""Phones on the move: who leaves for which network when, and where each is there."""

import json

import numpy as np
import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

DAY = "24h"
FEW = 'workload.partners={generator="watts_strogatz", neighbours=2, rewiring=0.1}'
STOPS = [("8h", "lte"), ("9h", "office"), ("17h", "lte"), ("18h", "home")]


def moves(stops=STOPS, **others):
    schedule = ", ".join(f'{{at="{at}", to="{to}"}}' for at, to in stops)
    keys = "".join(f", {key}={json.dumps(value)}" for key, value in others.items())
    return f"devices[0].moves={{schedule=[{schedule}]{keys}}}"


def resolved(root, *overrides):
    path = root / "pocketsim/scenarios/scale/commute.toml"
    return resolve(load(path, ["transport.mode=udp", FEW, *overrides]))[0].resolved


def plan(root, *overrides, files=None):
    return build_plan(resolved(root, *overrides), 0, files=files)


def journeys(made):
    """Return of each phone the times in hours and the networks of its moves."""
    networks = np.concatenate([made["phones"]["access"], made["moves"]["access"]])
    count = made["phones"]["access"].size
    phones = np.concatenate([np.arange(count), made["moves"]["phone"]])
    found = {}
    columns = (made["moves"][name] for name in ("time_s", "attachment"))
    for time_s, attachment in zip(*columns, strict=True):
        journey = found.setdefault(int(phones[attachment]), [])
        journey.append((round(time_s / 3600, 6), int(networks[attachment])))
    return found


def test_a_schedule_is_every_phones_and_begins_again(root):
    made = plan(root, moves(every=DAY), "run.duration=40h", "devices[0].count=3")
    home, lte, office = 0, 1, 2
    day = [(8.0, lte), (9.0, office), (17.0, lte), (18.0, home)]
    expected = [*day, (32.0, lte), (33.0, office)]
    assert journeys(made) == dict.fromkeys(range(3), expected)
    assert made["moves"]["time_s"].tolist() == sorted(made["moves"]["time_s"])


def test_each_phone_is_late_by_a_time_of_its_own(root):
    made = plan(root, moves(spread="2h"), "run.duration=24h", "devices[0].count=2000")
    late = np.array([journey[0][0] - 8 for journey in journeys(made).values()])
    assert late.min() >= 0
    assert late.max() <= 2
    assert late.mean() == pytest.approx(1, abs=0.05)
    for journey in journeys(made).values():
        assert [round(at - journey[0][0], 5) for at, _ in journey] == [0, 1, 9, 10]


def test_interruptions_have_the_median_and_the_sigma_that_are_put_in(root):
    law = {"interruption": "2s", "interruption_sigma": 0.5}
    made = plan(root, moves(**law), "run.duration=24h", "devices[0].count=2000")
    log_s = np.log(made["moves"]["interruption_s"])
    assert np.exp(np.median(log_s)) == pytest.approx(2, rel=0.03)
    assert log_s.std() == pytest.approx(0.5, rel=0.03)
    assert set(plan(root, moves())["moves"]["interruption_s"].tolist()) <= {0.0}


def test_a_phone_is_at_one_site_of_each_network(root):
    made = plan(root, moves(), "run.duration=24h", "devices[0].count=90")
    attached = made["moves"]
    assert attached["phone"].size == 180
    in_office = attached["access"] == 2
    _, phones = np.unique(attached["site"][in_office], return_counts=True)
    assert phones.tolist() == [30, 30, 30]
    home = set(made["phones"]["site"].tolist())
    assert not home & set(attached["site"].tolist())


def test_who_goes_where_it_is_stays(root):
    made = plan(root, moves([("1min", "home"), ("2min", "lte"), ("3min", "lte")]))
    assert made["moves"]["time_s"].tolist() == [120.0] * 100
    assert plan(root, moves([("2h", "lte")]))["moves"]["time_s"].size == 0


def test_moves_change_no_other_draw(root):
    still = resolved(root)
    del still["devices"][0]["moves"]
    made, other = plan(root), build_plan(still, 0)
    assert other["moves"] is None
    for key in ("churn", "workload", "phones", "profiles", "nats"):
        assert str(made[key]) == str(other[key])


def test_a_file_says_who_goes_where(root, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("phone,time_s,access\n1,60,lte\n0,30,lte\n1,90,home\n")
    told = f'devices[0].moves={{file="{path}"}}'
    found = resolved(root, told, "devices[0].count=3")
    assert found["devices"][0]["moves"]["file"] == "mine.csv"
    digest = found["devices"][0]["moves"]["digest"]
    made = build_plan(found, 0, files={digest: str(path)})
    assert journeys(made) == {0: [(0.008333, 1)], 1: [(0.016667, 1), (0.025, 0)]}
    path.write_text("phone,time_s,access\n1,60,lte\n")
    with pytest.raises(ScenarioError, match=r"mine\.csv"):
        build_plan(found, 0, files={digest: str(path)})


@pytest.mark.parametrize(
    ("rows", "place", "said"),
    [
        ("0,1,lte\n7,2,lte", "row 3", "devices[0] has 3"),
        ("0,1,lte\n0,2,hom", "row 3", "did you mean home"),
        ("0,-1,lte", "row 2", "a time is 0 or more"),
    ],
)
def test_a_wrong_file_is_told_by_its_row(root, tmp_path, rows, place, said):
    path = tmp_path / "mine.csv"
    path.write_text(f"phone,time_s,access\n{rows}\n")
    told = f'devices[0].moves={{file="{path}"}}'
    with pytest.raises(ScenarioError) as caught:
        resolved(root, told, "devices[0].count=3")
    assert place in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (moves([("1min", "hom")]), "did you mean home"),
        (moves([("2min", "lte"), ("1min", "home")]), "not in order of time"),
        (moves([("1h", "lte"), ("25h", "home")], every=DAY), "as long as every"),
        ("devices[0].moves={}", "a schedule or a file"),
        ('devices[0].moves={file="x.csv", spread="1s"}', "is of a schedule"),
    ],
)
def test_moves_that_say_nothing_are_refused(root, override, said):
    with pytest.raises(ScenarioError) as caught:
        resolved(root, override)
    assert said in str(caught.value)


def test_more_moves_than_memory_holds_are_refused(root):
    with pytest.raises(ScenarioError, match="asks for about") as caught:
        resolved(root, moves([("1ms", "lte")], every="2ms"), "run.duration=24h")
    assert "devices[0].moves.every" in str(caught.value)


def test_flows_have_no_moves(root):
    path = root / "pocketsim/scenarios/throughput/udp_100b.toml"
    name = next(iter(load(path).scenario.network.access))
    with pytest.raises(ScenarioError, match="stay on their access network"):
        load(path, [moves([("1s", name)]), "run.fidelity=flow"])
