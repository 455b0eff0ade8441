"""The first screen of a report: question, finding, key numbers, one chart and its limits."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pocketsim as ps
from pocketsim import testing
from pocketsim.report import page_layout, write_report
from pocketsim.report.answer import finding, limits, numbers, opening
from pocketsim.report.charts import grids
from pocketsim.report.html.page import unbroken
from pocketsim.report.runs import choice, pooled
from pocketsim.report.runs.asked import BY_RULE, Asked
from pocketsim.report.runs.run import load
from pocketsim.sim.base.errors import UserError

RATE = "store_rate_per_s"


def run(folder: Path, rate=8.0, mode="udp", lost=0.0, repetitions=5, **changes):
    resolved = testing.resolved("study", rate, 100, mode, repetitions)
    settings = changes.pop("settings", {})
    resolved["run"] |= {"seed": changes.pop("seed", 1)}
    return testing.run_dir(
        folder,
        {**resolved, **changes},
        testing.Shape(lost_ratio=lost),
        {key: {"value": value, "unit": ""} for key, value in settings.items()},
    )


def drawn(paths, **said):
    found = choice.chosen(load(paths), Asked(**said))
    assert found is not None
    return found


def titled(paths, asked):
    runs = load(paths)
    return opening.title(runs, choice.chosen(runs, asked), asked)


def said(paths, **asked):
    return " ".join(finding.sentences(drawn(paths, **asked)))


def test_a_trend_is_told_with_both_ends_and_their_intervals(tmp_path):
    paths = [run(tmp_path, rate, lost=lost) for rate, lost in ((2.0, 0.0), (4.0, 0.2), (8.0, 0.6))]
    text = said(paths)
    assert re.fullmatch(
        r"The share stored of what was sent falls from 100 % \(\S+ to 100\) at 2/s to "
        r"(3\d|4\d)\S* % \(\S+ to \S+\) at 8/s\.",
        text,
    ), text


def test_the_library_says_what_a_report_says(tmp_path):
    paths = [run(tmp_path, rate, lost=lost) for rate, lost in ((2.0, 0.0), (8.0, 0.6))]
    runs = ps.load(*paths)
    assert runs.finding("success_ratio") == said(paths, metric="success_ratio")
    assert runs.finding() == said(paths)
    assert (
        runs[:1].finding("success_ratio").startswith("The share stored of what was sent is 100 %")
    )


def test_the_library_finds_nothing_in_what_is_not_there(tmp_path):
    runs = ps.load(run(tmp_path))
    with pytest.raises(
        UserError, match=r"^metric: no run has a metric 'sucess_ratio' \(did you mean"
    ):
        runs.finding("sucess_ratio")
    with pytest.raises(UserError, match="no metric that a sentence"):
        runs[:0].finding()


def test_what_chance_explains_is_no_trend(tmp_path):
    paths = [run(tmp_path, rate, lost=0.3) for rate in (2.0, 4.0)]
    assert "does not change beyond chance" in said(paths, metric="success_ratio")


def test_a_turn_is_named_where_it_is(tmp_path):
    shares = ((2.0, 0.6), (4.0, 0.0), (8.0, 0.6))
    paths = [run(tmp_path, rate, lost=lost) for rate, lost in shares]
    assert said(paths).startswith("The share stored of what was sent is highest at 4/s, 100 %")


def test_lines_are_compared_where_they_are_furthest_apart(tmp_path):
    paths = [
        run(tmp_path, rate, mode, lost)
        for mode, rate, lost in (
            ("udp", 2.0, 0.0),
            ("udp", 8.0, 0.7),
            ("quic_keep", 2.0, 0.0),
            ("quic_keep", 8.0, 0.0),
        )
    ]
    text = said(paths)
    assert text.startswith("At 8/s, the share stored of what was sent is 100 %")
    assert "with quic_keep and" in text
    assert "it does not change beyond chance with quic_keep" in text
    assert "it falls from 100 % to" in text


def test_a_run_alone_is_its_value(tmp_path):
    text = said([run(tmp_path, lost=0.2)])
    assert re.match(r"The share stored of what was sent is [78]\d\S* % \(", text)


def test_the_metric_is_the_first_that_tells_runs_apart(tmp_path):
    paths = [run(tmp_path, rate) for rate in (2.0, 8.0)]
    assert drawn(paths).metric != "success_ratio", "all is stored in both"
    paths = [run(tmp_path, rate, lost=lost) for rate, lost in ((3.0, 0.0), (9.0, 0.5))]
    assert drawn(paths).metric == "success_ratio"


def test_a_study_says_what_is_horizontal_and_what_has_colours(tmp_path):
    one, other = "network.access.wifi.latency", "network.access.wifi.loss_ratio"
    paths = [
        run(tmp_path, settings={one: latency, other: loss})
        for latency in (0.1, 0.2)
        for loss in (0.1, 0.2)
    ]
    assert drawn(paths, axes=(other, one)).axis.key == other
    assert drawn(paths, axes=(one, other)).axis.key == one
    found = drawn(paths, x=other, by=one)
    assert found.axis.key == other
    assert {line.group for line in found.lines} == {"latency 0.1", "latency 0.2"}


@pytest.mark.parametrize(
    ("said_wrongly", "nearest"),
    [
        ({"x": "network.access.wifi.latenzy"}, "network.access.wifi.latency"),
        ({"by": "network.access.wifi.latenzy"}, "network.access.wifi.latency"),
        ({"metric": "succes_ratio"}, "success_ratio"),
    ],
)
def test_what_is_not_there_is_refused_with_the_nearest(tmp_path, said_wrongly, nearest):
    paths = [run(tmp_path, settings={"network.access.wifi.latency": at}) for at in (0.1, 0.2)]
    (key,) = said_wrongly
    x = {} if key != "by" else {"x": ""}
    if key == "by":  # what is no line has no colour
        paths += [
            run(tmp_path, 4.0, settings={"network.access.wifi.latency": at}) for at in (0.1, 0.2)
        ]
        x = {"x": "workload.rate"}
    with pytest.raises(UserError, match=re.escape(f"report.{key}: ")) as error:
        drawn(paths, file="sweep.toml", **x, **said_wrongly)
    assert str(error.value).endswith(f"(did you mean {nearest}?)")
    asked = Asked(file="sweep.toml").with_options(**said_wrongly)
    assert asked.place(key) == f"--{key}"


def test_a_share_of_phones_is_one_linear_axis(tmp_path):
    group = testing.resolved()["devices"][0]
    paths = [
        run(
            tmp_path,
            devices=[{**group, "access": {"lte": 1 - share, "wifi": share}} for _ in range(2)],
            network={**testing.resolved()["network"], "access": {"lte": {}, "wifi": {}}},
            settings={
                f"devices[{place}].access.{name}": at
                for place in range(2)
                for name, at in (("lte", 1 - share), ("wifi", share))
            },
        )
        for share in (0.01, 0.5, 1.0)
    ]
    found = drawn(paths, axes=("devices[0].access.wifi",))
    assert found.axis.title == "share on wifi"
    assert not found.axis.is_log
    chart = grids.chart(found)
    assert [line.x for line in chart.data if line.showlegend is not False] == [(0.01, 0.5, 1.0)]


def test_the_question_is_the_authors_or_made_of_what_differs(tmp_path):
    paths = [run(tmp_path / "made", rate, lost=lost) for rate, lost in ((2.0, 0.0), (8.0, 0.5))]
    made = titled(paths, BY_RULE)
    assert made.endswith(": how does the share stored of what was sent depend on the rate?")
    assert titled(paths, Asked(question="Why?")) == "Why?"
    asked = run(tmp_path / "own", question="What is lost?")
    assert titled([asked], BY_RULE) == "What is lost?"


def test_key_numbers_are_three_to_five(tmp_path):
    paths = [run(tmp_path, rate, lost=lost) for rate, lost in ((2.0, 0.0), (8.0, 0.5))]
    runs = load(paths)
    found = numbers.of(drawn(paths), runs)
    assert 3 <= len(found) <= 5
    low, high, *_ = found
    assert low.label == "lowest share stored of what was sent"
    assert low.note.startswith("8/s; ")
    assert high.value == "100 %"
    (lost,) = (one for one in found if one.label.startswith("lost: "))
    assert lost.value.endswith(" %")


def test_limits_are_those_of_the_mechanisms_in_use(tmp_path):
    plain = load([run(tmp_path / "plain", repetitions=1)])
    assert limits.UNPROBED in limits.sentences(None, plain)
    assert not any("owners" in sentence for sentence in limits.sentences(None, plain))
    assert not any("app_faults" in sentence for sentence in limits.sentences(None, plain))
    plain[0].resolved["transport"]["app_faults"] = True
    assert any("app_faults" in sentence for sentence in limits.sentences(None, plain))
    found = choice.chosen(plain, BY_RULE)
    assert any("one repetition" in sentence for sentence in limits.sentences(found, plain))
    law = {"distribution": "exponential", "mean_s": 1.0}
    churning = load([run(tmp_path / "churn", churn={"session": law, "gap": law})])
    assert any("owners" in sentence for sentence in limits.sentences(None, churning))
    churning[0].resolved["churn"] = {"kind": "android"}
    told = " ".join(limits.sentences(None, churning))
    assert "Doze" in told
    assert "owners" not in told
    churning[0].resolved["run"]["contention"] = False
    assert "share no air" in " ".join(limits.sentences(None, churning))
    network = churning[0].resolved["network"]["access"]
    network["lte"] = {}
    told = " ".join(limits.sentences(None, churning))
    assert "never sleep" in told
    assert "contend" in told
    network["lte"] |= {"nat": {}, "states": {}, "wifi": {}}
    told = " ".join(limits.sentences(None, churning))
    assert "behind which NAT is assumed" in told
    assert "never sleep" not in told
    assert "contend" not in told


def test_the_page_begins_with_the_answer(tmp_path):
    paths = [run(tmp_path / "runs", rate, lost=lost) for rate, lost in ((2.0, 0.0), (8.0, 0.5))]
    page = tmp_path / "page.html"
    write_report(paths, page, asked=Asked(question="Is <b>it</b> & that?"))
    html = page.read_text()
    main = html[html.index("<main") :]
    assert "<h1>Is &lt;b&gt;it&lt;/b&gt; &amp; that?</h1>" in main
    order = [main.index(part) for part in ('class="finding"', 'class="numbers"', 'id="chart-1"')]
    assert order == sorted(order)
    assert main.index("What limits this.") < main.index('id="success"')
    assert re.findall(r'<h2 id="([\w-]+)"', html)[0] == "answer"


def test_the_first_chart_says_what_its_thin_lines_are(tmp_path):
    paths = [run(tmp_path, rate, lost=lost) for rate, lost in ((3.0, 0.0), (9.0, 0.5))]
    page = page_layout.arranged(load(paths))
    (first, *_) = page.charts
    assert first.caption.startswith("stored over sent; thin, with triangles: in flight at the end;")
    assert first.chart.layout.xaxis.title.text == "rate asked for, 1/s"


def test_no_line_ends_between_a_number_and_its_unit(tmp_path):
    paths = [run(tmp_path / "runs", rate, lost=lost) for rate, lost in ((2.0, 0.0), (8.0, 0.5))]
    write_report(paths, page := tmp_path / "page.html")
    html = page.read_text()
    answer = html[html.index('<header class="answer">') : html.index("</header>")]
    assert re.search("falls from 100\N{NO-BREAK SPACE}% ", answer)
    assert re.search("\\d\N{NO-BREAK SPACE}ms</dd>", answer)
    assert unbroken("2 min, 3 mW at 5 Mbit/s") == "2\xa0min, 3\xa0mW at 5\xa0Mbit/s"
    assert unbroken("2 seeds, 4 to 8") == "2 seeds, 4 to 8"


def test_what_several_profiles_of_one_device_do_not_claim_is_said_once(tmp_path):
    profiles = testing.resolved()["profiles"]
    other = json.loads(json.dumps(profiles))
    other["invented"]["digest"] = "another"
    page = tmp_path / "page.html"
    paths = [run(tmp_path / "runs", 2.0), run(tmp_path / "runs", 8.0, profiles=other)]
    write_report(paths, page)
    assert page.read_text().count("<li>Invented phone does not claim: anything about") == 1


def test_an_axis_of_small_shares_holds_every_line_with_its_intervals(tmp_path):
    paths = [run(tmp_path, rate, lost=0.9) for rate in (2.0, 4.0)]
    found = drawn(paths, metric="success_ratio")
    many = {"value": 0.4, "mean": 0.4, "ci95_low": 0.35, "ci95_high": 0.45}
    found.points[0].run.metrics["metrics"]["in_flight_ratio"].update(many)
    low, high = grids.chart(found).layout.yaxis.range
    for metric in ("success_ratio", "in_flight_ratio"):
        for point in found.points:
            assert low < point.mean(metric) <= point.bounds(metric)[1] < high
    assert high < 1


def test_no_interval_reaches_below_what_can_be_measured(tmp_path):
    runs = load([run(tmp_path / "runs", seed=seed, repetitions=1) for seed in (1, 2)])
    for one, took_ms in zip(runs, (1.0, 100.0), strict=True):
        one.metrics["metrics"]["rtt_ms_mean"].update(value=took_ms, mean=took_ms, values=[took_ms])
    (point,) = pooled.of_runs(runs)
    low, high = point.bounds("rtt_ms_mean")
    assert low == 0
    assert high > 500


def test_where_a_seed_does_not_come_to_a_share_the_point_does_not_say_when(tmp_path):
    runs = load([run(tmp_path / "runs", seed=seed, repetitions=1) for seed in (1, 2)])
    (point,) = pooled.of_runs(runs)
    assert point.has("done_50_percent_s")
    runs[1].metrics["metrics"]["done_50_percent_s"].update(value=None, mean=None, values=[None])
    assert not point.has("done_50_percent_s")
    assert point.mean("done_50_percent_s") is None


def test_what_is_asked_for_is_the_first_charts_alone(tmp_path):
    """Where nothing is stored there are no round trips, so that of these nothing differs in x."""
    key = "network.access.wifi.latency"
    pairs = ((0.1, 0.0), (0.2, 1.0))
    paths = [run(tmp_path, lost=lost, settings={key: at}) for at, lost in pairs]
    page = tmp_path / "page.html"
    write_report(paths, page, asked=Asked(x=key, metric="success_ratio"))
    assert "falls from 100\xa0%" in page.read_text()


def told(path, values):
    """Give a run these rates of stores, one for each repetition."""
    file = path / "metrics.json"
    content = json.loads(file.read_text())
    mean = sum(values) / len(values)
    own = {"values": values, "mean": mean, "value": mean}
    content["metrics"][RATE] |= {
        **own,
        "ci95_low": min(values),
        "ci95_high": max(values),
    }
    file.write_text(json.dumps(content))
    return path


def test_repetitions_with_random_numbers_in_common_are_compared_in_pairs(tmp_path):
    base = [1.0, 3.0, 5.0, 7.0, 9.0]
    paths = [
        told(run(tmp_path, rate, mode), [value + plus * (1 + 0.01 * value) for value in base])
        for rate in (2.0, 8.0)
        for mode, plus in (("udp", 0.0), ("quic_keep", 0.1))
    ]
    text = said(paths, metric=RATE)
    assert "; repetition by repetition, the difference is 0.105/s (0.101 to 0.109)" in text
    assert "it does not change beyond chance" in text


def test_other_seeds_make_no_pairs(tmp_path):
    base = [1.0, 3.0, 5.0, 7.0, 9.0]
    paths = [
        told(run(tmp_path, 8.0, mode, seed=seed), [value + plus for value in base])
        for seed, mode, plus in ((1, "udp", 0.0), (2, "quic_keep", 0.1))
    ]
    assert "does not differ beyond chance" in said(paths, metric=RATE)


def test_the_most_different_of_many_points_have_to_differ_more(tmp_path):
    base = [1.0, 3.0, 5.0, 7.0, 9.0]
    noise = [0.3, 0.05, 0.25, 0.1, 0.2]
    low = told(run(tmp_path, 2.0), base)
    high = told(run(tmp_path, 8.0), [sum(pair) for pair in zip(base, noise, strict=True)])
    one, other = drawn([low, high], metric=RATE).points
    assert choice.paired(one, other, RATE).p_value == pytest.approx(0.018, abs=0.001)
    assert choice.differ(one, other, RATE)
    assert not choice.differ(one, other, RATE, choice.pairs_of(10))


def test_repetitions_that_are_all_equal_are_told_by_their_intervals(tmp_path):
    low, high = (told(run(tmp_path, rate), [value] * 5) for rate, value in ((2.0, 1.0), (8.0, 1.0)))
    one, other = drawn([low, high], metric=RATE).points
    assert not choice.differ(one, other, RATE)
