"""What became of what was sent: every fate by its cause, and the main metrics of trades.

Counts are those of metrics.json, over all repetitions and phones; what a fate means is defined in
`sim.metrics`. Of a sampled trace they are of what was traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pocketsim.report.charts import theme
from pocketsim.report.html.page import interval, markup, table
from pocketsim.report.runs.metric_words import number
from pocketsim.report.runs.run import run_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go
    from markupsafe import Markup

    from pocketsim.report.runs.run import Run


def chart(runs: Sequence[Run]) -> go.Figure:
    """Return one bar for each run of a scenario: stored, in flight, and lost by cause, in %."""
    names = list(map(theme.wrapped, run_names(runs)))
    height_px = _FRAME_PX + sum(_BAR_PX * (1 + name.count("<br>")) for name in names)
    # What the axis shows, the caption says: on a narrow screen the legend needs its place.
    chart = theme.figure("", "", height_px)
    for fate in _fates(runs):
        counts = [_counts(run).get(fate, 0) for run in runs]
        sent = [run.metrics["counts"]["sent"] for run in runs]
        if any(counts):
            chart.add_bar(
                x=[
                    100 * one / total if total else 0.0
                    for one, total in zip(counts, sent, strict=True)
                ],
                y=names,
                text=[
                    f"{one:,} of {total:,} sent" for one, total in zip(counts, sent, strict=True)
                ],
                textposition="none",
                orientation="h",
                name=words(fate),
                marker_color=colour(fate),
            )
    chart.update_layout(barmode="stack", bargap=0.3)
    chart.update_layout(legend={"traceorder": "normal"}, showlegend=True)
    chart.update_xaxes(range=[0, 100], ticksuffix=" %")
    chart.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return chart


def counts_table(runs: Sequence[Run]) -> Markup:
    """Return sent = stored + in flight + lost, by cause, a line for each run of a scenario."""
    fates = _fates(runs)
    head = ["run", "sent", *(_WORDS.get(fate, f"lost: {fate}") for fate in fates)]
    lines = []
    for run, name in zip(runs, run_names(runs), strict=True):
        counts, sent = _counts(run), run.metrics["counts"]["sent"]
        cells = [_counted(counts.get(fate, 0), sent) for fate in fates]
        lines.append([name, f"{sent:,}", *cells])
    return table(head, lines, numeric=range(1, len(head)))


def metrics_table(runs: Sequence[Run]) -> Markup:
    """Return the main metrics of one scenario's runs with their intervals, a line for each."""
    known = [name for name in METRICS if any(run.has(name) for run in runs)]
    lines = [
        [name, *(_cell(run, metric) for metric in known)]
        for run, name in zip(runs, run_names(runs), strict=True)
    ]
    heads = [METRICS[name] for name in known]
    return table(["run", *heads], lines, numeric=range(1, len(heads) + 1))


def _counts(run: Run) -> dict[str, int]:
    counts = run.metrics["counts"]
    found = {STORED: counts["stored"], IN_FLIGHT: counts["in_flight"]}
    for reason, count in counts["lost"].items():
        cause = cause_of(reason)
        found[cause] = found.get(cause, 0) + count
    return found


def cause_of(reason: str) -> str:
    """Return the cause that a reason of a loss is shown as, the reason itself if it has no other.

    A transport without connections is told at once that a phone is off; one with connections gives
    up when nobody has answered its handshake, and cannot tell a phone that is off from a way that
    loses everything. So both are one cause, that the receiver is unreachable.
    """
    return _CAUSES.get(reason, reason)


def words(fate: str) -> str:
    """Return what to call a fate: stored, in flight, or the cause of a loss."""
    return _WORDS.get(fate, f"lost: {fate}").replace("_", " ")


def colour(fate: str) -> str:
    """Return the colour of a fate, the same in every chart."""
    known = {STORED: theme.GOOD, IN_FLIGHT: theme.SEND, **_LOST}
    return known.get(fate, theme.NEUTRAL)


def _fates(runs: Sequence[Run]) -> list[str]:
    """Return stored, in flight, and every cause of losses, the most frequent first."""
    lost: dict[str, int] = {}
    for run in runs:
        for fate, count in _counts(run).items():
            if fate not in {STORED, IN_FLIGHT}:
                lost[fate] = lost.get(fate, 0) + count
    return [STORED, IN_FLIGHT, *sorted(lost, key=lambda reason: (-lost[reason], reason))]


def _counted(count: int, sent: int) -> str:
    if not count:
        return "0"
    share = _percent(count / sent)
    return markup('{:,}<br><span class="interval">{}</span>', count, share)


def _cell(run: Run, metric: str) -> str:
    if not run.has(metric):
        return _NONE
    write = _percent if metric.endswith("_ratio") else number
    said = write(run.mean(metric) or 0.0)
    return markup("{}{}", said, interval(run.bounds(metric), write))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


METRICS = {
    "send_rate_per_s": "sent, 1/s",
    "store_rate_per_s": "stored, 1/s",
    "success_ratio": "stored / sent",
    "in_flight_ratio": "in flight at the end / sent",
    "rtt_ms_p50": "round trip, median, ms",
    "rtt_ms_p95": "round trip, 95th percentile, ms",
    "rtt_ms_mean": "round trip, mean, ms",
    "processing_ms_p50": "processing, median, ms",
    "stored_block_bytes_mean": "stored block, mean, B",
    "mb_per_phone_day": "MB of a phone and day",
    "core_s_per_phone_day": "core seconds of a phone and day",
    "chain_bytes_per_phone_day": "blocks stored of a phone and day, B",
    "stored_bytes_written_per_phone_day": "written for them, B",
}
_NONE = "\N{EN DASH}"
STORED, IN_FLIGHT = "stored", "in flight"
_WORDS = {STORED: "stored", IN_FLIGHT: "in flight at the end"}
_UNREACHABLE = "receiver off or unreachable"
_CAUSES = {
    "receiver_off": _UNREACHABLE,
    "connect_timeout": _UNREACHABLE,
    **dict.fromkeys(("idle_timeout", "connection_lost"), "connection broke"),
    **dict.fromkeys(("socket_timeout", "retries_exhausted"), "no answer"),
    **dict.fromkeys(("buffer_full", "queue_full", "relay_full"), "queue full"),
    "unserved": "declined by the receiver",
    "peer_busy": "receiver busy",
    "unreachable": "at a NAT",
    "moved": "changed networks",
    "link_loss": "on the way",
    "sender_off": "sender off",
    "withheld": "withheld by the policy",
    "oversized": "too large",
    **dict.fromkeys(
        ("invalid_signature", "wrong_receiver", "broken_link", "fork", "duplicate", "malformed"),
        "refused",
    ),
}
# Losses in warm colours, apart from what arrived; a cause has one in every chart.
_LOST = {
    _UNREACHABLE: "#d55e00",
    "on the way": "#e69f00",
    "at a NAT": "#cc6677",
    "changed networks": "#f0a3a3",
    "sender off": "#aa4499",
    "queue full": "#b3261e",
    "connection broke": "#999933",
    "no answer": "#8c510a",
    "declined by the receiver": "#b07aa1",
    "receiver busy": "#cc79a7",
    "refused": "#661100",
    "withheld by the policy": "#ddcc77",
    "too large": "#882255",
    "unknown": "#5b6875",
}
_BAR_PX, _FRAME_PX = 24, 150
