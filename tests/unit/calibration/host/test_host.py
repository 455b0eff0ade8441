"""A host against its simulation: which points, what a repetition comes to, and what is judged."""

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pocketsim.api.host import host_validation
from pocketsim.calibration.host import (
    blocks,
    design,
    figures,
    judging,
    prediction,
    tables,
)
from pocketsim.calibration.host.comparing import Comparison, Host
from pocketsim.calibration.host.design import FULL, QUICK
from pocketsim.calibration.host.figures import Figures, Judged
from pocketsim.calibration.host.judging import Compared
from pocketsim.calibration.inverse.journal import Journal
from pocketsim.report.host import page
from pocketsim.sim import trace
from pocketsim.sim.devices.profile import DEVICES
from support import host_documents, token_batches

MOTO = DEVICES / "moto_g04s.toml"
POINTS = design.design(FULL)
BARS = {
    "p50": "median error, p50 of round trips",
    "p95": "median error, p95 of round trips",
    "kernel": "median error of null kernel in those of the simulation, p50 of round trips",
    "carrier": "median error of null carrier in those of the simulation, p50 of round trips",
    "throughput": "largest error, throughput under load",
    "success": "largest error, success under load",
    "coverage": "medians inside their predictive interval",
    "dropped": "points dropped",
}


def test_the_design_fills_its_ranges_and_is_the_same_every_time():
    assert design.design(FULL) == POINTS
    assert Counter(point.carrier for point in POINTS) == dict.fromkeys(design.CARRIERS, 6)
    assert Counter(point.delay_s for point in POINTS) == dict.fromkeys(design.DELAYS_S, 12)
    assert Counter(point.loss for point in POINTS) == dict.fromkeys(design.LOSSES, 8)
    low, high = design.LOADS
    slices = sorted(int(24 * (point.load_ratio - low) / (high - low)) for point in POINTS)
    assert slices == list(range(24))  # a Latin hypercube has one in each
    assert {16 <= point.payload_bytes <= 2048 for point in POINTS} == {True}


def test_eight_points_fit_two_of_each_carrier_and_sixteen_are_held_out():
    fitted = [point for point in POINTS if point.is_fitted]
    assert Counter(point.carrier for point in fitted) == dict.fromkeys(design.CARRIERS, 2)
    # Stated here, so that who draws others sees that another split was chosen.
    assert " ".join(point.name for point in fitted) == "p02 p06 p07 p08 p13 p14 p19 p22"
    assert not any(point.is_fitted for point in design.design(QUICK))


def test_each_turn_has_every_point_in_an_order_of_its_own():
    turns = [design.order(POINTS, turn) for turn in range(3)]
    assert [sorted(turn, key=POINTS.index) for turn in turns] == [POINTS] * 3
    assert len({tuple(turn) for turn in turns}) == 3


def events(rows):
    """Return events of (kind, message, time in s)."""
    kinds, messages, times_s = zip(*rows, strict=True)
    count = len(rows)
    return trace.build(
        repetition=np.zeros(count, int),
        time_s=np.array(times_s),
        node=np.ones(count, int),
        kind=np.array(kinds),
        message_id=np.array(messages),
        peer=np.zeros(count, int),
        message_size=np.full(count, 700),
        reason=np.array([None] * count, object),
        logged=np.ones(count, bool),
    )


def test_what_is_proposed_in_time_counts_and_has_until_the_end_to_come_back():
    found = figures.of(
        events(
            [
                ("send", 1, 10.0),
                ("store", 1, 10.1),
                ("send", 2, 11.0),
                ("send", 3, 11.9),
                ("store", 3, 12.2),  # after the time of proposing, before the end
                ("send", 4, 12.1),  # proposed too late to count
                ("store", 4, 12.3),
                ("store", 2, 12.6),  # back too late
            ]
        ),
        Judged(2.0, 0.5, "udp", passage_s=0.03),
    )
    assert (found.sent_count, found.stored_count) == (3, 2)
    assert found.rtt_p50_s == pytest.approx(0.2 - 2 * 0.03)  # of 0.1 and 0.3 s
    assert found.success_ratio == pytest.approx(2 / 3)
    assert found.store_rate_per_s == pytest.approx(1 / 2)
    assert found.proposal_bytes == 700


def test_what_is_proposed_while_warming_up_does_not_count():
    # The second was proposed too early to count, and stored within the time that counts.
    times_s = [(10.0, 10.7), (10.4, 11.2), (11.0, 11.1), (12.0, 12.3), (12.1, 12.2)]
    told = [
        (kind, number, at_s)
        for number, both in enumerate(times_s)
        for kind, at_s in zip(("send", "store"), both, strict=True)
    ]
    found = figures.of(events(told), Judged(1.0, 0.5, "udp", warm_up_s=1.0))
    assert (found.sent_count, found.stored_count) == (2, 2)
    assert found.rtt_p50_s == pytest.approx(0.2)  # of 0.1 and 0.3 s
    assert found.store_rate_per_s == pytest.approx(2.0)


def test_nothing_stored_has_no_round_trip_and_survives_a_journal():
    found = figures.of(events([("send", 1, 0.0)]), Judged(1.0, 1.0, "udp"))
    assert math.isnan(found.rtt_p50_s)
    assert (found.success_ratio, found.as_json()["rtt_p50_s"]) == (0.0, None)
    assert str(Figures.from_json(found.as_json())) == str(found)


NOTHING = Figures(5, 0, math.nan, math.nan, 0.0, 0.0, 700.0, math.nan)


def test_what_is_unknown_of_a_repetition_is_taken_from_others(monkeypatch, tmp_path):
    def told(*several):
        return tuple({"figures": each.as_json(), "relay": None} for each in several)

    def compare(real, simulated):
        """Return the comparison of these, and the sizes that the kernel was asked of."""
        point = replace(POINTS[0], carrier="tftp", is_fitted=True, load_ratio=0.5, delay_s=0.0)
        measured = blocks.Measured(replace(point, loss="none"), 100.0, 50.0, told(*real))
        monkeypatch.setattr(Host, "simulated", lambda _, all_, *__: [tuple(simulated)] * len(all_))
        sizes = []

        def kernel_rtt(size_bytes):
            sizes.append(size_bytes)
            return 10e-6, 20e-6

        host = Host(
            host_documents.documents(tmp_path),
            shares_core=False,
            effort=FULL,
            jobs=1,
            kept=None,
            told=lambda _text: None,
        )
        return host.compare([measured], kernel_rtt), sizes

    fast, slow = figures_of(0.8e-3), figures_of(1e-3)
    unsent = replace(NOTHING, proposal_bytes=math.nan)
    for place in range(3):
        simulated, real = [fast, fast], [slow, slow]
        simulated.insert(place, NOTHING)
        assert compare(real, simulated)[1] == [700.0]
        real.insert(place, unsent)
        assert compare(real, simulated)[1] == [700.0]
    found, sizes = compare([unsent, unsent], [fast])
    assert sizes == []
    assert math.isnan(found.compared[0].kernel_rtt_s[0])


def test_an_interruption_loses_only_what_is_being_simulated(monkeypatch, tmp_path):
    profile = tmp_path / "host.toml"
    profile.write_text("one")
    one = {"figures": figures_of().as_json(), "relay": None}
    measured = [blocks.Measured(point, 100.0, 50.0, (one,)) for point in POINTS[:3]]
    asked_of, interrupted_at = [], [2]

    def simulate(asked, _jobs, done):
        found = {}
        for name in asked:
            if len(asked_of) in interrupted_at:
                interrupted_at.clear()
                raise KeyboardInterrupt
            asked_of.append(name)
            found[name] = [figures_of(1e-3 * len(asked_of)), NOTHING]
            done(name, found[name])
        return found

    def simulated(at=profile, draw=prediction.POSTERIOR):
        kept = Journal(tmp_path / "host.journal", "this")
        host = Host(
            host_documents.documents(at),
            shares_core=False,
            effort=FULL,
            jobs=1,
            kept=kept,
            told=lambda _text: None,
        )
        return host.simulated(measured, 2, draw)

    monkeypatch.setattr(prediction, "simulate", simulate)
    with pytest.raises(KeyboardInterrupt):
        simulated()
    names = [point.name for point in POINTS[:3]]
    found = simulated()
    assert asked_of == names
    assert [one.rtt_p50_s for one, _ in found] == pytest.approx([1e-3, 2e-3, 3e-3])
    elsewhere = tmp_path / "another.toml"
    elsewhere.write_text("one")
    assert str(simulated(elsewhere)) == str(found)
    assert asked_of == names
    simulated(draw=prediction.MEAN)
    elsewhere.write_text("two")
    simulated(elsewhere)
    monkeypatch.setattr(prediction, "build_digest", lambda: "another")
    simulated()
    assert asked_of == 4 * names


def test_tftp_crosses_for_each_block_and_its_acknowledgement():
    # A file of 511 B is one block, of 512 B two: the last is short (RFC 1350).
    assert figures.passages("tftp", 511, 511) == 3 + 3
    assert figures.passages("tftp", 512, 511) == 5 + 3
    # The median is of messages without their own passages: of 700 B both ways, five each.
    found = figures.of(
        events([("send", 1, 0.0), ("store", 1, 0.25)]), Judged(1.0, 1.0, "tftp", passage_s=0.02)
    )
    assert found.rtt_p50_s == pytest.approx(0.25 - 10 * 0.02)


def figures_of(rtt_s=1e-3, *, tail=2.0, rate_per_s=100.0, success=1.0):
    return Figures(500, 500, rtt_s, tail * rtt_s, rate_per_s, success, 700.0, 850.0)


def compared(point, *, off=1.0, spread=0.02, tail=2.0, rate=1.0, success=1.0):
    """Return a point whose simulation is `off` times what was measured, in each quantity."""
    rtt_s = 1e-3 * (1 + POINTS.index(point))
    measured = tuple(figures_of(rtt_s * factor) for factor in (0.99, 1.0, 1.01, 1.0, 1.0))
    factors = off * np.exp(np.linspace(-spread, spread, 41))
    simulated = tuple(
        figures_of(rtt_s * factor, tail=tail, rate_per_s=100 * rate, success=success)
        for factor in factors
    )
    repeated = (figures_of(off * rtt_s),) * 5  # no noise: all that varies is the draw
    return Compared(point, measured, simulated, repeated, (10e-6, 20e-6))


def judged(**changes):
    """Return what is judged where two held-out points are outside their interval, for coverage."""
    few = [point.name for point in POINTS if not point.is_fitted][:2]
    every = [
        compared(point, **{"off": 1.05 if point.name in few else 1.0, **changes})
        for point in POINTS
    ]
    return judging.judge(every, FULL)


def missed(judgement):
    by_name = {name: key for key, name in BARS.items()}
    return {by_name.get(bar.name, bar.name) for bar in judgement.bars if not bar.is_met}


def test_a_simulation_that_is_near_meets_every_bar():
    found = judged()
    assert missed(found) == set()
    assert found.is_met


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"off": 1.12, "spread": 0.2}, {"p50", "coverage"}),  # inside their intervals, all 16
        ({"tail": 2.7}, {"p95"}),
        ({"rate": 0.94}, {"throughput"}),
        ({"success": 0.96}, {"success"}),
        ({"spread": 0.001, "off": 1.02}, {"coverage"}),
    ],
)
def test_each_bar_is_missed_by_what_it_is_about(changes, expected):
    assert missed(judged(**changes)) >= expected
    assert not missed(judged(**changes)) & (set(BARS) - expected - {"kernel", "carrier"})


def test_what_fitted_points_are_off_by_is_in_the_intervals_of_all():
    # Held-out points are off by 0.1 either way, twice as far as their simulations vary.
    signs = {point.name: 1 - 2 * (number % 2) for number, point in enumerate(POINTS)}

    def found(fitted_off):
        every = [
            compared(
                point, off=math.exp(signs[point.name] * (fitted_off if point.is_fitted else 0.1))
            )
            for point in POINTS
        ]
        return judging.judge(every, FULL)

    alone, together = found(0.0), found(0.1)
    assert alone.discrepancies[judging.RTT_P50].sigma == 0
    assert together.discrepancies[judging.RTT_P50].sigma == pytest.approx(0.1, rel=0.2)
    shares = [
        next(bar.value for bar in one.bars if bar.name == BARS["coverage"])
        for one in (alone, together)
    ]
    assert shares == [0.0, 1.0]
    for key in ("sent_count", judging.STORE_RATE):
        assert key not in together.discrepancies
    assert "0.099 (p50)" in tables.discrepancy_sentence(together)


def test_a_null_that_is_nearer_than_twice_as_far_off_misses():
    every = [
        replace(one, kernel_rtt_s=(1.1e-3 * (1 + number), 2.2e-3 * (1 + number)))
        for number, one in enumerate(compared(point, off=1.06) for point in POINTS)
    ]
    assert "kernel" in missed(judging.judge(every, FULL))


def test_points_where_real_is_far_from_real_are_listed_and_few():
    def noisy(one):
        rates = (1.0, 1.3, 0.8, 1.5, 0.7)
        return replace(
            one,
            measured=tuple(
                figures_of(1e-3 * (1 + POINTS.index(one.point)) * rate, rate_per_s=100 * rate)
                for rate in rates
            ),
        )

    for count, is_met in ((2, True), (3, False)):
        every = [compared(point) for point in POINTS]
        every[:count] = map(noisy, every[:count])
        found = judging.judge(every, FULL)
        assert [row.is_dropped for row in found.rows] == [True] * count + [False] * (24 - count)
        assert ("dropped" not in missed(found)) is is_met
        cells = tables.point_rows(found.rows)
        assert [row[5] for row in cells].count("dropped") == count


@pytest.mark.parametrize(("between", "within"), [(0.0, 1.0), (0.3, 1.0), (1.0, 1.0), (1.0, 0.0)])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_intervals_hold_nine_medians_of_ten(between, within, count):
    chance = np.random.default_rng(5)
    trials, held, held_singles = 800, 0, 0
    for _ in range(trials):
        centre = 10 + between * chance.standard_normal()
        real = np.median(centre + within * chance.standard_normal(count))
        centres = 10 + between * chance.standard_normal(40)
        simulated = centres + within * chance.standard_normal(40)
        repeated = 10 + within * chance.standard_normal(40)
        low, high = judging.interval(simulated, repeated, count)
        held += low <= real <= high
        old = np.quantile(simulated, judging.INTERVAL)
        held_singles += old[0] <= real <= old[1]
    assert held / trials == pytest.approx(0.9 - SHORT, abs=0.045)
    if count == 5 and within > between:
        assert held_singles / trials > 0.97  # of single repetitions, as it should not be


SHORT = 0.02  # quantiles of 40 draws are nearer to each other than those of the law


def test_an_interval_has_its_own_median_in_it_though_a_few_repetitions_wait_for_seconds():
    chance = np.random.default_rng(5)
    simulated, repeated = (1.0 + 0.1 * chance.standard_normal(40) for _ in range(2))
    calm = judging.interval(simulated, repeated, 20)
    simulated[:3], repeated[:4] = 3000.0, 3000.0
    low, high = judging.interval(simulated, repeated, 20)
    assert low < 1.0 - 0.02
    assert 1.0 + 0.02 < high < 2.0
    assert high - low > (calm[1] - calm[0]) / 2


def test_an_interval_of_what_nothing_defines_holds_nothing():
    for simulated, repeated in (([math.nan], [1.0]), ([1.0], []), ([], [1.0])):
        low, high = judging.interval(simulated, repeated, 5)
        assert not low <= 1.0 <= high
    assert judging.interval([2.0, 2.0], [2.0, 2.0], 5) == (2.0, 2.0)


def test_a_floor_is_what_halves_are_apart():
    values = [figures_of(rtt_s) for rtt_s in (1.0, 2.0, 4.0)]
    # Halves of two and one: 1.5 and 4, 2.5 and 2, 3 and 1.
    expected = sorted(abs(math.log(ratio)) for ratio in (1.5 / 4, 2.5 / 2, 3.0))[1]
    assert judging.floor(values, judging.RTT_P50) == pytest.approx(expected)
    assert judging.floor(values[:1], judging.RTT_P50) == math.inf


def test_a_round_trip_that_nothing_defines_misses_its_bar():
    every = [compared(point) for point in POINTS]
    for number, one in enumerate(every):
        if number % 2:
            nothing = tuple(replace(each, rtt_p50_s=math.nan) for each in one.simulated)
            every[number] = replace(one, simulated=nothing)
    assert {"p50", "coverage"} <= missed(judging.judge(every, FULL))


def test_a_repetition_that_stored_nothing_is_as_late_as_can_be():
    nothing = Figures(500, 0, math.nan, math.nan, 0.0, 0.0, 700.0, math.nan)
    every = [compared(point) for point in POINTS]
    for count, middle in ((20, 1.0), (21, math.inf)):
        few = (*every[0].simulated[count:], *(nothing,) * count)
        found = judging.judge([replace(every[0], simulated=few), *every[1:]], FULL)
        error = found.rows[0].errors[judging.RTT_P50]
        assert error.simulated == pytest.approx(middle * 1.02e-3, rel=1e-2)
        assert (error.error == math.inf) is math.isinf(middle)
        assert json.loads(json.dumps(host_validation.plain(found.rows), allow_nan=False))
        tables.point_rows(found.rows)


def test_where_nothing_can_be_asked_no_bar_is_met():
    few = [point for point in POINTS if point.is_fitted]
    found = judging.judge([compared(point) for point in few], FULL)
    assert not found.is_met
    assert {bar.is_met for bar in found.bars if bar.points == 0} == {None}


def test_the_plot_has_intervals_and_shows_what_is_not_judged():
    every = tuple(compared(point) for point in POINTS)
    comparison = Comparison(judging.judge(every, FULL), every)
    drawn = page.chart(comparison, judging.RTT_P50)
    *carriers, equal = drawn.data
    assert sorted(trace_.name for trace_ in carriers) == sorted(design.CARRIERS)
    assert equal.name == "equal"
    udp = next(trace_ for trace_ in carriers if trace_.name == "udp")
    assert len(udp.x) == 6
    assert Counter(udp.marker.symbol) == {"circle": 4, "circle-open": 2}  # two fit
    first = next(one for one in every if one.point.carrier == "udp")
    assert udp.x[0] == pytest.approx(1e3 * first.measured[1].rtt_p50_s)
    assert udp.error_x.array[0] == pytest.approx(0.01 * udp.x[0])  # the largest of the five
    # 95 % of 41 factors whose logarithms are even between -0.02 and 0.02: at 0.018.
    high = math.hypot(0.018, 1.645 / 1.349 * judging.floor(first.measured, judging.RTT_P50))
    assert udp.error_y.array[0] == pytest.approx(math.expm1(high) * udp.y[0], rel=1e-3)
    text = page.page(comparison, "Here", ["Cores <0> & 1.", "Met."], token_batches.compared())
    assert all(f"chart-{number}" in text for number in (1, 2, 3, 4))
    assert all(said in text for said in ("rates dropped", "Cores &lt;0&gt; &amp; 1."))
    assert all(f"<td>{point.name}</td>" in text for point in POINTS)


def test_a_point_without_a_round_trip_is_not_drawn():
    every = [compared(point) for point in POINTS]
    nothing = tuple(replace(one, rtt_p50_s=math.nan) for one in every[1].measured)
    every[1] = replace(every[1], measured=nothing)
    comparison = Comparison(judging.judge(every, FULL), tuple(every))
    drawn = page.chart(comparison, judging.RTT_P50)
    assert sum(len(trace_.x) for trace_ in drawn.data if trace_.name != "equal") == 23
