"""docs/metrics.md has every metric, fate, column and kind of event, as the code has them."""

import pytest

from pocketsim import testing
from pocketsim.sim import trace
from pocketsim.sim.base.families import FAMILIES
from pocketsim.sim.metrics import (
    energy,
    family_metrics,
    per_phone,
    queues,
    reference,
    trades,
)
from pocketsim.sim.trace import timeline
from tools import reference as page


def test_the_page_is_that_of_the_code(root):
    hint = "python -m tools.reference"
    assert (root / "docs/metrics.md").read_text() == page.text(), hint


@pytest.mark.parametrize("family", reference.TABLES)
def test_every_metric_has_a_unit_a_formula_and_words(family):
    for name, metric in reference.TABLES[family].items():
        assert all(metric), name
        # What a name says of its unit is true.
        endings = {"_ms": "ms", "_us": "us", "_bytes": "B", "_eur": "EUR", "_mj": "mJ", "_j": "J"}
        endings |= {"mb": "MB"}
        bare = name.replace("_per_payment", "").replace("_per_transaction", "")
        bare = bare.replace("_per_phone_day", "")
        for statistic in ("_p50", "_p95", "_mean", "_max", "_min"):
            bare = bare.removesuffix(statistic)
        for ending, unit in endings.items():
            assert not bare.endswith(ending) or metric.unit == unit, name
        if name.endswith("_ratio"):
            assert metric.unit == "1"
        if name.endswith("_per_s"):
            assert metric.unit == ("MB/s" if "_mb_" in name else "1/s")


@pytest.mark.parametrize("kind", [family.kind for family in FAMILIES])
def test_every_metric_that_a_run_has_is_in_a_table(kind):
    resolved = testing.resolved(protocol={"kind": kind}, energy={})
    own = (
        *family_metrics.of(resolved).names(resolved),
        *energy.names(resolved),
        *per_phone.names(resolved),
        *queues.names(resolved),
    )
    assert {*trades.OF_ALL, *own} <= set(reference.METRICS)


def test_no_metric_is_in_two_tables():
    assert len(reference.METRICS) == sum(map(len, reference.TABLES.values()))


def test_every_column_has_a_type_and_a_meaning():
    for table in (trace, timeline):
        rows = page.columns(table.COLUMNS).splitlines()[2:]
        assert [row.split("`")[1] for row in rows] == table.schema().names
        assert all(cell.strip() for row in rows for cell in row.strip("|").split("|"))


def test_a_kind_without_a_comment_is_no_reference():
    source = '    Reason {\n        /// Known.\n        One = "one",\n        Two = "two",\n    }\n'
    with pytest.raises(ValueError, match="two has no comment"):
        page.named(source, "Reason")
    assert page.named(source.replace('        Two = "two",\n', ""), "Reason") == [("one", "Known")]
