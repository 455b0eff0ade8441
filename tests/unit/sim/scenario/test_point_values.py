import json
import typing

import pytest
from pydantic import BaseModel

from pocketsim.sim.base import units
from pocketsim.sim.run import runner
from pocketsim.sim.scenario import point_values
from pocketsim.sim.scenario.document import Devices, Scenario
from pocketsim.sim.scenario.load import load
from pocketsim.sim.scenario.resolve import resolve

BRING_THEIR_UNITS = {(Devices, "cost")}  # a factor, or a duration


def points(path, *overrides):
    document = load(path, overrides)
    return [point_values.of(document, rung.at) for rung in resolve(document)]


def values(path, *overrides):
    document = load(path, overrides)
    return [point_values.values(document.scenario, rung.at) for rung in resolve(document)]


def plain(found):
    return {key: value["value"] for key, value in found.items()}


@pytest.mark.parametrize(
    ("key", "given", "value", "unit"),
    [
        ("devices[0].count", ("2", "50"), (2, 50), ""),
        ("network.access.home_wifi.latency", ("1ms", "100ms"), (0.001, 0.1), "s"),
        ("network.access.home_wifi.loss_ratio", ("0.0", "0.2"), (0.0, 0.2), ""),
        ("network.access.home_wifi.up", ("8Mbps", "1GBps"), (1e6, 1e9), "B/s"),
        ("run.draw", ("mean", "posterior"), ("mean", "posterior"), ""),
        ("run.seed", ("3", "4"), (3, 4), ""),
    ],
)
def test_runs_that_differ_in_one_value_say_so(scenario, key, given, value, unit):
    for text, expected in zip(given, value, strict=True):
        (found, _) = points(scenario, f"{key}={text}")
        assert found[key] == {"value": expected, "unit": unit}
        assert set(found) == {key, "transport.mode", "workload.payload", "workload.rate"}


def test_point_has_the_values_of_its_rung(scenario):
    assert [found["workload.rate"] for found in values(scenario)] == [
        {"value": 4.0, "unit": "/s"},
        {"value": 8.0, "unit": "/s"},
    ]
    assert plain(points(scenario)[1]) == {
        "transport.mode": "udp",
        "workload.payload": 100,
        "workload.rate": 8.0,
    }


def test_overridden_table_appears_by_its_leaves(scenario):
    table = "churn={session={distribution='weibull',shape=0.5,scale='20s'},"
    table += "gap={distribution='lognormal',median='5s',sigma=1.0}}"
    found = points(scenario, table, "devices[0].access={home_wifi=1.0}")[0]
    assert found["churn.session.scale"] == {"value": 20.0, "unit": "s"}
    assert found["churn.gap.longest"] == {"value": None, "unit": "s"}
    assert found["devices[0].access"] == {"value": "home_wifi", "unit": ""}
    assert "network.access.home_wifi.latency" not in found
    one_of_a_list = points(scenario, "workload.rate[1]=5/s")
    assert [found["workload.rate"]["value"] for found in one_of_a_list] == [4.0, 5.0]


def test_absent_options_are_none(scenario):
    (found, _) = values(scenario)
    nothing = {"value": None, "unit": ""}
    assert found["churn"] == found["outages"] == found["devices[0].cost_factors"] == nothing
    assert found["network.access.home_wifi.site_capacity"] == {"value": None, "unit": "B/s"}


def test_unused_options_are_not_part_of_the_point(scenario):
    both = ('transport.mode=["udp","eva"]', "transport.eva.window=[16,64]", "workload.rate=4/s")
    udp, *eva = points(scenario, *both)
    assert "transport.eva.window" not in udp
    assert [found["transport.eva.window"]["value"] for found in eva] == [16, 64]


def test_point_of_a_town_has_its_payment_options(root):
    path = root / "pocketsim/scenarios/tokens/outage.toml"
    offline, online = points(path, "workload.amount.mean=5EUR")
    assert offline["protocol.tokens.acceptance"]["value"] == "offline"
    assert online["protocol.tokens.acceptance"]["value"] == "online"
    assert offline["workload.amount.mean"] == {"value": 5.0, "unit": "EUR"}
    assert offline["workload.payments"]["unit"] == "/s"
    assert "workload.rate" not in offline
    wallet = values(path)[0]["protocol.tokens.person_wallet"]
    assert wallet["unit"] == "EUR"


def test_options_that_a_town_leaves_out_are_in_effect(root, tmp_path):
    text = (root / "pocketsim/scenarios/tokens/market.toml").read_text()
    head, _, rest = text.partition("[protocol.tokens]")
    path = tmp_path / "market.toml"
    path.write_text(f"{head}[{rest.partition('[')[2]}")
    (found,) = values(path)
    assert found["protocol.tokens.settle_interval"] == {"value": 3600.0, "unit": "s"}
    assert found["protocol.tokens.rules"] == {"value": "thesis", "unit": ""}


def test_manifest_and_metrics_hold_the_point(scenario, tmp_path, fake_engine):
    overrides = ["devices[0].count=3", "workload.rate=4/s"]
    (directory,) = runner.run(scenario, overrides, tmp_path / "runs")
    manifest = json.loads((directory / "manifest.json").read_text())
    metrics = json.loads((directory / "metrics.json").read_text())
    assert plain(manifest["point"]) == {
        "devices[0].count": 3,
        "transport.mode": "udp",
        "workload.payload": 100,
        "workload.rate": 4.0,
    }
    assert metrics["point"] == manifest["point"]
    assert manifest["point"].items() <= manifest["scenario"].items()
    assert manifest["scenario"]["run.duration"] == {"value": 2.0, "unit": "s"}


def test_the_same_numbers_are_the_same_run_whatever_route_led_there(
    scenario, tmp_path, fake_engine
):
    out = tmp_path / "runs"
    plainly = runner.run(scenario, [], out)
    before = {path: (path / "manifest.json").read_bytes() for path in plainly}
    otherwise = runner.run(scenario, ["devices[0].count=2", "run.seed=7"], out)
    assert otherwise == plainly
    assert {path: (path / "manifest.json").read_bytes() for path in plainly} == before


@pytest.mark.parametrize(
    ("key", "unit", "name"),
    [
        ("devices[0].count", "", "devices[0].count"),
        ("network.access.lte.latency", "s", "network.access.lte.latency_s"),
        ("workload.rate", "/s", "workload.rate_per_s"),
        ("workload.payload", "B", "workload.payload_bytes"),
    ],
)
def test_columns_end_in_their_unit(key, unit, name):
    assert point_values.column(key, unit) == name


def test_every_unit_ends_a_column():
    names = [point_values.column("key", dimension.unit) for dimension in units.DIMENSIONS]
    assert len(set(names)) == len(units.DIMENSIONS)


def test_every_quantity_of_the_document_says_its_unit():
    schema = Scenario.model_json_schema()
    tables = {"Scenario": schema, **schema["$defs"]}
    for model in models_in(Scenario):
        for name, (key, dimension) in point_values._fields(model).items():
            text = json.dumps(tables[model.__name__]["properties"][key])
            titles = [
                one.name
                for one in (*units.DIMENSIONS, units.MOMENT)
                if f'"title": "{one.name}"' in text
            ]
            if (model, name) in BRING_THEIR_UNITS:
                assert dimension is None
                continue
            known = isinstance(dimension, units.Dimension)
            assert ([dimension.name] if known else []) == titles, f"{model.__name__}.{name}"


def models_in(annotation):
    """Return a model and all inside it, whatever they are wrapped in."""
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return [model for argument in typing.get_args(annotation) for model in models_in(argument)]
    fields = annotation.model_fields.values()
    return [annotation, *(model for field in fields for model in models_in(field.annotation))]


def test_a_label_says_what_was_overridden_beside_the_rung(scenario):
    document = load(
        scenario,
        [
            "devices[0].count=50",
            "network.access.home_wifi.latency=20ms",
            "run.draw=posterior",
            "workload.rate=8/s",
        ],
    )
    (rung,) = resolve(document)
    assert point_values.label(document, rung) == (
        "udp-100B-8ps, run.draw posterior, devices[0].count 50, "
        "network.access.home_wifi.latency 0.02 s"
    )
