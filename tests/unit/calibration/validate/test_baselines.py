"""Models that know no mechanism, what beats them, and how many rows there really are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pocketsim import testing
from pocketsim.calibration.validate import baselines, counts, published, summaries, validation
from pocketsim.calibration.validate.answers import (
    Baseline,
    Comparison,
    OutcomeCounts,
    RungKey,
    blank,
)
from pocketsim.sim import metrics

ROWS = published.rows()
PACED = RungKey("scenarios/throughput/udp_128b.toml", "udp", 8.0, 128)


def paced(rate_per_s: float, interval_s: float, base_s: float = 0.0, slope_s: float = 0.0) -> Any:
    resolved = testing.resolved("udp_128b", rate_per_s, 128)
    resolved["workload"] = {**resolved["workload"], "interval_s": interval_s}
    law = resolved["profiles"]["invented"]["scheduler"]["sleep_overshoot"]
    law["base_s"] = {**law["base_s"], "value": base_s}
    law["slope_s"] = {**law["slope_s"], "value": slope_s}
    return resolved


def off(name: str, error: float, baseline: float | None, **changes: Any) -> Comparison:
    """Return a row that is off by `error` where the baseline `sleep` is off by `baseline`."""
    known = {} if baseline is None else {"sleep": Baseline(1 + baseline, baseline, None)}
    shown = Comparison(name, name, "udp", "predicted", "1/s", 1.0, None, 1.0 + error)
    return replace(shown, error_ratio=error, nulls=known, reading=name, **changes)


def claim(name: str, *, holds: bool, baseline: bool, group: str = "eva_loses") -> Comparison:
    known = {"nominal": Baseline(0.0, None, baseline)}
    shown = Comparison(name, name, group, "predicted", "1", 0.01, None, 0.02)
    return replace(shown, holds=holds, nulls=known, claim_error_ratio=0.0 if holds else 0.3)


def standing(*rows: Comparison) -> str:
    (summary,) = summaries.summarise(rows)
    return summary.standing


def test_nominal_pacing_is_the_configured_rate():
    found = baselines.nominal(PACED, paced(8.0, 0.125))
    assert (found["send_rate_per_s"], found["store_count"]) == (8.0, 200.0)
    assert (found["success_ratio"], found["settled_success_ratio"]) == (1.0, 1.0)
    assert found["unmatched_count"] == 0.0


def test_sleep_baseline_is_the_loop_without_work():
    # Published A.1 at 1/s: 25 proposals, one a second, print 1.04.
    assert baselines.sleep(paced(1.0, 1.0))["send_rate_per_s"] == pytest.approx(25 / 24)
    # 8/s sleeps 125 ms and log(125) = 4.83 milliseconds too long with this law.
    found = baselines.sleep(paced(8.0, 0.125, base_s=0.001, slope_s=0.001))
    assert found["send_count"] == 192  # 191 steps of 130.83 ms in 25 s, and the one at the start
    assert found["store_rate_per_s"] == pytest.approx(192 / (191 * 0.13083), rel=1e-4)
    assert baselines.sleep_overshoot_s(paced(8.0, 0.125, base_s=-1.0), 0.125) == 0


def test_a_session_has_one_constant_of_its_other_rows():
    def row(name: str, value: float, nominal: float | None) -> Comparison:
        metric = "task_us" if nominal is None else "send_rate_per_s"
        shown = Comparison(name, name, "udp", "predicted", "1/s", value, None, nominal)
        return replace(shown, session="one", metric=metric)

    rates = [row("a", 1.0, 1.0), row("b", 1.8, 2.0), row("c", 3.2, 4.0)]
    assert baselines.session(rates[2], rates) == pytest.approx(4 * (1.0 + 0.9) / 2)
    assert baselines.session(rates[2], rates[1:]) == pytest.approx(4 * (0.9 + 0.8) / 2)
    assert baselines.session(rates[2], rates[2:]) is None, "a row says nothing of itself"
    times = [row("x", 10.0, None), row("y", 20.0, None), row("z", 60.0, None)]
    assert baselines.session(times[0], [*times, *rates]) == 40.0
    assert baselines.session(replace(times[0], session="two"), times) is None
    assert baselines.session(replace(times[0], statistic="growth"), []) == 1.0


def test_rows_stand_beside_their_baselines():
    rows = validation.select(ROWS, ["B3_w8_*"])
    resolved = paced(8.0, 0.125)
    rungs = {PACED: metrics.measure(testing.events(resolved, testing.Shape()), resolved)}
    (send, _) = validation.judge(rows, rungs, settings={PACED: resolved}).comparisons
    assert send.nulls["nominal"].error_ratio == pytest.approx(8 / 7.66 - 1)
    assert send.nulls["sleep"].error_ratio == pytest.approx(200 / (199 * 0.125) / 7.66 - 1)
    assert not validation.judge(rows, rungs).comparisons[0].nulls


def test_claims_of_baselines_are_judged_as_claims():
    rung = {"transport": "eva", "rate_per_s": 0.001, "payload_bytes": 10_000_000}
    settings: dict[RungKey, Any] = {}
    for window in (16, 256):
        axes = {"transport.eva.encryption": False, "transport.eva.window": window}
        axes |= {"transport.eva.block": 1200}
        key = validation.rung_key("scenarios/eva/blocks_and_windows.toml", {**rung, "axes": axes})
        settings[key] = testing.resolved()
    rows = validation.select(ROWS, ["F7_plain_256_1200", "F7_plain_small_windows"])
    found = {row.id: row for row in validation.judge(rows, {}, settings=settings).comparisons}
    assert found["F7_plain_256_1200"].nulls["nominal"].holds is False, "nothing is lost"
    assert found["F7_plain_small_windows"].nulls["nominal"].holds is True


@pytest.mark.parametrize(
    ("errors", "baseline", "worth"),
    [
        ((0.01, 0.02, 0.03), 0.05, "validated"),
        ((0.01, 0.03, 0.03), 0.05, "not validated"),
        ((0.0, 0.0, 0.0), 0.0, "not validated"),
        ((0.0, 0.0, 0.2), 0.9, "not validated"),  # misses its bar
    ],
)
def test_validation_is_half_the_error_of_the_best_baseline(
    errors: tuple[float, ...], baseline: float, worth: str
):
    assert standing(*(off(f"r{at}", error, baseline) for at, error in enumerate(errors))) == worth


def test_only_predicted_rows_validate():
    fitted = [off(f"f{at}", 0.0, 0.5, basis="fitted") for at in range(9)]
    assert standing(*fitted) == "described"
    assert standing(*fitted, off("p", 0.04, 0.05)) == "not validated"
    assert standing(*fitted, off("p", 0.02, 0.05)) == "validated"


def test_baseline_that_leaves_a_row_out_does_not_count():
    assert standing(off("a", 0.0, 0.5), off("b", 0.0, None)) == "not validated"


def test_claim_validates_where_a_baseline_fails_it():
    right = claim("a", holds=True, baseline=False)
    assert standing(right, claim("b", holds=True, baseline=True)) == "validated"
    assert standing(claim("a", holds=True, baseline=True)) == "not validated"
    assert standing(right, claim("b", holds=False, baseline=False)) == "not validated"


def test_a_known_miss_has_a_ceiling():
    def row(error: float | None) -> Comparison:
        shown = replace(off("r", error or 0.0, 0.5), group="token_receive")
        return shown if error is not None else replace(shown, simulated=None, error_ratio=None)

    verdicts = {}
    for error in (0.04, 0.18, 0.2, None):
        (summary,) = summaries.summarise([row(error)])
        verdicts[error] = validation.ValidationResult((), (summary,)).verdict
    assert verdicts == {
        0.04: "all met",
        0.18: "met but for known misses",
        0.2: "missed",
        None: "missed",
    }


def test_a_claim_that_fails_by_more_than_it_did_is_a_miss():
    for short, verdict in ((0.0101, "met but for known misses"), (0.02, "missed")):
        row = claim("a", holds=False, baseline=True, group="iroh_collapses")
        (summary,) = summaries.summarise([replace(row, claim_error_ratio=short)])
        assert validation.ValidationResult((), (summary,)).verdict == verdict


def test_a_miss_of_another_kind_than_the_known_one_is_a_miss():
    """Of `keep_outcomes` the counts are known to be unlikely; complete runs are near."""
    unlikely = OutcomeCounts((2, 2, 1), (81, 13, 106))
    share = replace(off("s", 0.0, None), group="keep_outcomes", error_ratio=None, outcomes=unlikely)
    verdicts = []
    for error in (0.0, 0.2):
        stores = replace(off("c", error, 0.1), group="keep_outcomes")
        (summary,) = summaries.summarise([share, stores])
        assert summary.p_value == pytest.approx(counts.p_value((2, 2, 1), (81, 13, 106)), abs=0.01)
        verdicts.append(validation.ValidationResult((), (summary,)).verdict)
    assert verdicts == ["met but for known misses", "missed"]
    never = replace(share, outcomes=OutcomeCounts((2, 2, 1), (0, 0, 200)))
    (summary,) = summaries.summarise([never])
    assert (summary.met, summary.known_missed) == (False, False), "less likely than is known"


def test_a_group_of_which_nothing_is_judged_has_no_verdict():
    mean = Comparison("m", "m", "keep_outcomes", "fitted", "1/s", 21.2, 20.8, 33.6)
    (summary,) = summaries.summarise([mean])
    assert (summary.met, summary.standing, summary.p_value) == (None, "", None)
    (summary,) = summaries.summarise([replace(mean, simulated=None)])
    assert summary.met is False


def test_every_ceiling_says_of_which_error():
    names = {"median_error_ratio", "worst_error_ratio", "claim_error_ratio", "p_shortfall_ratio"}
    known = [group.known_missed for group in published.groups().values() if group.known_missed]
    assert known
    assert {ceiling.metric for ceiling in known} <= names


def test_readings_of_the_same_runs_count_once():
    def count(*patterns: str) -> tuple[int, int]:
        rows = validation.judge(validation.select(ROWS, patterns), {}).comparisons
        return len(rows), summaries.independent(rows)

    # Sends and stores of B.3, and the stores of its runs in B.4.
    assert count("B3_w8_*", "B4_w8_run?_stores") == (3, 1)
    assert count("B3_w8_*", "B3_w32_*") == (4, 2)
    # B.1 has means of the runs of B.2.
    assert count("B1_w64_*", "B2_w64_run?_stores") == (4, 1)
    assert count("A1_w8_send", "A2_w16_send") == (2, 2)
    assert count("F3_sign", "F3_sign_mb", "F3_verify") == (3, 2)
    assert count("T1_*") == (5, 5)


def test_totals_are_summed_over_every_rung_of_both_scenarios():
    rungs = {}
    for scenario, transport, stored in (
        ("rate", "udp", 5),
        ("rate", "quic_keep", 7),
        ("payload", "udp", 11),
    ):
        metric = {"mean": float(stored), "normal_ci95": None, "values": [float(stored)]}
        share = {"mean": 0.0, "normal_ci95": None, "values": [0.0]}
        key = RungKey(f"scenarios/latency/{scenario}.toml", transport, 20.0, 512)
        known = {"store_count": metric, "unmatched_count": metric, "in_flight_ratio": share}
        rungs[key] = {"metrics": known}
    rows = validation.select(ROWS, ["latency_totals"])
    found = validation.judge(rows, rungs).comparisons
    assert [(row.simulated, row.published) for row in found] == [(23, 87357), (23, 19000)]
    assert validation.scenarios(rows) == [
        f"scenarios/latency/{name}.toml" for name in ("rate", "payload")
    ]


def test_rungs_with_outcomes_are_repeated_more_often():
    scenario = "scenarios/throughput/iroh_keep_128b.toml"
    keys = [RungKey(scenario, "quic_keep", rate, 128) for rate in (4.0, 64.0, 128.0, 256.0)]
    asked = ["run.repetitions=200", 'workload.rate=["64/s", "256/s"]']
    assert validation.repeated_often(ROWS, scenario, keys) == asked
    assert validation.repeated_often(ROWS, scenario, keys[:1]) == []
    assert validation.repeated_often(ROWS, "scenarios/throughput/iroh_keep_100b.toml", keys) == []


def test_row_without_a_number_has_no_baseline():
    row = blank(next(row for row in ROWS if row.id == "F5_recipients"))
    assert baselines.session(row, []) == 1.0
