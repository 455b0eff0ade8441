"""What the page about one town says first: what became of payments, and what stopped them."""

import pytest

import pocketsim as ps
from pocketsim.report.answer import payments
from pocketsim.report.runs import choice
from pocketsim.report.runs.asked import BY_RULE
from pocketsim.report.runs.run import load

SHORT = {"run.duration": "40min", "outages[0].end": "35min"}


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    (run,) = ps.run("market", SHORT, out=tmp_path_factory.mktemp("runs"), progress=False)
    return run


def said(directories):
    runs = load(directories)
    return payments.sentences(choice.chosen(runs, BY_RULE))


def test_a_town_tells_what_is_completed_and_what_stopped_the_rest(market):
    first, outage = said([market.directory])
    found = {name: value["mean"] for name, value in market.metrics["metrics"].items()}
    assert f"{100 * found['completed_ratio']:.3g} % are completed" in first
    assert "the payer's wallet did not hold the amount" in first
    assert outage.startswith("While a network was out")


def test_a_run_of_trades_has_no_payments(tmp_path):
    (run,) = ps.run("walkers", {"run.duration": "1min"}, out=tmp_path, progress=False)
    assert said([run.directory]) == []
