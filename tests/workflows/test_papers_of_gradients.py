"""The workflows of Dai et al. 2014 and Li and Poczos 2016: what they compare, plan, keep and write down."""

import json
import math
import tomllib

import click
import numpy as np
import pytest

import distkern as dk
from distkern.data.ingest import write_dataset
from workflows import averages, training
from workflows.cdsg import peers, variants
from workflows.cdsg import tables as cdsg_tables
from workflows.dsg import costs, exactness, figures, machines, posterior, synthetic, tables
from workflows.pool import Question
from workflows.records import Records
from workflows.subsets import Subset, parse, subset

CLASSES = {
    "dsg": dk.DSGClassifier,
    "norma": dk.NORMAClassifier,
    "sdca": dk.SDCAClassifier,
    "pegasos": dk.PegasosClassifier,
    "sbmd": dk.SBMDClassifier,
    "rbcd": dk.RBCDClassifier,
    "newton": dk.NewtonClassifier,
}
REGRESSORS = {
    "dsg": dk.DSGRegressor,
    "norma": dk.NORMARegressor,
    "sdca": dk.SDCARegressor,
    "sbmd": dk.SBMDRegressor,
    "rbcd": dk.RBCDRegressor,
}


def a_subset(n_rows=4096):
    return Subset("tiny", "", "f", n_rows, n_test=100, n_features=5, n_classes=2, about="rows")


@pytest.fixture
def three(tmp_path):
    """Rows of classes 3, 5 and 8 in shards of 100; the first column is the label, the last ones are noise."""
    generator = np.random.default_rng(0)
    y = np.repeat([3, 5, 8], 200)
    X = generator.standard_normal((600, 12)).astype(np.float32)
    X[:, 0] = y
    path = tmp_path / "three.zarr"
    write_dataset(
        iter([(X, y)]), path, test_fraction=0.25, scale="none", rows_per_shard=100, shuffle=False, seed=0
    )
    return path


def test_the_exact_solutions_are_those_of_scikit_learn():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.kernel_ridge import KernelRidge

    X, y = synthetic.drawn(200, 0)
    fresh, _ = synthetic.drawn(50, 1)
    gamma = synthetic.gamma_of(X, 0.5)
    ours = synthetic.ridge(X, y, fresh, gamma, 0.01)
    theirs = KernelRidge(alpha=0.01 * 200, kernel="rbf", gamma=gamma).fit(X, y - y.mean())
    np.testing.assert_allclose(ours, y.mean() + theirs.predict(fresh), atol=1e-6)
    mean, variance = posterior.closed_form(X, y, fresh, gamma)
    process = GaussianProcessRegressor(
        RBF(1 / math.sqrt(2 * gamma), "fixed"), alpha=posterior.VARIANCE, optimizer=None
    ).fit(X.astype(float), y)
    expected, deviation = process.predict(fresh.astype(float), return_std=True)
    np.testing.assert_allclose(mean, expected, atol=1e-6)
    np.testing.assert_allclose(variance, deviation**2, atol=1e-6)


def test_a_subset_is_drawn_from_all_shards_and_made_once(three, tmp_path):
    made = subset(str(three), tmp_path / "data", 90, 30, 4, 20)
    rows = np.concatenate([part.targets for part in blocks(made)])
    assert (made.n_rows, made.n_test, made.n_classes, made.n_features) == (90, 30, 3, 12)
    # as many of each class as there are in the source, whose shards are sorted by class
    assert np.bincount(rows).tolist() == pytest.approx([30, 30, 30], abs=8)
    assert subset(str(three), tmp_path / "data", 90, 30, 4, 20) == made


def test_classes_are_taken_and_columns_reduced(three, tmp_path):
    pair = subset(f"{three}:8,3", tmp_path / "data", 50, 20, 4, 10)
    assert (pair.n_classes, pair.n_features, pair.name) == (2, 4, "three-8-3")
    block = next(iter(blocks(pair)))
    # the first component of standard columns and of one that is 3 or 8 tells these apart
    assert abs(np.corrcoef(block.features[:, 0], block.targets)[0, 1]) > 0.9
    rest = subset(f"{three}:5", tmp_path / "data", 300, 20, 4, 20)
    assert "class 5 against the rest" in rest.about
    assert rest.n_rows == 300
    with pytest.raises(click.UsageError, match="no class 4; there are 3, 5, 8"):
        subset(f"{three}:4", tmp_path / "data", 50, 20, 4, 10)
    with pytest.raises(click.BadParameter, match="no such data set"):
        parse(str(tmp_path / "missing.zarr"))


def blocks(made):
    train = dk.open_dataset(made.path).train
    return [train.reader(index)() for index in range(train.n_blocks)]


def answered(value):
    if value < 0:
        raise ValueError("first line\nless than 0")
    return {"value": value}


def test_a_question_is_answered_once_and_another_one_anew(tmp_path):
    records, question = Records(tmp_path), Question("a/0", answered, {"value": 3})
    assert question.answer() == {"value": 3}
    assert not question.is_answered(records)
    records.put("a/0", {"asked": question.asked, **question.answer()})
    assert question.is_answered(records)
    assert not Question("a/0", answered, {"value": 4}).is_answered(records)
    wrong = Question("b/0", answered, {"value": -1})
    records.put("b/0", {"asked": wrong.asked, **wrong.answer()})
    table, _ = averages.failed(records)
    assert table.rows == [("b/0", "ValueError: less than 0")]
    assert list(averages.by_name(records, ".", ["a", "b"])) == ["a"]


def test_a_job_is_what_distkern_reads(tmp_path):
    settings = {"loss": "hinge", "nu": 1e-6, "precondition": False, "n_features": 16, "udsg_pattern": [1, 1]}
    job = tomllib.loads(training.job_text("dsg", settings, 7, "a b.zarr", "model"))
    assert job["params"] == settings
    assert (job["algorithm"], job["seed"], job["data"]) == ("dsg", 7, "a b.zarr")


@pytest.mark.slow
def test_training_gives_the_curve_of_the_command(tmp_path):
    X, y = synthetic.drawn(300, 0)
    data, job = tmp_path / "rows.zarr", tmp_path / "jobs" / "one.toml"
    write_dataset(iter([(X, y)]), data, test_fraction=0.2, scale="none", task="regression")
    settings = {"loss": "square", "n_features": 32, "block_size": 16, "batch_size": 32, "stages": 2}
    found = training.trained(
        algorithm="dsg", settings=settings, seed=1, data=str(data), job=str(job), predicting=True
    )
    model = dk.DSGRegressor(random_state=1, **settings).fit(dk.open_dataset(data).train)
    assert found["curve"][-1]["objective"] == pytest.approx(model.history_[-1]["objective"], rel=1e-6)
    assert [found["curve"][stage]["model_size"] for stage in (0, -1)] == [0, 32]
    assert found["model_bytes"] > 32 * 8
    assert found["predict_seconds"] >= 0
    assert tomllib.loads(job.read_text())["params"] == settings
    wrong = training.trained(algorithm="dsg", settings={**settings, "nu": -1.0}, seed=1, data=str(data))
    assert "nu" in wrong["failed"]


@pytest.mark.parametrize("n_rows", [4096, 200_000])
def test_all_settings_are_ones_that_the_algorithms_take(n_rows):
    data = a_subset(n_rows)
    named = [*machines.methods(data).values(), *exactness.methods(True, 64).values()]
    named += exactness.kernels(True, n_rows).values()
    named += [costs.settings(name, n_rows) for name in costs.PAPER]
    named += [
        ("dsg", variants.settings(data, variant, 0.5, 32, "median", "logistic"))
        for variant in variants.VARIANTS.values()
    ]
    for algorithm, settings in named:
        CLASSES[algorithm](**settings).check_parameters()
    real = [*synthetic.methods(n_rows).values(), *posterior.means(True).values()]
    real += [("dsg", synthetic.rate_settings(0.1, 64)), ("dsg", synthetic.rate_settings(1e-6, 64, None))]
    for algorithm, settings in real:
        REGRESSORS[algorithm](**settings).check_parameters()


def test_keys_of_questions_are_their_own(tmp_path):
    data = a_subset()
    every = [
        *synthetic.questions(2, True, 4096, tmp_path),
        *posterior.questions(2, True, tmp_path),
        *machines.questions(data, 2, tmp_path),
        *costs.questions(2, True),
        *exactness.questions(data, 2, True, tmp_path),
    ]
    assert len({question.key for question in every}) == len(every)
    own = [*variants.svrg(data, 2, "median", tmp_path), *peers.questions(data, 2, "median", 3)]
    own += variants.runs(
        data, "hinge", dict.fromkeys(variants.VARIANTS, (0.5, 1.0)), [0, 1], 8, "median", tmp_path
    )
    assert len({question.key for question in own}) == len(own)


def test_exponents_and_points_of_curves():
    assert training.exponent([1.0, 2.0, 4.0], [3.0, 12.0, 48.0]) == pytest.approx(2.0)
    assert math.isnan(training.exponent([1.0], [3.0]))
    curve = [{"t": 1.0, "e": 9.0}, {"t": 2.0, "e": 8.0}]
    assert training.at(curve, "t", 1.9) == curve[0]
    assert training.at(curve, "t", 0.5) is None


def test_means_and_bands_are_of_the_seeds():
    seeds = [{"curve": [{"x": 0, "y": 5}, {"x": 1, "y": 1}]}, {"curve": [{"x": 0, "y": 5}, {"x": 3, "y": 2}]}]
    lines, bands = averages.curves({"a": seeds}, lambda one: one["x"], lambda one: one["y"])
    assert lines == {"a": [(2.0, 1.5)]}
    assert bands == {"a": [(2.0, 1.0, 2.0)]}
    assert averages.is_wide({"a": [(1, 1.0), (2, 6.0)]})
    assert not averages.is_wide({"a": [(1, 1.0), (2, 4.0)]})
    assert averages.text([0.1, 0.3], 100) == "20.0 ± 14.1"
    assert averages.text([math.nan]) == ""
    assert averages.of_seeds(1) == "seed 0 alone"
    assert averages.of_seeds(3).startswith("seeds 0 to 2, mean")
    assert averages.text([2e-6, 4e-6]) == "3.00e-06 ± 1e-06"


def test_the_rate_is_the_slope_of_the_squared_distance(tmp_path):
    records = Records(tmp_path)
    for seed in range(2):
        curve = [{"steps": 0, "test_rmse": 9.0, "objective": 1.0}]
        curve += [{"steps": t, "test_rmse": (seed + 1) / math.sqrt(t)} for t in (8, 16, 32, 64)]
        records.put(f"rates/nu=0.1/{seed}", {"asked": {}, "curve": curve})
    table, plots = figures.rates(records)
    assert table.rows == [("nu=0.1", "exact minimiser", "64", "0.0391 ± 0.0331", "-1.00 ± 0.00", "-1")]
    assert plots[0].lines["1/t"][-1][1] == pytest.approx(plots[0].lines["1/t"][0][1] / 8)


def test_distances_are_to_the_minimum_of_the_same_seed(tmp_path):
    records, data = Records(tmp_path), a_subset()
    for seed, least in ((0, 2.0), (1, 3.0)):
        asked = {"seed": seed}
        # RBCD's features are draws of its own, with a minimum of their own
        curves = {"r-SDCA": [2.0, 1.01, 1.0001], "r-RBCD": [3.0, 2.0]}
        for name, values in curves.items():
            curve = [{"objective": least * value, "gap": 0.5 * least * value} for value in values]
            records.put(f"exactness/tiny/{name}/{seed}", {"asked": asked, "curve": curve})
        records.put(f"exactness/tiny/r-LIBLINEAR/{seed}", {"asked": asked, "objective": least})
        records.put(
            f"exactness/tiny/{exactness.OF_RBCD}/{seed}", {"asked": asked, "objective": 1.9999 * least}
        )
    table, _ = tables.exact(records, data)
    rows = {row[0]: row[1:] for row in table.rows}
    near = "1.00e-04 ± 0e+00"
    assert rows["r-SDCA"] == (near, near, "2.00 ± 0.00", "2.00 ± 0.00", "0.500 ± 0.000")
    assert rows["r-RBCD"][::2][:2] == ("5.00e-05 ± 0e+00", "1.00 ± 0.00")


def test_distances_with_the_kernel_itself_are_to_what_the_dual_certifies_or_to_the_exact_minimum(tmp_path):
    records, data = Records(tmp_path), a_subset()
    asked = {"seed": 0}
    certified = [{"objective": 3.0, "gap": 2.0}, {"objective": 2.0004, "gap": 4e-4}]
    found = [{"objective": value} for value in (3.0, 2.1, 2.05)]
    for suffix in ("", exactness.OF_HINGE):
        records.put(f"exactness/tiny/k-SDCA{suffix}/0", {"asked": asked, "curve": certified})
        records.put(f"exactness/tiny/k-NORMA{suffix}/0", {"asked": asked, "curve": found})
    records.put("exactness/tiny/k-LIBLINEAR, hinge/0", {"asked": asked, "objective": 1.95})
    table, (plot,) = tables.exact(records, data)
    rows = {row[0]: row[1:] for row in table.rows}
    # D = 2 after the last pass
    assert rows["k-SDCA"] == ("2.00e-04", "2.00e-04", "1.00", "1.00", "2.00e-04")
    assert rows["k-NORMA"] == ("0.0250", "0.0250", "not reached", "2.00", "")
    assert rows["k-NORMA, hinge"][0] == "0.0513"
    assert plot.lines["k-NORMA"] == [(1.0, pytest.approx(0.05)), (2.0, pytest.approx(0.025))]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["k-SDCA", "k-SDCA, hinge"])
def test_the_exact_minimum_with_a_kernel_lies_between_what_dual_coordinates_find(tmp_path, name):
    generator = np.random.default_rng(0)
    X = generator.standard_normal((250, 3))
    y = (np.abs(X).sum(axis=1) + generator.standard_normal(250) > 2.5).astype(int)
    # so far apart that they are scaled
    X *= [1.0, 1.0, 100.0]
    data = tmp_path / "rows.zarr"
    write_dataset(iter([(X, y)]), data, test_fraction=0.2, scale="none")
    algorithm, settings = exactness.kernels(True, 200)[name]
    given = {"algorithm": algorithm, "settings": settings, "seed": 3, "fingerprint": ""}
    least = exactness.liblinear(data=str(data), **given)["objective"]
    model = dk.SDCAClassifier(random_state=3, **{**settings, "stages": 400, "tol": 1e-5})
    last = model.fit(dk.open_dataset(data).train).history_[-1]
    assert last["gap"] < 1e-5 * last["objective"]
    assert last["objective"] - last["gap"] - 1e-6 < least < last["objective"] + 1e-6


def test_exponents_of_costs_are_fitted_over_the_rows(tmp_path):
    records = Records(tmp_path)
    for n_rows, columns in ((100, 16), (200, 16), (400, 16), (100, 64)):
        one = {
            "asked": {"n_rows": n_rows, "n_columns": columns, "seed": 0},
            "train_seconds": 1e-6 * n_rows**2,
            "predict_seconds": 1e-3 * n_rows,
            "preparing_seconds": 0.0,
            "model_bytes": n_rows * columns,
            "more_bytes": 2**20,
            "steps": n_rows,
        }
        records.put(f"costs/NORMA/{n_rows}-{columns}/0", {**one})
    (total, _), (step, _) = tables.requirements(records)
    assert total.rows[0][:8] == ("NORMA", "100 to 400", "2.0", "2: O(d/ε²)", "1.0", "1", "1.0", "1")
    assert total.rows[0][9] == "4.0 (4)"
    assert step.rows[0] == ("NORMA", "0.100", "0.200", "0.400", "1.0", "not in Table 3")


def test_each_variant_has_its_own_best_step_and_is_held_against_dsg(tmp_path):
    records, data = Records(tmp_path), a_subset()
    ends = {"DSG": {0.5: 0.5, 1.0: 0.4}, "CDSG": {0.5: 0.3, 1.0: 0.6}}
    for name, own in ends.items():
        for step, value in own.items():
            for seed in range(2):
                names = ("objective", "model_size", "cpu_seconds", "test_error", "train_error")
                points = ((1.0, 0, 0.1, 0.5, 0.5), (0.4, 10, 1, 0.2, 0.1), (value, 20, 2, 0.1, 0.0))
                curve = [dict(zip(names, point, strict=True)) for point in points]
                key = variants.key(data, "logistic", name, step, seed)
                records.put(key, {"asked": {"seed": seed}, "curve": curve})
    assert variants.best_steps(records, data, "logistic") == {"DSG": (1.0,), "CDSG": (0.5,)}
    table, _ = cdsg_tables.objectives(records, data)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["CDSG"][5] == "10.0 ± 0.0"
    assert (rows["CDSG"][0], rows["CDSG"][6]) == ("0.5", "1.0 ± 0.0")
    assert rows["CDSG"][3] == "20.0 ± 0.0"
    assert "compared with DSG's final objective: CDSG lower." in table.text
    net = [
        {"passes": 1, "cpu_seconds": 0.5, "test_error": 0.3},
        {"passes": 2, "cpu_seconds": 5, "test_error": 0.1},
    ]
    records.put("net/tiny/0", {"asked": {}, "curve": net})
    table, _ = cdsg_tables.nets(records, [data])
    assert [row[:4] for row in table.rows if row[1] == "neural net"] == [
        ("tiny", "neural net", "30.0", "10.0")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dsg", "cdsg"])
def test_a_tiny_run_ends_in_a_report_and_is_not_run_again(tmp_path, name, three, command):
    arguments = [name, "--out", str(tmp_path), "--quick", "--seeds=1"]
    arguments += ["--rows=512", "--data", f"{three}:8,3"]
    if name == "dsg":
        arguments += ["--part=machines", "--part=exactness"]
    assert "failed" not in command(*arguments)
    text = (tmp_path / "report" / "report.md").read_text()
    assert "three-8-3" in text
    assert str(tmp_path) not in text + (tmp_path / "report" / "report.html").read_text()
    kept = {path: json.loads(path.read_text()) for path in (tmp_path / "records").rglob("*.json")}
    assert kept
    assert not [path for path, one in kept.items() if "failed" in one]
    again = command(*arguments)
    assert all(line.startswith("written") for line in again.splitlines())


@pytest.mark.slow
def test_the_minimum_is_found_over_the_features_of_each_form(tmp_path):
    X, y = synthetic.drawn(200, 0)
    data = tmp_path / "rows.zarr"
    write_dataset(iter([(X, (y > 0).astype(int))]), data, test_fraction=0.2, scale="none")
    every = exactness.methods(True, 16)
    for name in ("r-Newton", "n-RBCD"):
        algorithm, settings = every[name]
        kind = CLASSES[algorithm]
        model = kind(random_state=3, **{**settings, "stages": 500, "tol": 1e-12}).fit(
            dk.open_dataset(data).train
        )
        given = {"algorithm": algorithm, "settings": settings, "seed": 3, "fingerprint": ""}
        least = exactness.liblinear(data=str(data), **given)["objective"]
        assert model.history_[-1]["objective"] == pytest.approx(least, rel=1e-4), name


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_neural_net_and_libsvm_learn_from_the_same_rows(tmp_path, task):
    X, _ = synthetic.drawn(600, 0)
    targets = 1000 + 50 * X[:, 0] if task == "regression" else (X[:, 0] > 0).astype(int)
    data = tmp_path / "rows.zarr"
    write_dataset(iter([(X, targets)]), data, test_fraction=0.3, scale="none", task=task)
    curve = peers.neural_net(data=str(data), seed=0, passes=60, fingerprint="")["curve"]
    assert len(curve) == 60
    if task == "regression":
        # in the units of the targets, whose standard deviation is about 144
        assert curve[-1]["test_rmse"] < 15
        return
    assert curve[-1]["test_error"] < 0.05
    machine = peers.libsvm(data=str(data), gamma="median", fingerprint="")
    assert machine["train_error"] < 0.02
    assert machine["test_error"] < 0.05
