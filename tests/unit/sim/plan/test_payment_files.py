"""Payments of a file: who may bring what, and the plan and the run that come of it."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

from pocketsim.api.documents import catalog
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.export import graph
from pocketsim.sim.plan import plan as typed
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.run import runner
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve
from support import engine_plans, typed_sections

SHIPPED = catalog.PACKAGE / "scenarios/own_data"
HEADER = "time_s,from,to,amount_cents\n"
PEOPLE, AUTHORITY = 15, 15  # phones 0 to 11 are persons', 12 to 14 shops'
ROWS = st.lists(
    st.tuples(
        st.floats(0, 3600, exclude_max=True),
        st.integers(0, PEOPLE - 1),
        st.integers(1, PEOPLE - 1),
        st.integers(1, 10**8),
    ),
    min_size=1,
    max_size=40,
)


@pytest.fixture(scope="session")
def bring(tmp_path_factory):
    """Return a function that writes a scenario and its payments, and loads it."""

    def loaded(rows, *overrides):
        folder = shutil.copytree(SHIPPED, tmp_path_factory.mktemp("own") / "own_data")
        (folder / "payments.csv").write_text(HEADER + rows)
        return load(folder / "own_payments.toml", overrides)

    return loaded


def planned(document, repetition=0):
    (rung,) = resolve(document)
    files = document.paths()
    return build_plan(rung.resolved, repetition, None, files)


def text(rows):
    return "".join(f"{time_s!r},{one},{other},{cents}\n" for time_s, one, other, cents in rows)


@settings(max_examples=25)
@given(ROWS)
def test_every_row_becomes_a_payment_with_a_contact(bring, rows):
    rows = sorted((at, one, (one + step) % PEOPLE, cents) for at, one, step, cents in rows)
    plan = planned(bring(text(rows)))
    typed_sections.check(plan, typed.Plan, typed_sections.PLAN, "plan")
    work, near = plan["workload"], plan["proximity"]
    names = ("time_s", "from_phone", "to_phone", "amount_cents")
    assert list(zip(*(work[name].tolist() for name in names), strict=True)) == rows
    assert not work["conduct"].any()
    assert not work["payload_bytes"].any()
    assert not work["loops"]
    assert near["phone_a"].tolist() == work["from_phone"].tolist()
    assert near["phone_b"].tolist() == work["to_phone"].tolist()
    assert near["time_s"] == pytest.approx(np.maximum(work["time_s"] - 5, 0))


def test_repetitions_have_the_same_payments_and_other_contacts(bring):
    document = bring("1,0,1,5\n2,0,12,7\n", "run.repetitions=2")
    one, other = (planned(document, number) for number in (0, 1))
    assert engine_plans.lists(one["workload"]) == engine_plans.lists(other["workload"])
    assert one["proximity"]["duration_s"].tolist() != other["proximity"]["duration_s"].tolist()


def test_a_row_moves_no_contact_of_another_payer(bring):
    def lengths(rows):
        plan = planned(bring(rows))
        keys = zip(plan["workload"]["from_phone"], plan["workload"]["time_s"], strict=True)
        return dict(zip(keys, plan["proximity"]["duration_s"], strict=True))

    before = lengths("1,5,1,5\n2,3,1,5\n3,5,1,5\n")
    after = lengths("0.5,0,1,5\n1,5,1,5\n1.5,3,1,5\n2,3,1,5\n3,5,1,5\n")
    assert len(set(after.values())) == 5
    assert [after[5, at] for at in (1.0, 3.0)] == [before[5, at] for at in (1.0, 3.0)]
    assert after[3, 1.5] == before[3, 2.0]  # the payer's first, whenever it is


CHEATS = (
    "workload.cheat_ratio=0.5",
    "workload.double_spend_ratio=0.6",
    "workload.replay_ratio=0.4",
)


def test_persons_of_a_file_cheat_as_those_of_a_town_do(bring):
    rows = [(at, at % PEOPLE, (at + 1) % PEOPLE, 5) for at in range(3600)]
    work = planned(bring(text(rows), *CHEATS))["workload"]
    by_payer = [
        set(work["conduct"][work["from_phone"] == phone].tolist()) for phone in range(PEOPLE)
    ]
    # Whoever cheats always does here, in one way or the other; shops never do.
    assert {frozenset(found) for found in by_payer} == {frozenset({0}), frozenset({1, 2})}
    assert by_payer[12:] == [{0}] * 3
    cheat = by_payer.index({1, 2})
    share = (work["conduct"][work["from_phone"] == cheat] == 1).mean()
    assert share == pytest.approx(0.6, abs=4 * (0.24 / 240) ** 0.5)
    town = load(catalog.PACKAGE / "scenarios/tokens/market.toml", CHEATS)
    drawn = planned(town)["workload"]
    known = {phone: found == {1, 2} for phone, found in enumerate(by_payer[:12])}
    assert all(
        known.get(phone, conduct > 0) == (conduct > 0)
        for phone, conduct in zip(drawn["from_phone"], drawn["conduct"], strict=True)
    )


def pairs(plan):
    near = plan["proximity"]
    return list(zip(near["phone_a"].tolist(), near["phone_b"].tolist(), strict=True))


def test_contacts_of_payments_may_come_from_a_file_or_be_absent(bring):
    document = bring("1,0,1,5\n")
    assert pairs(planned(document)) == [(0, 1)]
    links = "links={ble={share=1.0, rate='59kBps', latency='30ms'}}"
    file = f"contacts={{file='contacts.dat', format='tij', {links}}}"
    alone = load(SHIPPED / "contacts_file.toml", ["run.duration=1h"])
    assert pairs(planned(bring("1,0,1,5\n", file))) == pairs(planned(alone)) != [(0, 1)]
    path = document.path
    before, _, rest = path.read_text().partition("[contacts]")
    path.write_text(before + rest[rest.index("[workload]") :])
    assert pairs(planned(load(path))) == []


# What stands below the header, the row that is refused and a part of the reason.
MISTAKES = {
    "none": ("", "", "has no rows"),
    "a stranger": ("1,16,0,9\n", "row 2", "from is 16; phones are numbered from 0 to 15"),
    "the authority pays": ("1,0,1,9\n2,15,0,9\n", "row 3", "from is 15, the tokens' authority"),
    "it is paid": ("1,0,1,9\n2,0,15,9\n", "row 3", "to is 15, the tokens' authority, who neither"),
    "to oneself": ("1,3,3,9\n", "row 2", "from and to are both phone 3"),
    "after the end": ("3600,0,1,9\n", "row 2", "time_s is 3600; the run is from 0 to before"),
    "not in order": ("2,0,1,9\n1,0,1,9\n", "row 3", "less than 2 in the row before"),
    "nothing": ("1,0,1,0\n", "row 2", "amount_cents is 0; a payment is of 1 to 100,000,000 cents"),
    "too much": ("1,0,1,100000001\n", "row 2", "amount_cents is 100000001; a payment is of 1"),
    "half a cent": ("1,0,1,9.5\n", "row 2", "amount_cents is 9.5, which is not whole"),
    "with a unit": ("1,0,1,9ct\n", "row 2", "amount_cents is '9ct', no number"),
    "no amount": ("1,0,1,\n", "row 2", "amount_cents is empty or no number"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named_by_file_and_row(bring, mistake):
    rows, place, reason = mistake
    with pytest.raises(ScenarioError) as caught:
        bring(rows)
    assert caught.value.file.endswith("/payments.csv")
    assert caught.value.key_path == place
    assert reason in caught.value.reason


def test_trades_are_no_payments_nor_payments_trades(bring):
    with pytest.raises(ScenarioError, match=r"unknown column 'payload_bytes'; it takes .* amount"):
        bring("", "workload.file=trades.csv")
    with pytest.raises(ScenarioError, match=r"unknown column 'amount_cents'; it takes .* payload"):
        load(SHIPPED / "own_trades.toml", ["workload.file=payments.csv"])


@pytest.mark.parametrize(
    ("override", "place", "reason"),
    [
        ("devices[2].role=person", "devices", "one phone of role authority, not 0"),
        ("devices[0].rate=1/h", "devices[0].rate", 'workload "trace" has no rate of each phone'),
        ("workload.amount=5ct", "workload.amount", "unknown key"),
        ("workload.cheat_ratio=2", "workload.cheat_ratio", "less than or equal to 1"),
        ("workload.cheats=0.5", "workload.cheats", "unknown key"),
        (
            "protocol.kind=transfer",
            "workload.kind",
            '"paced" or "poisson" or "python", not "trace"',
        ),
        ("workload={kind='paced', rate='1/s', payload='9B'}", "workload.kind", '"town" or "trace"'),
    ],
)
def test_inconsistent_payment_scenarios_are_refused(bring, override, place, reason):
    with pytest.raises(ScenarioError) as caught:
        bring("1,0,1,9\n", override)
    assert caught.value.key_path == place
    assert reason in caught.value.reason


def test_a_cheat_does_one_thing_at_a_time(bring):
    with pytest.raises(ScenarioError, match="workload: double_spend_ratio and replay_ratio add up"):
        bring("1,0,1,9\n", "workload.double_spend_ratio=0.6", "workload.replay_ratio=0.5")


def test_a_file_that_has_changed_since_is_refused(bring):
    document = bring("1,0,1,9\n")
    (file,) = document.files.values()
    file.path.write_text(HEADER + "1,0,1,8\n")
    with pytest.raises(ScenarioError, match="has changed since the run was resolved"):
        planned(document)


def ran(path, folder, *overrides):
    (directory,) = runner.run(path, overrides, folder)
    events = parquet.read_table(directory / "events.parquet").to_pylist()
    return directory, events, json.loads((directory / "metrics.json").read_text())


@pytest.mark.engine
def test_the_shipped_payments_are_what_is_asked_for(tmp_path):
    directory, events, found = ran(SHIPPED / "own_payments.toml", tmp_path)
    rows = csv.read_csv(SHIPPED / "payments.csv").to_pydict()
    asked = [row for row in events if row["kind"] in ("send", "unpayable")]
    told = zip(rows["time_s"], rows["from"], rows["to"], strict=True)
    assert sorted((row["time_s"], row["node"], row["peer"]) for row in asked) == sorted(told)
    metrics = {name: metric["mean"] for name, metric in found["metrics"].items()}
    assert (
        metrics["payments_asked"] == len(rows["time_s"]) == found["hourly"][0]["payments_asked"][0]
    )
    assert metrics["payments_completed"] > len(rows["time_s"]) / 2
    assert metrics["accused"] == metrics["double_spends"] == 0
    # What payments were worth stands in a file that the run directory has not.
    assert "paid_cents" not in graph.of_run(directory, repetition=0).nodes[0]


@pytest.mark.engine
def test_payer_without_the_amount_is_unpayable(bring, tmp_path):
    # After the first settlement, and with the network: a person, a shop, then more than any has.
    rows = "1200,0,12,500\n1260,12,3,300\n1300,13,12,150\n1500,14,1,9999999\n1600,0,12,8300\n"
    document = bring(rows)
    _, events, _ = ran(document.path, tmp_path, "outages=[]")
    ends = {
        kind: [(row["node"], row["peer"]) for row in events if row["kind"] == kind]
        for kind in ("store", "unpayable")
    }
    assert ends == {"store": [(0, 12), (12, 3), (13, 12)], "unpayable": [(14, 1), (0, 12)]}


@pytest.mark.engine
def test_a_cheat_of_a_file_is_found_out(tmp_path):
    ratios = ("workload.cheat_ratio=0.5", "workload.double_spend_ratio=1.0")
    _, events, found = ran(SHIPPED / "own_payments.toml", tmp_path, *ratios)
    spent = {row["node"] for row in events if row["kind"] == "double_spend"}
    assert spent
    assert spent <= set(range(12))
    accused = {row["peer"] for row in events if row["kind"] == "accuse"}
    assert accused
    assert accused <= spent
    assert found["metrics"]["wrongly_accused"]["mean"] == 0


@pytest.mark.engine
def test_payments_of_a_phone_that_is_off_are_counted_only(bring, tmp_path):
    document = bring("1200,0,12,500\n1260,1,12,300\n")
    folder = document.path.parent
    (folder / "off.csv").write_text("phone,on_s,off_s\n0,0,1000\n")
    off = "devices[0].churn={file='off.csv'}"
    directory, events, found = ran(document.path, tmp_path, "outages=[]", off)
    asked = [row["node"] for row in events if row["kind"] in ("send", "unpayable")]
    assert asked == [1]
    assert found["metrics"]["payments_asked"]["mean"] == 1
    assert '"arrivals_while_off": 1' in (directory / "manifest.json").read_text()
