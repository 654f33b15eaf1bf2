"""Reports and figures of the workflows: the same content on both pages, and points where they belong."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from workflows.curves import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, draw
from workflows.report import Plot, Table, spread, write

_SVG = "{http://www.w3.org/2000/svg}"


def _pairs(element, name="points"):
    return [tuple(map(float, pair.split(","))) for pair in element.get(name).split()]


def test_both_pages_have_what_is_given(tmp_path):
    table = Table("A < B", "First **bold**.\n\nSecond `code`.", ("name", "error"), [("a|b", "1 < 2")])
    plot = Plot("figure", "Figure", "x", "y", {"one": [(1.0, 2.0), (10.0, 1.0)]})
    markdown, page = write("Title", "Made today.", [(table, [plot]), (Table("Words", "alone"), ())], tmp_path)
    text, whole = markdown.read_text(), page.read_text()
    assert text.startswith("# Title\n\nMade today.\n\n## A < B\n")
    assert "| a\\|b | 1 < 2 |\n\n![Figure](figure.svg)" in text
    assert re.search(r"<p[^>]*>First <b>bold</b>.</p>\s*<p[^>]*>Second <code>code</code>.</p>", whole)
    assert ">1 &lt; 2</" in whole
    # a section of words has no table
    assert whole.count("<table") == whole.count("<svg") == 1
    assert text.endswith("## Words\n\nalone\n")


def test_spread_is_that_of_a_sample():
    values = [84.0, 84.4, 84.9]
    assert spread(values, 2) == f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}"
    assert spread([3.14159], 2) == "3.14"


@pytest.mark.parametrize("log", [True, False])
def test_bands_and_lines_are_where_the_axes_say(tmp_path, log):
    line = [(1.0, 1.0), (10.0, 3.0), (100.0, 10.0)]
    band = {"one": [(x, 0.5 * y, 2.0 * y) for x, y in line]}
    draw(tmp_path / "a.svg", "t", "x", "y", {"one": line}, log_x=log, log_y=log, bands=band)
    root = ET.parse(tmp_path / "a.svg").getroot()
    (drawn,), (area,) = root.findall(f"{_SVG}polyline"), root.findall(f"{_SVG}polygon")
    places, corners = _pairs(drawn), _pairs(area)
    assert len(corners) == 6
    for x, y in [*places, *corners]:
        assert LEFT <= x <= WIDTH - RIGHT + 0.1
        assert TOP - 0.1 <= y <= HEIGHT - BOTTOM + 0.1
    # the middle point: half way on a logarithmic axis, at its share of a plain one
    shares = (np.log(10) / np.log(100)) if log else 9 / 99
    width = places[2][0] - places[0][0]
    assert (places[1][0] - places[0][0]) / width == pytest.approx(shares, abs=1e-3)
    # least below the line, greatest above it
    assert corners[1][1] > places[1][1] > corners[4][1]


def test_ticks_below_all_points_are_where_the_axis_says(tmp_path):
    draw(tmp_path / "a.svg", "t", "x", "y", {"one": [(1.0, 7.0), (2.0, 300.0)]})
    root = ET.parse(tmp_path / "a.svg").getroot()
    # lines across are ticks of y: 3, 10, 30, 100, 300
    ticks = sorted(
        {float(one.get("y1")) for one in root.findall(f"{_SVG}line") if one.get("stroke") == "#ddd"}
    )
    assert len(ticks) == 5
    ratios = np.diff(ticks) / np.log([300 / 100, 100 / 30, 30 / 10, 10 / 3])
    np.testing.assert_allclose(ratios, ratios[0], rtol=0.01)


def test_no_errors_at_all_are_drawn_on_a_logarithmic_axis(tmp_path):
    draw(tmp_path / "a.svg", "t", "x", "y", {"one": [(1.0, 0.0), (2.0, 0.1)]})
    (drawn,) = ET.parse(tmp_path / "a.svg").getroot().findall(f"{_SVG}polyline")
    assert np.isfinite(_pairs(drawn)).all()
