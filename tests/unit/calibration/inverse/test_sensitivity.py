"""What doubling a number moves: the table that is committed, and how it is made, by a model."""

from __future__ import annotations

import math
import random
import re
import tomllib
from pathlib import Path

import pytest

from pocketsim.calibration.inverse import doubling, sobol
from pocketsim.calibration.inverse import sensitivity as table
from pocketsim.calibration.inverse.doubling import Doubling, Number
from pocketsim.calibration.inverse.journal import Journal
from pocketsim.calibration.validate import published, sensitivity
from pocketsim.calibration.validate.answers import RungKey, answer
from pocketsim.calibration.validate.comparison import needs_simulation
from pocketsim.calibration.validate.sensitivity import (
    MOVES,
    NOT_VALIDATED,
    REFUSED,
    ZERO,
    Change,
    Entry,
    as_table,
    from_table,
)
from pocketsim.calibration.validate.summaries import has_bar
from pocketsim.calibration.validate.validation import scenarios
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.devices import implementation, profile
from pocketsim.sim.devices.numbers import numbers

ROOT = Path(__file__).resolve().parents[4]
LAPTOP = "calibration/profiles/devices/thinkpad_l13.toml"
ROWS = [row for row in published.rows() if row.id in {"F3_sign", "F3_verify"}]


class Model:
    """In the place of simulations: tasks a second, of two costs, and some scatter of its own."""

    def __init__(self, scatter=0.0):
        self.scatter, self.runs = scatter, 0

    def measure(self, several, _files=None):
        return [{"metrics": self._metrics(run)} for run in several]

    def _metrics(self, run):
        costs = next(iter(run["profiles"].values()))["operations"]
        task = "sign" if run["workload"]["task"] == "sign_token" else "verify"
        rate = 1 / costs[task]["cpu_s"]
        number = run["run"]["repetitions"]
        self.runs += number
        # A slight change of any cost sends each repetition another way, as overload does.
        chance = random.Random(f"{run['run']['seed']} {costs} {number}")  # noqa: S311
        values = [rate * (1 + self.scatter * chance.uniform(-1, 1)) for _ in range(number)]
        mean = sum(values) / number
        metric = {"mean": mean, "values": values, "normal_ci95": None}
        return {"task_rate_per_s": metric, "task_us_mean": metric, "in_flight_ratio": metric}


def number(key, written, documents=(LAPTOP,)):
    return Number(documents, key, written)


def test_change_of_a_row_has_its_size_and_interval():
    entry = Doubling(ROWS, 3, Model(scatter=0.01)).entry(number("operations.sign.cpu", "25.2us"))
    assert entry.verdict == MOVES
    assert entry.doubled == "50.4us"
    assert entry.change.row == "F3_sign"
    assert entry.change.ratio == pytest.approx(-0.5, abs=0.02)
    assert 0 < entry.change.half_ratio < 0.1


def test_scatter_alone_is_no_effect():
    model = Model(scatter=0.3)
    every = [
        number(f"operations.{name}.spread_sigma", 0.1)
        for name in ("sign", "verify", "sealed_box_seal", "sealed_box_open")
    ]
    study = Doubling(ROWS, 4, model)
    verdicts = [study.entry(one).verdict for one in every]
    assert verdicts.count(NOT_VALIDATED) == len(every), verdicts
    # Each of them did change every repetition by some per cent.
    before = model.runs
    study.entry(every[0])
    assert model.runs > before


class Constant(Model):
    """Rates of 100 a second, but for those of signing once that costs twice as much."""

    def _metrics(self, run):
        metrics = super()._metrics(run)
        number = run["run"]["repetitions"]
        values = [100.0] * number
        costs = next(iter(run["profiles"].values()))["operations"]
        if run["workload"]["task"] == "sign_token" and costs["sign"]["cpu_s"] > 40e-6:
            values = [self.doubled(run, place) for place in range(number)]
        metric = {"mean": values[0], "values": values, "normal_ci95": None}
        return dict.fromkeys(metrics, metric)

    def doubled(self, run, repetition):
        raise NotImplementedError


SEED = tomllib.loads((doubling.key_paths.ROOT / ROWS[0].target.scenario).read_text())["run"]["seed"]


@pytest.mark.parametrize("fresh", [100.0, 150.0], ids=["none", "the other way"])
def test_effect_must_be_confirmed_with_another_seed(fresh):
    class Lucky(Constant):
        def doubled(self, run, _repetition):
            return 50.0 if run["run"]["seed"] == SEED else fresh

    entry = Doubling(ROWS, 4, Lucky()).entry(number("operations.sign.cpu", "25.2us"))
    assert (entry.verdict, entry.change) == (NOT_VALIDATED, None)
    assert entry.rungs == 1


def test_an_answer_that_vanishes_is_a_change():
    class Silent(Constant):
        def doubled(self, _run, _repetition):
            return None

    entry = Doubling(ROWS, 4, Silent()).entry(number("operations.sign.cpu", "25.2us"))
    assert (entry.verdict, entry.change.row, entry.change.ratio) == (MOVES, "F3_sign", -1.0)


def test_a_certain_change_is_taken_before_a_large_one():
    class Both(Model):
        def _metrics(self, run):
            metrics = super()._metrics(run)
            costs = next(iter(run["profiles"].values()))["operations"]
            is_doubled, number = costs["hash"]["cpu_s"] > 1.5e-6, run["run"]["repetitions"]
            values = [100.0] * number
            if is_doubled and run["workload"]["task"] == "sign_token":
                values = [105.0] * number
            elif is_doubled:  # likely by the seed that chooses, and not there by another
                low = [900.0, 500.0] if run["run"]["seed"] == SEED else [100.0]
                values = (low * number)[:number]
            metric = {"mean": values[0], "values": values, "normal_ci95": None}
            return dict.fromkeys(metrics, metric)

    entry = Doubling(ROWS, 4, Both()).entry(number("operations.hash.cpu", "1us"))
    assert (entry.verdict, entry.change.row) == (MOVES, "F3_sign")
    assert entry.change.ratio == pytest.approx(0.05)


def test_number_without_effect_takes_one_repetition():
    class Same(Constant):
        def doubled(self, _run, _repetition):
            return 100.05

    model = Same()
    study = Doubling(ROWS, 4, model)
    before = model.runs
    assert study.entry(number("operations.sign.cpu", "25.2us")).rungs == 0
    assert model.runs == before + len(ROWS)


def test_a_number_that_acts_in_some_repetitions_has_another_plan():
    file = "calibration/profiles/implementations/trustchain_throughput_2025.toml"
    rows = [row for row in published.rows() if re.match("B2_w(64|256|1024)_run", row.id)]
    played = doubling.Played(rows, 4, 0, Model())
    window = "quic_keep.kept_connection.duplicate_dial_window"
    stalled = number(f"{window}.to", "54ms", (file,))
    assert {key.rate_per_s for key in played.changed(stalled.at(2))} == {64.0, 256.0, 1024.0}


def test_a_change_below_one_percent_counts_as_none():
    class Slight(Model):
        def _metrics(self, run):
            found = super()._metrics(run)
            factor = 1.008 if "50.4" in str(run["profiles"]) or self._doubled(run) else 1.0
            rate = 100.0 * factor
            metric = {"mean": rate, "values": [rate] * run["run"]["repetitions"]}
            return {name: {**metric, "normal_ci95": None} for name in found}

        def _doubled(self, run):
            costs = next(iter(run["profiles"].values()))["operations"]
            return math.isclose(costs["sign"]["cpu_s"], 50.4e-6)

    entry = Doubling(ROWS, 3, Slight()).entry(number("operations.sign.cpu", "25.2us"))
    assert (entry.verdict, entry.change) == (NOT_VALIDATED, None)
    assert entry.rungs > 0


def test_number_in_no_plan_is_not_simulated():
    model = Model()
    study = Doubling(ROWS, 3, model)
    before = model.runs
    phone = "calibration/profiles/devices/moto_g04s.toml"
    entry = study.entry(number("operations.sign.cpu", "122us", (phone,)))
    assert (entry.verdict, entry.rungs, model.runs) == (NOT_VALIDATED, 0, before)


def test_zero_and_refused_values_are_reported():
    study = Doubling(ROWS, 2, Model())
    assert study.entry(number("operations.sign.wait", "0s")).verdict == ZERO
    assert study.entry(number("operations.sign.spread_sigma", 0.0)).verdict == ZERO
    refused = study.entry(number("operations.sign.spread_sigma", 3.0))
    assert refused.verdict == REFUSED
    assert "5" in refused.reason


@pytest.mark.parametrize(
    ("written", "factor", "said"),
    [("25us", 2, "50us"), ("15/h", 2, "30/h"), (3, 0.5, 2), (1, 0.5, 1), (8, 2, 16), (0.2, 2, 0.4)],
)
def test_a_number_is_multiplied_as_it_is_written(written, factor, said):
    found = number("key", written).times(factor)
    same = doubling.key_paths.unit_of(said)
    assert same.number(found) == pytest.approx(same.number(said))
    assert type(found) is type(said)


def test_a_share_is_taken_to_one_where_twice_as_much_is_none():
    file = "calibration/profiles/implementations/trustchain_throughput_2025.toml"
    key = "quic_keep.kept_connection.duplicate_dial_probability.value"
    rows = [row for row in published.rows() if row.id.startswith("B2_w64_run")]

    class Nothing(Model):
        def _metrics(self, run):
            metric = {"mean": 1.0, "values": [1.0] * run["run"]["repetitions"]}
            return dict.fromkeys(("store_count", "send_count", "in_flight_ratio"), metric)

    entry = Doubling(rows, 2, Nothing()).entry(number(key, 0.7, (file,)))
    assert (entry.verdict, entry.doubled) == (NOT_VALIDATED, 1.0)


ANSWERS = {row.id: [row] for row in ROWS}


def nobody(*_):
    """Be told of points, and tell nobody."""


class Together(Model):
    """A rate to which signing and verifying add their times."""

    def _metrics(self, run):
        costs = next(iter(run["profiles"].values()))["operations"]
        rate = 1 / (costs["sign"]["cpu_s"] + costs["verify"]["cpu_s"])
        values = [rate] * run["run"]["repetitions"]
        self.runs += len(values)
        metric = {"mean": rate, "values": values, "normal_ci95": None}
        return dict.fromkeys(("task_rate_per_s", "task_us_mean", "in_flight_ratio"), metric)


BOTH = [number("operations.sign.cpu", "25.2us"), number("operations.verify.cpu", "56.6us")]


@pytest.mark.slow
def test_sobol_indices_apportion_the_variance(tmp_path):
    kept = Journal(tmp_path / "journal", "")
    model, points = Together(), []
    found = sobol.indices(BOTH, ANSWERS, 16, model, kept, lambda *one: points.append(one))
    assert points[-1] == (16 * 4, 16 * 4)
    for row in ANSWERS:
        sign, verify = (index for index in found if index.row == row)
        # The longer of two times that are added is more of their variance; both are all of it.
        assert 0 < sign.total < verify.total < 1.2
        assert sign.first + verify.first == pytest.approx(1.0, abs=0.25)
        assert verify.first_low < verify.first < verify.first_high
    made = model.runs
    kept, model = Journal(tmp_path / "journal", ""), Together()
    assert sobol.indices(BOTH, ANSWERS, 16, model, kept, nobody) == found
    assert not model.runs, "what the journal holds is not simulated again"
    kept = Journal(tmp_path / "journal", "of another build")
    assert sobol.indices(BOTH, ANSWERS, 16, model, kept, nobody) == found
    assert model.runs == made


def test_row_that_depends_on_one_number_has_index_1(tmp_path):
    model, kept = Model(), Journal(tmp_path / "journal", "")
    found = sobol.indices(BOTH, ANSWERS, 4, model, kept, nobody)
    total = {(index.row, index.key): index[3:] for index in found}
    for row, own in (("F3_sign", "sign"), ("F3_verify", "verify")):
        for name in ("sign", "verify"):
            assert total[row, f"operations.{name}.cpu"] == (float(name == own),) * 6
    # As they are, and each number alone, halved and doubled.
    assert model.runs == 2 * len(ROWS) * (1 + 4)


def test_constant_answer_has_no_index(tmp_path):
    class Silent(Model):
        def _metrics(self, run):
            return {
                name: {**metric, "mean": None, "values": [None] * len(metric["values"])}
                for name, metric in super()._metrics(run).items()
            }

    one, kept = number("operations.sign.cpu", "25us"), Journal(tmp_path / "journal", "")
    assert not sobol.indices([one], ANSWERS, 4, Silent(), kept, nobody)


def test_growth_from_zero_is_infinite():
    (row,) = [row for row in published.rows() if row.id == "F3_sign_scaling"]
    axes = dict.fromkeys(range(1, 9))
    rungs = {
        RungKey(row.target.scenario, "none", 0.0, 147, (("workload.task", "sign_token"), at)): {
            "metrics": {
                name: {"mean": 0.0, "values": [0.0], "normal_ci95": None}
                for name in (row.target.metric, "in_flight_ratio")
            }
        }
        for at in (("workload.threads", threads) for threads in axes)
    }
    assert answer(row, rungs).simulated == math.inf


def test_an_entry_is_read_as_it_was_written():
    change = Change("B1_w1_send", "udp", -0.25, 0.01)
    entry = Entry([LAPTOP], "operations.sign.cpu", "25.2us", MOVES, "50.4us", 3, change)
    assert from_table(as_table(entry)) == entry
    assert from_table(as_table(Entry([LAPTOP], "a", 0.0, ZERO))) == Entry([LAPTOP], "a", 0.0, ZERO)


def test_the_committed_table_has_every_number_as_it_is():
    rows = [row for row in published.rows() if needs_simulation(row) and has_bar(row.group)]
    names = scenarios(rows)
    now = {(number.documents, number.key): number.written for number in doubling.numbers(names)}
    made = {(tuple(entry.documents), entry.key): entry.value for entry in sensitivity.entries()}
    changed = {key: value for key, value in now.items() if made.get(key) != value}
    assert not changed, "make the table again: pocketsim calibrate sensitivity"
    assert made.keys() == now.keys()


def test_standard_errors_and_scatter_are_no_parameters(monkeypatch, tmp_path):
    monkeypatch.setattr(doubling.key_paths, "ROOT", tmp_path)
    monkeypatch.setattr(doubling, "PROFILES", tmp_path / "profiles")
    phone = tmp_path / "profiles/devices/phone.toml"
    phone.parent.mkdir(parents=True)
    phone.write_text(
        '[operations.sign]\ncpu = "25us"\nstandard_error = "1us"\nsamples = 9\n'
        "[scatter.sign]\nsamples = 9\np_value = 0.5\n[scatter.sign.aicc]\ngamma = -2.0\n"
    )
    (tmp_path / "town.toml").write_text(
        '[network.access.wifi]\nlatency = "5ms"\nloss_ratio = 0.01\n'
        '[network.access.wifi.standard_error]\nlatency = "1ms"\nloss_ratio = 0.001\n'
    )
    assert [each.name for each in doubling.numbers(["town.toml"])] == [
        "phone:operations.sign.cpu",
        "town:network.access.wifi.latency",
        "town:network.access.wifi.loss_ratio",
    ]


def test_every_number_of_a_shipped_profile_has_an_answer():
    for path in sorted([*profile.DEVICES.glob("*.toml"), *profile.IMPLEMENTATIONS.glob("*.toml")]):
        is_device = path.parent.name == "devices"
        contents = (
            profile.contents(profile.load(path))
            if is_device
            else implementation.contents(implementation.load(path))
        )
        every = [(name, one) for name, one in numbers(contents) if not is_choice(one)]
        told = sensitivity.of_profile(path.stem, every)
        assert set(told) == {name for name, _ in every}, path
        other = [(name, {**one, "samples": 77}) for name, one in every]
        assert not sensitivity.of_profile(path.stem, other), "another number than the table's"


def is_choice(one):
    return isinstance(one.get("value"), bool | str)


def test_the_page_counts_as_the_table_does():
    page = (ROOT / "docs/sensitivity.md").read_text()
    verdicts = [entry.verdict for entry in sensitivity.entries()]
    for verdict in set(verdicts):
        (said,) = re.findall(rf"^\| {verdict} \| (\d+) \|$", page, re.MULTILINE)
        assert int(said) == verdicts.count(verdict), verdict
    made = tomllib.loads(sensitivity.FILE.read_text())
    assert not {"only", "subset"} & made.keys()
    assert made["repetitions"] >= 4
    assert len({(index["document"], index["key"]) for index in made["indices"]}) == 10
    section = page.partition("## Whose the variance is")[2]
    cells = {
        tuple(line.split(" | ")[:2]): line.split(" | ")[3]
        for line in section.splitlines()
        if line.startswith("| `")
    }
    for index in made["indices"]:
        name = f"{Path(index['document']).stem}:{index['key']}"
        told = cells.get((f"| `{index['row']}`", f"`{name}`"))
        assert (told is not None) == (index["total_high"] > 0.02)
        assert told is None or told.startswith(f"{100 * index['total']:.0f} % (")


def test_a_mistake_is_told_before_anything_runs(cli, tmp_path):
    out = tmp_path / "table.toml"
    done = cli("calibrate", "sensitivity", "-o", out, "--only", "moto_g04s:operations.sing.cpu")
    assert done.returncode == 2
    assert "operations.sign.cpu" in done.stderr
    done = cli("calibrate", "sensitivity", "-o", out, "--subset", "token_kryptography")
    assert done.returncode == 2
    assert "token_cryptography" in done.stderr
    for name in (".", tmp_path / "table.journal"):
        done = cli("calibrate", "sensitivity", "-o", name, "--only", "*")
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
    done = cli("calibrate", "sensitivity", "-o", out, "--samples", "3")
    assert done.returncode == 2
    assert "power of 2" in done.stderr
    assert not out.exists()


@pytest.mark.slow
def test_interrupted_study_continues_from_its_journal(cli, tmp_path):
    out, one = tmp_path / "table.toml", "thinkpad_l13:operations.sign.cpu"
    options = ("--subset", "token_cryptography", "--repetitions", "2", "--samples", "0")
    done = cli("calibrate", "sensitivity", "-o", out, "--only", one, *options)
    assert done.returncode == 0, done.stderr
    first, journal = out.read_bytes(), out.with_suffix(".journal")
    kept = journal.read_text().strip()
    altered = kept.replace('"ratio": -', '"ratio": -1')
    assert altered != kept
    for damage in ("", "\n1\n{}", "\n\xff", '\n{"made_from": "cut'):
        journal.write_bytes(altered.encode() + damage.encode("latin-1"))
        again = cli("calibrate", "sensitivity", "-o", out, "--only", one, *options)
        assert again.returncode == 0, again.stderr
        assert out.read_bytes() != first, "what the journal held was taken"
    journal.write_bytes(b'{"made_from": "cut')
    for _ in range(2):
        assert cli("calibrate", "sensitivity", "-o", out, "--only", one, *options).returncode == 0
        assert out.read_bytes() == first
    assert journal.read_text().splitlines()[1:] == [kept], "what follows a cut line is kept"


def test_a_name_with_brackets_is_a_name():
    factor = "devices[0].cost_factors.iroh_bind.value"
    one = number(factor, 0.7, ("scenarios/throughput/iroh_reconnect_100b.toml",))
    assert table._chosen([one], [one.name]) == [one]
    assert table._chosen([one], ["*iroh_bind*"]) == [one]
    with pytest.raises(UserError, match="iroh_bind"):
        table._chosen([one], [one.name.replace("bind", "bint")])
