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
