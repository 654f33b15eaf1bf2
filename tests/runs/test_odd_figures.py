"""Figures and choices on rows of one class, of few kinds, with weights, or that no model knows."""

import numpy as np
import pytest

import distkern as dk
from distkern.choose.tuning.search import Metric
from distkern.core.types import Block
from distkern.data.ingest import shard, write_dataset
from distkern.engine.executors import open_executor
from distkern.estimators.sample import of_all_classes
from distkern.runs.ranking import Losing
from runs import evaluate_split

GIVEN = {"random_state": 0, "n_landmarks": 16}


def rows(n_rows=200, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, 3))
    return X, (X[:, 0] > 0).astype(int)


def test_a_class_that_is_not_learned_from_is_the_least_likely():
    known, classes = np.array([0, 2]), np.array([0, 1, 2])
    found = of_all_classes(np.array([[2.0], [-1.0]]), known, classes)
    assert found.tolist() == [[-2.0, -2.0, 2.0], [1.0, -1.0, -1.0]]
    several = of_all_classes(np.array([[3.0, 1.0, 2.0]]), np.array([0, 1, 3]), np.arange(4))
    assert several.tolist() == [[3.0, 1.0, 1.0, 2.0]]


@pytest.mark.parametrize("seed", [4, 7])
def test_a_class_of_one_row_among_many_columns(seed):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, 200)
    y = np.where(y >= 1, y + 1, y)
    y[5] = 1
    X = generator.normal(size=(200, 1030)).astype(np.float32)
    X[:, :4] += 3 * np.eye(4)[y]
    assert dk.KernelClassifier(random_state=seed).fit(X, y).score(X, y) > 0.9


def test_rows_of_no_class_that_the_model_knows(tmp_path):
    X, y = rows()
    model = dk.NewtonClassifier(loss="logistic", **GIVEN).fit(X, np.array(["a", "b"])[y])
    labels = np.array(["a", "c"])[y]
    test = [(X[y == 1], labels[y == 1])]
    data = write_dataset([(X, labels)], tmp_path / "d.zarr", test, scale="none")
    with open_executor("synchronous") as executor:
        figures = evaluate_split(model, data.test, executor).figures
    assert figures["error"] == 1.0
    assert figures["log_loss"] is None
    assert figures["objective"] is None


def test_the_drift_of_rows_that_are_the_same_is_none():
    X, _ = rows(4200)
    X[:, 2] = 0.1
    model = dk.NewtonRegressor(**GIVEN).fit(X, X[:, 0])
    model.update(X[:100].astype(np.float32), X[:100, 0])
    assert model.updates_[-1]["drift"]["most"] == []


def test_losses_of_rows_of_few_kinds_are_drawn_evenly():
    generator = np.random.default_rng(0)
    features = generator.integers(0, 2, size=(400_000, 3)).astype(np.float32)
    codes = (generator.random(400_000) < 0.2 + 0.2 * features.sum(axis=1)).astype(np.int64)
    chances = (0.2 + 0.2 * features.sum(axis=1))[:, None] * [-1, 1] + [1, 0]
    losing = Losing.of("log_loss", 400_000, 1)
    wrong = np.zeros(400_000)
    lost = [
        losing.lost(
            Block(features[part], index=at), chances[part][:, 1:], chances[part], wrong[part], codes[part]
        )
        for at, part in enumerate(np.array_split(np.arange(400_000), 8))
    ]
    truth = -np.log(np.take_along_axis(chances, codes[:, None], axis=1)).mean()
    assert np.mean(losing.total(lost)) == pytest.approx(truth, rel=0.01)


@pytest.mark.parametrize("name", ["auc", "average_precision"])
def test_a_metric_that_rows_of_one_class_have_not(name):
    metric = Metric.of(name, "classification", 2)
    assert np.isnan(metric.value({name: None, "error": 0.1}))
    assert "have one class" in metric.undefined(float("nan"))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_weights_of_two_samples_count(tmp_path):
    generator = np.random.default_rng(0)
    # so weighted, rows of the first are as those of the second
    lines = {
        "P": [f"{value:.6f},{np.exp(-value):.6f},0" for value in generator.normal(0.5, 1, 2000)],
        "Q": [f"{value:.6f},1,0" for value in generator.normal(-0.5, 1, 2000)],
    }
    data = []
    for name, some in lines.items():
        (tmp_path / f"{name}.csv").write_text("x,w,y\n" + "\n".join(some) + "\n")
        file = tmp_path / f"{name}.csv"
        data.append(shard(file, tmp_path / f"{name}.zarr", weight="w", task="regression", scale="none"))
    model = dk.DSGDensityRatio(gamma=0.5, n_features=256, block_size=128, random_state=0).fit(*data)
    found = np.asarray(model.log_ratio(np.array([[-1.0], [0.0], [1.0]])))
    assert np.abs(found).max() < 0.5
