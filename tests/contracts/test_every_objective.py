"""The objective that is reported is the documented formula at the model that is returned, on every one.

Recomputed in float64 from ``decision_function`` or ``predict``, the weights and the norm.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from formulas import formula

from distkern.model.features import LandmarkModel
from distkern.runs.algorithms import algorithms
from distkern.solvers._cells.buckets import Machines
from small import each, most_classes, taken

KINDS = algorithms()
SMALL = {
    "n_features": 128,
    "block_size": 32,
    "batch_size": 64,
    "n_landmarks": 24,
    "stages": 3,
    "steps_per_stage": 1000,
    "max_rounds": 300,
    "patience": None,
    "max_cell_rows": 64,
    "search": None,
    "random_state": 0,
}


def small(kind):
    known = kind().get_params()
    given = {name: SMALL[name] for name in taken(kind, {}) if name in SMALL}
    if "validation_fraction" in known:
        # rows that are held out to choose by are not in the objective
        given |= {"nu": 0.1, "validation_fraction": 0.0}
    return kind(**given)


def data(n_classes, seed):
    generator = np.random.default_rng(seed)
    X = generator.random((300, 4))
    values = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2]
    y = 50 + 20 * values
    if n_classes:
        y = np.searchsorted(np.quantile(values, np.linspace(0, 1, n_classes + 1)[1:-1]), values)
    return X, y, generator.integers(1, 4, 300).astype(float)


def norm_of_cells(model):
    """|w|^2 of all machines, in units of the scaled targets."""
    total = 0.0
    for number in range(len(model.machines_)):
        machines = Machines.of(model.parts_.load(number))
        for start, stop in pairwise([0, *machines.ends]):
            rows = machines.support[machines.places[start:stop]]
            coefficients = machines.coefficients[start:stop].astype(float)
            apart = np.linalg.norm(rows[:, None].astype(float) - rows[None], axis=2)
            total += float(np.einsum("ij,ik,kj->", coefficients, np.exp(-model.gamma_ * apart), coefficients))
    return total


def norm(model):
    """|w|^2 of the documentation, summed over the outputs."""
    squares = float(np.square(model.coefficients_).sum())
    if hasattr(model, "n_blocks_"):
        # features of each block are normalised by themselves
        return squares * -(-model.n_features // min(model.block_size, model.n_features))
    if issubclass(model.kind, LandmarkModel) or getattr(model, "features", "") in ("nystroem", "kernel"):
        apart = ((model.landmarks_[:, None] - model.landmarks_[None]) ** 2).sum(axis=2).astype(float)
        return float(
            np.einsum("ij,ik,kj->", model.coefficients_, np.exp(-model.gamma_ * apart), model.coefficients_)
        )
    return squares + (float(np.square(model.constants_).sum()) if model.name == "pegasos" else 0.0)


@pytest.mark.parametrize(("n_classes", "weighted"), [(2, True), (3, False)])
@pytest.mark.parametrize("name", each(KINDS))
def test_the_reported_objective_is_the_documented_formula(name, n_classes, weighted):
    regression, without = (KINDS[name].task == task for task in ("regression", "none"))
    if n_classes == 3 and (regression or without or most_classes(KINDS[name]) < 3):
        pytest.skip("it has not so many classes")
    X, y, weights = data(0 if regression else n_classes, 3)
    if name.startswith(("auto", "cells")):
        # their machines compare rows in single precision
        X = X.astype(np.float32)
    model = small(KINDS[name])
    fitted = model.fit(X, y, sample_weight=weights) if weighted else model.fit(X, y)
    # what was chosen has the formula
    model = getattr(fitted, "machine_", fitted)
    name = model.name
    s = weights if weighted else np.ones(len(y))
    if model.class_weights_ is not None:
        s = s * model.class_weights_[y]
    total, s = s.sum(), s / s.mean()
    method = {"regression": "predict", "none": "score_samples"}.get(KINDS[name].task, "decision_function")
    f = np.asarray(getattr(fitted, method)(X), dtype=float)
    squared = 0.0 if name.startswith("cells") else norm(fitted)
    if regression:
        f, y = ((values - model.target_center_[0]) / model.target_scale_ for values in (f, y))
        squared /= model.target_scale_**2
    f = f.reshape(len(y), -1)
    signs = y[:, None]
    if not regression:
        signs = np.where(y[:, None] == (np.arange(n_classes) if n_classes > 2 else 1), 1.0, -1.0)
    own = model.model_.loss
    loss = formula("LOSSES", replace(own, threshold=model.offset_) if without else own)
    values = [loss(*row) for row in zip(f.tolist(), signs.tolist(), strict=True)]
    risk = float((s * values).mean())
    if issubclass(model.kind, LandmarkModel):
        expected = 0.5 * squared + model.value("lam") * risk
    elif name == "simba":
        expected = risk
    elif name.startswith("cells"):
        expected = risk + norm_of_cells(model) / (2 * model.cost_ * total)
    else:
        given = "lam" if name == "pegasos" else "nu"
        weight = model.nu_ if hasattr(model, "nu_") else model.value(given)
        expected = risk + 0.5 * weight * squared
    # margins of SIMBA are measured by bins of 1 / 2048
    assert model.history_[-1]["objective"] == pytest.approx(expected, rel=2e-3 if name == "simba" else 1e-5)
    # of the model 0, which novelty detection costs nothing
    assert (model.history_[0]["objective"] > 0) is not without


@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", each(KINDS))
def test_the_training_error_is_what_the_score_says(name, turn):
    """SIMBA holds no rows out; DSG's sample is all of so few rows."""
    # algorithms take turns at the two, and meet the other one in a slow test
    counted = ("weighted", "repeated")[([*KINDS].index(name) + turn) % 2]
    regression = KINDS[name].task == "regression"
    n_classes = most_classes(KINDS[name])
    X, y, weights = data(0 if regression else n_classes, 3)
    if not regression:
        # rows that no machine gets right
        y = np.where(np.arange(300) % 5 == 0, (y + 1) % n_classes, y)
    weights = weights * np.arange(300) / 100
    if counted == "repeated":
        often = np.random.default_rng(1).integers(1, 6, 300)
        X, y, weights = np.repeat(X, often, axis=0)[:900], np.repeat(y, often)[:900], None
    if name.startswith(("auto", "cells")):
        X = X.astype(np.float32)
    own = {"sample_weight": weights} if counted == "weighted" else {}
    model = small(KINDS[name]).fit(X, y, **own)
    if KINDS[name].task == "none":
        share = np.average(model.predict(X) < 0, weights=own.get("sample_weight"))
        assert model.history_[-1]["train_error"] == pytest.approx(share, abs=1e-6)
        return
    if not regression:
        assert model.history_[-1]["train_error"] == pytest.approx(1 - model.score(X, y, **own), abs=1e-6)
        return
    residuals = np.asarray(model.predict(X)) - y
    squared, absolute = (
        np.average(errors, **{"weights": weights} if own else {})
        for errors in (residuals**2, np.abs(residuals))
    )
    last = model.history_[-1]
    assert last["train_error"] == pytest.approx(squared, rel=1e-5)
    assert last["train_mae"] == pytest.approx(absolute, rel=1e-5)
    assert last["train_r2"] == pytest.approx(model.score(X, y, **own), abs=1e-6)
