"""Plots of pages: scales, ticks, colours and what is drawn."""

import pytest
from bokeh.models.text import PlainText

from distkern.cli.evaluation_page import SHADE
from distkern.show.page import (
    Axis,
    Bars,
    Curve,
    HeatMap,
    Html,
    Plot,
    Plots,
    joined,
    key,
    note,
    page,
    table,
    tiles,
)
from distkern.show.plots import DRESSING, Figure, log_ticks
from distkern.show.style import PALETTE, PAPER, RULE, STYLES

PLAIN = Axis("x")


def shown(*curves, x=PLAIN, y=PLAIN):
    return Figure(Plot("t", x, y, curves))


def heights(figure):
    return list(figure._points.data["y"])


def test_axes_have_the_scales_ticks_and_formats_of_bokeh_for_their_kind():
    kinds = {
        "log": ("LogScale", "FixedTicker", "LogTickFormatter"),
        "bytes": ("LinearScale", "AdaptiveTicker", "NumeralTickFormatter"),
        "date": ("LinearScale", "DatetimeTicker", "DatetimeTickFormatter"),
        "number": ("LinearScale", "BasicTicker", "BasicTickFormatter"),
    }
    for kind, names in kinds.items():
        drawn = shown(Curve("a", [1.0, 200.0], [1000.0, 10.0]), x=Axis("x", kind), y=Axis("y", kind)).figure
        for scale, axis in ((drawn.x_scale, drawn.xaxis[0]), (drawn.y_scale, drawn.yaxis[0])):
            assert tuple(type(part).__name__ for part in (scale, axis.ticker, axis.formatter)) == names
    narrow = shown(Curve("a", [1, 2], [20.0, 50.0]), y=Axis("y", "log")).figure.yaxis[0]
    assert (type(narrow.ticker).__name__, type(narrow.formatter).__name__) == (
        "FixedTicker",
        "BasicTickFormatter",
    )
    # a logarithm needs positive numbers
    assert type(shown(Curve("a", [1, 2], [0.0, 1.0]), y=Axis("y", "log")).figure.y_scale).__name__ == (
        "LinearScale"
    )


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ((0.07, 0.85), [0.1, 0.2, 0.5]),
        ((1.4, 47.0), [2.0, 5.0, 10.0, 20.0]),
        ((0.2, 0.69), [0.2, 0.3, 0.4, 0.5, 0.6]),
        ((0.78, 0.8), [0.78, 0.785, 0.79, 0.795, 0.8]),
        ((2.0, 2.0), [2.0]),
        ((2.0, 3e3), [10.0, 100.0, 1000.0]),
        ((1e-9, 1e3), [1e-9, 1e-7, 1e-5, 1e-3, 0.1, 10.0, 1e3]),
    ],
)
def test_logarithmic_axes_have_few_round_ticks_over_their_whole_length(ends, ticks):
    assert log_ticks(*ends)[0] == ticks


def test_dates_are_milliseconds_as_bokeh_takes_them():
    figure = shown(Curve("a", [0.0, 86400.0], [1.0, 2.0]), x=Axis("day", "date"))
    assert figure._points.data["x"] == [0.0, 86_400_000.0]
    assert figure._hover.tooltips[1] == ("day", "@x{%F %R}")
    assert figure._hover.formatters["@x"] == "datetime"


def test_a_square_plot_has_borders_of_equal_sums_and_a_rug_lies_on_its_axis():
    axis = Axis("x", ends=(0.0, 1.0))
    figure = Figure(Plot("t", axis, axis, [Curve("a", (0, 1), (0, 1))], square=True, rug=(0.25, 0.5)))
    drawn = figure.figure
    assert drawn.aspect_ratio == 1
    assert drawn.min_border_left + drawn.min_border_right == drawn.min_border_top + drawn.min_border_bottom
    assert figure._rug.data == {"x": [0.25, 0.5], "y": [0.0, 0.0]}
    assert (figure._across.start, figure._across.end) == (0.0, 1.0)


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """WCAG 2.2, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(colour, percent, paper):
    pairs = [(int(colour[at : at + 2], 16), int(paper[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round((percent * a + (100 - percent) * b) / 100):02x}" for a, b in pairs)


@pytest.mark.parametrize("paper", [0, 1])
def test_colours_have_contrast_on_light_and_on_dark_paper(paper):
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for name, pair in PALETTE.items():
        assert contrast(pair[paper], PAPER[paper]) >= 4.5, name
    for split in ("train", "test"):
        shaded = mixed(PALETTE[split][paper], SHADE, PAPER[paper])
        assert contrast(PALETTE["ink"][paper], shaded) >= 4.5, split
    # rules are faint, but there
    assert 1.2 < contrast(RULE[paper], PAPER[paper]) < 3


def test_colours_of_curves_follow_the_paper():
    figure = shown(Curve("a", [0, 1], [1.0, 2.0], STYLES["test"]))
    assert figure._lines.data["colour"] == ["test"]
    mapper = figure.figure.renderers[1].glyph.line_color.transform
    assert dict(zip(mapper.factors, mapper.palette, strict=True)) == {
        name: light for name, (light, _) in PALETTE.items()
    }
    assert PALETTE["test"][1] in DRESSING
    assert DRESSING in page("t", [Plots([Plot("t", PLAIN, PLAIN, [Curve("a", [0], [1.0])])])])


@pytest.mark.parametrize(
    "values", [[0.0, 0.0], [-1.0, 5.0], [3.0], [1e-9, 2e-9], [1.0, 1.0 + 1e-6], [5.0, None]]
)
@pytest.mark.parametrize("log", [False, True])
def test_every_point_lies_on_the_canvas(values, log):
    figure = shown(Curve("a", list(range(len(values))), values), y=Axis(kind="log" if log else "number"))
    assert len(heights(figure)) == sum(value is not None for value in values)
    assert all(figure._up.start < y < figure._up.end for y in heights(figure))
    assert all(figure._across.start < x < figure._across.end for x in figure._points.data["x"])


def test_a_figure_draws_again_only_what_has_changed():
    first, again, other = (
        Plot("t", PLAIN, PLAIN, [Curve("a", (0.0, 1.0), (2.0, end))]) for end in (3.0, 3.0, 4.0)
    )
    figure = Figure(first)
    drawn = figure._lines.data
    figure.show(again)
    assert figure._lines.data is drawn
    figure.show(other)
    assert figure._lines.data["ys"] == [[2.0, 4.0]]


def test_words_stand_where_numbers_are_not():
    figure = shown(Curve("a", [0, 2], [1.0, 2.0]), x=Axis("loss", words=("hinge", "odm", "logistic")))
    assert figure._across.factors == ["hinge", "odm", "logistic"]
    assert figure._points.data["x"] == ["hinge", "logistic"]


def test_words_of_users_are_no_formulas():
    figure = Figure(Plot(r"\(t\)", Axis("$$a$$"), PLAIN, [Curve("a", [0, 1], [1.0, 2.0])])).figure
    assert [figure.title.text.text, figure.xaxis[0].axis_label.text] == [r"\(t\)", "$$a$$"]
    assert all(isinstance(text, PlainText) for text in (figure.title.text, figure.xaxis[0].axis_label))


def test_many_points_are_thinned_out_and_have_no_dots():
    figure = shown(Curve("a", range(5000), [float(n) for n in range(5000)]))
    assert len(figure._lines.data["xs"][0]) <= 601
    assert figure._lines.data["xs"][0][-1] == 4999
    assert heights(figure) == []


def test_cells_are_where_they_are_counted_and_darker_the_more_they_hold():
    cells = HeatMap([0, 1, 2, 3], [-1, 0, 1], [[0, 1], [100, 0], [0, 10]], STYLES["train"])
    figure = Figure(Plot("t", Axis("x", within=(0, 6)), Axis(within=(-1, 1)), cells=cells))
    drawn = figure.figure.renderers[0].data_source.data
    assert (drawn["left"], drawn["bottom"], drawn["count"]) == ([0, 1, 2], [0, -1, 0], [1, 100, 10])
    assert drawn["shade"][0] < drawn["shade"][2] < drawn["shade"][1] <= 1.0
    assert figure._across.end > 6
    assert drawn["colour"] == ["train"] * 3
    bars = Figure(
        Plot("t", Axis(), Axis(from_zero=True), cells=Bars([0, 1, 2, 3], [4, 0, 2], STYLES["test"]))
    )
    assert (bars._cells.data["left"], bars._cells.data["top"]) == ([0, 2], [4, 2])
    empty = HeatMap([0, 1], [0, 1], [[0]], STYLES["train"])
    assert Figure(Plot("t", Axis(), Axis(), cells=empty)).figure.renderers[0].data_source.data["left"] == []


def test_only_what_is_html_already_is_not_escaped():
    assert joined("<a>", Html("<b>"), 1, None) == "&lt;a&gt;<b>1-"
    shown = page("<t>", [note("<n>"), tiles({"<k>": "<v>"}), table({"<h>": '"'}, [["<c>"]])])
    for text in (
        "<h1>&lt;t&gt;",
        "&lt;n&gt;",
        "&lt;k&gt;",
        "&lt;v&gt;",
        'title="&#34;"',
        "<td>&lt;c&gt;</td>",
    ):
        assert text in shown


def test_a_key_says_what_the_title_does_not():
    curves = [
        Curve("objective", [0], [1.0]),
        Curve("test", [0], [1.0], STYLES["test"]),
        Curve("", [0], [1.0]),
    ]
    plot = Plot("Objective", Axis(), Axis(), curves)
    assert plot.keys == {"test": STYLES["test"]}
    assert "var(--test)" in key(plot.keys)
    assert "<figcaption>" in page("t", [Plots([plot])])


@pytest.mark.parametrize(
    ("largest", "formatter"),
    [(0.5, "BasicTickFormatter"), (9999.0, "BasicTickFormatter"), (2e7, "CustomJSTickFormatter")],
)
def test_large_and_tiny_numbers_are_written_as_people_do(largest, formatter):
    drawn = shown(Curve("a", [0.0, 1.0], [0.0, largest]))
    assert type(drawn.figure.yaxis[0].formatter).__name__ == formatter
    # Bokeh's own tooltips have exponents
    assert drawn._hover.tooltips[0] == ("", "@label @y{custom}")
    assert set(drawn._hover.formatters) == {"@x", "@y"}


def test_labels_with_all_digits_are_few():
    ticks = [
        shown(Curve("a", [2e7, end], [0.0, 1.0])).figure.xaxis[0].ticker.desired_num_ticks
        for end in (2e7 + 5, 3e7)
    ]
    assert ticks == [2, 5]
