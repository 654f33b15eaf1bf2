"""Pages: well-formed, self-contained, and they say what they were given."""

import re
import time
from dataclasses import asdict
from html.parser import HTMLParser

import pytest

from distkern.cli.job import Job
from distkern.cli.train import run_job
from distkern.core.choices import Compared
from distkern.core.text import in_number, in_time
from distkern.data.dataset import open_dataset
from distkern.data.digits import VirtualDigits
from distkern.data.ingest import write_dataset
from distkern.show.explanation import Dependence, Explanation, Importance
from distkern.show.page import note
from distkern.show.passes import PassTotal
from distkern.show.report import dependence_sections, importance_sections, render, write_report
from distkern.show.stages import gap_ratios, stage_plots
from distkern.show.style import STYLES, short_number

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
PASSES = [PassTotal("gradient", 3, 2.0, 1.5, 4000, 2**20, "workers")]


class Balance(HTMLParser):
    """Fails on a tag that is closed without being open; ``open`` is what is left."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def plot_of(history, title):
    return next(plot for plot in stage_plots(history).plots if plot.title == title)


def titles(history):
    return [plot.title for plot in stage_plots(history).plots]


def test_the_page_is_whole_and_needs_no_network(tmp_path):
    path = tmp_path / "report.html"
    write_report(path, FACTS, HISTORY, PASSES)
    page = path.read_text(encoding="utf-8")
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    written = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.search(r"https?:|<link|<img|@import|url\(", written)
    assert not re.search(r"<script[^>]* src=", page)
    for text in (
        "CSVRG on &lt;digits&gt; &amp; more",
        "3.75 %",
        "n_landmarks",
        "256",
        "True",
        "gradient",
        "<td>2000</td>",
        "<td>1.5 s</td>",
        "15.00 %",
        "1.0 MiB",
        "256.0 MiB",
    ):
        assert text in page
    assert written.count("data-root-id") == 2


def test_a_run_without_history_or_test_split():
    assert "<script" not in render(FACTS, [])
    errors = plot_of([stage | {"test_error": None} for stage in HISTORY], "Error in percent")
    assert list(errors.keys) == ["train"]


def test_gap_ratios_of_linear_convergence():
    objectives = [10 + 8 * 0.5**stage for stage in range(3)] + [10.0]
    assert gap_ratios(objectives) == [None, pytest.approx(0.5), pytest.approx(0.5), None]
    assert gap_ratios([3.0]) == [None]
    assert gap_ratios([3.0, None, 1.0]) == [None, None, None]
    assert gap_ratios([]) == []


def test_a_run_that_finds_its_objective_in_one_go_has_no_gap_ratio():
    def table(*objectives):
        return render(
            FACTS, [{**HISTORY[0], "stage": n, "objective": value} for n, value in enumerate(objectives)]
        )

    assert "ap ratio" in table(4.0, 2.0, 1.5, 1.0)
    # sampled, moved, solved
    assert "ap ratio" not in table(1.0, 1.0, 0.2)


def test_convergence_and_memory_are_in_the_table_of_stages():
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
    assert "F<sub>best</sub>" in page


def test_peaks_of_a_resumed_run_do_not_fall():
    peaks = [{"worker_peak_rss_bytes": w * 2**20, "driver_peak_rss_bytes": 2**20} for w in (0, 7, 3)]
    page = render({}, [stage | peak for stage, peak in zip(HISTORY, peaks, strict=False)])
    assert page.count("<td>7.0 MiB</td><td>1.0 MiB</td>") == 2
    assert "<td>-</td><td>1.0 MiB</td>" in page
    assert "3.0 MiB" not in page


def test_errors_of_real_targets_have_no_percent():
    history = [stage | {"error": "mean squared error"} for stage in HISTORY]
    assert "Root mean squared error" in titles(history)
    page = render({}, history)
    assert '<th scope="col">test rmse</th>' in page
    assert "%" not in re.sub(r"<(style|script).*?</\1>|style=\"[^\"]*\"", "", page, flags=re.S)


def test_what_rows_a_curve_is_of_is_said_by_its_colour():
    kept = ("train", "validation")
    history = [{**stage, "validation_error": 0.25, "test_error": None} for stage in HISTORY]
    assert plot_of(history, "Error in percent").keys == {name: STYLES[name] for name in kept}
    assert len({style.colour for style in STYLES.values()}) == len(STYLES)


def test_errors_of_real_targets_are_drawn_in_the_units_of_the_targets():
    figures = {"error": "mean squared error", "train_error": 3.6e9, "test_error": 4.9e9}
    plot = plot_of([stage | figures for stage in HISTORY], "Root mean squared error")
    assert [list(curve.y)[1:] for curve in plot.curves] == [[60e3] * 3, [70e3] * 3]
    # the first stage has no figures of its own beside the error
    page = render(
        {}, [stage | figures for stage in HISTORY[:2]] + [HISTORY[2] | figures | {"train_rmse": 60e3}]
    )
    assert page.count("<td>60000</td><td>70000</td>") == 2


@pytest.mark.parametrize(
    ("value", "told", "short"),
    [
        (3.6e9, "3.6 G", "3.6G"),
        (-2.5e12, "-2.5 T", "-2.5T"),
        (999_999.7, "1 M", "1M"),
        (123_456.0, "123456", "123.5k"),
        (9999.0, "9999", "9999"),
        (1.5e-7, "1.5e-7", "1.5e-7"),
        (4e20, "4e20", "4e20"),
        (0.0, "0", "0"),
    ],
)
def test_numbers_are_told_in_magnitudes(value, told, short):
    assert (in_number(value), short_number(value)) == (told, short)


def test_real_targets_have_their_own_figures():
    figures = {"error": "mean squared error", "train_error": 3.25**2, "train_mae": 2.5, "train_r2": 0.75}
    page = render({}, [stage | figures for stage in HISTORY] + [HISTORY[0] | figures | {"train_r2": -2e-16}])
    assert "<td>0</td>" in page.split(">train r2<")[1]
    assert "e-16" not in page
    for name, value in (("train rmse", "3.25"), ("train mae", "2.5"), ("train r2", "0.75")):
        assert f'<th scope="col">{name}</th>' in page
        assert f"<td>{value}</td>" in page
    assert '<th scope="col">test mae</th>' not in page


def test_a_solver_s_own_figures_get_columns_and_plots():
    own = [stage | {"margin": 0.1 * stage["stage"], "nu": 0.25, "gamma_note": "text"} for stage in HISTORY]
    assert "Margin" in titles(own)
    page = render({}, own)
    assert '<th scope="col">margin</th>' in page
    assert "At every stage: model size 256, nu 0.25." in page
    assert "gamma_note" not in page


def test_passes_that_do_not_grow_give_way_to_seconds():
    history = [stage | {"passes": 1.0} for stage in HISTORY]
    assert {plot.x.label for plot in stage_plots(history).plots} == {"seconds"}


def test_rounds_are_what_figures_are_drawn_over_and_rows_to_choose_by_have_their_curve():
    own = [stage | {"rounds": 12_500.0 * stage["stage"], "validation_error": 0.125} for stage in HISTORY]
    assert {plot.x.label for plot in stage_plots(own).plots} == {"rounds"}
    assert "Rounds" not in titles(own)
    assert "validation" in plot_of(own, "Error in percent").keys
    page = render({}, own)
    assert "<td>12,500</td>" in page
    # nothing is learned at stage 0
    assert page.count("<td>12.50 %</td>") == len(HISTORY) - 1
    assert '<th scope="col">validation error</th>' in page


def test_a_run_of_many_stages_is_thinned_out():
    page = render({}, [HISTORY[0] | {"stage": number, "passes": number} for number in range(5000)])
    assert page.count("<tr>") == 1 + 60
    assert "60 of 5,000 stages" in page
    assert "<td>4999</td>" in page
    written = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert len(written) < 150_000


def test_passes_say_how_long_the_driver_waited():
    inner = PassTotal("inner loop", 2, 12.0, 7.0, 10, 10)
    reduce = PassTotal("snapshot", 2, 10.0, 10.0, 10, 10)
    assert "The driver spent 17.0 s of the 22.0 s of passes waiting for tasks." in render(
        {}, [], [inner, reduce]
    )
    assert "The driver spent all of the 10.0 s of passes waiting for tasks." in render({}, [], [reduce])


def test_notes_and_warnings_of_the_last_stage_are_shown():
    history = [
        *({**line, "notes": ["chosen: early"]} for line in HISTORY[:-1]),
        {**HISTORY[-1], "notes": ["chosen: |x-y| < 3"], "warnings": ["too early: set stages=9"]},
    ]
    page = render(FACTS, history)
    assert "chosen: |x-y| &lt; 3" in page
    assert "warning: too early: set stages=9" in page
    assert "chosen: early" not in page


@pytest.mark.parametrize(("count", "label"), [(3, "stages"), (4, "seconds")])
def test_stages_that_read_nothing_are_drawn_over_seconds_unless_they_are_few(count, label):
    history = [{**line, "passes": 1.0 if stage == 0 else 3.0} for stage, line in enumerate(HISTORY)][:count]
    assert plot_of(history, "Objective").x.label == label


def test_what_was_chosen_comes_after_what_it_is_worth_and_is_marked():
    compared = (
        Compared("linear", 0.34567),
        Compared("rbf exact, width 3", 0.35, 500, 500),
        Compared("rbf exact, width 3", 0.34, 1000, 1000, chosen=True),
    )
    kept = {"notes": ["algorithm: newton, because of <8> columns"], "candidates": list(map(asdict, compared))}
    page = render(FACTS, [*HISTORY[:-1], {**HISTORY[-1], **kept}], PASSES, [note("worth")])
    order = ['class="tiles"', "worth", "<h2>Chosen model</h2>", "<h2>Stages</h2>"]
    order += ["<h2>Where the time went</h2>", "<h2>Hyperparameters</h2>"]
    places = [page.index(part) for part in order]
    assert places == sorted(places)
    section = page.split("<h2>Chosen model</h2>")[1]
    assert section.strip().startswith('<p class="note">algorithm: newton, because of &lt;8&gt; columns</p>')
    assert "<tr><td>linear</td><td>-</td><td>-</td><td>0.3457</td></tr>" in section
    # candidates of one name differ in what they learned from
    assert "<td>rbf exact, width 3</td><td>500</td><td>500</td>" in section
    row = "<td>rbf exact, width 3</td><td>1,000</td><td>1,000</td><td>0.34</td>"
    assert f'<tr class="chosen">{row}' in section


def test_importances_have_their_spread_and_dependence_the_units_of_its_column():
    curves = (
        Dependence("since", ("2020-01-01", "2021-01-01"), ((0.1, 0.2),), "date", ("2020-06-01",)),
        Dependence("age", (20.0, 60.0), ((0.1, 0.3),), "number", (25.0, 30.0)),
        Dependence("region", ("north", "south"), ((0.1, 0.2),), "category"),
    )
    columns = Importance("since", 0.2, 0.05), Importance("age", 0.1)
    found = Explanation(columns, "log loss", 9, "test", curves=curves, outputs=("",), quantity="probability")
    written = "".join(importance_sections(found))
    assert "0.2000 ± 0.0500" in written
    # from 0.15 to 0.25 of the largest end, 0.25
    assert 'class="spread" style="left:60.0%;width:40.0%"' in written
    assert written.count('class="spread"') == 1
    # both with the digits of the largest one
    assert (
        importance_sections(
            Explanation((Importance("a", 20.4), Importance("b", -1e-9)), "log loss", 9, "test")
        )[-1].count("<td>20.40</td>")
        == 1
    )
    since, age, region = dependence_sections(found)[-1].plots
    # a single output is named above the plots
    assert (since.keys, region.keys) == ({}, {})
    assert (since.x.kind, since.curves[0].x) == ("date", [1577836800.0, 1609459200.0])
    assert (since.rug, age.rug, region.rug) == ([1590969600.0], [25.0, 30.0], ())
    # a model that was saved before kinds were tells words by their type
    assert (curves[2].kind, region.y.words) == ("category", ("south", "north"))


SLOW_SECONDS = 1.0


def stop_after_stage_1(event):
    if event.kind == "stage_finished" and event["metrics"]["stage"] == 0:
        time.sleep(SLOW_SECONDS)
    if event.kind == "checkpoint_saved" and event["stage"] == 1:
        raise OSError("the machine fails")


@pytest.mark.slow
def test_time_and_memory_are_of_all_tries(tmp_path, monkeypatch):
    digits = VirtualDigits(chunk_rows=500)
    write_dataset(digits.chunks(500), tmp_path / "d.zarr", test_chunks=digits.chunks(200, "test"))
    dataset = open_dataset(tmp_path / "d.zarr")
    job = Job(
        algorithm="csvrg",
        data=str(tmp_path / "d.zarr"),
        out=str(tmp_path / "m"),
        scheduler="synchronous",
        params={"n_landmarks": 20, "gamma": 0.3, "stages": 3},
    )
    monkeypatch.setattr("distkern.core.processes.peak_resident_bytes", lambda: 3 * 2**30)
    with pytest.raises(OSError, match="the machine fails"):
        run_job(job, dataset, listeners=[stop_after_stage_1])
    monkeypatch.setattr("distkern.core.processes.peak_resident_bytes", lambda: 2**30)
    _, history = run_job(job, dataset, listeners=[], resume=True)

    assert history[-1]["seconds"] > SLOW_SECONDS
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    run = page.split("<h2>Run</h2>")[1]
    assert f"<td>time of the stages</td><td>{in_time(history[-1]['seconds'])}</td>" in run
    assert "<td>3.0 GiB</td>" in run
    assert "1.0 GiB" not in page
    assert "Since the run was resumed after stage 1, the driver spent" in page
