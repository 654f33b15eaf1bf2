"""The page in a real browser, where one is: points appear while a run goes on, and after a reload."""

import shutil

import pytest
from runs_of_dashboard import a_pass, event, metrics, started

from distkern.engine.events import EventLog
from distkern.show.live.forward import Forwarder
from distkern.show.live.preload import install
from distkern.show.page import Axis, Curve, Html, Plot, Plots, page, table, tiles
from distkern.show.report import write_report
from distkern.show.style import PALETTE, STYLES

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine")

#: points of the figure of that name, as the browser has them
POINTS = """
name => {
  const figure = Bokeh.documents[0].roots().find(root => root.name == name);
  return figure ? figure.renderers.at(-1).data_source.get("x").length : -1;
}
"""


@pytest.fixture(scope="module")
def tab():
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": 420, "height": 800})
        browser.close()


def points(tab, name, at_least):
    """Wait for that many points; return how many there are."""
    tab.wait_for_function(f"count => ({POINTS})('{name}') >= count", arg=at_least, timeout=30_000)
    return int(tab.evaluate(POINTS, name))


def send(emit, record):
    emit(record["kind"], **record["fields"])


@pytest.mark.slow
def test_points_appear_while_a_run_goes_on(client, tab):
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    url = install(client)
    emit = EventLog([Forwarder(client, {"id": "live", "algorithm": "csvrg", "data": "d.zarr"})]).emit
    send(emit, started())
    tab.goto(url)
    tab.wait_for_selector("canvas", timeout=60_000)
    assert points(tab, "objective", 0) == 0
    for stage in range(3):
        for record in a_pass(0.0, stage):
            send(emit, record)
        send(emit, event("stage_finished", 0.0, metrics=metrics(stage)))
        assert points(tab, "objective", stage + 1) == stage + 1
    # the errors of stage 0 are of no model
    assert points(tab, "error", 4) == 4
    tab.get_by_text("2 of 4", exact=True).wait_for()
    tab.reload()
    tab.wait_for_selector("canvas", timeout=60_000)
    assert points(tab, "objective", 3) == 3
    # usable in a narrow window: nothing sticks out
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    other = EventLog([Forwarder(client, {"id": "second", "algorithm": "simba"})]).emit
    send(other, started())
    send(other, event("stage_finished", 0.0, metrics=metrics(0)))
    # the newest run takes the place of the one before it
    tab.wait_for_function(f"({POINTS})('objective') == 1", timeout=30_000)
    assert errors == []


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.slow), 400])
def test_a_written_page_draws_its_plots_without_a_network(tab, tmp_path, width):
    write_report(tmp_path / "report.html", {"headline": {"rows": 3}}, [metrics(stage) for stage in range(3)])
    asked = []
    errors = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.set_viewport_size({"width": width, "height": 800})
    tab.goto(f"file://{tmp_path}/report.html")
    tab.wait_for_selector("figure canvas", timeout=30_000)
    assert tab.evaluate("Bokeh.documents[0].roots().length") == tab.locator("figure").count() == 4
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert asked == [f"file://{tmp_path}/report.html"]
    assert errors == []


#: sides of the frames of square plots, and tiles whose number takes more than a line
SQUARES = """
() => [...Bokeh.index].filter(view => view.model.aspect_ratio == 1)
  .map(view => [view.frame.bbox.width, view.frame.bbox.height])
"""
BROKEN = """
() => [...document.querySelectorAll(".tile b")]
  .filter(one => one.offsetHeight > 1.9 * parseFloat(getComputedStyle(one).fontSize))
  .map(one => one.innerText)
"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), pytest.param(400, "dark")])
def test_plots_are_square_numbers_in_one_piece_and_colours_those_of_the_paper(tab, tmp_path, width, scheme):
    axis = Axis("probability", ends=(0.0, 1.0))
    plots = Plots([Plot("t", axis, axis, [Curve("test", (0, 1), (0, 1), STYLES["test"])], square=True)] * 2)
    shown = {"test RMSE (price_eur)": "1,234,567,890", "time": "12 h 34 min"}
    (tmp_path / "page.html").write_text(page("t", [tiles(shown), plots]), encoding="utf-8")
    tab.set_viewport_size({"width": width, "height": 800})
    tab.emulate_media(color_scheme=scheme)
    tab.goto(f"file://{tmp_path}/page.html")
    tab.wait_for_selector("figure canvas", timeout=30_000)
    place = list(PALETTE).index("test")
    wanted = PALETTE["test"][scheme == "dark"]
    palette = "Bokeh.documents[0].roots()[0].renderers[1].glyph.line_color.transform.palette"
    tab.wait_for_function(f"() => {palette}[{place}] == '{wanted}'", timeout=30_000)
    sides = tab.evaluate(SQUARES)
    assert len(sides) == 2
    assert all(abs(across / up - 1) < 0.04 for across, up in sides)
    assert tab.evaluate(BROKEN) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    tab.emulate_media(color_scheme="light")


#: tables that are wider than their place, and whether their place shows it
WIDE = """
() => {
  const found = [];
  const look = root => {
    for (const element of root.querySelectorAll("*")) {
      if (element.matches(".scroll") && element.scrollWidth > element.clientWidth + 1)
        found.push([element.innerText.split("\\n")[0], getComputedStyle(element).backgroundImage]);
      if (element.shadowRoot) look(element.shadowRoot);
    }
  };
  look(document);
  return found;
}
"""


@pytest.mark.slow
def test_tables_fit_a_window_of_1100_pixels_and_show_where_they_scroll(client, tab):
    url = install(client)
    facts = {"id": "wide", "algorithm": "csvrg", "data": "covtype.zarr", "out": "model"}
    emit = EventLog([Forwarder(client, facts)]).emit
    send(emit, started())
    figures = metrics(22, objective=0.693147, model_size=16384, passes=123.456, seconds=754.0)
    for record in (*a_pass(0.0, 22), event("stage_finished", 0.0, metrics=figures)):
        send(emit, record)
    loop = {"name": "inner loop", "stage": 22, "seconds": 712.0, "rows": 10**7, "bytes": 2**31, "mode": ""}
    send(emit, event("pass_finished", 1.0, split_seconds={"loop": 312.5, "prepare": 99.9}, **loop))
    tab.set_viewport_size({"width": 1100, "height": 800})
    tab.goto(url)
    tab.wait_for_selector("canvas", timeout=60_000)
    tab.get_by_text("inner loop").wait_for()
    assert tab.evaluate(WIDE) == []
    tab.set_viewport_size({"width": 420, "height": 800})
    tab.wait_for_function(f"() => ({WIDE})().length == 0", timeout=30_000)


def test_rows_of_wide_tables_are_stacked_on_phones_and_show_elsewhere_where_they_scroll(tab, tmp_path):
    names = ["stage", "objective", "train error", "test error", "worker peak", "driver peak", "a long name"]
    rows = [[number, *(f"1,234.5{number} MiB" for _ in names[1:])] for number in range(3)]
    cells = [
        "label",
        *(f"1,234.5{number} MiB" for number in range(19)),
        Html('<span class="cell none">0</span>'),
    ]
    matrix = table(names * 3, [cells] * 2, "matrix")
    parts = [table(names, rows, chosen=1, sortable=True), table(names[:5], [row[:5] for row in rows]), matrix]
    (tmp_path / "page.html").write_text(page("t", parts), encoding="utf-8")
    tab.goto(f"file://{tmp_path}/page.html")
    tab.set_viewport_size({"width": 1100, "height": 800})
    wide = "table:nth-of-type(1) tr:nth-child(3) td:nth-child(2)"
    assert tab.locator(wide).first.evaluate("cell => getComputedStyle(cell).display") == "table-cell"
    (first, image), *others = tab.evaluate(WIDE)
    assert (first.split("\t")[0], others) == ("stage", [])
    assert image.count("linear-gradient") == 4
    tab.set_viewport_size({"width": 400, "height": 800})
    assert tab.evaluate(WIDE) == []
    of_matrix = tab.locator("table.matrix tr").last.locator("td")
    shown = "cells => cells.map(cell => getComputedStyle(cell).display)"
    assert of_matrix.evaluate_all(shown) == ["block", *["flex"] * 19, "none"]
    assert of_matrix.first.evaluate("cell => getComputedStyle(cell, '::after').content") == '", predicted as"'
    # each cell has the name of its column, and a heading still sorts
    named = "cell => getComputedStyle(cell, '::before').content"
    assert tab.locator(wide).first.evaluate(named) == '"objective"'
    for _ in range(2):
        tab.get_by_text("stage", exact=True).first.click()
    assert tab.locator("table").first.locator("td").first.inner_text().strip() == "2"
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.slow
def test_the_arrow_of_a_menu_has_the_colour_of_the_text(client, tab):
    url = install(client)
    tab.goto(url)
    tab.wait_for_selector("canvas", timeout=60_000)
    shown = "menu => [getComputedStyle(menu).appearance, getComputedStyle(menu).backgroundImage]"
    assert tab.locator("select").last.evaluate(shown) == ["auto", "none"]
    tab.goto("about:blank")
