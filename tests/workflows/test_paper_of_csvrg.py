"""The workflow of Tan et al. 2019: orders of rows, coverages, plans and what the report says of them."""

import numpy as np
import pytest

import distkern
from distkern.data.ingest import write_dataset
from workflows.csvrg import exact, machines, sections
from workflows.csvrg.paper import TABLE_2
from workflows.csvrg.plan import METHODS, Plan, Scale, Source, accuracies, size_of
from workflows.records import Records
from workflows.subsets import gathered


def wave(n=400, d=3, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (n, d)).astype(np.float32)
    return X, np.where(np.sin(4 * X[:, 0]) + X[:, 1] > 0, 2, 1)


@pytest.fixture
def data(tmp_path):
    X, y = wave(500)
    write_dataset(iter([(X, y)]), tmp_path / "wave.zarr", test_fraction=0.2, scale="none")
    return tmp_path / "wave.zarr"


def scan(X, diameter):
    found = []
    for row in X:
        if all(np.linalg.norm(row - landmark) > diameter / 2 for landmark in found):
            found.append(row)
    return len(found)


def test_coverings_are_those_of_the_scan_row_by_row():
    X = wave(200)[0].astype(float)
    for diameter in (0.3, 0.8, 2.0):
        assert machines.covering(X, diameter, 10_000) == scan(X, diameter)
    assert machines.covering(X, 0.3, 5) == 6
    found = machines.diameter_of(X, 20)
    assert scan(X, found) <= 20


def test_a_seed_orders_the_training_rows_and_leaves_the_test_rows(data, tmp_path):
    made = [
        machines.reordered(
            seed=seed, rows=300, test_rows=1000, of="", source=str(data), out=str(tmp_path / f"{seed}.zarr")
        )
        for seed in (0, 1)
    ]
    assert [one["rows"] for one in made] == [300, 300]
    whole, (first, second) = (
        distkern.open_dataset(data),
        (distkern.open_dataset(tmp_path / f"{s}.zarr") for s in (0, 1)),
    )
    every = {tuple(row) for row in gathered(whole.train)[0]}
    orders = [gathered(one.train)[0] for one in (first, second)]
    assert not np.array_equal(*orders)
    assert all({tuple(row) for row in order} <= every for order in orders)
    for one in (first, second):
        for mine, given in zip(gathered(one.test), gathered(whole.test), strict=True):
            np.testing.assert_array_equal(mine, given)
    # a row has its own class
    X, y = gathered(first.train)
    np.testing.assert_array_equal(y, (np.sin(4 * X[:, 0]) + X[:, 1] > 0).astype(int))


def test_exact_machines_of_the_hinge_loss_are_the_same(data):
    asked = {
        "settings": {"gamma": 1.0, "C": 10.0},
        "rows": 250,
        "seed": 0,
        "data": str(data),
        "fingerprint": "",
    }
    cell, other = (exact.fitted(method=name, **asked) for name in ("exact SVM", "SVC of scikit-learn"))
    assert cell["rows"] == other["rows"] == 250
    # of 100 test rows
    assert cell["test_error"] == pytest.approx(other["test_error"], abs=0.021)
    assert cell["model_size"] == pytest.approx(other["model_size"], rel=0.1)
    linear = exact.fitted(method="LinearSVC", **{**asked, "settings": {"C": 1.0}})
    assert linear["rows"] == 400
    assert np.isnan(size_of(linear))


@pytest.fixture
def planned(tmp_path):
    for name in ("a9a", "mine"):
        X, y = wave(60)
        write_dataset(iter([(X, y)]), tmp_path / f"{name}.zarr", test_fraction=0.2, scale="none")
    return tuple(Source(tmp_path / f"{name}.zarr") for name in ("a9a", "mine")), Records(tmp_path / "records")


def test_searches_are_for_what_has_no_job_file(planned, tmp_path):
    sources, records = planned
    quick, whole = (Plan(sources, scale, tmp_path) for scale in (Scale.quick(2), Scale()))
    searched = [
        [one.key for one in plan.settings(records) if one.key.startswith("search/")]
        for plan in (quick, whole)
    ]
    assert searched[0] == [f"search/mine/{name}" for name in ("nearest", "span", "avm")]
    assert len(searched[1]) == 6
    assert quick.chosen(sources[0], "avm", records)["lam"] == 16384.0
    assert whole.chosen(sources[0], "avm", records) is None
    # nothing is known of "mine" yet: only the paper's is fitted, with the paper's landmarks
    fits = {one.key: one for one in quick.fits(records)}
    assert {key.split("/")[1] for key in fits} == {"a9a"}
    assert len(fits) == 2 * len(METHODS)
    asked = fits["table/a9a/CSVRG+ODM-coverage-nearest/seed-1"].asked
    assert (
        asked["settings"] | {"projection": True, "landmarks": "coverage", "n_landmarks": 128}
        == asked["settings"]
    )
    records.put("search/mine/nearest", {"asked": {}, "settings": {"gamma": 1.0}})
    records.put("diameters/mine", {"asked": {}, "diameters": [0.5]})
    added = [one.key for one in quick.fits(records) if one.key not in fits]
    assert "diameter/0.5/mine/CSVRG+ODM-coverage-nearest/seed-0" in added
    assert not [key for key in added if "span" in key]


def test_the_report_has_means_spreads_and_the_papers_figures(planned, tmp_path):
    sources, records = planned
    plan = Plan(sources, Scale.quick(2), tmp_path)
    records.put("rows/a9a/seed-0", {"asked": {}, "rows": 48, "all_rows": 48})
    for number, method in enumerate(METHODS):
        for seed in (0, 1):
            curve = [
                {"test_error": 0.9, "model_size": 9},
                {"test_error": 0.2 - 0.01 * number - 0.02 * seed, "model_size": 90},
            ]
            records.put(f"table/a9a/{method.replace(', ', '-')}/seed-{seed}", {"asked": {}, "curve": curve})
            for diameter in ("0.5", "1"):
                key = f"diameter/{diameter}/a9a/{method.replace(', ', '-')}/seed-{seed}"
                records.put(key, {"asked": {}, "curve": curve})
    records.put("diameters/a9a", {"asked": {}, "diameters": [0.5, 1.0]})
    records.put("exact/a9a/LinearSVC/seed-0", {"asked": {}, "failed": "MemoryError: no more"})
    assert accuracies(records, "table/a9a/AVM-coverage", 2) == pytest.approx([84.0, 86.0])
    found = {table.title: (table, plots) for table, plots in sections.sections(plan, records)}
    table, (plot,) = found["Table 2: a9a"]
    assert table.rows[0] == (
        "CSVRG+ODM, coverage, nearest",
        "48",
        "81.00 ± 1.41",
        "80.00 to 82.00",
        "84.26 ± 0.20",
        "90",
        "128",
    )
    assert table.rows[-1][2] == "failed: MemoryError: no more"
    assert plot.bands["AVM, coverage"] == [(90.0, pytest.approx(14.0), pytest.approx(16.0))]
    nearest = found["What the nearest landmark costs"][0]
    assert (
        "**a9a**: the span instead of the nearest landmark gains +1.0 points with a coverage and +1.0 with"
        in nearest.text
    )
    assert nearest.rows == [("a9a", *(f"{81 + n}.00 ± 1.41" for n in range(4)), "84.26 ± 0.20")]
    assert len(found["Figure 1: a9a"][0].rows) == 2
    assert (
        "-3.3 points against the paper's 84.26 ± 0.20"
        in found["Where figures differ from the paper's, and why"][0].text
    )
    # nothing is measured of the other data set
    assert "Table 2: mine" not in found
    assert TABLE_2["covtype"].csvrg == (73.22, 0.17)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_command_measures_what_is_missing(data, tmp_path, command):
    asked = ["csvrg", "--quick", "--seeds", "2", "--candidates", "2"]
    asked += ["--data", str(data), "--out", str(tmp_path / "out"), "--processes", "1"]
    command(*asked)
    records = Records(tmp_path / "out" / "records")
    failed = [key for key, record in records.under("") if "failed" in record]
    assert not failed
    text = (tmp_path / "out" / "report" / "report.md").read_text()
    assert text.count("| CSVRG+ODM, uniform, span | 400 |") == 1
    assert str(tmp_path) not in text
    gone = "table/wave/AVM-coverage/seed-1"
    (records.folder / f"{gone}.json").unlink()
    again = command(*asked)
    assert [line for line in again.splitlines() if line[0].isdigit()] == [f"1/1 {gone}"]
