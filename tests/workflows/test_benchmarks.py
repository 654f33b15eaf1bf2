"""The benchmark's own code, on tiny rows: that what it writes down is what was measured, and once."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.sparse as sp

import distkern as dk
from distkern.data.ingest import write_dataset
from workflows.benchmarks import equations, report, tables
from workflows.benchmarks.child import answer, chosen
from workflows.benchmarks.methods import Given, error, grid
from workflows.benchmarks.registry import METHODS, method_of
from workflows.benchmarks.rows import Facts, Part, export, load
from workflows.benchmarks.simulation import line
from workflows.processes import run
from workflows.records import Records

PROGRAM = """#!{python}
import json, sys, pathlib
import numpy as np
folder = pathlib.Path(sys.argv[1])
task = json.loads((folder / "task.json").read_text())
assert len(np.load(folder / "train.npy")) == len(np.load(folder / "train_y.npy"))
assert len(np.load(folder / "valid.npy")) == len(np.load(folder / "valid_y.npy"))
np.save(folder / "predictions.npy", (np.load(folder / "test.npy")[:, 0] > 0).astype(int))
(folder / "settings.json").write_text(json.dumps({{"threads": task["threads"]}}))
"""


def points(n=400, d=3, regression=False, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((n, d)).astype(np.float32)
    wave = np.sin(2 * X[:, 0]) + X[:, 1]
    return X, 100 + 20 * wave if regression else (wave > 0).astype(int)


@pytest.fixture
def rows(tmp_path):
    """The folder of exported rows of "tiny", whose class is the sign of its first column."""
    X, _ = points(500)
    y = np.where(X[:, 0] > 0, 7, 3)
    write_dataset(iter([(X, y)]), tmp_path / "tiny.zarr", test_fraction=0.2, scale="none")
    facts = export(tmp_path / "tiny.zarr", tmp_path / "rows" / "tiny")
    return tmp_path / "rows", facts


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    return str(path)


def given(regression=False, sparse=False, classes=2):
    X, y = points(regression=regression)
    if classes == 3:
        y = y + (X[:, 2] > 1)
    form = sp.csr_matrix if sparse else np.asarray
    task = "regression" if regression else "classification"
    facts = Facts("tiny", task, 300, 50, 50, 3, 0 if regression else classes, sparse, 0.2)
    return Given(facts, Part(form(X[:300]), y[:300]), Part(form(X[300:]), y[300:]), 1)


def test_a_measurement_is_made_once_and_again_when_the_question_is_another(tmp_path):
    records, made = Records(tmp_path), []

    def measure():
        made.append(len(made))
        return {"value": made[-1]}

    for rows, value in ((1, 0), (1, 0), (2, 1), (2, 1)):
        assert records.measured("a/b", {"rows": rows, "shape": (1, rows)}, measure)["value"] == value
    assert [key for key, _ in records.under("a")] == ["b"]
    # what was being written when the power went is no measurement
    (tmp_path / "a" / "c.partial").write_text("{")
    assert len(list(records.under("a"))) == 1


def test_rows_are_exported_once_and_no_row_is_in_two_parts(rows):
    folder, facts = rows
    parts = {name: load(folder / "tiny", name) for name in ("train", "valid", "test")}
    assert [len(part.y) for part in parts.values()] == [facts.n_train, facts.n_valid, facts.n_test]
    assert facts.n_train + facts.n_valid + facts.n_test == 500
    every = np.vstack([part.X for part in parts.values()])
    assert len(np.unique(every, axis=0)) == 500
    for part in parts.values():
        # classes are coded in their order: 3 and 7
        np.testing.assert_array_equal(part.y, part.X[:, 0] > 0)
    # 1 / the median of |x - y|^2 of Gaussian rows of three columns, twice a chi-square of three
    assert 1 / facts.gamma == pytest.approx(2 * 2.366, rel=0.1)
    assert export(folder / "gone.zarr", folder / "tiny") == facts


def test_a_program_is_measured_as_any_method(rows, program):
    folder, _ = rows
    asked = {"folder": str(folder / "tiny"), "method": "mine", "adapters": {"mine": program}}
    found = answer({**asked, "threads": 1, "rows": 100, "settings": {}})
    assert found["error"] == 0.0
    assert found["settings"] == {"threads": 1}
    assert found["rows"] == 100
    assert found["cpu_seconds"] > 0
    assert found["peak_bytes"] > 2**20


@pytest.mark.parametrize("name", ["newton", "normal_equations", "lightgbm", "linear_svc", "nystroem_linear"])
@pytest.mark.parametrize("regression", [False, True], ids=["classes", "targets"])
def test_methods_learn(name, regression):
    method, rows = METHODS[name], given(regression)
    if not method.is_there:
        pytest.skip(f"{method.package} is not installed")
    candidates = [
        {**one, **({"n_landmarks": 50} if "n_landmarks" in one else {})}
        for one in method.candidates(rows.facts)[:2]
    ]
    found = chosen(method, rows, candidates)
    assert found["settings"] == candidates[int(np.argmin(found["errors"]))]
    plain = rows.valid.y.std() if regression else min(rows.valid.y.mean(), 1 - rows.valid.y.mean())
    assert min(found["errors"]) < 0.6 * plain


@pytest.mark.parametrize("classes", [2, 3])
def test_normal_equations_are_those_of_the_kernels(classes):
    rows = given(classes=classes)
    predict = equations.fit({"gamma": 0.3, "n_landmarks": 40, "nu": 1e-3}, rows)
    X = rows.train.X.astype(float)
    L = X[np.random.default_rng(0).choice(len(X), 40, replace=False)]
    K = dk.kernel_matrix(X, L, gamma=0.3)
    codes = np.arange(3) if classes == 3 else np.array([1])
    signs = np.where(rows.train.y[:, None] == codes, 1.0, -1.0)
    w = np.linalg.solve(K.T @ K + 1e-3 * len(X) * dk.kernel_matrix(L, L, gamma=0.3), K.T @ signs)
    f = dk.kernel_matrix(rows.valid.X.astype(float), L, gamma=0.3) @ w
    expected = f.argmax(1) if classes == 3 else f[:, 0] > 0
    assert np.mean(predict(rows.valid.X) != expected) <= 0.01


def test_a_matrix_that_rounding_made_indefinite_is_raised():
    gram = np.diag([1.0, -1e-7, 1.0])
    found = equations.solved(gram.copy(), np.array([[1.0], [0.0], [2.0]]))
    np.testing.assert_allclose(found[[0, 2], 0], [1.0, 2.0], rtol=1e-4)


def test_names_and_grids():
    assert grid(a=[1, 2], b=[3]) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    with pytest.raises(SystemExit, match="unknown method 'lightgmb'; use one of cells"):
        method_of("lightgmb", {})
    assert {method.name for method in METHODS.values() if method.takes(given(sparse=True).facts)} >= {
        "newton",
        "lightgbm",
    }
    assert not METHODS["csvrg"].takes(given(regression=True).facts)
    assert error(given(regression=True).facts, np.array([1.0, 3.0]), np.array([1.0, 1.0])) == pytest.approx(
        np.sqrt(2)
    )


def test_processes_that_fail_or_hang_are_written_down():
    found, output = run([sys.executable, "-S", "-c", "print(3)"], threads=1, limit=60)
    assert output == "3\n"
    assert found["cpu_seconds"] > 0
    assert found["wall_seconds"] > 0
    script = "import sys; print('bad luck', file=sys.stderr); sys.exit(3)"
    assert run([sys.executable, "-S", "-c", script], threads=1, limit=60)[0] == {
        "failed": "exit status 3: bad luck"
    }
    sleeping = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    assert run(sleeping, threads=1, limit=0.1)[0] == {"failed": "took more than 0.1 s"}


def test_lines_through_overheads():
    assert line([1, 2, 3], [5.0, 7.0, 9.0]) == pytest.approx((3.0, 2.0))
    assert line([10], [5.0]) == (0.0, 0.5)
    # nothing takes less than no time
    start, each = line([1, 2, 3], [1.0, 4.0, 9.0])
    assert start == 0.0
    assert each == pytest.approx((1 + 8 + 27) / 14)


def fit(wrong, seconds, **settings):
    return {
        "asked": {},
        "error": wrong,
        "wall_seconds": seconds,
        "cpu_seconds": seconds,
        "predict_seconds": 0.1,
        "peak_bytes": 2**28,
        "rows": 1000,
        "settings": settings,
    }


@pytest.fixture
def measured(tmp_path):
    records = Records(tmp_path / "records")
    rates = ("sgemm_flops", "syrk_flops", "exp_numbers", "copy_bytes", "read_bytes", "cached_read_bytes")
    records.put("machine", {"asked": {}, "cores": 2, "processor": "x", **dict.fromkeys(rates, 1e9)})
    for method, wrong, seconds in (("newton", 0.10, 8.0), ("cells", 0.05, 9.0), ("lightgbm", 0.07, 6.0)):
        records.put(f"compare/slow/{method}", fit(wrong, seconds, gamma=0.5))
        records.put(f"compare/fast/{method}", fit(wrong, seconds / 9 if method == "cells" else seconds))
    records.put("compare/slow/svc", {"asked": {}, "failed": "took more than 9 s <of all>"})
    for number in (256, 1024):
        records.put(f"centres/slow/newton-{number}", fit(0.1, 1.0, n_landmarks=number))
        records.put(f"centres/slow/normal_equations-{number}", fit(0.1, 4.0, n_landmarks=number))
    for workers in (2, 10):
        record = {"asked": {}, "tasks": 4 * workers, "pass_seconds": 0.01 * workers, "round_seconds": 0.001}
        extra = {"driver_cpu_seconds_of_pass": 0.1, "round_driver_seconds": 0.0, "round_mode": "here"}
        extra["round_driver_cpu_seconds"] = 0.0005 * workers
        records.put(f"simulation/{workers}", {**record, **extra})
    return records


def test_the_report_has_what_was_measured(measured, tmp_path):
    markdown, page = report.write(measured, tmp_path / "rows", tmp_path / "report")
    text, whole = markdown.read_text(), page.read_text()
    for heading in ("The machine", "Where we lose", "slow", "fast", "10^9 rows"):
        assert f"## {heading}" in text
        assert f"<h2>{heading}" in whole
    # our methods are in bold, in the order of their errors; what failed says why
    section = text.split("## slow")[1]
    order = [section.index(f"| {name} | 0.") for name in ("**cells**", "lightgbm", "**newton**")]
    assert order == sorted(order)
    assert "took more than 9 s <of all>" in text
    assert "&lt;of all&gt;" in whole
    assert "| slow | 256 | newton | 0.1000 | 1.0 | 0.25 |" in text
    for name in ("slow-seconds", "slow-memory", "slow-centres", "simulation"):
        ET.parse(tmp_path / "report" / f"{name}.svg")
    assert whole.count("<svg") >= 5


def test_what_is_lost_is_said(measured, tmp_path):
    table = tables.losses(tables.compared(measured), {"slow": "sorted twice"})
    # on "fast" the cells have less error in less time
    (row,) = table.rows
    assert row == ("slow", "lightgbm", "0.07 in 6.0 s", "cells: 0.05 in 9.0 s", "1.5", "time", "sorted twice")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "options", "said"),
    [
        ("kernel_rows", "--rows 512 --features 3 --landmarks 16 --scheduler synchronous", "ns a row; kernel"),
        ("overhead", "DATA --landmarks 16 --stages 2 --repeats 1 --scheduler synchronous", "snapshot pass: "),
        ("rounds", "--rows 2000 --features 5 --rounds 60 --folder FOLDER", "same bits in one process: True"),
        ("serving", "DATA --model CSVRGClassifier --rows 500 --repeats 1", "% of the limit"),
        ("sharding", "--rows 2000 --columns 4 --repeats 1", "median theirs / ours"),
        ("watching", "DATA --landmarks 16 --stages 2 --repeats 1 --workers 1", "median share"),
    ],
)
def test_single_figures_are_printed(tmp_path, repository, script, options, said):
    if script == "serving":
        pytest.importorskip("lightgbm")
    data = tmp_path / "tiny.zarr"
    write_dataset(iter([points(1500)]), data, scale="none")
    given = options.replace("DATA", str(data)).replace("FOLDER", str(tmp_path)).split()
    ran = subprocess.run(
        [sys.executable, f"workflows/benchmarks/{script}.py", *given],
        cwd=repository,
        env={**os.environ, "PYTHONSAFEPATH": ""},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert ran.returncode == 0, ran.stderr
    assert said in ran.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_measures_and_goes_on(tmp_path, program, command):
    X, y = points(1500)
    write_dataset(iter([(X, y)]), tmp_path / "tiny.zarr", test_fraction=0.2, scale="none")
    asked = ["benchmarks", "--quick", "--out", str(tmp_path / "out")]
    asked += ["--data", str(tmp_path / "tiny.zarr"), "--adapter", f"mine={program}"]
    asked += ["--method", "newton", "--method", "normal_equations"]
    asked += ["--part", "compare", "--part", "simulation"]
    first = command(*asked)
    assert "compare/tiny/mine" in first
    records = Records(tmp_path / "out" / "records")
    every = {path: json.loads(path.read_text()) for path in records.folder.rglob("*.json")}
    failed = {path.name: record["failed"] for path, record in every.items() if "failed" in record}
    assert not failed
    assert records.get("simulation/4")["round_mode"] == "rounds on 4 workers"
    assert records.get("compare/tiny/newton")["error"] < 0.1
    lost = records.folder / "compare" / "tiny" / "newton.json"
    lost.unlink()
    again = command(*asked)
    # what is missing alone
    assert [part for part in again.splitlines() if part.endswith("...")] == ["compare/tiny/newton ..."]
    assert lost.exists()
