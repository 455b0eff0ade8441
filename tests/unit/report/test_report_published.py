"""Published figures in a report: beside runs of the scenario as it comes with the project only.

The runs resolve as real ones do; what they did is invented.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pocketsim import testing
from pocketsim.calibration.validate import published, validation
from pocketsim.report import write_report
from pocketsim.report.charts import grids, rates
from pocketsim.report.runs import shipped_scenarios
from pocketsim.report.runs.run import Run, as_series, load
from pocketsim.report.runs.shipped_scenarios import ShippedScenarios
from pocketsim.sim.scenario.load import load as load_scenario
from pocketsim.sim.scenario.resolve import Rung, resolve

UDP = "pocketsim/scenarios/throughput/udp_128b.toml"
BUFFERS = "scenarios/eva/buffers.toml"


def rungs(path: Path, *overrides: str) -> list[Rung]:
    return resolve(load_scenario(path, ["run.repetitions=2", *overrides]))


@pytest.fixture
def one(root: Path, tmp_path: Path):
    """Return a function that makes an invented run at 16/s of a scenario with overrides."""

    def make(*overrides: str, path: Path = root / UDP) -> Path:
        (found,) = (
            rung for rung in rungs(path, *overrides) if rung.resolved["rung"]["rate_per_s"] == 16
        )
        return testing.run_dir(tmp_path / "runs", found.resolved, testing.Shape())

    return make


def marks(runs: list[Run]) -> list[str]:
    (series,) = as_series(runs)
    return [line.name for line in rates.rates(series).data if line.name.endswith("published")]


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("run.seed=7",),
        ("run.repetitions=3",),
        ("workload.rate=16/s",),
        ("workload.rate=[3/s, 16/s]",),
    ],
)
def test_same_experiment_has_marks(one: Any, overrides: tuple[str, ...]):
    assert marks(load([one(*overrides)])) == ["sent, published", "stored, published"]


@pytest.mark.parametrize(
    "override",
    [
        "network.access.home_wifi.latency=100ms",
        "devices[0].profile=pocophone_f1",
        "run.draw=posterior",
        "run.duration=24s",
        "run.app=restarted",
        "transport.poll_interval=11ms",
        "output={trace='sampled', sample_ratio=0.5}",
    ],
)
def test_altered_run_has_no_marks(one: Any, override: str):
    assert marks(load([one(override)])) == []


def test_other_scenario_of_the_same_name_has_no_marks(one: Any, root: Path, tmp_path: Path):
    text = (root / UDP).read_text()
    own = tmp_path / "udp_128b.toml"
    own.write_text(text.replace('latency = "1ms"', 'latency = "2ms"'))
    assert own.read_text() != text
    assert marks(load([one(path=own)])) == []


def test_other_profile_of_the_same_name_has_no_marks(one: Any, root: Path, tmp_path: Path):
    """Beside the scenario lies another Moto: its name is the same, a number is not."""
    shipped = (root / "pocketsim/calibration/profiles/devices/moto_g04s.toml").read_text()
    own, profile = tmp_path / "udp_128b.toml", tmp_path / "moto_g04s.toml"
    own.write_text((root / UDP).read_text().replace('"moto_g04s"', '"moto_g04s.toml"'))
    profile.write_text(shipped)
    same = one(path=own)
    profile.write_text(shipped.replace('buffer = "', 'buffer = "1'))
    assert [bool(marks(load([run]))) for run in (same, one(path=own))] == [True, False]


def test_other_transports_of_a_scenario_have_no_marks(one: Any):
    assert marks(load([one("transport.mode=quic_keep")])) == []


def test_without_a_checkout_a_validation_says_which_runs_are_meant(
    one: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = one()
    monkeypatch.setattr(shipped_scenarios, "PACKAGE", tmp_path / "elsewhere")
    assert marks(load([run])) == []
    assert marks(load([run], [run])) == ["sent, published", "stored, published"]
    page = tmp_path / "report.html"
    write_report([run], page)
    assert '"stored, published"' not in page.read_text(encoding="utf-8")
    judged = validation.judge(published.rows(), {})
    result = validation.ValidationResult(judged.comparisons, judged.summaries, (run,))
    write_report([run], page, result)
    assert '"stored, published"' in page.read_text(encoding="utf-8")


def test_every_rung_of_every_published_scenario_is_known(root: Path):
    """Also those of EVA, of tokens and of computing: nothing else takes their marks away."""
    paths = {row.target.scenario for row in published.rows() if row.target.scenario}
    known = ShippedScenarios()
    for path in sorted(paths):
        assert all(known.hold(rung.resolved) for rung in rungs(root / "pocketsim" / path)), path


def test_published_marks_of_a_grid_are_at_their_own_rate(one: Any, root: Path, tmp_path: Path):
    runs = [
        testing.run_dir(tmp_path, rung.resolved, testing.Shape())
        for draw in ("mean", "posterior")
        for rung in rungs(root / UDP, f"run.draw={draw}", "workload.rate=[32/s, 64/s]")
    ]
    runs.append(one("run.draw=posterior"))
    (chart, *_) = grids.charts(load(runs, runs))
    (marked,) = (line for line in chart[2].data if line.name == "published")
    rates_of = {row.id: row.target.rate_min_per_s for row in published.rows()}
    assert [rates_of[name] for name in marked.text] == list(marked.x)
    assert len(set(marked.text)) == len(marked.text) > 0
