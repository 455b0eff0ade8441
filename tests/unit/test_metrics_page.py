"""docs/metrics.md explains every metric, every reason and every kind of event, and nothing else."""

import re

import pytest

from pocketsim import testing
from pocketsim.sim import trace
from pocketsim.sim.metrics import compute, energy, town, trades, transfers

SECTIONS = {
    "Trades": trades.OF_ALL,
    "Transfers": transfers.TRANSFER_NAMES,
    "Batches of tokens": transfers.TOKEN_NAMES,
    "Computing phones": compute.NAMES,
    "Towns that pay with tokens": town.NAMES,
    "Energy": [
        name
        for kind in ("tokens", "trustchain")
        for name in energy.names(testing.resolved(energy={}, protocol={"kind": kind}))
    ],
}
ENUMS = {"Fates": "Reason", "Kinds of events": "EventKind"}


def entries(root, title):
    """Return the names that head the rows of a section's table."""
    page = (root / "docs/metrics.md").read_text()
    section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
    heads = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return [name for head in heads for name in re.findall(r"`(\w+)`", head)]


@pytest.mark.parametrize("title", SECTIONS)
def test_every_metric_is_explained(root, title):
    assert sorted(entries(root, title)) == sorted(SECTIONS[title])


def test_every_column_is_explained(root):
    assert entries(root, "Columns of events.parquet") == list(trace.COLUMNS)


@pytest.mark.parametrize("title", ENUMS)
def test_every_name_of_the_machine_contract_is_explained(root, title):
    source = (root / "sim/protocols/src/contract.rs").read_text()
    body = source.split(f"    {ENUMS[title]} {{\n", 1)[1].split("\n    }\n", 1)[0]
    assert entries(root, title) == re.findall(r'= "(\w+)"', body)
