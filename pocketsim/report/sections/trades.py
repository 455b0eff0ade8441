"""The part of a report about trades: rates, success, round trips, outcomes, sizes of blocks.

Here it is decided which charts are worth their place; they are drawn in `rates` and `latency`.
A scenario's only run is one point on any axis, which its line in the table of metrics says as
well: what is drawn of it are published figures beside it, and what has a distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.charts import latency, rates
from pocketsim.report.runs.run import by_scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from pocketsim.report.html.page import Page
    from pocketsim.report.runs.run import Run, Series

    Chart = tuple[str, str, go.Figure]


def add(page: Page, found: Sequence[Series]) -> None:
    """Append the sections on trades to which series of runs, of any scenarios, have something."""
    _rates(page, found)
    _success(page, found)
    _completion(page, found)
    _round_trips(page, found)
    _outcomes(page, found)
    _block_sizes(page, found)


def _rates(page: Page, found: Sequence[Series]) -> None:
    swept = [series for series in found if len(series.runs) > 1 and not _is_grid(series, found)]
    charts = [
        (series.title, series.name, rates.rates(series))
        for series in swept or found
        if _is_worth([series], "send_rate_per_s") or series.published("store_rate_per_s")
    ]
    _section(page, "rates", charts, _RATES)


def _success(page: Page, found: Sequence[Series]) -> None:
    chosen = [_middle_payload(group) for group in by_scenario(found).values()]
    swept = [group for group in chosen if len(group[0].runs) > 1]
    charts = [
        (group[0].title, _names(group), rates.success(group))
        for group in swept or chosen
        if _is_worth(group)
    ]
    _section(page, "success", charts, _SUCCESS)


def _completion(page: Page, found: Sequence[Series]) -> None:
    chosen = [_middle_payload(group) for group in by_scenario(found).values()]
    charts = [
        (group[0].title, f"{_names(group)}; lost is never done", latency.completion(group))
        for group in chosen
        # Where all is done, round trips say when.
        if any(
            (run.mean("success_ratio") or 0.0) < _NEARLY_ALL for one in group for run in one.runs
        )
    ]
    _section(page, "completion", [chart for chart in charts if chart[2].data], _COMPLETION)


def _round_trips(page: Page, found: Sequence[Series]) -> None:
    charts: list[Chart] = []
    spread: list[Chart] = []
    for group in by_scenario(found).values():
        chosen = _middle_payload(group)
        name, title = f"{chosen[0].payload_bytes} B", group[0].title
        several = len({one.payload_bytes for one in group}) > 1
        if several:
            rate, runs = _common_rate(group)
            if len(runs) > 1:
                charts.append((title, f"{rate:g}/s, by payload", latency.against_payload(runs)))
        if len(chosen[0].runs) > 1 or not several:
            if _is_worth(chosen, "rtt_ms_p50", "median"):
                charts.append((title, f"{name}, by rate", latency.against_rate(chosen)))
            spread += _distributions(chosen, title, name)
    _section(page, "round-trips", charts, _ROUND_TRIPS)
    _section(page, "distributions", spread, "" if charts else _ROUND_TRIPS)


def _distributions(group: Sequence[Series], title: str, name: str) -> list[Chart]:
    """Return how round trips of runs at one payload are spread; of one run by repetition, too."""
    runs = [run for one in group for run in one.runs]
    if len(runs) > 1:
        boxes = (title, f"{name}; {_BOXES}", latency.distributions(group))
    else:
        boxes = (title, f"{name}, by repetition; {_BOXES}", latency.repetitions(runs[0]))
    shares = (title, f"{name}; {_SHARES}", latency.distribution_functions(group))
    is_one = len(runs) == 1 and runs[0].resolved["run"]["repetitions"] == 1
    return [chart for chart in ([shares] if is_one else [boxes, shares]) if chart[2].data]


def _outcomes(page: Page, found: Sequence[Series]) -> None:
    charts = [
        (series.title, f"{series.name}; {_in_flight(series)}", rates.outcomes(series))
        for series in found
        # What is said of it is about two phones with one connection.
        if series.transport == "quic_keep" and series.runs[0].senders == 1
        if not _is_grid(series, found)
        if _repetitions(series) > 1 or series.published("store_count", "run")
    ]
    _section(page, "outcomes", charts, _OUTCOMES, wide=True)


def _in_flight(series: Series) -> str:
    most = max((run.mean("in_flight_ratio") or 0.0 for run in series.runs), default=0.0)
    return f"in flight at the end: at most {100 * most:.3g} % of what was sent"


def _repetitions(series: Series) -> int:
    return sum(int(run.resolved["run"]["repetitions"]) for run in series.runs)


def _block_sizes(page: Page, found: Sequence[Series]) -> None:
    shown = [series for series in found if series.published(*_MEAN_SIZES)] or list(found)
    charts = [
        (series.title, series.name, rates.block_sizes(series))
        for series in shown
        if _is_worth([series], *_MEAN_SIZES)
    ]
    _section(page, "block-sizes", charts, _SIZES)


def _section(
    page: Page, name: str, charts: Sequence[Chart], text: str, *, wide: bool = False
) -> None:
    """Append a section of charts with `text` above them; nothing where there are no charts."""
    if not charts:
        return
    page.section(name, _TITLES[name])
    if text:
        page.paragraph(text)
    page.figures(charts, wide=wide)


def _is_worth(group: Sequence[Series], metric: str = "", statistic: str = "") -> bool:
    """Return whether a chart of a metric has more than one point: of other runs, or published."""
    runs = sum(len(one.runs) for one in group)
    return runs > 1 or any(one.published(metric, statistic) for one in group)


def _is_grid(series: Series, found: Sequence[Series]) -> bool:
    """Return whether a scenario crosses payloads: its rates are shown once, not per payload."""
    return len({one.payload_bytes for one in found if one.scenario == series.scenario}) > _FEW


def _names(group: Sequence[Series]) -> str:
    return "; ".join(one.name for one in group)


def _middle_payload(group: Sequence[Series]) -> list[Series]:
    """Return the series of one payload: one with published round trips, else the middle one."""
    published = {one.payload_bytes for one in group if one.published("rtt_ms_p50")}
    payloads = sorted(published or {one.payload_bytes for one in group})
    chosen = payloads[len(payloads) // 2]
    return [one for one in group if one.payload_bytes == chosen]


def _common_rate(group: Sequence[Series]) -> tuple[float, list[Run]]:
    """Return the second lowest rate (the lowest may be too sparse) and its runs."""
    runs = [run for one in group for run in one.runs]
    asked = sorted({run.rate_per_s for run in runs})
    rate = asked[min(1, len(asked) - 1)]
    return rate, [run for run in runs if run.rate_per_s == rate]


_NEARLY_ALL = 0.995
_FEW = 2  # payloads of one scenario that are still shown side by side
_MEAN_SIZES = ("stored_block_bytes_mean", "run")
# Of sections, by anchor.
_TITLES = {
    "rates": "Send and store rates",
    "success": "Success rate",
    "completion": "Done, over the time since the send",
    "round-trips": "Round trips",
    "distributions": "Distributions of round trips",
    "outcomes": "Runs over a kept connection",
    "block-sizes": "Stored block sizes",
}
_RATES = (
    "A rate is a count over the window from the first to the last send or store, as in the "
    "published figures. Open diamonds are published, set slightly to the right of the simulation; "
    "their bars are the theses' own, 1.96 s/√n. They stand only beside runs of a scenario as it "
    "comes with the project."
)
_SUCCESS = (
    "Share of the proposals sent that the proposer also stored. Thin lines with triangles: what "
    "was in flight at the end, neither stored nor lost. Why the rest was lost stands below, under "
    "What became of what was sent."
)
_COMPLETION = (
    "Share of the proposals sent that are stored so long after their send or sooner "
    "(product-limit estimator). What is lost stays in the denominator; what is in flight at the "
    "end counts for as long as it was watched. So a curve ends where a run was too short to tell, "
    "and does not depend on how long the run was before."
)
_ROUND_TRIPS = (
    "From the proposal leaving the app to the completed block being stored, on one clock (T3 - T1)."
)
_SHARES = "share that took no longer; points at the 50th, 95th and 99th percentile"
_BOXES = "box: quartiles, whiskers: 5 to 95 %"
_OUTCOMES = (
    "Over one kept connection a run completes, breaks part-way or stalls from the start, so a mean "
    "describes none of them. Each dot is a run. Shaded: complete above, stalled below."
)
_SIZES = (
    "A stored block grows with the digits of its index; the first ones of a fresh chain lack "
    "previous hashes and are smaller."
)
