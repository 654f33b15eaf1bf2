"""The report: well-formed, self-contained, and says what it was given."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from distkern.monitor.look import axis_number, short_number
from distkern.monitor.plots import IDEAL, Line, binary_ticks, cell_plot, line_plot, linear_ticks, log_ticks
from distkern.monitor.recorder import PassTotal
from distkern.monitor.report import render, write_report
from distkern.monitor.stages import gap_ratios
from distkern.monitor.text import in_number

HISTORY = [
    {
        "stage": stage,
        "passes": 0.5 + 2 * stage,
        "seconds": 3.0 + stage,
        "objective": 10.0 + 8.0 * 0.5**stage,
        "train_error": 0.2 * 0.5**stage,
        "test_error": 0.3 * 0.5**stage,
        "model_size": 256,
        "feature_accesses": 10,
        "rows_read": 10,
        "bytes_read": 2**20,
        "peak_rss_bytes": 2**28,
    }
    for stage in range(4)
]
FACTS = {
    "title": "CSVRG on <digits> & more",
    "summary": "10 rows",
    "headline": {"test error": "3.75 %"},
    "Hyperparameters": {
        "kernel": "rbf",
        "gamma": 0.1,
        "n_landmarks": 256,
        "diameter": None,
        "projection": True,
    },
}
PASSES = [PassTotal("gradient", 3, 2.0, 4000, 2**20, "workers", {"read": 0.5})]


class Balance(HTMLParser):
    """Fails on a tag that is closed without being open; ``open`` is what is left."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_no_network(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(path, FACTS, HISTORY, PASSES)
    page = path.read_text(encoding="utf-8")
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(", page)
    for text in (
        "CSVRG on &lt;digits&gt; &amp; more",
        "3.75 %",
        "n_landmarks",
        "256",
        "True",
        "gradient",
        "2,000",
        "read 0.5",
        "15.00 %",
        "1.0 MiB",
        "256.0 MiB",
    ):
        assert text in page
    assert page.count("<svg") == 2


def test_a_run_without_history_or_test_split() -> None:
    assert "<svg" not in render(FACTS, [])
    page = render(FACTS, [stage | {"test_error": None} for stage in HISTORY])
    assert "test</text>" not in page


def test_gap_ratios_of_linear_convergence() -> None:
    objectives = [10 + 8 * 0.5**stage for stage in range(3)] + [10.0]
    assert gap_ratios(objectives) == [None, pytest.approx(0.5), pytest.approx(0.5), None]
    assert gap_ratios([3.0]) == [None]
    assert gap_ratios([3.0, None, 1.0]) == [None, None, None]
    assert gap_ratios([]) == []


def test_a_run_that_finds_its_objective_in_one_go_has_no_gap_ratio() -> None:
    def table(*objectives: float) -> str:
        return render(
            FACTS, [{**HISTORY[0], "stage": n, "objective": value} for n, value in enumerate(objectives)]
        )

    assert "ap ratio" in table(4.0, 2.0, 1.5, 1.0)
    # sampled, moved, solved
    assert "ap ratio" not in table(1.0, 1.0, 0.2)


def points(svg: str) -> list[tuple[float, float]]:
    root = ElementTree.fromstring(svg)
    return [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter("circle")]


def test_a_logarithmic_axis_makes_a_geometric_sequence_a_straight_line() -> None:
    svg = line_plot("t", "x", [0, 1, 2, 3], [Line("a", [1000.0, 100.0, 10.0, 1.0])], log=True)
    heights = [y for _, y in points(svg)]
    steps = [b - a for a, b in pairwise(heights)]
    assert steps[0] > 0
    assert max(steps) - min(steps) < 0.2


@pytest.mark.parametrize(
    "values", [[0.0, 0.0], [-1.0, 5.0], [3.0], [1e-9, 2e-9], [1.0, 1.0 + 1e-6], [5.0, None]]
)
@pytest.mark.parametrize("log", [False, True])
def test_every_point_lies_on_the_canvas(values: list[float | None], log: bool) -> None:
    svg = line_plot("t", "x", list(range(len(values))), [Line("a", values)], log=log)
    found = points(svg)
    assert len(found) == sum(value is not None for value in values)
    assert all(0 <= x <= 460 and 0 <= y <= 260 for x, y in found)
    assert svg.count("<text") >= 4


def test_curves_with_places_of_their_own() -> None:
    lines = [Line("a", [0.0, 1.0], [0.0, 0.5]), Line("", [0.0, 1.0], [0.0, 1.0], IDEAL)]
    svg = line_plot("t", "x", (), lines)
    (left, bottom), (middle, top) = points(svg)
    ends = [float(text) for text in re.findall(r'points="([\d. ,]+)"', svg)[0].replace(",", " ").split()]
    assert ends[:2] == [left, bottom]
    assert ends[3] == top
    assert middle - left == pytest.approx((ends[2] - left) / 2, abs=0.1)
    assert "</text>" not in svg.split("polyline")[1]


def test_cells_are_where_they_are_counted_and_darker_the_more_they_hold() -> None:
    counts = [[0, 1], [100, 0], [0, 10]]
    svg = cell_plot("t", "x", [0, 1, 2, 3], [-1, 0, 1], counts, within=(0, 6, -1, 1))
    shades = dict(re.findall(r'fill-opacity="([\d.]+)" d="([^"]+)"', svg))
    assert sorted(map(float, shades)) == list(map(float, shades))
    corners = [tuple(map(float, re.findall(r"[\d.]+", path)[:2])) for path in shades.values()]
    (first, _), (third, _), (second, lowest) = corners
    assert third - second == pytest.approx(second - first, abs=0.11)
    assert lowest == max(y for _, y in corners)
    assert second < 460 / 2
    assert cell_plot("t", "x", [0, 1], [0, 1], [[0]]) == ""


def test_nothing_to_draw() -> None:
    assert line_plot("t", "x", [0], [Line("a", [None])]) == ""


def test_convergence_and_memory_are_in_the_table_of_stages() -> None:
    known = {"passes": 1.0, "seconds": 1.0, "train_error": 0.1, "model_size": 3}
    memory = {"worker_peak_rss_bytes": 3 * 2**20, "driver_peak_rss_bytes": 5 * 2**20}
    history = [
        known | memory | {"stage": stage, "objective": 1.0 + 4.0**-stage, "change": 0.5**stage}
        for stage in range(3)
    ]
    page = render({}, [*history, history[-1] | {"stage": 3, "objective": 1.0}])
    row = "<td>1.25</td><td>0.25</td><td>0.5</td>"
    assert row in page
    assert "<td>3.0 MiB</td><td>5.0 MiB</td>" in page
    assert "F<sub>end</sub>" in page


def test_peaks_of_a_resumed_run_do_not_fall() -> None:
    peaks = [{"worker_peak_rss_bytes": w * 2**20, "driver_peak_rss_bytes": 2**20} for w in (0, 7, 3)]
    page = render({}, [stage | peak for stage, peak in zip(HISTORY, peaks, strict=False)])
    assert page.count("<td>7.0 MiB</td><td>1.0 MiB</td>") == 2
    assert "<td>-</td><td>1.0 MiB</td>" in page
    assert "3.0 MiB" not in page


def test_mean_squared_errors_have_no_percent() -> None:
    page = render({}, [stage | {"error": "mean squared error"} for stage in HISTORY])
    assert "Mean squared error" in page
    assert '<th scope="col">test mse</th>' in page
    assert "%" not in page.split("</style>")[1]


def test_what_rows_a_curve_is_of_is_said_by_its_colour() -> None:
    lines = ("train", "test", "validation")
    colours = {}
    for kept in (lines, ("train", "validation")):
        errors = [f"{name}_error" for name in kept]
        history = [
            {name: stage[name] for name in ("stage", "passes", "seconds", "objective", "peak_rss_bytes")}
            | dict.fromkeys(errors, 0.25)
            for stage in HISTORY
        ]
        page = render({}, history)
        for name in kept:
            found = re.search(rf'stroke="(#\w+)"[^>]*/><text[^>]*>{name}<', page)
            assert found is not None
            colours.setdefault(name, set()).add(found[1])
    assert all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == 3


def test_errors_of_real_targets_are_drawn_in_the_units_of_the_targets() -> None:
    figures = {"error": "mean squared error", "train_rmse": 60e3, "train_error": 3.6e9, "test_error": 4.9e9}
    page = render({}, [stage | figures for stage in HISTORY])
    assert "Root mean squared error" in page
    ticks = [float(text) for text in re.findall(r'text-anchor="end">(\d+)<', page)]
    assert any(60e3 <= tick <= 70e3 for tick in ticks)


@pytest.mark.parametrize(
    ("value", "told", "short", "axis"),
    [
        (3.6e9, "3.6 G", "3.6G", "3.6G"),
        (-2.5e12, "-2.5 T", "-2.5T", "-2.5T"),
        (999_999.7, "1 M", "1M", "1M"),
        (123_456.0, "123456", "123.5k", "123456"),
        (9999.0, "9999", "9999", "9999"),
        (1.5e-7, "1.5e-7", "1.5e-7", "1.5e-7"),
        (4e20, "4e20", "4e20", "4e20"),
        (0.0, "0", "0", "0"),
    ],
)
def test_numbers_are_told_in_magnitudes(value: float, told: str, short: str, axis: str) -> None:
    assert (in_number(value), short_number(value), axis_number(value)) == (told, short, axis)


def test_real_targets_have_their_own_figures() -> None:
    figures = {"error": "mean squared error", "train_rmse": 3.25, "train_mae": 2.5, "train_r2": 0.75}
    page = render({}, [stage | figures for stage in HISTORY] + [HISTORY[0] | figures | {"train_r2": -2e-16}])
    assert "<td>0</td>" in page.split("train r2")[1]
    assert "e-16" not in page
    for name, value in (("train rmse", "3.25"), ("train mae", "2.5"), ("train r2", "0.75")):
        assert f'<th scope="col">{name}</th>' in page
        assert f"<td>{value}</td>" in page
    assert '<th scope="col">test mae</th>' not in page


def test_a_solver_s_own_figures_get_columns_and_plots() -> None:
    own = [stage | {"margin": 0.1 * stage["stage"], "nu": 0.25, "gamma_note": "text"} for stage in HISTORY]
    page = render({}, own)
    assert ">Margin</text>" in page
    assert '<th scope="col">margin</th>' in page
    assert "At every stage: model size 256, nu 0.25." in page
    assert "gamma_note" not in page


def test_passes_that_do_not_grow_give_way_to_seconds() -> None:
    page = render({}, [stage | {"passes": 1.0} for stage in HISTORY])
    assert ">seconds</text>" in page
    assert "passes over the data" not in page


def test_rounds_are_what_figures_are_drawn_over_and_rows_to_choose_by_have_their_curve() -> None:
    own = [stage | {"rounds": 12_500.0 * stage["stage"], "validation_error": 0.125} for stage in HISTORY]
    page = render({}, own)
    assert ">rounds</text>" in page
    assert ">Rounds</text>" not in page
    assert ">12.5k</text>" in page
    assert "<td>12,500</td>" in page
    assert ">validation</text>" in page
    # nothing is learned at stage 0
    assert page.count("<td>12.50 %</td>") == len(HISTORY) - 1
    assert '<th scope="col">validation error</th>' in page


def test_a_run_of_many_stages_is_thinned_out() -> None:
    page = render({}, [HISTORY[0] | {"stage": number, "passes": number} for number in range(5000)])
    assert page.count("<tr>") == 1 + 60
    assert "60 of 5,000 stages" in page
    assert "<td>4999</td>" in page
    assert len(page) < 150_000


def test_who_waited_for_whom() -> None:
    split = {"read": 1.0, "prepare": 6.0, "wait": 7.0, "loop": 3.0}
    inner = PassTotal("inner loop", 2, 12.0, 10, 10, "", split)
    reduce = PassTotal("snapshot", 2, 10.0, 10, 10, "", {"read": 1.0, "work": 15.0})
    page = render({}, [], [inner, reduce])
    assert "In 22.0 s of passes the driver waited for tasks 77&nbsp;% of the time" in page
    assert "loop 3.0, waits 7.0, other 2.0" in page
    assert "read 1.0, work 15.0" in page


def test_ticks() -> None:
    assert linear_ticks(0, 10) == [0, 2.5, 5, 7.5, 10]
    assert log_ticks(60, 250) == [50, 100, 150, 200, 250]
    assert log_ticks(60, 350) == [50, 100, 200, 500]
    assert log_ticks(1e-9, 1.0) == pytest.approx([1e-9, 1e-7, 1e-5, 1e-3, 0.1, 10.0])
    assert binary_ticks(700 * 2**20) == [200 * 2**20 * step for step in range(5)]


def test_notes_and_warnings_of_the_last_stage_are_shown() -> None:
    history = [
        *({**line, "notes": ["chosen: early"]} for line in HISTORY[:-1]),
        {**HISTORY[-1], "notes": ["chosen: |x-y| < 3"], "warnings": ["too early: set stages=9"]},
    ]
    page = render(FACTS, history)
    assert "chosen: |x-y| &lt; 3" in page
    assert "warning: too early: set stages=9" in page
    assert "chosen: early" not in page


@pytest.mark.parametrize(("count", "label"), [(3, "stages"), (4, "seconds")])
def test_stages_that_read_nothing_are_drawn_over_seconds_unless_they_are_few(count: int, label: str) -> None:
    history = [{**line, "passes": 1.0 if stage == 0 else 3.0} for stage, line in enumerate(HISTORY)][:count]
    svg = render(FACTS, history).split("<svg")[1].split("</svg>")[0]
    assert f">{label}</text>" in svg
