"""Files of rates, and links that are interrupted: what they may say, and what plans have of it."""

import numpy as np
import pytest

from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

LTE = "network.access.lte"
RATES = "time_s,rate_mbps\n100,8\n110,0\n115.5,16\n"


@pytest.fixture
def drive(root, tmp_path):
    """Return a function that writes files beside a scenario and loads that with overrides."""
    text = (root / "pocketsim/scenarios/own_data/own_payments.toml").read_text()
    path = tmp_path / "drive.toml"
    path.write_text(text)
    rows = (root / "pocketsim/scenarios/own_data/payments.csv").read_bytes()
    (tmp_path / "payments.csv").write_bytes(rows)

    def loaded(*overrides, **files):
        for name, content in files.items():
            (tmp_path / name.replace("_", ".")).write_text(content)
        return load(path, overrides)

    return loaded


def plan_of(document):
    """Return the columns of network lte in the plan."""
    resolved = resolve(document)[0].resolved
    return build_plan(resolved, 0, files=document.paths())["access"][0]


def test_rates_of_a_table_begin_with_the_run_and_the_last_one_lasts(drive):
    found = plan_of(drive(f'{LTE}.rate_file={{up = "up.csv"}}', up_csv=RATES))
    assert found["up_rate"]["start_s"].tolist() == [0, 10, 15.5]
    assert found["up_rate"]["bytes_per_s"].tolist() == [1e6, 0, 2e6]
    assert found["up_rate"]["period_s"] is None
    assert found["down_rate"] is None


@pytest.mark.parametrize(
    ("lines", "starts_ms", "in_each"),
    [
        ([1], [0], [1]),
        ([3, 3, 7, 10], [0, 2, 3, 6, 7, 9], [0, 2, 0, 1, 0, 1]),
        ([1, 2, 3, 10], [0, 3, 9], [1, 0, 1]),
        ([0, 5], [0, 4], [0, 2]),  # 0 is the end of a period
    ],
)
def test_opportunities_are_rates_of_their_milliseconds(drive, lines, starts_ms, in_each):
    text = "".join(f"{line}\n" for line in lines)
    asked = f'{LTE}.rate_file={{down = "down.trace", format = "mahimahi"}}'
    found = plan_of(drive(asked, down_trace=text))["down_rate"]
    assert found["start_s"] * 1000 == pytest.approx(starts_ms)
    assert found["bytes_per_s"].tolist() == [1.5e6 * count for count in in_each]
    assert found["period_s"] == lines[-1] / 1000
    edges_s = np.append(found["start_s"], found["period_s"])
    assert np.diff(edges_s) @ found["bytes_per_s"] == pytest.approx(1500 * len(lines))


def test_a_run_depends_on_what_is_in_the_file_and_not_on_where_it_lies(drive):
    asked = f'{LTE}.rate_file={{up = "up.csv", down = "down.csv"}}'
    document = drive(asked, up_csv=RATES, down_csv=RATES)
    told = resolve(document)[0].resolved["network"]["access"]["lte"]["rate_file"]
    assert (told["up"], told["down"], told["format"]) == ("up.csv", "down.csv", "columns")
    assert told["up_digest"] == told["down_digest"]
    other = drive(asked, up_csv=RATES + "200,1\n", down_csv=RATES)
    names = {resolve(each)[0].name for each in (document, other)}
    assert len(names) == 2


def test_a_file_that_has_changed_is_refused(drive):
    document = drive(f'{LTE}.rate_file={{up = "up.csv"}}', up_csv=RATES)
    resolved = resolve(document)[0].resolved
    drive(up_csv=RATES + "200,1\n")
    with pytest.raises(ScenarioError, match="changed"):
        build_plan(resolved, 0, files=document.paths())


def test_without_them_nothing_is_resolved(drive):
    access = resolve(drive())[0].resolved["network"]["access"]["lte"]
    assert not {"rate_file", "handover", "rat_change"} & set(access)


def test_interruptions_reach_the_plan(drive):
    document = drive(
        f'{LTE}.handover={{rate = "71.6/h", interruption = "50ms"}}',
        f'{LTE}.rat_change={{rate = "26.2/h", interruption = "3.7s", interruption_sigma = 0.3}}',
    )
    found = plan_of(document)
    assert found["handover"] == pytest.approx(
        {"rate_per_s": 71.6 / 3600, "interruption_s": 0.05, "interruption_sigma": 0.0}
    )
    assert found["rat_change"]["interruption_sigma"] == 0.3


@pytest.mark.parametrize(
    ("overrides", "files", "place", "reason"),
    [
        (['rate_file={format = "mahimahi"}'], {}, f"{LTE}.rate_file", "names no file"),
        (['rate_file={up = "ups.csv"}'], {"up_csv": RATES}, f"{LTE}.rate_file.up", "no such file"),
        (['rate_file={up = "up.csv"}'], {"up_csv": "time_s,rate_mbps\n"}, "", "no rows"),
        (
            ['rate_file={up = "up.csv"}'],
            {"up_csv": "time_s,rate_mbps\n0,1\n0,2\n"},
            "row 3",
            "same time as the row before",
        ),
        (
            ['rate_file={up = "up.csv"}'],
            {"up_csv": "time_s,rate_mbps\n1,1\n0,2\n"},
            "row 3",
            "less than 1 in the row before",
        ),
        (
            ['rate_file={up = "up.csv"}'],
            {"up_csv": "time_s,rate_mbps\n0,1\n5,0\n"},
            "row 3",
            "whose rate lasts, and is 0",
        ),
        (
            ['rate_file={up = "up.csv"}'],
            {"up_csv": "time_s,rate_mbps\n0,-1\n"},
            "row 2",
            "a rate is 0 to",
        ),
        (
            ['rate_file={up = "up.trace", format = "mahimahi"}'],
            {"up_trace": "1\n2.5\n"},
            "row 2",
            "not whole",
        ),
        (
            ['rate_file={up = "up.trace", format = "mahimahi"}'],
            {"up_trace": "5\n3\n"},
            "row 2",
            "less than 5",
        ),
        (
            ['rate_file={up = "up.trace", format = "mahimahi"}'],
            {"up_trace": "0\n0\n"},
            "",
            "its last line is 0 ms",
        ),
        (
            ['rate_file={up = "up.trace", format = "mahimahi"}'],
            {"up_trace": "1 2\n"},
            "row 1",
            "one whole number",
        ),
        (['handover={rate = "0/h", interruption = "50ms"}'], {}, f"{LTE}.handover.rate", "zero"),
        (['handover={rate = "1/h"}'], {}, f"{LTE}.handover.interruption", "is required"),
        (
            ['handover={rate = "1/h", interruption = "1s"}', "site_capacity=10Mbps"],
            {},
            f"{LTE}.handover",
            "site_capacity shares one",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(drive, overrides, files, place, reason):
    with pytest.raises(ScenarioError, match=reason) as caught:
        drive(*(f"{LTE}.{one}" for one in overrides), **files)
    assert caught.value.key_path == place


def test_flows_have_links_of_one_rate(scenario):
    access = "network.access.home_wifi"
    override = f'{access}.handover={{rate = "1/h", interruption = "1s"}}'
    with pytest.raises(ScenarioError, match="links of one rate") as caught:
        load(scenario, [override, "run.fidelity=flow"])
    assert caught.value.key_path == f"{access}.handover"


def test_the_nearest_key_is_named(drive):
    with pytest.raises(ScenarioError) as caught:
        drive(f'{LTE}.rate_file={{ups = "up.csv"}}')
    assert caught.value.suggestion == "up"
