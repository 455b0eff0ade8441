"""Shares of 0 and 1, which ranges and sweeps begin and end with, mean none and all."""

import json
import tomllib

import numpy as np
import pytest
import tomli_w

from pocketsim.api.documents.catalog import document_file
from pocketsim.sim.base.errors import ScenarioError
from pocketsim.sim.plan.build_plan import build_plan
from pocketsim.sim.plan.population import by_share
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

TOML = """
title = "shares"
implementation = "trustchain_throughput_2025"
[run]
seed = 1
duration = "60s"
repetitions = 1
[[devices]]
profile = "moto_g04s"
count = 20
access = { lte = %s, wifi = %s }
[network.access.lte]
up = "6Mbps"
down = "13Mbps"
latency = "100ms"
[network.access.wifi]
up = "40Mbps"
down = "40Mbps"
latency = "1ms"
[transport]
mode = "udp"
[workload]
kind = "poisson"
rate = "0.2/s"
payload = "100B"
"""
CONTACTS = """
[contacts]
file = "c.csv"
[contacts.links.ble]
share = %s
rate = "59kBps"
latency = "300ms"
[contacts.links.direct]
share = %s
rate = "40Mbps"
latency = "3ms"
[[outages]]
start = "0s"
end = "60s"
"""


@pytest.fixture
def scenario(tmp_path):
    def made(lte, wifi, more=""):
        (tmp_path / "s.toml").write_text(TOML % (lte, wifi) + more)
        rows = [f"{one},{one + 1},0,60" for one in range(0, 20, 2)]
        (tmp_path / "c.csv").write_text("\n".join(["phone_a,phone_b,begin_s,end_s", *rows]) + "\n")
        return tmp_path / "s.toml"

    return made


def plan(path):
    document = load(path)
    return build_plan(resolve(document)[0].resolved, 0, files=document.paths())


@pytest.mark.parametrize(("lte", "wifi", "network"), [("0.0", "1.0", 1), ("1.0", "0", 0)])
def test_all_phones_are_on_the_network_whose_share_is_1(scenario, lte, wifi, network):
    assert set(plan(scenario(lte, wifi))["phones"]["access"]) == {network}


@pytest.mark.parametrize(("ble", "direct", "link"), [("0.0", "1.0", 1), ("1.0", "0.0", 0)])
def test_all_contacts_have_the_link_whose_share_is_1(scenario, ble, direct, link):
    near = plan(scenario(0.5, 0.5, CONTACTS % (ble, direct)))["proximity"]
    assert len(near["link"]) == 10
    assert set(near["link"]) == {link}


def test_a_run_with_a_share_of_0_is_as_fast_as_the_other_network(scenario, cli, tmp_path):
    medians_ms = {}
    for wifi, lte in (("1.0", "0.0"), ("0.0", "1.0")):
        scenario(lte, wifi)
        done = cli("run", "s.toml", "--json", "-q")
        assert done.returncode == 0, done.stderr
        medians_ms[wifi] = json.loads(done.stdout)["metrics"]["rtt_ms_p50"]["value"]
    assert medians_ms["1.0"] < 100  # latencies of 1 ms, four times, and what phones compute
    assert 400 < medians_ms["0.0"] < 500  # of 100 ms


def test_shares_of_which_all_are_0_are_refused(scenario):
    with pytest.raises(ScenarioError, match="shares of access add up to 0, not 1"):
        load(scenario("0.0", "0.0"))


@pytest.mark.parametrize("share", ["-0.1", "1.1", "nan"])
def test_invalid_share_is_refused(scenario, share):
    with pytest.raises(ScenarioError, match=r"should be|must be a finite"):
        load(scenario(share, "0.5"))


def test_an_error_that_is_all_a_costs_own_is_accepted(scenario, cli, tmp_path):
    profile = tomllib.loads(document_file("moto_g04s", "device").read_text())
    profile["operations"]["sign"] |= {"common_factor": "clock", "common_ratio": 0.0}
    (tmp_path / "mine.toml").write_text(tomli_w.dumps(profile))
    path = scenario("0.0", "1.0")
    path.write_text(path.read_text().replace('"moto_g04s"', '"mine.toml"'))
    done = cli("run", "s.toml", "--json", "-q", "--set", "run.draw=posterior")
    assert done.returncode == 0, done.stderr


def test_a_network_that_nobody_is_on_needs_no_powers(scenario):
    energy = (
        '[energy]\ncore = "1W"\n[energy.access.wifi]\nactive = "1W"\nup_per_byte = "1nJ"\n'
        'down_per_byte = "1nJ"\ntail_power = "0.1W"\ntail = "1s"\npromotion = "1mJ"\n'
    )
    assert plan(scenario("0.0", "1.0", energy))["energy"]["core_w"] == 1
    with pytest.raises(ScenarioError, match=r"says nothing about \[network.access.lte\]"):
        load(scenario("0.5", "0.5", energy))


@pytest.mark.parametrize("shares", [[0.0, 1.0], [1.0, 0.0], [0.0, 0.1, 0.2, 0.7, 0.0], [0.3, 0.7]])
def test_choice_with_share_0_is_never_drawn(shares):
    chances = np.array([0.0, 1e-300, 0.5, 1 - 1e-10, np.nextafter(1, 0)])
    found = by_share(shares, chances)
    assert all(shares[place] > 0 for place in found)
    assert list(by_share([0.3, 0.7], np.array([0.29, 0.3, 0.31]))) == [0, 1, 1]
