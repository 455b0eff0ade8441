"""A town that pays with tokens: charts of its day, and a table of what its payments came to.

Runs of one scenario stand beside each other, offline beside online. What the metrics mean,
`sim.metrics.reference` says; here is which of them stand together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pocketsim.report.charts import theme
from pocketsim.report.html.page import interval, markup, table
from pocketsim.report.runs.metric_words import number
from pocketsim.report.runs.run import run_names
from pocketsim.report.sections import energy
from pocketsim.sim.metrics import reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go
    from markupsafe import Markup

    from pocketsim.report.runs.run import Run
    from pocketsim.sim.scenario.resolved import Outage

    Chart = tuple[str, str, go.Figure]


def is_town(run: Run) -> bool:
    """Return whether a run belongs here: it has a day in hours."""
    return "hourly" in run.metrics


def charts(runs: Sequence[Run]) -> list[Chart]:
    """Return the charts of one scenario's day, each with title and caption.

    The only hour of an only run would be a point: the table of figures has it.
    """
    found: list[Chart] = []
    if len(runs) > 1 or _hours(runs[0]) > 1:
        found = [
            ("Payments", "each hour", _payments(runs)),
            ("Tokens that wait", "at the end of each hour", _waiting(runs)),
            ("Hands of a token", "mean over the tokens paid in each hour", _hands(runs)),
        ]
    # A sampled trace says nothing of tokens.
    found = [chart for chart in found if chart[2].data]
    if any(_is_priced(run) for run in runs):
        caption = f"all phones, over completed payments. {_energy_note(runs)}"
        found.append(("Energy of a payment", caption, _energy(runs)))
    return found


def figures_table(runs: Sequence[Run]) -> Markup:
    """Return the metrics of one scenario's runs, a column each, as HTML."""
    head = ["metric", *run_names(runs), "unit", "meaning"]
    told = {name for run in runs for name in run.metrics["metrics"]}
    lines: list[list[str]] = []
    for group, names in METRICS.items():
        known = {name: reference.METRICS[name] for name in names if name in told}
        if known:
            lines.append([markup("<b>{}</b>", group), *[""] * (len(runs) + 2)])
        lines += [
            [
                markup("<code>{}</code>", name),
                *(_value(run, name) for run in runs),
                "" if metric.unit == "1" else metric.unit,
                metric.meaning,
            ]
            for name, metric in known.items()
        ]
    found = table(head, lines, numeric=range(1, len(runs) + 1), prose=True)
    note = _energy_note(runs) if any(_is_priced(run) for run in runs) else ""
    return found + (markup("<p>{}</p>", note) if note else "")


def _payments(runs: Sequence[Run]) -> go.Figure:
    chart = _day(runs, "payments in the hour")
    named = list(zip(runs, run_names(runs), theme.colours(len(runs)), strict=True))
    days = [(_hourly(run, "payments_asked"), name, colour) for run, name, colour in named]
    if all(asked == days[0][0] for asked, _, _ in days):
        days = [(days[0][0], "", theme.FAINT)]
    for asked, name, colour in days:
        line = {"color": colour, "dash": "dot"}
        words = f"asked for, {name}" if name else "asked for"
        chart.add_scatter(x=_middles(asked), y=asked, mode="lines", name=words, line=line)
    for run, name, colour in named:
        completed = _hourly(run, "payments_completed")
        _add(chart, _middles(completed), completed, f"completed, {name}", colour)
    return chart


def _waiting(runs: Sequence[Run]) -> go.Figure:
    chart = _day(runs, "tokens paid and not verified")
    for run, name, colour in zip(runs, run_names(runs), theme.colours(len(runs)), strict=True):
        waiting = _hourly(run, "unverified_tokens")
        _add(chart, [hour + 1.0 for hour in range(len(waiting))], waiting, name, colour)
    return chart


def _hands(runs: Sequence[Run]) -> go.Figure:
    chart = _day(runs, "recipients of a paid token")
    for run, name, colour in zip(runs, run_names(runs), theme.colours(len(runs)), strict=True):
        recipients = _hourly(run, "token_recipients_mean")
        _add(chart, _middles(recipients), recipients, name, colour)
    return chart


def _energy(runs: Sequence[Run]) -> go.Figure:
    chart = theme.figure("", "mJ for each payment")
    for run, label, colour in zip(runs, run_names(runs), theme.colours(len(runs)), strict=True):
        if not _is_priced(run):
            continue
        spent_j, completed = run.metrics["energy_j"], run.mean(_COMPLETED) or 1.0
        each_mj = [1e3 * (spent_j[part]["mean"] or 0.0) / completed for part in _PARTS]
        marker = {"color": colour, "size": 11}
        names = list(_PARTS.values())
        chart.add_scatter(x=names, y=each_mj, mode="markers", name=label, marker=marker)
    chart.update_xaxes(tickfont_size=_SMALL_PX)  # side by side on a phone, too
    chart.update_yaxes(type="log", dtick=1, exponentformat="none")
    return chart


def _energy_note(runs: Sequence[Run]) -> str:
    """Return what a figure of the energy of payments is worth."""
    return f"{energy.note([run for run in runs if _is_priced(run)])} {_WALLETS}"


def _day(runs: Sequence[Run], y_title: str) -> go.Figure:
    """Return an empty chart of the hours of a run, its outages shaded."""
    chart = theme.figure("hours since midnight", y_title)
    hours = max(run.resolved["run"]["duration_s"] for run in runs) / _HOUR_S
    # What only some of the runs have is in their names.
    every = [run.resolved["outages"] for run in runs]
    for outage in (one for one in every[0] if all(one in outages for outages in every)):
        chart.add_vrect(
            x0=outage["start_s"] / _HOUR_S,
            x1=min(outage["end_s"] / _HOUR_S, hours),
            fillcolor=_OUT_COLOUR,
            line_width=0,
            layer="below",
            annotation={"text": _out(outage), "font": {"size": _SMALL_PX, "color": theme.FAINT}},
            annotation_position="top left",
        )
    chart.update_xaxes(range=[0, hours], dtick=_tick(hours), zeroline=False)
    chart.update_yaxes(rangemode="tozero")
    return chart


def _out(outage: Outage) -> str:
    return f"no {outage['access']}" if outage["access"] else "no network"


def _tick(hours: float) -> float:
    return next((step for step in _TICKS if hours / step <= _LABELS), _TICKS[-1])


def _add(
    chart: go.Figure, x: Sequence[float], y: Sequence[float | None], name: str, colour: str
) -> None:
    if all(value is None for value in y):
        return
    marker = {"size": 6}
    chart.add_scatter(
        x=x, y=y, mode="lines+markers", name=name, line={"color": colour}, marker=marker
    )


def _hours(run: Run) -> int:
    return len(run.metrics["hourly"][0]["payments_asked"])


def _hourly(run: Run, name: str) -> list[float | None]:
    """Return the mean over repetitions of an hourly figure; None where no repetition has one."""
    parts = np.array([repetition[name] for repetition in run.metrics["hourly"]], dtype=float)
    known = np.isfinite(parts)
    total, count = np.where(known, parts, 0.0).sum(axis=0), known.sum(axis=0)
    pairs = zip(total.tolist(), count.tolist(), strict=True)
    return [whole / repetitions if repetitions else None for whole, repetitions in pairs]


def _middles(hours: Sequence[float | None]) -> list[float]:
    return [hour + 0.5 for hour in range(len(hours))]


def _is_priced(run: Run) -> bool:
    return "energy_j" in run.metrics and bool(run.mean(_COMPLETED))


def _value(run: Run, name: str) -> str:
    if not run.has(name):
        return "\N{EN DASH}"
    return markup("{}{}", number(run.mean(name) or 0.0), interval(run.bounds(name)))


METRICS = {
    "Payments": (
        *("payments_asked", "payments_completed", "completed_ratio", "unpayable_ratio"),
        *("payments_in_flight_ratio", "outage_completed_ratio"),
        *("payment_ms_p50", "payment_ms_p95"),
        *("contact_bytes_per_payment", "access_bytes_per_payment", "cpu_ms_per_payment"),
        *("mb_per_phone_day", "core_s_per_phone_day"),
    ),
    "Tokens": ("token_recipients_mean", "token_recipients_p95", "token_recipients_max"),
    "Authority": (
        *("authority_backlog_tokens_max", "authority_answer_ms_p95", "unverified_tokens_max"),
        *("drain_min_p50", "drain_min_p95", "drain_min_max"),
    ),
    "Cheats": (
        *("double_spends", "accused", "wrongly_accused", "undetected_tokens"),
        *("detection_min_p50", "detection_min_max"),
        *("value_at_risk_eur_max", "refused_to_honest_eur"),
    ),
    "Money": ("minted_eur", "redeemed_eur", "circulating_eur", "vanished_eur"),
    "Energy": (
        *("cpu_mj_per_payment", "contact_mj_per_payment", "access_mj_per_payment"),
        "energy_mj_per_payment",
    ),
}
_WALLETS = "Wallets are empty at the start, and filling them is in it."
_COMPLETED = "payments_completed"
_PARTS = {
    "cpu": "cores",
    "contact": "contacts",
    "access_active": "radios,<br>active",
    "access_promotion": "radios,<br>waking",
    "access_tail": "radios,<br>tails",
}
_HOUR_S = 3600.0
_OUT_COLOUR = "#f3ece4"
_TICKS = (0.25, 0.5, 1, 2, 3, 6, 12, 24)
_SMALL_PX = 11
_LABELS = 12  # ticks that fit under half a page
