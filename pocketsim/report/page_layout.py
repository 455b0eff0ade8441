"""What stands where on a page about runs: the answer, details, and how it was made.

Here it is only arranged. The answer is made in `report.answer`, what is said of trades in `trades`.
Charts are in `rates`, `latency`, `grids`, `fates` and `towns`, tables in `energy`, `expected`,
`provenance`, `fates`, `towns` and `verdicts`, days in `day`; what tells runs apart is in `points`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from pocketsim.report.answer import comparison, opening
from pocketsim.report.answer.limits import UNPROBED
from pocketsim.report.charts import grids
from pocketsim.report.day import charts, packing
from pocketsim.report.day import section as day
from pocketsim.report.html.page import Page, folded, markup, script
from pocketsim.report.runs import choice, round_trips
from pocketsim.report.runs.asked import BY_RULE, Asked
from pocketsim.report.runs.run import Run, as_series, by_scenario, is_of_trades, run_names
from pocketsim.report.sections import (
    energy,
    expected,
    fates,
    presence,
    provenance,
    reach,
    splits,
    towns,
    trades,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pocketsim.calibration.validate.validation import ValidationResult


def arranged(
    runs: Sequence[Run],
    validation: ValidationResult | None = None,
    title: str | None = None,
    asked: Asked = BY_RULE,
) -> Page:
    """Return the page about `runs`, in the order of `runs.load`; ValueError where there is none.

    Raises UserError where what is `asked` for is not there.
    """
    if not runs:
        raise ValueError("a report needs at least one run directory")
    others = [run for run in runs if not towns.is_town(run)]
    drawn = None if validation else choice.chosen(runs, asked)
    made = comparison.TITLE if validation else opening.title(runs, drawn, asked)
    page = Page(title or made)
    plain = [run for run in others if is_of_trades(run) and run.rate_per_s and not run.axes]
    found = as_series(plain)
    if validation:
        comparison.add(page, validation, runs)
        _validation(page, validation)
    else:
        opening.add(page, runs, drawn, asked)
    # What is asked for is the first chart's: not every scenario has its metric and its keys.
    of_study = Asked(axes=asked.axes)
    trades.add(page, found)
    expected.add(page, runs)
    _towns(page, [run for run in runs if towns.is_town(run)], of_study)
    _grids(page, [run for run in others if run not in plain], of_study)
    _fates(page, [run for run in others if is_of_trades(run)])
    _presence(page, [run for run in runs if presence.has_any(run)])
    _day(page, [run for run in runs if day.has_any(run)])
    _reach(page, [run for run in runs if reach.has_any(run)])
    _energy(page, [run for run in runs if energy.has_any(run)])
    _simulated(page, runs)
    if validation:
        page.section("rows", "Every published row")
        page.add(verdicts.rows(validation))
    _profiles(page, runs)
    _implementations(page, runs)
    _limitations(page, runs)
    return page


def _validation(page: Page, result: ValidationResult) -> None:
    page.section("validation", "Distance from the published measurements")
    page.paragraph(_VALIDATION)
    page.add(verdicts.summary(result))
    chart = verdicts.errors(result)
    if chart.data:
        page.figures([("Errors by group", _ERRORS, chart)], wide=True)


def _simulated(page: Page, runs: Sequence[Run]) -> None:
    page.section("scenarios", "What was simulated")
    page.paragraph(BARS)
    page.add(provenance.scenarios(runs))


def _towns(page: Page, runs: Sequence[Run], asked: Asked) -> None:
    if not runs:
        return
    page.section("towns", "Payments with tokens")
    page.paragraph(_TOWNS)
    for group in by_scenario(runs).values():
        page.add(markup("<h3>{}</h3>", group[0].title))
        page.figures(towns.charts(group))
        if grids.is_swept(group):
            page.figures(grids.charts(group, asked))
        page.add(towns.figures_table(group))


def _grids(page: Page, runs: Sequence[Run], asked: Asked) -> None:
    charts = [chart for group in by_scenario(runs).values() for chart in grids.charts(group, asked)]
    if charts:
        page.section("ladders", "Sweeps and other grids")
        page.paragraph(_GRIDS)
        page.figures(charts)


def _fates(page: Page, runs: Sequence[Run]) -> None:
    if not runs:
        return
    page.section("fates", "What became of what was sent")
    page.paragraph(_FATES)
    for group in by_scenario(runs).values():
        page.add(markup("<h3>{}</h3>", group[0].title))
        if len(group) <= _BARS_MAX:
            caption = "share of what was sent, by all phones in all repetitions"
            page.figures([("Fates", caption, fates.chart(group))], wide=True)
        page.add(folded("every count", fates.counts_table(group), unfold=len(group) > _BARS_MAX))
        page.add(
            folded("main metrics of each run", fates.metrics_table(group), unfold=len(group) == 1)
        )
        if about := round_trips.about(group):
            page.paragraph(about)
        if any(splits.has_splits(run) for run in group):
            page.add(folded("by profile and access of who proposed", splits.splits_table(group)))


def _presence(page: Page, runs: Sequence[Run]) -> None:
    if not runs:
        return
    page.section("presence", "What was asked for, and who was on")
    page.paragraph(_PRESENCE)
    for group in by_scenario(runs).values():
        page.add(markup("<h3>{}</h3>", group[0].title))
        page.add(presence.asked_table(group))


def _day(page: Page, runs: Sequence[Run]) -> None:
    if not runs:
        return
    page.section("day", "The day")
    groups = by_scenario(runs).values()
    maps = [group[0] for group in groups if day.has_map(group[0])]
    for group in groups:
        run, parts = group[0], day.events(group[0])
        page.add(markup("<h3>{}</h3>", run.title))
        page.paragraph(day.whose(run, run_names(group)[0], len(group)))
        if run in maps:
            budget_bytes = packing.BUDGET_BYTES // len(maps)
            page.add(day.map_html(run, parts, 1 + maps.index(run), budget_bytes))
        else:
            page.paragraph(day.in_words(run))
        page.figures(charts.charts(run, parts))
    if maps:
        page.add(script("map.js"))


def _reach(page: Page, runs: Sequence[Run]) -> None:
    if not runs:
        return
    page.section("reach", "Who reached whom")
    page.paragraph(_REACH)
    for group in by_scenario(runs).values():
        page.add(markup("<h3>{}</h3>", group[0].title))
        if any(reach.ways(run) for run in group):
            page.add(reach.pairs_table(group))
        page.add(reach.paths_table(group))


def _energy(page: Page, runs: Sequence[Run]) -> None:
    if not runs:
        return
    page.section("energy", "Energy of a phone, and what it rests on")
    page.paragraph(_ENERGY)
    for group in by_scenario(runs).values():
        page.add(markup("<h3>{}</h3>", group[0].title))
        page.paragraph(energy.note(group))
        page.add(energy.phones_table(group))
        page.add(folded("every price", energy.prices_table(group), unfold=len(group) == 1))


def _profiles(page: Page, runs: Sequence[Run]) -> None:
    page.section("profiles", "Device profiles and what they rest on")
    page.paragraph(_PROFILES)
    for name, profile in provenance.profiles(runs).items():
        device = profile["device"]
        page.add(markup("<h3>{} <code>{}</code></h3>", device["name"], name))
        probe = "no probe run" if device["probe"] == "none" else f"probe {device['probe']}"
        about = (device["soc"], device["os"], f"{probe}, by {device['measured_by']}")
        page.add(markup(_ABOUT, "; ".join(about), provenance.bases(profile)))
        page.add(folded("every number", provenance.numbers_table(profile["drawn_as"], profile)))


def _implementations(page: Page, runs: Sequence[Run]) -> None:
    page.section("implementations", "Implementations and what they rest on")
    page.paragraph(_IMPLEMENTATIONS)
    for name, content in provenance.implementations(runs).items():
        about = content["implementation"]
        page.add(markup("<h3>{} <code>{}</code></h3>", about["name"], name))
        said = f"described by {about['described_by']}, {about['described_on']}"
        page.add(markup(_ABOUT, said, provenance.bases(content)))
        page.add(folded("every number", provenance.numbers_table(content["called"], content)))


def _limitations(page: Page, runs: Sequence[Run]) -> None:
    page.section("limitations", "Limitations")
    theses = _LIMITATIONS if any(is_of_trades(run) for run in runs) else ()
    unprobed = provenance.unprobed(provenance.profiles(runs))
    lines = [*([UNPROBED] if unprobed else []), *theses, *provenance.not_claimed(runs)]
    items = Markup().join(markup("<li>{}</li>", line) for line in lines)
    page.add(markup("<ul>{}</ul>", items))


_ABOUT = '<p class="caption">{}</p><p>{}</p>'
_BARS_MAX = 40  # runs of a scenario whose fates are drawn
BARS = (
    "Error bars are 95 % intervals over repetitions: Student's t, of quantiles a bootstrap over "
    "repetitions; they end at 0, and those of ratios at 100 %."
)
_VALIDATION = (
    "Errors are simulated over published, less one. A fitted row was seen when the profile was "
    "made; a predicted row was not. Figures agree when they differ by no more than the scatter of "
    "both over their runs, and the rounding of the printed one, explain."
)
_ERRORS = "simulated over published, less one: a dot for each row; hover for its name"
_TOWNS = (
    "Shaded: no network. A payment is complete when its payer has a receipt; a token that was paid "
    "waits until the authority has verified it. Nothing here is compared with a measurement."
)
_GRIDS = (
    "The quantity with the most steps is the horizontal axis, what else differs makes lines. Open "
    "diamonds are published figures; lines between runs only guide the eye."
)
_FATES = (
    "What was sent was stored, was in flight at the end, or was lost, by the last thing that "
    "happened to it; over all phones and repetitions, and of what was traced."
)
_PRESENCE = (
    "What people asked for counts, also while their phone was off; a phone that is off sends "
    "nothing. The baseline is the square of the share of time that phones are on: what would be "
    "stored if phones were on independently of each other and of what they are asked for, and "
    "nothing else failed or was tried again. With --set run.contention=false the same runs say "
    "what phones would achieve that share no air, no site and no relay."
)
_REACH = (
    "Pairs are ordered: a phone, and one that it wants to reach. Expected shares follow from those "
    "of the classes in the scenario, drawn ones from the classes that phones drew. Classes by "
    "network are mostly assumed: nobody has published their shares since 2016."
)
_ENERGY = (
    "Joules beyond those of an idle phone, over all phones but the tokens' authority, scaled from "
    "the run to a day. What draws how much is the scenario's, and the same for every phone; the "
    "basis of a price is what the scenario says of it, or assumed where it says nothing."
)
_PROFILES = (
    "Costs are CPU time on one core plus a cost per byte, and waiting off the CPU. The standard "
    "error is of the number itself, not of single operations. If doubled: the published row that "
    "most surely changes with twice that value, or that none does."
)
_IMPLEMENTATIONS = (
    "What a program does whatever device it runs on: costs of its own beside operations of the "
    "device, pacing, timers, faults."
)
_LIMITATIONS = (
    "The theses did not measure their Wi-Fi: its latency and jitter are fitted or assumed.",
    "The throughput and latency theses used different phones and different versions of the app.",
    "Five published runs per workload leave wide intervals, above all where runs stall.",
)
