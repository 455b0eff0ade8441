"""The pictures at the heads of notebooks: `python -m tools.notebook_pictures` draws them again.

Each shows who is there and what joins them, in the same signs. They are attachments, so that a
notebook has no file beside it, and PNG, as JupyterLab shows no SVG that is attached.
"""

from __future__ import annotations

import base64
import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle, FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle

from pocketsim.api.documents import catalog
from pocketsim.report.charts import theme
from pocketsim.report.paper import print_figures

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes

NAME = "setting.png"


@dataclass
class Scene:
    """Draws signs into a strip that is ten units wide and two high; places are their middles."""

    axes: Axes
    off: str = field(default="#c3cad2")

    def phone(self, x: float, y: float = 1.0, text: str = "", *, on: bool = True) -> None:
        """Draw a phone; one that is off is pale."""
        colour = theme.INK if on else self.off
        self._box(x - 0.2, y - 0.35, 0.4, 0.7, colour, "white")
        self.axes.add_patch(Circle((x, y - 0.25), 0.035, color=colour))
        self._text(x, y - 0.55, text)

    def small(self, x: float, y: float, *, on: bool = True) -> None:
        """Draw a phone among many."""
        colour = theme.INK if on else self.off
        self._box(x - 0.06, y - 0.11, 0.12, 0.22, colour, colour if on else "white")

    def computer(self, x: float, y: float = 1.0, text: str = "") -> None:
        """Draw a computer."""
        self._box(x - 0.5, y - 0.25, 1.0, 0.65, theme.INK, "white")
        legs = [
            (x - 0.65, y - 0.38),
            (x + 0.65, y - 0.38),
            (x + 0.5, y - 0.27),
            (x - 0.5, y - 0.27),
        ]
        self.axes.add_patch(Polygon(legs, color=theme.INK))
        self._text(x, y - 0.58, text)

    def access_point(self, x: float, y: float = 1.0, text: str = "", *, on: bool = True) -> None:
        """Draw an access point; without a network it is crossed out."""
        colour = _BLUE if on else self.off
        for size in (0.25, 0.5, 0.75):
            arc = Arc((x, y - 0.2), 1.3 * size, 1.3 * size, theta1=45, theta2=135)
            arc.set(edgecolor=colour, linewidth=1.8)
            self.axes.add_patch(arc)
        self.axes.add_patch(Circle((x, y - 0.18), 0.06, color=colour))
        if not on:
            ends = ([x - 0.3, x + 0.3], [y - 0.25, y + 0.35])
            self.axes.plot(*ends, color=theme.BAD, linewidth=2.2)
        self._text(x, y - 0.55, text)

    def authority(self, x: float, y: float = 1.0, text: str = "") -> None:
        """Draw an authority: a house with columns."""
        roof = [(x - 0.45, y + 0.15), (x + 0.45, y + 0.15), (x, y + 0.45)]
        self.axes.add_patch(Polygon(roof, color=theme.INK))
        for aside in (-0.28, 0.0, 0.28):
            self.axes.add_patch(Rectangle((x + aside - 0.06, y - 0.2), 0.12, 0.3, color=theme.INK))
        self.axes.add_patch(Rectangle((x - 0.45, y - 0.33), 0.9, 0.1, color=theme.INK))
        self._text(x, y - 0.58, text)

    def sheet(self, x: float, y: float = 1.0, text: str = "", rows: int = 4) -> None:
        """Draw a document."""
        self._box(x - 0.32, y - 0.4, 0.64, 0.8, theme.INK, "white")
        for row in range(rows):
            level = y + 0.25 - 0.16 * row
            self.axes.plot([x - 0.2, x + 0.2], [level, level], color=_BLUE, linewidth=1.4)
        self._text(x, y - 0.58, text)

    def bars(self, x: float, y: float, heights: tuple[float, ...], text: str = "") -> None:
        """Draw a chart of bars, from the left."""
        for number, high in enumerate(heights):
            at = (x + 0.24 * number, y - 0.35)
            self.axes.add_patch(Rectangle(at, 0.17, high, color=_COLOURS[number % len(_COLOURS)]))
        middle = x + 0.12 * len(heights)
        self._text(middle, y - 0.55, text)

    def estimate(self, x: float, y: float, error: float, colour: str) -> None:
        """Draw a value with its error on both sides."""
        self.axes.plot([x - error, x + error], [y, y], color=colour, marker="|", linewidth=1.6)
        self.axes.plot([x], [y], color=colour, marker="o", markersize=5)

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], text: str = "", **look: Any
    ) -> None:
        """Draw an arrow, with words above its middle; `bend`, `colour` and `dash` if asked for."""
        bend, colour = look.get("bend", 0.0), look.get("colour", theme.FAINT)
        style = f"arc3,rad={bend}"
        line = ":" if look.get("dash") else "-"
        patch = FancyArrowPatch(start, end, connectionstyle=style, arrowstyle="-|>")
        patch.set(color=colour, linewidth=1.4, linestyle=line, mutation_scale=9)
        self.axes.add_patch(patch)
        length = end[0] - start[0]
        level = (start[1] + end[1]) / 2 - bend * length / 2
        self._text((start[0] + end[0]) / 2, level + 0.22, text, colour=colour)

    def words(self, x: float, y: float, text: str, colour: str = theme.FAINT) -> None:
        """Write words."""
        self._text(x, y, text, colour=colour)

    def _box(self, x: float, y: float, wide: float, high: float, edge: str, fill: str) -> None:
        style = f"round,pad=0,rounding_size={0.12 * min(wide, high) + 0.02}"
        box = FancyBboxPatch((x, y), wide, high, boxstyle=style)
        box.set(edgecolor=edge, facecolor=fill, linewidth=1.6)
        self.axes.add_patch(box)

    def _text(self, x: float, y: float, text: str, colour: str = theme.FAINT) -> None:
        self.axes.text(x, y, text, ha="center", va="center", fontsize=8, color=colour)


def _question(scene: Scene) -> None:
    scene.phone(1.0, text="pays")
    scene.phone(3.0, text="is paid")
    scene.arrow((1.3, 1.0), (2.7, 1.0), "token")
    scene.access_point(4.6, 1.0, "no network", on=False)
    scene.authority(6.2, 1.0, "authority")
    scene.arrow((7.0, 1.0), (8.0, 1.0))
    scene.bars(8.4, 1.0, (0.7, 0.65, 0.7, 0.3), "who could pay?")


def _table(scene: Scene) -> None:
    scene.phone(1.2, text="phone 0: proposes")
    scene.access_point(3.6, 1.0, "Wi-Fi")
    scene.phone(6.0, text="phone 1: signs")
    scene.arrow((1.6, 1.15), (5.6, 1.15), "block", bend=-0.22)
    scene.arrow((5.4, 0.75), (1.8, 0.75), bend=-0.2)
    scene.arrow((6.6, 1.0), (7.9, 1.0), "events")
    scene.sheet(8.4, text="trace")


def _transports(scene: Scene) -> None:
    scene.phone(1.2)
    scene.access_point(5.0, 1.0, "loses packets")
    scene.phone(8.8)
    scene.arrow((1.6, 1.3), (8.4, 1.3), "UDP: sent once", bend=-0.09, colour=_BLUE)
    scene.arrow((1.6, 0.6), (8.4, 0.6), bend=0.1, colour=_ORANGE)
    scene.arrow((8.4, 0.75), (1.6, 0.75), bend=0.0, colour=_ORANGE, dash=True)
    scene.words(3.0, 0.12, "QUIC: acknowledged, sent again", _ORANGE)


def _reconnecting(scene: Scene) -> None:
    scene.phone(1.2)
    scene.phone(4.8)
    for level in (1.45, 1.15, 0.85, 0.55):
        scene.arrow((1.6, level), (4.4, level), dash=level < 1.0)
    scene.words(3.0, 0.2, "a new connection for every block")
    scene.arrow((5.4, 1.0), (6.6, 1.0))
    for number in range(8):
        x, y = 7.0 + 0.42 * (number % 4), 1.12 - 0.42 * (number // 4)
        scene.axes.add_patch(Rectangle((x, y), 0.34, 0.34, color=_ORANGE))
    scene.words(7.8, 0.35, "8 busy cores")


def _profile(scene: Scene) -> None:
    scene.phone(1.2, text="one phone")
    scene.arrow((1.7, 1.0), (3.0, 1.0))
    scene.sheet(3.6, text="profile")
    scene.arrow((4.2, 1.0), (5.4, 1.0))
    for level, length in ((1.5, 1.8), (1.15, 0.8), (0.8, 2.6), (0.45, 1.3)):
        scene.estimate(6.0 + length, level, 0.25 * length, _BLUE)
    scene.words(7.6, 0.1, "what each operation costs, and its error")


def _loop(scene: Scene) -> None:
    scene.computer(1.3, 1.25, text="this computer")
    scene.arrow((2.2, 1.35), (3.3, 1.35), "probe")
    scene.sheet(3.9, 1.25, text="report, profile")
    scene.arrow((4.5, 1.35), (5.9, 1.35), "simulate")
    scene.bars(6.5, 1.25, (0.6,), "predicted")
    scene.bars(8.4, 1.25, (0.7,), "measured")
    scene.words(7.6, 1.3, "?", theme.INK)
    scene.arrow((1.3, 0.5), (8.5, 0.55), bend=0.05, dash=True)
    scene.words(4.9, 0.05, "trade for real")


def _market(scene: Scene) -> None:
    scene.phone(1.0, text="cheats")
    scene.arrow((1.4, 1.2), (2.9, 1.5), "token")
    scene.arrow((1.4, 0.8), (2.9, 0.55), "the same", colour=theme.BAD)
    scene.small(3.2, 1.5)
    scene.small(3.2, 0.55)
    scene.access_point(4.8, 1.0, "no network", on=False)
    scene.arrow((5.7, 1.3), (7.3, 1.1), "later", dash=True)
    scene.arrow((5.7, 0.7), (7.3, 0.9), dash=True)
    scene.authority(8.0, 1.0, "authority has both")


def _thousand(scene: Scene) -> None:
    for number in range(60):
        column, row = divmod(number, 4)
        scene.small(0.7 + 0.42 * column, 0.45 + 0.37 * row, on=(number * 7) % 10 < _ON)
    scene.words(8.3, 1.2, "dark: on")
    scene.words(8.3, 0.8, "pale: off", scene.off)


def _study(scene: Scene) -> None:
    for row, phone in enumerate(("slow phone", "fast phone")):
        for column, radio in enumerate(("near", "far")):
            x, y = 1.6 + 2.2 * column, 1.45 - 0.9 * row
            scene.small(x, y)
            scene.access_point(x + 0.9, y + 0.02)
            if row:
                scene.words(x + 0.45, 0.08, f"Wi-Fi {radio}")
        scene.words(0.6, 1.45 - 0.9 * row, phone.replace(" ", "\n"))
    scene.arrow((5.2, 1.0), (6.4, 1.0), "several times")
    scene.estimate(8.0, 1.0, 0.7, _ORANGE)
    scene.words(8.0, 0.55, "difference, with an interval")


def _costs(scene: Scene) -> None:
    scene.phone(1.2)
    scene.access_point(3.2)
    scene.phone(5.2)
    for x, text in ((1.2, "sign? verify? store?"), (3.2, "latency?")):
        scene.words(x, 0.25, text)
    scene.arrow((6.0, 1.0), (7.0, 1.0))
    scene.bars(7.5, 1.0, (0.1, 0.25, 0.05, 0.9), "share of the variance")


def _gossip(scene: Scene) -> None:
    scene.phone(1.2, text="has a rumour")
    for level in (1.7, 1.25, 0.8, 0.35):
        scene.arrow((1.6, 1.0), (3.6, level))
        scene.small(3.8, level)
        scene.arrow((4.0, level), (5.4, level), dash=True)
    scene.words(6.3, 1.0, "and so on")
    scene.sheet(8.6, text="your class")


def _town(scene: Scene) -> None:
    for x, text, phones in ((1.2, "home", 2), (3.5, "work", 4), (5.8, "shop", 3)):
        roof = [(x - 0.6, 1.25), (x + 0.6, 1.25), (x, 1.75)]
        scene.axes.add_patch(Polygon(roof, color=_BLUE))
        scene.axes.add_patch(Rectangle((x - 0.5, 0.45), 1.0, 0.8, color="#eef2f6"))
        for number in range(phones):
            scene.small(x - 0.33 + 0.22 * number, 0.75, on=text == "shop")
        scene.words(x, 0.22, text)
    scene.arrow((1.9, 0.8), (2.8, 0.8))
    scene.arrow((4.2, 0.8), (5.1, 0.8))
    scene.access_point(8.2, 1.05, "no LTE at noon", on=False)


SETTINGS: dict[str, tuple[Callable[[Scene], None], str]] = {
    "00": (_question, "A phone pays another with a token without a network; who could pay?"),
    "01": (_table, "Two phones on one Wi-Fi send a block there and back; a trace has the events."),
    "02": (
        _transports,
        "Two phones on a Wi-Fi that loses packets; QUIC sends again, UDP does not.",
    ),
    "03": (_reconnecting, "A phone makes a new connection for every block; its cores are busy."),
    "04": (_profile, "A phone, its profile, and what each operation costs, each with its error."),
    "05": (_loop, "A computer is measured, simulated, and trades for real: are they the same?"),
    "06": (_market, "A phone pays two others with one token; later the authority has both copies."),
    "07": (_thousand, "Many phones, of which some are on and most are off."),
    "08": (_study, "Two phones by two networks, run several times, and a difference with its bar."),
    "09": (_costs, "Two phones and a Wi-Fi, and which of their costs the variance is due to."),
    "10": (_gossip, "A phone tells a rumour to four others, which pass it on as a class says."),
    "11": (
        _town,
        "People go from home to work and to a shop, where phones are on; no LTE at noon.",
    ),
}
"""By the number of a notebook: what draws its picture, and what that shows in words."""


def picture(number: str) -> bytes:
    """Return the picture of a notebook as PNG, 720 pixels wide."""
    from PIL import Image

    draw, _ = SETTINGS[number]
    with print_figures.style():
        figure = Figure(figsize=(_WIDE_IN, _WIDE_IN / 5), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 10), ylim=(-0.1, 2.1))
        axes.set_axis_off()
        draw(Scene(axes))
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=_DOTS_PER_IN, metadata={"Software": None})
    small = io.BytesIO()
    Image.open(file).convert("RGB").quantize(32).save(small, "PNG", optimize=True)
    return small.getvalue()


def attach(path: Path) -> None:
    """Put the picture of a notebook into its first cell, and a line that shows it, once."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    number = path.name[:2]
    first = notebook["cells"][0]
    heading, _, rest = "".join(first["source"]).partition("\n\n")
    if rest.startswith("!["):
        rest = rest.partition("\n\n")[2]
    shown = f"![{SETTINGS[number][1]}](attachment:{NAME})"
    first["source"] = f"{heading}\n\n{shown}\n\n{rest}".splitlines(keepends=True)
    encoded = base64.b64encode(picture(number)).decode()
    first["attachments"] = {NAME: {"image/png": encoded}}
    cell = {key: first[key] for key in sorted(first)}
    notebook["cells"][0] = cell
    text = json.dumps(notebook, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    """Draw the pictures of all notebooks into these."""
    for path in catalog.notebooks():
        if path.suffix == ".ipynb":
            attach(path)
            print(path)


_BLUE, _ORANGE = theme.TRANSPORT_COLOURS["udp"], theme.TRANSPORT_COLOURS["quic_keep"]
_COLOURS = (_BLUE, _ORANGE)
_ON = 4  # of ten phones
_WIDE_IN, _DOTS_PER_IN = 6.0, 120

if __name__ == "__main__":
    main()
