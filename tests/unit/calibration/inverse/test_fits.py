"""Fits as documents: what a document must be, and that committed results are those of documents."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path

import pytest
from scipy import stats

from pocketsim.calibration.inverse import document, key_paths, likelihood, priors
from pocketsim.calibration.inverse.document import Rows
from pocketsim.calibration.validate import published
from pocketsim.calibration.validate.answers import RungKey
from pocketsim.sim.base.documents import key_path
from pocketsim.sim.base.errors import ScenarioError

ROOT = Path(__file__).resolve().parents[4]
FITS = sorted((ROOT / "pocketsim/calibration/fits").glob("*.toml"))
RESULTS = sorted((ROOT / "pocketsim/calibration/fits/results").glob("*.toml"))

SMALL = """
title = "small"
seed = 1
trials = 4

[[parameters]]
name = "cores"
document = "calibration/profiles/devices/thinkpad_l13.toml"
key = "device.cores.value"
prior = { kind = "choice", values = [2, 4, 6] }

[[rows]]
ids = ["F3_sign_scaling"]
loss = "claim"

[scenarios."scenarios/tokens/sign_and_verify.toml"]
set = ["run.duration=100ms"]
"""
SIGN = """
title = "small"
seed = 1
trials = 7
steps = 4

[[parameters]]
name = "sign"
document = "calibration/profiles/devices/thinkpad_l13.toml"
key = "operations.sign.cpu"
prior = { kind = "lognormal", median = "40us", sigma = 0.7 }
from = "5us"
to = "300us"

[[rows]]
ids = ["F3_sign"]
loss = "mean"
model_error = 0.05

[scenarios."scenarios/tokens/sign_and_verify.toml"]
set = ["run.duration=100ms"]
"""


def fitted_numbers(folder):
    """Yield file, key path and rows of every number whose basis is a fit."""
    for path in sorted((key_paths.ROOT / folder).rglob("*.toml")):
        waiting = [((), tomllib.loads(path.read_text()))]
        while waiting:
            parts, value = waiting.pop()
            if isinstance(value, dict):
                if value.get("basis") == "fitted":
                    yield (
                        str(path.relative_to(key_paths.ROOT)),
                        key_path(parts),
                        sorted(value["fitted_to"]),
                    )
                waiting += [((*parts, key), inside) for key, inside in value.items()]
            elif isinstance(value, list):
                waiting += [((*parts, number), inside) for number, inside in enumerate(value)]


NUMBERS = [*fitted_numbers("calibration/profiles"), *fitted_numbers("scenarios")]


def parameters():
    """Yield the document of each parameter that is fitted, its places, and its rows."""
    for path in FITS:
        loaded = document.load(path)
        if loaded.fit.alternative:
            continue
        for parameter in loaded.fit.parameters:
            if not parameter.nuisance:
                for place in (parameter, *parameter.also):
                    yield path.stem, place, set(loaded.rows_of(parameter))


def test_there_are_fitted_numbers_and_fits():
    assert len(NUMBERS) >= 15
    assert len(FITS) >= 10


@pytest.mark.parametrize(("file", "key", "rows"), NUMBERS, ids=lambda value: str(value)[:60])
def test_every_fitted_number_is_in_one_fit_from_the_rows_that_it_names(file, key, rows):
    found = [
        (fit, rested)
        for fit, place, rested in parameters()
        if place.document == file and (place.key + ".").startswith(key + ".")
    ]
    assert len({fit for fit, _ in found}) == 1, found
    assert sorted(set().union(*(rested for _, rested in found))) == rows


def test_rows_of_fits_are_those_that_count_as_fitted():
    lists = tomllib.loads((ROOT / "pocketsim/calibration/published/fitted_rows.toml").read_text())
    of_fits = set().union(*(rows for _, _, rows in parameters()))
    assert of_fits == {*lists["fitted"], *lists["fitted_networks"]}


def test_the_page_says_what_the_results_say():
    page = (ROOT / "docs/fits.md").read_text()
    for path in RESULTS:
        for one in tomllib.loads(path.read_text())["parameters"]:
            value = str(one["value"]).lower() if isinstance(one["value"], bool) else one["value"]
            row = rf"\| `{path.stem}` \| `{one['name']}` \| {re.escape(str(value))} \|.*"
            (found,) = re.findall(row, page)
            assert f"| {one['verdict']} |" in found
            assert ("(outside)" in found) != one.get("today_is_within", True)


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_committed_result_is_of_its_document(path):
    loaded = document.load(path.parents[1] / path.name)
    result = tomllib.loads(path.read_text())
    assert result["fit_sha256"] == loaded.digest
    assert [one["name"] for one in result["parameters"]] == [
        one.name for one in loaded.fit.parameters
    ]


@pytest.mark.parametrize("path", FITS, ids=lambda path: path.stem)
def test_shipped_fits_name_places_and_scales(path):
    loaded = document.load(path)
    documents, units = key_paths.read(loaded)
    for number, parameter in enumerate(loaded.fit.parameters):
        unit = units[parameter.name]
        if parameter.prior.kind == "choice":
            assert key_paths.today(documents, parameter) in parameter.prior.values
            continue
        scale = priors.scale(parameter, unit, path, f"parameters[{number}]")
        assert scale.low <= unit.number(key_paths.today(documents, parameter)) <= scale.high
        for at in (0.1, 0.5, 0.9):
            assert scale.at(scale.value(at)) == pytest.approx(at, abs=1e-4)


MISTAKES = [
    ('"F3_sign_scaling"', '"F3_sign_scalling"', "rows[0].ids[0]", "F3_sign_scaling"),
    ("device.cores.value", "device.core.value", "parameters[0].key", "device.cores.value"),
    ("device.cores.value", "device.cores", "parameters[0].key", "is not one value"),
    ("thinkpad_l13", "thinkpad_l14", "thinkpad_l14.toml", "thinkpad_l13.toml"),
    ("[2, 4, 6]", "[2]", "parameters[0].prior.values", "at least 2"),
    ('kind = "choice"', 'kind = "choise"', "parameters[0].prior.kind", "choice"),
    ('loss = "claim"', 'loss = "claims"', "rows[0].loss", "claim"),
    ('loss = "claim"', 'loss = "outcome"', "rows[0]", "needs outcome, count and runs"),
    ('loss = "claim"', 'loss = "claim"\nplayed_by = "F3_sign"', "rows[0]", "only loss = 'outcome'"),
    ("trials = 4", "trial = 4", "trial", "trials"),
    ("sign_and_verify", "sign_and_verfy", "scenarios.", "sign_and_verify"),
    ("run.duration=100ms", "run.durtion=100ms", "run.durtion", "duration"),
    ("[2, 4, 6]", "[0, 4, 6]", "", ""),
]
WRONG_SCALES = [
    ("operations.sign.cpu", "device.name", "parameters[0].key", "must be a plain number"),
    ("operations.sign.cpu", "device.does_not_claim", "parameters[0].key", "must be"),
    ('"40us"', '"40"', "parameters[0].prior.median", "unit"),
    ('"40us"', '"0us"', "parameters[0].prior.median", "more than zero"),
    ('"5us"', '"5ms"', "parameters[0].to", "not more than 'from'"),
    ('to = "300us"', "", "parameters[0]", "needs 'from' and 'to'"),
    ('"5us"\nto = "300us"', '"200d"\nto = "300d"', "parameters[0].prior", "between the bounds"),
]


@pytest.mark.parametrize(("old", "new", "place", "hint"), MISTAKES[:-1] + WRONG_SCALES)
def test_mistakes_are_one_line_and_exit_2(cli, tmp_path, old, new, place, hint):
    text = SMALL if old in SMALL else SIGN
    fit = tmp_path / "fit.toml"
    fit.write_text(text.replace(old, new))
    done = cli("calibrate", "published", fit, "-o", tmp_path / "result.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert place in done.stderr
    assert hint in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "result.toml").exists()


@pytest.mark.engine
def test_invalid_patched_document_names_the_value(cli, tmp_path):
    fit = tmp_path / "fit.toml"
    fit.write_text(SMALL.replace("[2, 4, 6]", "[0, 4, 6]"))
    done = cli("calibrate", "published", fit, "-o", tmp_path / "result.toml")
    assert done.returncode == 2
    assert "device.cores.value" in done.stderr
    assert "with device.cores.value = 0" in done.stderr
    assert "pocketsim-" not in done.stderr


@pytest.mark.slow
@pytest.mark.engine
def test_the_smallest_fit_is_made_again(cli, tmp_path, root):
    name = "laptop_cores.toml"
    done = cli(
        "calibrate", "published", root / "pocketsim/calibration/fits" / name, "-o", tmp_path / name
    )
    assert done.returncode == 0, done.stderr
    made, committed = (
        tomllib.loads((folder / name).read_text())
        for folder in (tmp_path, root / "pocketsim/calibration/fits/results")
    )
    for result in (made, committed):
        del result["build"], result["version"]
    assert made == committed


@pytest.mark.engine
def test_one_number_comes_back_and_a_second_start_makes_nothing_again(cli, tmp_path):
    fit, out = tmp_path / "fit.toml", tmp_path / "result.toml"
    fit.write_text(SIGN)
    assert cli("calibrate", "published", fit, "-o", out).returncode == 0
    first = out.read_bytes()
    result = tomllib.loads(out.read_text())
    (sign,) = result["parameters"]
    said = {key: float(sign[key].removesuffix("us")) for key in ("value", "low", "high")}
    # 38239 signatures a second less 147 bytes of 6.72 ns each, within 5 % or so.
    assert said["value"] == pytest.approx(25.2, rel=0.1)
    assert 20 < said["low"] < said["value"] < said["high"] < 31
    assert sign["verdict"] == "identified"
    journal = out.with_suffix(".journal")
    made = journal.read_text().count('"terms"')
    assert made >= 15  # seven of the search, and both sides of an interval
    out.unlink()
    assert cli("calibrate", "published", fit, "-o", out).returncode == 0
    assert out.read_bytes() == first
    assert journal.read_text().count('"terms"') == made


@pytest.mark.slow
@pytest.mark.engine
def test_a_number_of_an_implementation_comes_back(cli, tmp_path):
    fit, out = tmp_path / "fit.toml", tmp_path / "result.toml"
    overlay = SIGN.replace("devices/thinkpad_l13", "implementations/kotlin_ipv8_2023")
    overlay = overlay.replace("operations.sign.cpu", "own_costs.overlay_receive.cpu")
    overlay = overlay.replace("F3_sign", "F6_ipv8").replace(
        "run.duration=100ms", "run.duration=20ms"
    )
    fit.write_text(
        overlay.replace("scenarios/tokens/sign_and_verify", "scenarios/eva/overlay_packets")
    )
    done = cli("calibrate", "published", fit, "-o", out)
    assert done.returncode == 0, done.stderr
    (found,) = tomllib.loads(out.read_text())["parameters"]
    assert found["verdict"] == "identified"
    # 30.71 MB/s of 1200 B are 39.07 us a packet, less the 2.63 us of recvfrom.
    assert float(found["value"].removesuffix("us")) == pytest.approx(36.4, rel=0.1)


def rung(metric, values, **others):
    """Return the metrics of one rung, as a run directory has them."""
    n = len(values)
    mean = sum(values) / n
    scatter = math.sqrt(sum((value - mean) ** 2 for value in values) / max(n - 1, 1))
    summary = {"mean": mean, "normal_ci95": 1.96 * scatter / math.sqrt(n), "values": values}
    return {"metrics": {metric: summary, **others}}


def terms(name, found, **table):
    (row,) = [row for row in published.rows() if row.id == name]
    target = row.target
    key = RungKey(
        target.scenario, target.transport, target.rate_min_per_s, target.payload_bytes, target.axes
    )
    rows = Rows.model_validate({"ids": [name], **table})
    told = likelihood.terms(document.Target(rows, (row,)), {key: found}, lambda *_: [])
    return [term.loss for term in told.values()]


def test_a_mean_costs_half_of_z_squared():
    # A1_w16_store: 2.07, 0.745.
    sure = rung("store_rate_per_s", [2.07 + 0.745] * 5)
    (loss,) = terms("A1_w16_store", sure, loss="mean")
    assert loss == pytest.approx(1.96**2 / 2, rel=1e-3)
    (none,) = terms("A1_w16_store", rung("store_rate_per_s", [2.07] * 5), loss="mean")
    assert none == 0


def test_scatter_costs_nothing_where_it_is_what_is_printed():
    # Five runs of A1_w16_store have the standard deviation 0.745 / 1.96 * sqrt(5).
    sigma = 0.745 / 1.96 * math.sqrt(5)

    def loss(scatter):
        step = scatter * math.sqrt(49 / 50)  # of which the sample deviation is `scatter`
        values = [2.07 + step * (-1) ** number for number in range(50)]
        return terms("A1_w16_store", rung("store_rate_per_s", values), loss="scatter")[0]

    assert loss(sigma) == pytest.approx(0, abs=1e-6)
    # The density of F with 4 and 49 degrees of freedom, as a scale's likelihood.
    for factor in (0.5, 2.0):
        ratio = 1 / factor**2
        said = stats.f.logpdf(ratio, 4, 49) + math.log(ratio)
        assert loss(factor * sigma) == pytest.approx(stats.f.logpdf(1, 4, 49) - said, rel=1e-3)


@pytest.mark.parametrize(("share", "cost"), [(0.995, 0), (0.99, 0), (0.98, 0.5), (0.97, 2)])
def test_a_claim_that_holds_costs_nothing(share, cost):
    others = {"in_flight_ratio": {"mean": 0.0}}
    found = rung("settled_success_ratio", [share] * 3, **others)
    (loss,) = terms("L_iroh_reliable", found, loss="claim", model_error=0.01)
    assert loss == pytest.approx(cost)


@pytest.mark.parametrize(("stalled", "worse"), [(7, False), (1, True), (14, True)])
def test_a_count_costs_what_a_binomial_says(stalled, worse):
    stores = [5.0] * stalled + [1300.0] * (15 - stalled)
    send = {"values": [1390.0] * 15, "mean": 1390.0}
    (loss,) = terms(
        "B2_w64_run0_stores",
        rung("store_count", stores, send_count=send),
        loss="outcome",
        outcome="stalled",
        count=7,
        runs=15,
    )
    assert loss >= 0
    assert (loss > 2) == worse


def test_a_result_can_be_read_as_json_too():
    for path in RESULTS:
        json.dumps(tomllib.loads(path.read_text()))


def test_a_row_that_is_not_there_names_the_nearest(tmp_path):
    fit = tmp_path / "fit.toml"
    fit.write_text(SMALL.replace('"F3_sign_scaling"', '"F3_sign_scalin"'))
    with pytest.raises(ScenarioError) as caught:
        document.load(fit)
    assert caught.value.suggestion == "F3_sign_scaling"


@pytest.mark.engine
@pytest.mark.parametrize("name", ["own_trades", "churn_file"])
def test_a_scenario_with_files_of_data_is_measured(name, tmp_path):
    from pocketsim.calibration.inverse.patched_scenarios import Scenarios
    from pocketsim.sim.run.forks import Forks

    scenario = f"scenarios/own_data/{name}.toml"
    overrides = {scenario: ["run.repetitions=1"]}
    several = Scenarios.of([scenario], overrides, "a test", lambda _: True)
    (resolved, *_) = several.resolved({}, tmp_path).values()
    with Forks(1) as forks:
        (found,) = forks.measure([resolved], several.files)
    assert found["counts"]["sent"] > 0
