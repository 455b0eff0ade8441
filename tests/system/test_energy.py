"""The energy of a market, from its scenario to its metrics."""

import json

import pytest

from pocketsim.sim.run import runner
from support import engine_plans as plans

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What a market all on LTE came to; its shops as well."""
    lte = [f"devices[{group}].access=lte" for group in range(3)]
    directories = runner.run(
        plans.ROOT / "pocketsim/scenarios/tokens/market.toml", lte, tmp_path_factory.mktemp("runs")
    )
    return json.loads((directories[0] / "metrics.json").read_text())


def test_energy_components_add_up(found):
    mean = {name: metric["mean"] for name, metric in found["metrics"].items()}
    spent_j = {name: component["mean"] for name, component in found["energy_j"].items()}
    completed = mean["payments_completed"]
    assert completed > 100
    assert mean["energy_mj_per_payment"] * completed / 1e3 == pytest.approx(sum(spent_j.values()))
    parts_mj = [mean[f"{part}_mj_per_payment"] for part in ("cpu", "contact", "access")]
    assert mean["energy_mj_per_payment"] == pytest.approx(sum(parts_mj))
    assert min(parts_mj) > 0


def test_joules_and_mb_of_a_phone_and_day_are_those_of_the_run(found):
    mean = {name: metric["mean"] for name, metric in found["metrics"].items()}
    # 39 phones for two hours.
    days = 39 * 2 / 24
    spent_j = {name: component["mean"] for name, component in found["energy_j"].items()}
    assert mean["energy_j_per_phone_day"] * days == pytest.approx(sum(spent_j.values()))
    for name, joules in spent_j.items():
        assert mean[f"{name}_j_per_phone_day"] * days == pytest.approx(joules)
    # Either the phone or the authority is one end of each datagram that is not lost.
    carried_bytes = mean["access_bytes_per_payment"] * mean["payments_completed"]
    assert mean["mb_per_phone_day"] * days == pytest.approx(carried_bytes / 1e6, rel=0.05)


def test_core_seconds_of_a_phone_are_those_that_take_its_joules(found):
    days, core_w = 39 * 2 / 24, 1.6
    core_s = found["metrics"]["core_s_per_phone_day"]["mean"] * days
    assert core_s * core_w == pytest.approx(found["energy_j"]["cpu"]["mean"])
    assert 0 < core_s < sum(operation["mean"] for operation in found["cpu_s"].values())


def test_joules_by_network_add_up_to_those_by_component(found):
    by_network = {name: one["mean"] for name, one in found["energy_by_network_j"].items()}
    for component, one in found["energy_j"].items():
        parts = [joules for name, joules in by_network.items() if name.split(".")[0] == component]
        assert sum(parts) == pytest.approx(one["mean"])
    assert by_network["access_tail.wifi"] == 0.0, "all are on LTE"
    assert by_network["access_tail.lte"] > 0.9 * sum(by_network.values())


def test_a_run_warns_of_the_price_that_decides_its_energy(cli, tmp_path):
    scenario = plans.ROOT / "pocketsim/scenarios/tokens/market.toml"
    free = ("energy.access.lte.tail_power=0W", "energy.access.lte.promotion=0J")
    for changes, cause in (((), "the tail of lte radios"), (free, "the tail of wifi radios")):
        settings = [word for change in changes for word in ("--set", change)]
        done = cli("run", scenario, *settings, "--out", tmp_path)
        assert done.returncode == 0, done.stderr
        (line,) = (line for line in done.stderr.splitlines() if line.startswith("warning: "))
        assert f"% of the energy goes into {cause}, at a price that was published in 2012" in line


def test_authority_spends_no_energy(found):
    all_j = 1.6 * sum(operation["mean"] for operation in found["cpu_s"].values())
    assert 0 < found["energy_j"]["cpu"]["mean"] < all_j


def test_every_radio_wake_up_has_a_tail(found):
    wakes = found["energy_j"]["access_promotion"]["mean"] / 0.315
    assert wakes == pytest.approx(round(wakes))
    assert wakes >= 39, "every phone withdraws"
    # 12.3 J each, but for those that the end cuts; more where a tail was used and began again.
    tails = found["energy_j"]["access_tail"]["mean"] / (11.576 * 1.06)
    assert wakes - 39 < tails < 2 * wakes
