"""What README shows works as it is written, and its figures are those of the reports."""

import re
from pathlib import Path

import pytest

from distkern.data.digits import VirtualDigits
from distkern.data.ingest import write_dataset
from pages import Reader, blocks, write_examples

REPORT = Path("workflows/defaults/reports/beside.md")
BENCHMARKS = Path("workflows/benchmarks/reports/report.md")


@pytest.fixture
def readme(repository):
    return repository / "README.md"


def cells(text, *starts):
    """The cells of the lines of a table of which the first ones are these, without what is bold of them."""
    rows = [
        line.replace("**", "").strip().strip("|").split(" | ") for line in text.splitlines() if "|" in line
    ]
    found = [[cell.strip() for cell in row] for row in rows]
    return [row for row in found if tuple(row[: len(starts)]) == starts]


def section(text, heading):
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_python_runs(readme, tmp_path, monkeypatch, capsys):
    # fewer rows and classes than `distkern demo` makes: the choice of a machine takes most of the time
    digits = VirtualDigits(chunk_rows=1200)
    parts = [[(X[y < 2], y[y < 2]) for X, y in digits.chunks(1200, which)] for which in ("train", "test")]
    monkeypatch.chdir(tmp_path)
    Path("distkern-demo").mkdir()
    write_dataset(parts[0], "distkern-demo/digits.zarr", test_chunks=parts[1], scale="none")
    Reader(readme).read("python")
    score, labels = capsys.readouterr().out.splitlines()
    assert float(score.split()[0]) > 0.95
    assert "held-out rows" in score
    assert len(labels.split()) == 5
    assert Path("digits-model/model.json").exists()


def test_the_commands_run(readme, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_examples(tmp_path)
    Reader(readme).read("sh")
    header, first = Path("predictions.csv").read_text(encoding="utf-8").splitlines()[:2]
    assert header.split(",")[0] == "parcel"
    assert first.split(",")[0] == "0"


def test_the_set_up_commands_are_there(readme):
    shown = "".join(block.text for block in blocks(readme, "sh"))
    assert "pip install . && distkern demo\n" in shown
    assert "pip install '.[test]' && pytest\n" in shown


def test_the_figures_beside_lightgbm_are_those_of_the_report(repository, readme):
    text, report = readme.read_text(encoding="utf-8"), (repository / REPORT).read_text(encoding="utf-8")
    head, *rows = cells(section(report, "Beside LightGBM") or section(report, "Verdicts"))
    place = next(number for number, name in enumerate(head) if name in ("ratio", "CPU ratio"))
    verdicts = {row[0]: float(row[place]) for row in rows if re.match(r"[\d.]+$", row[place])}
    scores = section(report, "Scores")
    compared = [row for row in cells(text) if len(row) == 5]
    for name in verdicts:
        pair = [next(iter(cells(scores, name, model))) for model in ("distkern", "LightGBM")]
        real = not pair[0][2]
        losses = [row[6 if real else 2].split(" ± ")[0] for row in pair]
        seconds = [row[7].split(" ± ")[0] for row in pair]
        shown = name + ", RMSE" * real
        assert [row for row in compared if row[0] == shown] == [[shown, *losses, *seconds]]
    # the losses too, below the head
    assert len(compared) == len(verdicts) + 1
    slower = sum(ratio > 1 for ratio in verdicts.values())
    assert f"it used less CPU time on {slower} of these {len(verdicts)}" in " ".join(text.split())


def test_the_errors_on_all_rows_of_covtype_are_those_of_the_report(repository, readme):
    report = (repository / "workflows/cells/README.md").read_text(encoding="utf-8")
    row = next(row for row in cells(report, "covtype") if len(row) == 8)
    said = f"Error on all rows of covtype: LightGBM {row[4]}, `cells` {row[1]} "
    assert said in " ".join(readme.read_text(encoding="utf-8").split())


def test_the_figures_beside_scikit_learn_are_those_of_the_report(repository, readme):
    text, report = readme.read_text(encoding="utf-8"), (repository / BENCHMARKS).read_text(encoding="utf-8")
    shown = [row for row in cells(text) if len(row) == 3 and re.search(r"%, [\d.]+ s, \d+ MiB$", row[2])]
    assert shown
    for name, *told in shown:
        for method, figures in zip(("nystroem_linear", "newton"), told, strict=True):
            row = next(iter(cells(section(report, name), method)))
            measured = f"{100 * float(row[1]):.2f} %, {row[3]} s, {row[5]} MiB" if row[1] else row[7]
            assert figures == measured, (name, method)


def test_it_is_short(readme):
    assert len(readme.read_text(encoding="utf-8").split()) <= 1000
