"""What evaluation says beside errors: calibration, quantiles, predictions by targets, base rates."""

import math

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss, mean_pinball_loss

import distkern
from distkern.core.scores import mean_difference
from distkern.data.ingest import write_dataset
from distkern.engine.executors import open_executor
from distkern.runs.ranking import N_BINS, Calibration
from distkern.runs.regression_figures import MOST_CELLS, PointGrid
from runs import evaluate, evaluate_split, evaluations


def of_split(split):
    blocks = [split.reader(index)() for index in range(split.n_blocks)]
    return np.concatenate([block.features for block in blocks]), np.concatenate(
        [block.targets for block in blocks]
    )


def points(name, n=5000):
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((2, n))
    return {
        "normal": lambda: (x, y),
        "sorted": lambda: (np.sort(x) - 1e6, y),
        "skewed": lambda: (np.exp(6 * x), 1e-200 * np.exp(40 * y)),
        "constant": lambda: (np.full(n, 3.0), np.zeros(n)),
        "few at last": lambda: (np.append(x[1:], 1e9), np.append(y[1:], -1e9)),
        "around nothing": lambda: (np.where(x > 0, 1e-30, 0.0), y),
        "huge": lambda: (1e308 * np.tanh(x), 1e308 * np.tanh(y)),
    }[name]()


NAMES = ("normal", "sorted", "skewed", "constant", "few at last", "around nothing", "huge")


@pytest.mark.parametrize("name", NAMES)
def test_a_grid_holds_every_point_in_its_cell(name):
    x, y = points(name)
    grid = PointGrid.of(x, y)
    assert max(grid.counts.shape) <= MOST_CELLS
    expected, *_ = np.histogram2d(x, y, bins=[np.append(grid.edges(0)[:-1], np.inf), grid.edges(1)])
    assert np.array_equal(grid.counts, expected)
    for axis, values in enumerate((x, y)):
        # half as wide, they would not do
        cells = np.floor(np.ldexp(values, 1 - grid.exponents[axis]))
        if values.any() and cells.max() != cells.min():
            assert cells.max() - cells.min() >= MOST_CELLS or np.abs(cells).max() > 2**39


@pytest.mark.parametrize("name", NAMES)
def test_grids_add_up_to_the_same_one_in_any_order(name):
    x, y = points(name)
    whole = PointGrid.of(x, y)
    for parts in (np.array_split(np.arange(len(x)), 7), np.array_split(np.argsort(x), 40)):
        grids = [PointGrid.of(x[part], y[part]) for part in parts]
        for ordered in (grids, grids[::-1]):
            total = PointGrid.of(np.empty(0), np.empty(0))
            for grid in ordered:
                total = PointGrid.add(total, grid)
            assert (total.exponents, total.first) == (whole.exponents, whole.first)
            assert np.array_equal(total.counts, whole.counts)


def test_points_that_are_not_finite_are_in_no_cell():
    grid = PointGrid.of(np.array([np.nan, 1.0, np.inf]), np.array([0.0, 1.0, 2.0]))
    assert grid.counts.tolist() == [[1]]
    assert PointGrid.of(np.array([np.nan]), np.array([0.0])).counts.size == 0


def test_calibration_of_probabilities_that_are_true_and_of_some_that_are_not():
    generator = np.random.default_rng(1)
    chances = generator.random(40_000)
    codes = (generator.random(40_000) < chances).astype(int)
    told = np.stack([1 - chances, chances], axis=1)
    found = Calibration.add(Calibration.of(told[:999], codes[:999]), Calibration.of(told[999:], codes[999:]))
    assert found.figures["log_loss"] == pytest.approx(log_loss(codes, told), rel=1e-12)
    assert found.figures["brier_score"] == pytest.approx(brier_score_loss(codes, chances), rel=1e-12)
    assert found.figures["calibration_error"] < 0.015
    mean, share = found.curve
    assert len(mean) == N_BINS
    assert np.abs(mean - (np.arange(N_BINS) + 0.5) / N_BINS).max() < 0.01
    assert np.abs(mean - share).max() < 0.04
    # the tails of rare probabilities are no points of their own
    bell = np.sort(np.clip(generator.normal(0.5, 0.12, 400), 0, 1))
    hits = np.arange(400) % 2
    mean, share = Calibration.of(np.stack([1 - bell, bell], axis=1), hits).curve
    parts = np.searchsorted(bell, mean)
    assert 3 < len(mean) < 9
    assert np.all(np.diff(parts) > 25)
    assert np.abs(share - 0.5).max() < 0.05
    assert (mean[0], mean[-1]) == pytest.approx((bell[:50].mean(), bell[-50:].mean()), abs=0.05)
    assert [len(part) for part in Calibration.of(told[:0], codes[:0]).curve] == [0, 0]
    sure = np.stack([chances < 0.5, chances >= 0.5], axis=1).astype(float)
    assert Calibration.of(sure, codes).figures["calibration_error"] == pytest.approx(0.25, abs=0.01)


def test_a_classifier_of_three_classes(tmp_path):
    generator = np.random.default_rng(2)
    features = generator.standard_normal((3000, 2))
    labels = np.array(["a", "b", "c"])[
        np.argmax(features @ generator.standard_normal((2, 3)) + generator.gumbel(size=(3000, 3)), axis=1)
    ]
    dataset = write_dataset(
        [(features, labels)], tmp_path / "d.zarr", scale="none", rows_per_shard=700, test_fraction=0.3
    )
    model = distkern.SVRGClassifier(loss="softmax", n_features=64, stages=3, random_state=0)
    model.fit(dataset.train)
    both = evaluations(model, [dataset.train, dataset.test], scheduler="threads", workers=2)
    for split, found in zip((dataset.train, dataset.test), both, strict=True):
        rows, codes = of_split(split)
        chances, true = model.predict_proba(rows), dataset.classes[codes]
        assert found.labels == found.predicted == ("a", "b", "c")
        assert np.array_equal(found.confusion, confusion_matrix(true, model.predict(rows)))
        assert found.figures["log_loss"] == pytest.approx(log_loss(true, chances), rel=1e-6)
        squares = np.square(chances - (true[:, None] == model.classes_)).sum(axis=1)
        assert found.figures["brier_score"] == pytest.approx(squares.mean(), rel=1e-6)
        hits = (model.predict(rows) == true).mean()
        assert found.calibration.hits.sum() == pytest.approx(hits * len(rows))
        assert found.calibration.chances.sum() == pytest.approx(chances.max(axis=1).sum(), rel=1e-6)
        assert found.figures["calibration_error"] < 0.1
        assert found.ranking is None
        shares = np.bincount(codes, minlength=3) / len(codes)
        assert found.base["error"] == pytest.approx(1 - shares.max())
        assert found.base["log_loss"] == pytest.approx(log_loss(true, np.tile(shares, (len(codes), 1))))


def compared(model, split, figure, scheduler="synchronous"):
    with open_executor(scheduler, workers=2) as executor:
        return evaluate_split(model, split, executor, compared=figure)


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "n_classes"), [("log_loss", 2), ("brier_score", 3), ("error", 2)])
def test_losses_of_groups_compare_models_as_losses_of_rows_do(tmp_path, figure, n_classes):
    generator = np.random.default_rng(4)
    features = generator.standard_normal((4000, 2))
    labels = np.floor(np.linalg.norm(features, axis=1) + 0.3 * generator.random(4000)).astype(int) % n_classes
    split = write_dataset([(features, labels)], tmp_path / "d.zarr", scale="none", rows_per_shard=700).train
    rows, codes = of_split(split)
    losses, groups = [], []
    for gamma in (0.5, 3.0):
        model = distkern.NewtonClassifier(gamma=gamma, nu=1e-4, n_landmarks=40, random_state=0).fit(split)
        found = compared(model, split, figure)
        assert found.losses == compared(model, split, figure, "threads").losses
        assert len(found.losses) == 128
        assert np.mean(found.losses) == pytest.approx(found.figures[figure], rel=1e-9)
        chances = model.predict_proba(rows)
        losses.append(
            {
                "log_loss": -np.log(chances[np.arange(4000), codes]),
                "brier_score": np.square(chances - np.eye(n_classes)[codes]).sum(axis=1)
                / (2 if n_classes == 2 else 1),
                "error": model.predict(rows) != codes,
            }[figure].astype(float)
        )
        groups.append(np.array(found.losses))
    mean, error = mean_difference(*groups)
    expected = mean_difference(*losses)
    assert mean == pytest.approx(expected[0], abs=1e-6)
    assert error == pytest.approx(expected[1], rel=0.3)


def test_copies_of_rows_make_a_difference_no_surer(tmp_path):
    generator = np.random.default_rng(5)
    features, labels = generator.standard_normal((500, 2)), generator.integers(0, 2, 500)
    errors = []
    for copies in (1, 4):
        rows = np.tile(features, (copies, 1)), np.tile(labels, copies)
        split = write_dataset([rows], tmp_path / f"{copies}.zarr", scale="none").train
        models = [
            distkern.NewtonClassifier(gamma=gamma, nu=1e-3, n_landmarks=20, random_state=0).fit(
                features, labels
            )
            for gamma in (0.1, 5.0)
        ]
        lost = [np.array(compared(model, split, "error").losses) for model in models]
        errors.append(mean_difference(*lost)[1])
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)


def test_a_regressor_of_quantiles(tmp_path):
    generator = np.random.default_rng(3)
    features = generator.standard_normal((3000, 2))
    targets = 1000.0 + features[:, 0] + (1 + features[:, 1] ** 2) * generator.standard_normal(3000)
    dataset = write_dataset(
        [(features, targets)], tmp_path / "d.zarr", scale="none", rows_per_shard=700, task="regression"
    )
    levels = (0.1, 0.4, 0.9)
    model = distkern.SVRGRegressor(loss="quantile", quantiles=levels, n_features=32, stages=2)
    model.fit(dataset.train)
    rows, true = of_split(dataset.train)
    told = model.predict(rows)
    found = evaluations(model, [dataset.train], scheduler="threads", workers=2)[0]
    pinballs = [mean_pinball_loss(true, told[:, j], alpha=level) for j, level in enumerate(levels)]
    assert found.figures["pinball"] == pytest.approx(np.mean(pinballs), rel=1e-5)
    assert np.mean(compared(model, dataset.train, "pinball").losses) == pytest.approx(
        found.figures["pinball"]
    )
    assert np.mean(compared(model, dataset.train, "mae").losses) == pytest.approx(found.figures["mae"])
    assert np.mean(compared(model, dataset.train, "r2").losses) == pytest.approx(found.figures["rmse"] ** 2)
    assert found.base == {"rmse": pytest.approx(np.std(true)), "r2": 0.0}
    shares = (true[:, None] <= told).mean(axis=0)
    assert found.figures["below"] == pytest.approx(dict(zip(map(str, levels), shares, strict=True)), abs=2e-3)
    # the quantile next to the median
    expected = PointGrid.of(true, told[:, 1])
    assert found.predictions.exponents == expected.exponents
    assert math.isclose(found.predictions.counts.sum(), len(rows))
    assert np.abs(found.predictions.counts.sum(axis=0) - expected.counts.sum(axis=0)).sum() < 20
    assert "pinball" not in evaluate(
        distkern.SVRGRegressor(loss="absolute", stages=1, n_features=16).fit(dataset.train),
        dataset.train,
        scheduler="synchronous",
    )
