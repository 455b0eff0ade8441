"""The published rows: all there, consistent, and compared as bars.toml says."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from pocketsim import testing
from pocketsim.calibration.validate import block_sizes, published, table, validation
from pocketsim.calibration.validate.answers import OutcomeCounts, RungKey, matching
from pocketsim.sim import metrics
from pocketsim.sim.base.errors import UserError
from pocketsim.sim.scenario.transports import TransportMode

ROWS = published.rows()


def replay(payload_bytes: int, first_index: int, count: int, outstanding: int) -> list[int]:
    """The format in three lines: fixed parts, two previous hashes, digits of index and number."""

    def size(at: int) -> int:
        sender, receiver = first_index > 1 or at > outstanding, first_index > 1 or at > 0
        digits = len(str(first_index + at)) + max(4, len(str(at + 1))) - 5
        return 408 + payload_bytes + 64 * (sender + receiver) + digits

    return [size(at) for at in range(count)]


def rungs_of(scenario: str, *made: tuple[str, float, int, testing.Shape]) -> dict[Any, Any]:
    found = {}
    for transport, rate, payload, shape in made:
        resolved = testing.resolved(scenario, rate, payload, transport)
        key = RungKey(f"scenarios/{scenario}.toml", transport, rate, payload)
        found[key] = metrics.measure(testing.events(resolved, shape), resolved)
    return found


def by_id(result: validation.ValidationResult) -> dict[str, Any]:
    return {row.id: row for row in result.comparisons}


def test_every_printed_row_is_there():
    # Appendix A: 6 + 6 + 7 workloads; B.1: 8; B.3: 9; each sends and stores. B.2: 8 workloads and
    # B.4: 9, five runs each of a count and three sizes. 4.2.3: 6 workloads.
    assert Counter(row.section for row in ROWS if row.document == "throughput_thesis") == {
        "A.1": 12,
        "A.2": 12,
        "A.3": 14,
        "B.1": 16,
        "B.2": 8 * 5 * 4,
        "B.3": 18,
        "B.4": 9 * 5 * 4,
        "4.2.3": 12,
        "4.2.5": 1,
    }
    assert sum(row.document == "latency_thesis" for row in ROWS) == 9


@pytest.mark.parametrize(
    ("section", "rates"),
    [
        ("A.1", {4, 24}),
        ("A.2", {8, 28}),
        ("A.3", {16, 36}),
        ("B.1", {8, 128, 512}),
        ("B.2", {8, 128, 512}),
        ("B.3", {16, 256}),
        ("B.4", {16, 256}),
        ("4.2.3", {16, 24}),
    ],
)
def test_held_out_workloads_are_not(section: str, rates: set[int]):
    assert not rates & {row.target.rate_min_per_s for row in ROWS if row.section == section}


def test_rows_keep_the_printed_digits():
    row = next(row for row in ROWS if row.id == "A2_w4_send")
    assert (row.value, row.ci95, row.resolution) == (4.0, 0.006, 0.01)
    assert row.target.scenario == "scenarios/throughput/iroh_reconnect_100b.toml"
    assert row.what == "A.2 send rate, quic_reconnect 100 B at 4/s"


def test_a_transport_has_one_name():
    """What tables show is the scenario's word, but for capitals."""
    modes = {mode for mode in get_args(TransportMode) if mode != published.NO_TRANSPORT}
    assert set(published.TRANSPORTS) == modes
    for mode, name in published.TRANSPORTS.items():
        assert name.lower().replace(" ", "_") == mode
    for group in published.groups().values():
        assert "iroh" not in group.title


def test_rates_of_tables_agree_with_counts_of_runs():
    for row in ROWS:
        if row.section != "B.3" or not row.id.endswith("store"):
            continue
        rate = row.target.rate_min_per_s
        counts = [
            other.value or 0
            for other in ROWS
            if other.section == "B.4"
            and other.quantity == "stored blocks"
            and other.target.rate_min_per_s == rate
        ]
        assert sum(counts) / 5 / (row.value or 1) == pytest.approx(24.8, abs=0.25)


def test_a_fitted_row_that_does_not_exist_is_refused(tmp_path: Path):
    for path in published.FOLDER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "fitted_rows.toml").write_text('fitted = ["A1_w1_send"]\n')
    fitted = [row.id for row in published.rows(tmp_path) if row.basis == "fitted"]
    assert fitted == ["A1_w1_send"]
    (tmp_path / "fitted_rows.toml").write_text('fitted = ["A1_w3_send"]\n')
    with pytest.raises(ValueError, match="no row 'A1_w3_send'"):
        published.rows(tmp_path)


def test_every_published_block_size_follows_from_the_format():
    found = block_sizes.matches(block_sizes.runs(ROWS), replay)
    assert len(found) == 85
    assert [match for match in found if not match.exact] == []
    searched = {match.run.rate_per_s for match in found if "held-out" in match.note}
    assert searched == {32, 64, 128, 512, 1024}


def test_a_wrong_format_is_noticed():
    def short(*arguments: int) -> list[int]:
        return [size - 1 for size in replay(*arguments)]

    assert not any(match.exact for match in block_sizes.matches(block_sizes.runs(ROWS), short))


def test_relative_rows_have_errors_and_intervals():
    rungs = rungs_of("throughput/udp_128b", ("udp", 8.0, 128, testing.Shape()))
    rows = validation.select(ROWS, ["B3_w8_*", "B4_w8_run?_stores"])
    found = by_id(validation.judge(rows, rungs))
    assert found["B3_w8_send"].error_ratio == pytest.approx(8.04 / 7.66 - 1, abs=1e-3)
    assert found["B3_w8_send"].agrees is False
    assert (found["B3_w8_send"].runs, found["B3_w8_send"].simulated_runs) == (5, 5)
    assert found["B4_w8_stores"].published == 191
    assert found["B4_w8_stores"].note == "mean of 5 runs"


def test_rounding_is_allowed_for():
    # Sends of A.1 at 1/s are printed as 1.04 +- 0.001.
    rows = validation.select(ROWS, ["A1_w1_send"])
    scenario = "throughput/iroh_reconnect_10b"
    rungs = rungs_of(scenario, ("quic_reconnect", 1.0, 10, testing.Shape()))
    metric = next(iter(rungs.values()))["metrics"]["send_rate_per_s"]
    for mean, inside in ((1.0455, True), (1.047, False)):
        metric["mean"] = mean
        assert validation.judge(rows, rungs).comparisons[0].agrees is inside


def test_the_scatter_of_both_is_allowed_for():
    # Stores of A.2 at 16/s are printed as 4.04 +- 1.969 over five runs: +- 2.79 by Student's t.
    rows = validation.select(ROWS, ["A2_w16_store"])
    scenario = "throughput/iroh_reconnect_100b"
    rungs = rungs_of(scenario, ("quic_reconnect", 16.0, 100, testing.Shape()))
    metric = next(iter(rungs.values()))["metrics"]["store_rate_per_s"]
    for mean, half, values, agrees in (
        (6.8, 0.0, [6.8] * 5, True),
        (6.9, 0.0, [6.9] * 5, False),
        (6.9, 1.969, [6.9] * 5, True),  # with as much scatter, half of 3.28
        (7.4, 1.969, [7.4] * 5, False),
        (6.8, None, [6.8], True),
    ):
        metric |= {"mean": mean, "normal_ci95": half, "values": values}
        (found,) = validation.judge(rows, rungs).comparisons
        assert found.agrees is agrees, mean


def test_share_in_flight_is_shown_beside_success():
    rows = validation.select(ROWS, ["L_iroh_reliable", "L_iroh_median"])
    made = ("quic_keep", 50.0, 512, testing.Shape())
    rungs = rungs_of("latency/rate", made)
    for rung in rungs.values():
        rung["metrics"]["in_flight_ratio"]["mean"] = 0.0125
    result = validation.judge(rows, rungs)
    found = by_id(result)
    assert found["L_iroh_reliable"].in_flight_ratio == 0.0125
    assert found["L_iroh_median"].in_flight_ratio is None
    lines = table.render(result, rows=True).plain
    assert "(1.2% in flight at the end)" in " ".join(lines.split())


def test_kept_connections_are_compared_by_outcome():
    breaks_s = (14.0, 7.0, 25.1, 0.03, 0.02)
    shape = testing.Shape(breaks_s=breaks_s)
    rungs = rungs_of("throughput/iroh_keep_128b", ("quic_keep", 64.0, 128, shape))
    result = validation.judge(validation.select(ROWS, ["B1_w64_store", "B2_w64_*_stores"]), rungs)
    found = by_id(result)
    shares = found["B2_w64_complete_share"]
    assert (shares.published, shares.simulated, shares.agrees) == (0.2, 0.2, True)
    assert shares.outcomes == OutcomeCounts((2, 2, 1), (2, 2, 1))
    assert found["B2_w64_complete_stores"].published == 1373
    assert found["B1_w64_store"].error_ratio is None
    assert "2 stalled, 2 partial, 1 complete of 5" in shares.note
    (summary,) = result.summaries
    assert summary.p_value == pytest.approx(shares.p_value, abs=0.01)
    assert (result.verdict, summary.standing) == ("missed", "described")
    assert shares.simulated_runs == 5


def test_outcomes_that_never_come_up_miss_the_bar():
    """Two of five published runs at 1024/s stall: five repetitions may miss that, forty may not."""
    rows = validation.select(ROWS, ["B2_w1024_*_stores"])
    key = RungKey("scenarios/throughput/iroh_keep_128b.toml", "quic_keep", 1024.0, 128)
    for repetitions, verdict in ((5, "all met"), (40, "missed")):
        known = {"mean": 12329.0, "normal_ci95": 0.0, "values": [12329.0] * repetitions}
        rungs = {key: {"metrics": {"store_count": known, "send_count": known}}}
        assert validation.judge(rows, rungs).verdict == verdict, repetitions


def test_claims_hold_or_do_not():
    good, bad = testing.Shape(), testing.Shape(lost_ratio=0.3)
    rows = validation.select(ROWS, ["iroh_*", "udp_resilient"])
    made = (("quic_keep", 50.0, 512, good), ("quic_keep", 400.0, 512, bad))
    for udp, holds in (
        (testing.Shape(lost_ratio=0.05), True),
        (replace(bad, lost_ratio=0.4), False),
    ):
        rungs = rungs_of("latency/rate", *made, ("udp", 400.0, 512, udp))
        result = validation.judge(rows, rungs)
        verdicts = {row.id: row.holds for row in result.comparisons}
        assert verdicts == {
            "L_iroh_reliable": True,
            "L_iroh_collapses": True,
            "L_udp_resilient": holds,
        }
        assert (result.verdict == "all met") is holds


def test_a_row_that_nothing_answers_fails_its_bar():
    result = validation.judge(validation.select(ROWS, ["latency"]), {})
    assert [row.note.split("; ")[-1] for row in result.comparisons] == ["no simulated value"] * 2
    assert result.verdict == "missed"
    assert result.summaries[0].unanswered == 2


def test_everything_has_a_line_and_json_is_valid():
    result = validation.judge(ROWS, {}, replay)
    assert {row.group for row in result.comparisons} == set(published.groups())
    data = json.loads(result.as_json())
    assert data["verdict"] == "missed"
    assert len(data["comparisons"]) == len(result.comparisons)
    sizes = next(summary for summary in result.summaries if summary.group == "block_sizes")
    assert (sizes.held, sizes.claims, sizes.met) == (85, 85, True)
    bases = {row.basis for row in result.comparisons}
    assert bases == {"fitted", "predicted", "reproduced from format", "not compared"}
    absent = [row for row in result.comparisons if row.basis == "not compared"]
    assert all(row.simulated is None for row in absent)


def test_tables_show_misses_and_hide_exact_sizes():
    result = validation.judge(ROWS, {}, replay)
    cells = {summary.group: table.summary_cells(summary) for summary in result.summaries}
    assert cells["udp"][:2] == ("Plain UDP: rates and counts", "0 of 39")
    assert "_sizes" not in table.render(result, rows=True).plain.replace("block_sizes", "")
    assert "B4_w8_run0_sizes" in table.render(result, rows=True, every_row=True).plain
    assert "Missed: Plain UDP" in table.verdict_line(result)


def test_only_needed_scenarios_run():
    assert validation.scenarios(validation.select(ROWS, ["block_sizes", "F6_pipe"])) == []
    needed = validation.scenarios(validation.select(ROWS, ["keep"]))
    assert needed == [
        "scenarios/throughput/iroh_keep_100b.toml",
        "scenarios/throughput/iroh_keep_128b.toml",
    ]


@pytest.mark.engine
def test_validate_runs_what_it_needs(tmp_path: Path, root: Path):
    text = (root / "pocketsim/scenarios/latency/rate.toml").read_text()
    short = re.sub(
        r"rate = \[.*?\]", 'rate = "50/s"', text.replace('"10s"', '"2s"'), flags=re.DOTALL
    )
    scenario = tmp_path / "scenarios" / "latency" / "rate.toml"
    scenario.parent.mkdir(parents=True)
    scenario.write_text(short)
    told: list[str] = []

    @contextlib.contextmanager
    def progress(total: int, _labels: Any) -> Iterator[Any]:
        told.append(f"{total} to run")
        yield lambda name, _, share: told.extend([name.rpartition("-")[0]] * (share == 1))

    result = validation.validate(tmp_path / "runs", 2, ["latency"], tmp_path, progress)
    assert [row.id for row in result.comparisons] == ["L_udp_median", "L_iroh_median"]
    assert all(row.simulated is not None for row in result.comparisons)
    assert [path.parent.name for path in result.run_dirs] == ["rate"] * 2
    repetitions = ["udp-512B-50ps"] * 3 + ["quic_keep-512B-50ps"] * 3
    assert (told[0], sorted(told[1:])) == ("6 to run", sorted(repetitions))
    assert "run_dirs" not in json.loads(result.as_json())


def test_a_subset_without_rows_is_the_users_mistake(tmp_path: Path):
    with pytest.raises(UserError, match="no published row matches nothing; groups: udp, "):
        validation.validate(tmp_path, 1, ["nothing"])


def test_fitted_rows_are_those_that_fitted_numbers_name(root: Path):
    """A profile or scenario that saw a figure makes that figure fitted, not predicted."""
    documents = [
        *root.glob("pocketsim/calibration/profiles/*/*.toml"),
        *root.glob("pocketsim/scenarios/*/*.toml"),
    ]
    named = {
        name
        for path in documents
        for names in re.findall(r"fitted_to = (\[.*?\])", path.read_text(), re.DOTALL)
        for name in tomllib.loads(f"names = {names}")["names"]
    }
    lists = tomllib.loads((published.FOLDER / "fitted_rows.toml").read_text())
    assert sorted(lists) == ["exposure", "fitted", "fitted_networks", "same_runs"]
    assert len(lists["fitted"]) == len(set(lists["fitted"]))
    assert set(lists["fitted"]) == named
    others = {*lists["same_runs"], *lists["exposure"]}
    assert not named & others
    fitted = {row.id for row in ROWS if row.basis == "fitted"}
    assert fitted == named | others | set(lists["fitted_networks"])


def test_a_network_is_fitted_where_its_scenario_says_so(root: Path):
    lists = tomllib.loads((published.FOLDER / "fitted_rows.toml").read_text())
    text = (root / "pocketsim/scenarios/latency/rate.toml").read_text()
    assert [name for name in lists["fitted_networks"] if name not in text] == []


def eva_row(axes: str) -> published.Row:
    line = {"transport": "eva", "rate_min_per_s": "", "rate_max_per_s": "", "payload_bytes": ""}
    line |= {"metric": "send_count", "statistic": "mean", "axes": axes}
    return replace(ROWS[0], target=published._target("scenarios/eva/grid.toml", line))


@pytest.mark.parametrize(
    ("axes", "covered"),
    [
        ("transport.eva.window=64", [True, True, False, False]),
        ("transport.eva.window=64; transport.eva.encryption=true", [False, True, False, False]),
        ("transport.eva.window=60..100", [True, True, False, False]),
        ("transport.eva.window=64..256", [True] * 4),
        ("transport.eva.block=1200", [False] * 4),
        ("", [True] * 4),
    ],
)
def test_a_row_names_the_axes_that_it_needs(axes: str, covered: list[bool]):
    target = eva_row(axes).target
    at = [(64, False), (64, True), (256, False), (256, True)]
    rungs = {}
    for window, encryption in at:
        rung = {"transport": "eva", "rate_per_s": 0.0, "payload_bytes": 10}
        rung["axes"] = {"transport.eva.window": window, "transport.eva.encryption": encryption}
        rungs[validation.rung_key("scenarios/eva/grid.toml", rung)] = {"rung": (window, encryption)}
    found = [found["rung"] for found in matching(target, rungs)]
    assert sorted(found) == [place for place, said in zip(at, covered, strict=True) if said]


def test_a_row_reads_well_with_axes_and_without_a_network():
    row = eva_row("transport.eva.window=64..256; transport.eva.encryption=true")
    assert row.what.endswith(", EVA at 0/s, window 64 to 256, encryption true")
    bare = replace(row, target=replace(row.target, transport="none", axes=(("a.threads", 4),)))
    assert bare.what == f"{row.section} {row.quantity}, threads 4"
    sized = replace(bare, target=replace(bare.target, payload_bytes=147))
    assert sized.what == f"{row.section} {row.quantity}, 147 B, threads 4"


def computed(**rates: float) -> dict[Any, Any]:
    """Metrics of rungs of threads, by the rate of each: computed(4=10.0) under another name."""
    scenario = "scenarios/tokens/sign_and_verify.toml"
    found = {}
    for name, rate in rates.items():
        axes = {"workload.task": "sign_token", "workload.threads": int(name[1:])}
        rung = {"transport": "none", "rate_per_s": 0.0, "payload_bytes": 147, "axes": axes}
        metric = {"mean": rate, "normal_ci95": None, "values": [rate]}
        found[validation.rung_key(scenario, rung)] = {"metrics": {"task_rate_per_s": metric}}
    return found


def test_no_gain_is_judged_between_the_ends_of_the_span():
    rows = validation.select(ROWS, ["F3_sign_scaling"])
    for eight, holds in ((101.0, True), (106.0, False), (50.0, True)):
        result = validation.judge(rows, computed(t1=25.0, t4=100.0, t6=999.0, t8=eight))
        (found,) = result.comparisons
        assert (found.simulated, found.holds) == (pytest.approx(eight / 100), holds)
        assert (result.verdict == "all met") is holds
    assert validation.judge(rows, {}).verdict == "missed"


def test_shares_are_of_the_sum_over_all_axes():
    rungs = {}
    for task, mean in (("verify_token", 60.0), ("sign_token", 15.0), ("handle_packet", 25.0)):
        rung = {"transport": "none", "rate_per_s": 0.0, "payload_bytes": len(task)}
        rung["axes"] = {"workload.task": task}
        metric = {"mean": mean, "normal_ci95": None, "values": [mean]}
        key = validation.rung_key("scenarios/tokens/authority_cpu.toml", rung)
        rungs[key] = {"metrics": {"task_us_mean": metric}}
    found = by_id(validation.judge(validation.select(ROWS, ["authority_cpu"]), rungs))
    assert found["F9_verify_token"].simulated == 60.0
    assert found["F9_sign_token"].error_ratio == pytest.approx(15 / 8 - 1)
    assert found["F9_sign_packet"].simulated is None
