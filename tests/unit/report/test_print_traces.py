"""What plotly express makes is drawn for print, too: the same values at the same places."""

from __future__ import annotations

import numpy as np
import plotly.express as px
import plotly.graph_objects as go
import pytest
from matplotlib.container import BarContainer

from pocketsim.report.paper import print_figures


def drawn(chart):
    with print_figures.style():
        return print_figures.drawn(chart, "", print_figures.SINGLE_IN)


def axes(chart):
    (found,) = drawn(chart).axes
    return found


def points(line):
    return [[float(value) for value in pair] for pair in line.get_xydata()]


@pytest.fixture
def table():
    names = ["p", "q", "p", "q"]
    return {"x": [1, 2, 1, 2], "y": [3, 4, 5, 6], "name": names, "kind": ["a", "a", "b", "b"]}


def test_steps_are_steps(table):
    stepped, straight = (
        axes(px.line(table, x="x", y="y", color="kind", line_shape=shape)).lines
        for shape in ("hv", "linear")
    )
    assert [line.get_drawstyle() for line in stepped] == ["steps-post"] * 2
    assert [line.get_drawstyle() for line in straight] == ["default"] * 2
    assert points(stepped[1]) == [[1, 5], [2, 6]]


def test_many_dots_are_dots_as_few(table):
    few, many = (
        axes(px.scatter(table, x="x", y="y", render_mode=mode)) for mode in ("svg", "webgl")
    )
    assert points(few.lines[0]) == points(many.lines[0]) == [[1, 3], [2, 4], [1, 5], [2, 6]]


def test_errors_lie_along_their_axis(table):
    found = axes(px.scatter(table, x="x", y="name", error_x=[0.5] * 4))
    (bars,) = found.collections
    ends = [segment.tolist() for segment in bars.get_segments()]
    assert ends[0] == [[0.5, 0], [1.5, 0]]
    assert [label.get_text() for label in found.get_yticklabels()] == ["p", "q"]


def test_texts_stand_beside_their_dots(table):
    chart = px.scatter(table, x="x", y="y", text="name").update_traces(textposition="top left")
    texts = axes(chart).texts
    assert [text.get_text() for text in texts] == table["name"]
    assert [text.xy for text in texts] == [(1, 3), (2, 4), (1, 5), (2, 6)]
    assert texts[0].get_ha() == "right"
    assert texts[0].xyann[1] > 0 > texts[0].xyann[0]


@pytest.mark.parametrize("mode", ["group", "relative"])
def test_standing_bars_are_beside_or_above_each_other(table, mode):
    found = axes(px.bar(table, x="name", y="y", color="kind", barmode=mode))
    first, second = (item.patches for item in found.containers if isinstance(item, BarContainer))
    assert [bar.get_height() for bar in (*first, *second)] == [3, 4, 5, 6]
    if mode == "group":
        assert [bar.get_y() for bar in second] == [0, 0]
        assert second[0].get_x() == pytest.approx(first[0].get_x() + first[0].get_width())
    else:
        assert [bar.get_y() for bar in second] == [3, 4]
        assert second[0].get_x() == first[0].get_x()


@pytest.mark.parametrize("orientation", ["h", "v"])
def test_bars_have_their_intervals(orientation):
    along = "x" if orientation == "h" else "y"
    error = {f"error_{along}": {"array": [1.0, 2], "arrayminus": [0.5, 1]}}
    values = {along: [4, 5], "xy".replace(along, ""): ["a", "b"]}
    found = axes(go.Figure(go.Bar(orientation=orientation, **values, **error)))
    (bars,) = found.collections
    side = "xy".index(along)
    ends = [segment[:, side].tolist() for segment in bars.get_segments()]
    assert ends == [[3.5, 5], [4, 7]]


def test_boxes_of_samples_have_their_quartiles():
    values = [0.0, 1, 2, 3, 4, 50]
    found = axes(px.box({"a": values, "b": [2 * value for value in values]}))
    heights = [line.get_ydata().tolist() for line in found.lines]
    q1, median, q3 = np.quantile(values, (0.25, 0.5, 0.75))
    assert [median, median] in heights
    assert [4, 4] in heights, "the whisker ends at the last value near the box"
    assert not any(50 in line for line in heights)
    box = found.patches[0].get_path().vertices[:, 1]
    assert (box.min(), box.max()) == (q1, q3)


def test_strips_have_a_dot_for_each_value(table):
    lines = axes(px.strip(table, x="name", y="y", color="kind")).lines
    assert [sorted(line.get_ydata()) for line in lines] == [[3, 4], [5, 6]]
    assert [[round(x) for x in line.get_xdata()] for line in lines] == [[0, 1], [0, 1]]
    assert max(lines[0].get_xdata()[:1]) < min(lines[1].get_xdata()[:1]), "side by side"


def test_a_rule_is_where_it_was_asked_for(table):
    chart = px.line(table, x="x", y="y").add_vline(1.5, line_dash="dot", annotation_text="here")
    found = axes(chart.add_shape(type="line", x0=1, y0=3, x1=2, y1=6))
    upright, slanted = (line for line in found.lines if line.get_color() == print_figures._FAINT)
    assert upright.get_xdata() == [1.5, 1.5]
    assert upright.get_linestyle() == ":"
    assert points(slanted) == [[1, 3], [2, 6]]
    assert [text.get_text().strip() for text in found.texts] == ["here"]


def test_what_is_hidden_is_not_drawn(table):
    chart = px.line(table, x="x", y="y", color="kind")
    chart.data[0].visible = False
    (line,) = axes(chart).lines
    assert points(line) == [[1, 5], [2, 6]]


def test_a_title_and_that_of_the_legend_are_there(table):
    figure = drawn(px.line(table, x="x", y="y", color="kind", title="A title"))
    assert figure.get_suptitle() == "A title"
    assert figure.legends[0].get_title().get_text() == "kind"
    plain = drawn(px.line(table, x="x", y="y", color="kind").update_layout(showlegend=False))
    assert (plain.get_suptitle(), plain.legends) == ("", [])
    assert figure.get_figheight() > plain.get_figheight()


@pytest.mark.parametrize(("highest", "least"), [(9, 2), (90_000, 5)])
def test_a_logarithmic_axis_has_ticks_to_read_a_value_from(highest, least):
    found = axes(px.scatter(x=[1.5, highest], y=[1, 2], log_x=True))
    low, high = found.get_xlim()
    shown = [tick for tick in found.get_xticks() if low <= tick <= high]
    assert least <= len(shown) <= 7


def test_many_names_have_room():
    names = [f"operation {number}" for number in range(30)]
    few, many = (drawn(px.scatter(x=[1] * n, y=names[:n])).get_figheight() for n in (3, 30))
    assert many > 2 * few


@pytest.mark.parametrize(
    "chart",
    [
        px.pie(values=[1, 2]),
        px.box(x=[1, 2, 3]),
        px.scatter(x=[1, 2], y=[1, 2], facet_col=["a", "b"]),
    ],
    ids=["pie", "lying boxes", "two plots"],
)
def test_what_cannot_be_drawn_is_an_error(chart):
    with pytest.raises(TypeError, match="not drawn for print"):
        drawn(go.Figure(chart))
