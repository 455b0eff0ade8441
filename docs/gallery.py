"""The gallery: a page of every scenario that comes with the package, each with a picture of a run.

`make docs` makes it anew, so that it shows what the scenarios do now. Runs are shorter than the
documents say where those take long, and each picture says by what it differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pocketsim as ps
from pocketsim.api.documents import catalog
from pocketsim.report.page_layout import arranged
from pocketsim.report.paper import print_figures
from pocketsim.report.runs.run import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pocketsim.report.html.page import Drawn


def write(folder: Path, runs: Path) -> None:
    """Write the page and its pictures into `folder`; runs that are in `runs` are not repeated."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [_HEAD]
    for place, title in _PLACES.items():
        parts.append(f"## {title}\n")
        for name, path in catalog.files("scenario").items():
            if path.parent.name == place:
                parts.append(_entry(name, path, folder, runs))
    (folder / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


def description(path: Path) -> str:
    """Return the first comment of a document, which says what it is, as one paragraph."""
    lines = path.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("#:schema")]
    found: list[str] = []
    for line in lines:
        if not line.startswith("# "):
            break
        found.append(line[2:])
    return " ".join(found)


def changes_of(name: str) -> Mapping[str, Any]:
    """Return what is changed of a scenario for its picture."""
    return _CHANGES.get(name, {})


def chosen(charts: Sequence[Drawn]) -> Drawn:
    """Return the chart that tells most of some runs."""
    return min(charts, key=lambda one: (_SECTIONS.index(one.section), one.number))


def _entry(name: str, path: Path, folder: Path, runs: Path) -> str:
    changes = changes_of(name)
    made = ps.run(name, dict(changes), out=runs)
    found = [made] if isinstance(made, ps.Run) else list(made)
    drawn = chosen(arranged(load(run.directory for run in found)).charts)
    picture = print_figures.pictures(drawn.chart, drawn.caption, _WIDTH_IN, ["svg"])[".svg"]
    (folder / f"{name}.svg").write_bytes(picture)
    differs = ", ".join(f"`{key}` {_said(value)}" for key, value in changes.items())
    shown = f"Here with {differs}." if changes else "As it comes."
    axes = drawn.chart.layout
    what = axes.yaxis.title.text or drawn.caption
    return (
        f"### {catalog.titles('scenario')[name]}\n\n{description(path)}\n\n"
        f"```{{image}} {name}.svg\n:alt: {name}: {what}\n```\n\n"
        f"*{drawn.caption[:1].upper()}{drawn.caption[1:]}. {shown}*\n\n"
        f"```sh\npocketsim run {name}\n```\n"
    )


def _said(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else str(value).lower()


_HEAD = """# Gallery

Every scenario that comes with the package, with a picture of it: `pocketsim run` takes its name.
The pictures were drawn when these pages were made, of runs of that version. They are simulations on
profiles that no probe has run for; [limitations](../limitations.md) says what that means. Where a
scenario takes long, or has one rung where a picture needs several, the runs differ from it as the
line below the picture says.
"""
# By folder, in this order.
_PLACES = {
    "throughput": "Trades of two phones",
    "latency": "Round trips",
    "scale": "Many phones",
    "tokens": "Payments and tokens",
    "eva": "Large transfers",
    "own_data": "From files of your own",
    "own_protocol": "With code of your own",
}
_SECTIONS = (
    "answer",
    *("ladders", "towns", "rates", "round-trips", "distributions"),
    *("success", "completion", "outcomes", "block-sizes", "fates", "day"),
)
_WIDTH_IN = 4.6
_TWICE = {"run.repetitions": 2}
_BRIEF = {"run.duration": "2s"}
# What takes long is shortened; what would be one point gets a value more.
_CHANGES: dict[str, dict[str, Any]] = {
    "1k": {"run.repetitions": 2},
    "10k": {"run.duration": "1h"},
    "100k": {"run.duration": "1min"},
    "commute": {"run.duration": "10min", "devices[0].count": 60, "run.repetitions": 1},
    "1k_nat": {"run.duration": "1min", "devices[0].count": 200},
    "authority_cpu": _BRIEF,
    "blocks_and_windows": {"run.repetitions": 1, "transport.eva.encryption": False},
    "buffers": {"run.repetitions": 1},
    "data_size": _BRIEF,
    "free_riders": {"run.duration": "20s", "protocol.adversary.ratio": [0.0, 0.3, 0.6]},
    "gossip": {"run.duration": "20s", "protocol.options.fanout": [2, 4]},
    "outage": {"devices[0].count": 60, "devices[1].count": 40, "devices[2].count": 3},
    "overlay_packets": {"run.repetitions": 1},
    "own_payments": {"protocol.tokens.acceptance": ["offline", "online"]},
    "patience": {"transport.policy.options.attempts": [1, 2, 5]},
    "payload": {"run.repetitions": 1},
    "rate": {"run.repetitions": 1},
    "recipients": _BRIEF,
    "sign_and_verify": _BRIEF,
    "table_1": {"run.repetitions": 2, "workload.payload": ["10kB", "100kB"]},
    "town_day": {"run.repetitions": 1, "devices[0].count": 300, "devices[1].count": 200},
    "walkers": {"contacts.range": ["5m", "10m", "20m"]},
    "udp_packets": {"run.repetitions": 1, "transport.socket_buffer": ["50kB", "100kB", "200kB"]},
    **dict.fromkeys(("iroh_keep_100b", "iroh_keep_128b", "udp_100b", "udp_128b"), _TWICE),
    **dict.fromkeys(("iroh_reconnect_100b", "iroh_reconnect_10b"), _TWICE),
}
