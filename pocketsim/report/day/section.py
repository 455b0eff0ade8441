"""The section of a page about the day of a run: the map, its text alternative, and charts.

A map shows the first repetition, and is there where the run kept one (`output.map`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pocketsim.report.charts import theme
from pocketsim.report.day import charts, packing
from pocketsim.report.html.page import rendered
from pocketsim.report.runs.run import is_of_payments
from pocketsim.sim import trace
from pocketsim.sim.metrics import per_phone
from pocketsim.sim.run.rundir import EVENTS, MAP
from pocketsim.sim.trace.columns import Columns, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from pocketsim.report.runs.run import Run


def has_any(run: Run) -> bool:
    """Tell whether a run tells its day by bins of time."""
    return "day" in run.metrics


def has_map(run: Run) -> bool:
    """Tell whether a run kept where its phones are."""
    return (run.path / MAP).is_file()


def events(run: Run) -> list[Columns] | None:
    """Return what happened in each repetition of a run; None where no events are kept."""
    path = run.path / EVENTS
    if not path.is_file():
        return None
    return [Columns.of(part) for part in split(trace.read(path), run.metrics["repetitions"])]


def whose(run: Run, name: str, several: int) -> str:
    """Return whose day it is, in a sentence."""
    place = f"the run “{name}”, the first of {several} runs" if several > 1 else "this run"
    repetitions = run.metrics["repetitions"]
    mean = f", means over its {repetitions} repetitions" if repetitions > 1 else ""
    shown = " The map shows the first repetition." if has_map(run) else ""
    return f"The charts are of {place}{mean}.{shown}"


def map_html(run: Run, parts: Sequence[Columns] | None, number: int, budget_bytes: int) -> Markup:
    """Return the map of a run's first repetition, the `number`-th of the page, as HTML."""
    import pyarrow.parquet as pq

    sent = parts[0] if parts and charts.has_fates(run) else None
    one = "payment" if is_of_payments(run) else "trade"
    whole = packing.drawing(pq.read_table(run.path / MAP), sent)
    part, every, times = packing.fitted(whole, budget_bytes)
    duration_s = run.resolved["run"]["duration_s"]
    content = {
        **packing.packed(part, duration_s),
        "outages": _outages(run, part.networks),
        "shows_s": _LINES_S if duration_s < _LONG_S else _LONG_LINES_S,
        "classes": _classes(run, part),
        "layout": _layout(part).to_plotly_json()["layout"],
        "config": {**theme.PLOT_OPTIONS, "displayModeBar": False},
        "fates": [
            {"name": f"{one} {name}", "colour": colour}
            for name, colour in zip(_FATES, (theme.BAD, theme.GOOD, theme.SEND), strict=True)
        ],
    }
    # The end of a script would end the data.
    text = json.dumps(content, sort_keys=True, allow_nan=False).replace("<", "\\u003c")
    return rendered(
        "map.html",
        number=number,
        caption=_caption(whole, content["shows_s"], (every, times), one if sent else None),
        minutes=duration_s / 60,
        content=text,
        words=in_words(run),
    )


def in_words(run: Run) -> str:
    """Return when most and fewest phones were on: what a map says to whom it cannot be shown."""
    hours = charts.hourly(run)
    mean = sum((end - begin) * on for begin, end, on, _ in hours) / hours[-1][1]
    most, fewest = (choose(hours, key=lambda hour: hour[2]) for choose in (max, min))
    said = f"Of {per_phone.phones(run.resolved):,} phones, {100 * mean:.0f} % were on in the mean"
    if len(hours) > 1:
        said += (
            f": most, {100 * most[2]:.0f} %, from {most[0]:g} to {most[1]:.3g} h after the start, "
            f"and fewest, {100 * fewest[2]:.0f} %, from {fewest[0]:g} to {fewest[1]:.3g} h"
        )
    out = max(hours, key=lambda hour: hour[2] - hour[3])
    if out[2] - out[3] > _WORTH:
        when = f"from {out[0]:g} to {out[1]:.3g} h"
        said += f". In an outage, {when}, {100 * out[3]:.0f} % could be reached"
    return f"{said}. The chart below has all hours."


def _caption(
    whole: packing.Drawing, shows_s: float, thinned: tuple[int, int], one: str | None
) -> str:
    every, times = thinned
    said = [
        "Positions are drawn from the scenario, not measured.",
        "A dot is a phone.",
    ]
    if one is not None:
        said.append(f"A line joins the two phones of a {one} of the last {_span(shows_s)}.")
    if every > 1:
        said.append(f"One phone in {every} of {whole.phones.size:,} is shown.")
    if times > 1:
        said.append(f"One {one} in {times} is shown.")
    return " ".join(said)


def _span(seconds: float) -> str:
    return "minute" if seconds == _MINUTE_S else f"{seconds / _MINUTE_S:g} minutes"


def _outages(run: Run, networks: Sequence[str]) -> list[list[float]]:
    """Return network, begin and end of outages; the network -1 is all of them."""
    return [
        [
            networks.index(one["access"]) if one["access"] else -1,
            one["start_s"],
            one["end_s"],
        ]
        for one in run.resolved["outages"]
        if one["access"] is None or one["access"] in networks
    ]


def _classes(run: Run, part: packing.Drawing) -> list[dict[str, Any]]:
    """Return name and colour of what a phone may be: reachable by each network, out, or off.

    What no phone of the run ever is `occurs` not.
    """
    states, day = set(part.states.values[0].tolist()), run.metrics["day"][0]
    colours = zip(part.networks, theme.colours(len(part.networks)), strict=True)
    return [
        *(
            {
                "name": f"reachable by {name}",
                "colour": colour,
                "occurs": any(day["reachable_share_by_access"][name]),
            }
            for name, colour in colours
        ),
        {
            "name": "on, in an outage",
            "colour": _OUT_COLOUR,
            "occurs": bool(run.resolved["outages"]),
        },
        {"name": "off", "colour": _OFF_COLOUR, "occurs": 0 in states},
    ]


def _layout(part: packing.Drawing) -> Any:
    chart = theme.figure("m", "m", _HEIGHT_PX)
    margin_m = _MARGIN * max(part.width_m, part.height_m)
    for update, most in ((chart.update_xaxes, part.width_m), (chart.update_yaxes, part.height_m)):
        # Margins that fit themselves would be measured again for each picture.
        update(range=[-margin_m, most + margin_m], zeroline=False, automargin=False)
        update(constrain="domain")
    chart.update_yaxes(scaleanchor="x")
    chart.update_layout(hovermode="closest", dragmode="pan", showlegend=True, uirevision="map")
    return chart


_FATES = ("that failed", "that is done", "under way at the end")
_MINUTE_S = 60.0
_LINES_S, _LONG_LINES_S, _LONG_S = 60.0, 300.0, 3 * 3600.0
_OUT_COLOUR, _OFF_COLOUR = "#222b36", "#a9b3bd"
_WORTH = 0.001
"""The least share of phones that an outage is told for."""
_HEIGHT_PX, _MARGIN = 540, 0.02
