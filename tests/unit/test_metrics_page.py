"""docs/metrics.md has every metric, fate, column and kind of event, as the code has them."""

import pytest

from pocketsim.sim import trace
from pocketsim.sim.metrics import compute, energy, own_protocol, town, trades, transfers
from tools import reference

TABLES = {
    "trades": trades.METRICS,
    "transfers": transfers.TRANSFERS,
    "tokens": transfers.TOKENS,
    "compute": compute.METRICS,
    "own_protocol": own_protocol.METRICS,
    "town": town.METRICS,
    "energy": energy.metrics("transaction"),
}


def test_the_page_is_that_of_the_code(root):
    hint = "python -m tools.reference"
    assert (root / "docs/metrics.md").read_text() == reference.text(), hint


@pytest.mark.parametrize("family", TABLES)
def test_every_metric_has_a_unit_a_formula_and_words(family):
    for name, metric in TABLES[family].items():
        assert all(metric), name
        # What a name says of its unit is true.
        endings = {"_ms": "ms", "_us": "us", "_bytes": "B", "_eur": "EUR", "_mj": "mJ"}
        bare = name.replace("_per_payment", "").replace("_per_transaction", "")
        for statistic in ("_p50", "_p95", "_mean", "_max", "_min"):
            bare = bare.removesuffix(statistic)
        for ending, unit in endings.items():
            assert not bare.endswith(ending) or metric.unit == unit, name
        if name.endswith("_ratio"):
            assert metric.unit == "1"
        if name.endswith("_per_s"):
            assert metric.unit == ("MB/s" if "_mb_" in name else "1/s")


def test_every_column_has_a_type_and_a_meaning():
    assert [name for name, *_ in reference.columns()] == trace.schema().names
    assert all(all(row) for row in reference.columns())


def test_a_kind_without_a_comment_is_no_reference():
    source = '    Reason {\n        /// Known.\n        One = "one",\n        Two = "two",\n    }\n'
    with pytest.raises(ValueError, match="two has no comment"):
        reference.named(source, "Reason")
    assert reference.named(source.replace('        Two = "two",\n', ""), "Reason") == [
        ("one", "Known")
    ]
