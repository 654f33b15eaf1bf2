"""What ``evaluate`` prints to a terminal and draws on its page."""

import json
import re
import sys

import numpy as np
import pytest
from rich.console import Console

from distkern.cli.evaluate import confusion_lines
from distkern.cli.evaluation_page import _curves, _probability, _thresholds, evaluation_page, headline, worth
from distkern.cli.facts import mistakes
from distkern.cli.main import main
from distkern.core.choices import Compared
from distkern.data.ingest import write_dataset
from distkern.estimators.svrg import SVRGClassifier, SVRGRegressor
from distkern.runs.evaluation import Evaluation
from distkern.runs.ranking import Calibration, RankedScores

FIGURES = {
    "n": 100,
    "error": 0.25,
    "accuracy": 0.75,
    "balanced_accuracy": 0.5,
    "objective": 1.0,
    "seconds": 2.0,
}


def of_classes(counts, labels=None):
    names = tuple(labels or (f"class {place}" for place in range(len(counts))))
    return Evaluation(FIGURES, names, names, counts)


def printed(evaluation):
    console = Console(width=80, highlight=False, force_terminal=False)
    with console.capture() as capture:
        for line in confusion_lines(evaluation, "test"):
            console.print(line)
    return [line.rstrip() for line in capture.get().splitlines()]


@pytest.mark.parametrize("largest", [9, 999_999_999])
@pytest.mark.parametrize("n_classes", [2, 7, 12])
def test_a_matrix_fits_80_columns(n_classes, largest):
    counts = np.random.default_rng(0).integers(1, largest, (n_classes, n_classes))
    labels = [f"{place}: a class of long name" for place in range(n_classes)]
    lines = printed(of_classes(counts, labels))
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if re.match(r" ?\d+: a", line)]
    assert len(rows) == n_classes
    # no number is cut
    cells = [line.split()[-n_classes:] for line in rows]
    assert all(re.fullmatch(r"[\d,]+|[\d.]+[kM]", cell) for row in cells for cell in row)
    if n_classes == 2:
        assert [[int(cell.replace(",", "")) for cell in row] for row in cells] == counts.tolist()


def test_of_many_classes_the_most_frequent_mistakes():
    counts = np.diag(np.full(20, 50))
    counts[3, 4], counts[7, 2] = 25, 5
    evaluation = of_classes(counts)
    assert mistakes(evaluation, 8) == [
        ("class 3", "class 4", "25", "33.33 %"),
        ("class 7", "class 2", "5", "9.09 %"),
    ]
    assert sum("class" in line for line in printed(evaluation)) == 3


def test_a_label_that_the_model_does_not_know_is_a_mistake():
    evaluation = Evaluation(FIGURES, ("a", "z"), ("a", "b"), np.array([[5, 1], [2, 3]]))
    assert [row[:3] for row in mistakes(evaluation, 9)] == [("z", "b", "3"), ("z", "a", "2"), ("a", "b", "1")]
    page = evaluation_page("m", "Model", {"test": evaluation})
    assert "<tr><td>z</td><td>5</td><td>0.00 %</td><td>-</td><td>0.00 %</td></tr>" in page
    assert "<tr><td>a</td><td>6</td><td>83.33 %</td><td>71.43 %</td><td>76.92 %</td></tr>" in page


def test_rows_of_classes_that_the_model_does_not_know_are_told(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    SVRGClassifier(nu=0.01, features="linear", stages=1, random_state=0).fit(X, y).save(tmp_path / "m")
    for name, labels in (("same", y), ("more", np.where(np.arange(60) < 3, 2, y))):
        write_dataset([(X, labels)], tmp_path / name)
        command = ["evaluate", str(tmp_path / "m"), "--data", str(tmp_path / name), "--split", "train"]
        assert main(command) == 0
        told = "count as errors and are left out of losses: 2 (3)" in capsys.readouterr().err
        assert told == (name == "more")


def test_a_page_of_both_splits_has_curves_of_both():
    generator = np.random.default_rng(1)
    found = {}
    for name in ("test", "train"):
        codes = generator.integers(0, 2, 3000)
        chances = 1 / (1 + np.exp(-generator.standard_normal(3000) - codes))
        with RankedScores() as ranked:
            ranked.add(chances, codes == 1)
            ranking = ranked.ranking()
        told = Calibration.of(np.stack([1 - chances, chances], axis=1), codes)
        counts = np.array([[1000, 500], [400, 1100]])
        found[name] = Evaluation(FIGURES, ("<no>", "yes"), ("<no>", "yes"), counts, ranking, told)
    page = evaluation_page("m on d", "Model", found)
    written = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert written.count("<figure>") == 4
    plots = _curves(found)
    assert [(plot.title, len(plot.curves), plot.square) for plot in plots] == [
        ("ROC curve", 3, True),
        ("Calibration", 3, True),
        ("Test rows by probability", 0, True),
        ("Precision-recall curve", 3, True),
    ]
    # the rows of each bin of the calibration
    assert sum(plots[2].cells.heights) == 3000
    assert "probability of class yes" in page
    assert "<no>" not in page
    assert "&lt;no&gt;" in page
    assert not re.search(r"https?:|<link|<img|@import|url\(", written)
    assert len(written) < 30_000


def test_a_matrix_says_its_axes_its_zeros_and_what_shades_mean():
    page = evaluation_page("m", "Model", {"test": of_classes(np.array([[5, 0], [2, 3]]))})
    matrix = page.split('class="matrix"')[1].split("</table>")[0]
    assert "true\u00a0↓ predicted\u00a0→" in matrix
    assert '<span class="cell none">0</span>' in matrix
    assert [float(share) for share in re.findall(r" (\d+)%, transparent", matrix)] == [55, 35, 43]
    assert "Share of the true class: " in page
    assert "25%</span>" in page


def test_on_phones_a_matrix_of_many_classes_is_a_list_of_its_rows():
    narrow, wide = (np.eye(n, dtype=int) for n in (2, 6))
    assert 'class="matrix"' in evaluation_page("m", "Model", {"test": of_classes(narrow)})
    page = evaluation_page("m", "Model", {"test": of_classes(wide)})
    assert 'class="matrix stacks" style="--column-1:' in page
    assert "--column-7:&#34;class 5&#34;" in page
    assert "table.matrix.stacks td:has(.none) { display: none; }" in page


def test_outliers_are_compared_with_no_base_rate():
    page = evaluation_page("m", "Detector", {"test": Evaluation({"n": 9, "outliers": 0.1, "seconds": 0.2})})
    assert "base rate" not in page
    assert "this model" not in page


def test_what_is_shown_large():
    figures = {"n": 3, "accuracy": 0.5, "auc": 0.123456789, "log_loss": 0.7, "calibration_error": 0.01}
    assert headline({"test": Evaluation(figures)}) == {
        "test AUC": "0.1235",
        "test log loss": "0.7",
        "test calibration error": "0.01",
    }
    real = Evaluation({"n": 3, "rmse": 31606.7, "mae": 0.25, "r2": 0.9})
    assert headline({"test": real}, "price_eur") == {
        "test R²": "0.9",
        "test RMSE (price_eur)": "31,607",
        "test mean absolute error (price_eur)": "0.25",
    }


def test_a_model_stands_beside_the_linear_machine_and_the_base_rate():
    figures = {"n": 3, "error": 0.125, "log_loss": 0.25, "auc": 0.875}
    base = {"error": 0.5, "log_loss": 0.7, "auc": 0.5}
    exact, near = Compared("rbf exact", 0.2, 9, 9, chosen=True, near=True), Compared("linear", 0.1, near=True)
    compared = (Compared("the class shares", 0.69), Compared("linear", 0.41), near, exact)
    html = worth({"test": Evaluation(figures, base=base)}, "", compared, 0.3)
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", html)
    assert [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows] == [
        ["", "log loss", "AUC", "error", "log loss, held-out training rows"],
        ["this model, test rows", "0.25", "0.875", "12.50 %", "0.3"],
        ["linear machine", "-", "-", "-", "0.41"],
        ["base rate, test rows", "0.7", "0.5", "50.00 %", "0.69"],
    ]
    real = Evaluation({"n": 3, "rmse": 2.0, "r2": 0.75}, base={"rmse": 4.0, "r2": 0.0})
    compared = Compared("the mean", 20.0), Compared("linear", 8.0, chosen=True)
    html = worth({"test": real}, "eur", compared)
    assert "<td>always the mean, test rows</td><td>0</td><td>4</td><td>0</td>" in html
    assert "<td>0.75</td><td>2</td><td>0.6</td>" in html
    assert "linear machine" not in html
    # without test rows the held-out rows compare
    cells = re.findall(r"<td>(.*?)</td>", worth({}, "", compared, is_real=True))
    assert cells == ["this model", "0.6", "always the mean", "0"]


def test_thresholds_are_quantiles_of_the_probabilities_with_the_balanced_one_marked():
    generator = np.random.default_rng(5)
    chances = generator.beta(0.5, 8.0, 20_000)
    positive = generator.random(20_000) < chances
    with RankedScores() as ranked:
        ranked.add(np.log(chances / (1 - chances)), positive)
        ranking = ranked.ranking()
    share = float(positive.mean())
    found = Evaluation(
        FIGURES,
        ("no", "yes"),
        ("no", "yes"),
        np.eye(2, dtype=int),
        ranking,
        chances=1 / (1 + np.exp(-ranking.thresholds)),
        balanced=share,
    )
    *_, table = _thresholds("test", found)
    rows = [
        (bool(kind), re.findall(r"<td>(.*?)</td>", row))
        for kind, row in re.findall(r"<tr( class=\"chosen\")?>(.*?)</tr>", table)[1:]
    ]
    [marked] = [cells for chosen, cells in rows if chosen]
    assert marked[0] == f"{share:.3g}, balanced"
    for _, cells in rows:
        at = float(cells[0].partition(",")[0])
        said = chances >= at
        shown = [float(cell.removesuffix(" %")) / 100 for cell in cells[1:]]
        true = [said.mean(), said[positive].mean(), positive[said].mean(), (said != positive).mean()]
        # a listed threshold is within a 256th of either rate
        assert shown[:2] == pytest.approx(true[:2], abs=0.006)
        assert shown[3] == pytest.approx(true[3], abs=0.006)
    # rare probabilities are told apart: no threshold is listed twice, and quantiles lie far below 0.5
    assert len({cells[0] for _, cells in rows}) == len(rows) >= 12
    assert sum(float(cells[0].partition(",")[0]) < 0.2 for _, cells in rows) >= 8


def test_thresholds_near_1_differ():
    shown = [
        _probability(value) for value in (0.0123456, 0.5, 0.98765, 0.999934, 0.9999951, 1.0 - 1e-12, 1.0)
    ]
    assert shown == ["0.0123", "0.5", "0.988", "0.999934", "0.9999951", "1", "1"]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    features = np.random.default_rng(2).standard_normal((400, 2))
    targets = 1e6 * (5 + features[:, 0])
    data = write_dataset(
        [(features, targets)], folder / "d.zarr", task="regression", scale="none", test_fraction=0.25
    )
    SVRGRegressor(features="linear", stages=2, random_state=0).fit(data.train).save(folder / "m")
    return folder / "m", folder / "d.zarr"


def test_both_splits_of_a_regression(numbers, tmp_path, capsys):
    model, data = map(str, numbers)
    page = tmp_path / "page.html"
    base = ["evaluate", model, "--data", data, "--scheduler", "synchronous"]
    assert main([*base, "--split", "both", "--html", str(page)]) == 0
    both = json.loads(capsys.readouterr().out)
    assert (both["train"]["n"], both["test"]["n"]) == (300, 100)
    assert main(base) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone.pop("seconds") >= 0
    assert alone == {name: value for name, value in both["test"].items() if name != "seconds"}
    drawn = page.read_text(encoding="utf-8")
    assert drawn.count("<figure>") == 2
    # the tiles are of the test rows, and the table below marks them
    assert "test RMSE (target)" in drawn
    assert "train RMSE (target)" not in drawn
    assert '<tr class="chosen"><td>this model, test rows</td>' in drawn
    assert "Predicted against true, test rows" in drawn


@pytest.mark.parametrize(("page", "told"), [("none/page.html", "there is no folder"), (".", "is a folder")])
def test_a_page_that_cannot_be_written_is_refused_first(numbers, tmp_path, capsys, page, told):
    place = str(tmp_path / page)
    assert main(["evaluate", "no model", "--data", str(numbers[1]), "--html", place]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "--html" in line
    assert told in line


def test_a_terminal_gets_tables(tmp_path, monkeypatch, capsys):
    generator = np.random.default_rng(3)
    features = generator.standard_normal((300, 2))
    # names of users are no markup of Rich's
    labels = np.where(features[:, 0] > 0, "[/]up", "[red]:smile:")
    data = write_dataset([(features, labels)], tmp_path / "d.zarr", scale="none", test_fraction=0.2)
    SVRGClassifier(features="linear", loss="logistic", random_state=0).fit(data.train).save(tmp_path / "m")
    base = ["evaluate", str(tmp_path / "m"), "--data", str(tmp_path / "d.zarr"), "--scheduler", "synchronous"]
    assert main([*base, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["labels"] == record["predicted"] == ["[/]up", "[red]:smile:"]
    assert np.sum(record["confusion"]) == 60
    assert {"auc", "average_precision", "log_loss", "calibration_error"} <= record.keys()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main([*base, "--split", "both"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(re.fullmatch(r" log loss +[\d.]+ +[\d.]+ *", line) for line in lines)
    for name, n_rows in (("train", 240), ("test", 60)):
        start = next(place for place, line in enumerate(lines) if line.startswith(f"{name} rows: true class"))
        rows = [
            line
            for line in lines[start : start + 8]
            if re.match(r" (\[/\]up|\[red\]:smi…) +\S+ +\S+ *$", line)
        ]
        cells = [line.split()[1:] for line in rows]
        assert sum(int(cell) for row in cells[-2:] for cell in row if cell != ".") == n_rows
