"""What "converged" says of every algorithm that says it, beside minima found otherwise, in double precision.

An algorithm that is new is tried on all problems; its objective is that of features by its hyperparameters
nu or lam.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import distkern as dk
from distkern.core.errors import DivergenceError
from distkern.runs.algorithms import algorithms
from reference import smooth_minimum
from runs import solver_of
from small import slow_but, taken

#: machines of cells have a duality gap each, and minima that depend on the cells
APART = {"cells", "cells_regressor"}
ALGORITHMS = {
    name: kind for name, kind in algorithms().items() if "tol" in kind.hyperparameters and name not in APART
}
#: objectives are sums of rounded numbers, and so are minima
ROUNDING = 1e-9
LOSSES = {"classification": ["logistic", "squared_hinge", "odm"], "regression": ["square", "huber"]}
#: losses of those that are tried with more than the first one
FEW = {"newton": ["logistic", "squared_hinge"]}


def problem(number, n_rows=160):
    """Rows, real targets, weights and nu of a problem on which it is hard to tell how far the minimum is."""
    generator = np.random.default_rng(number)
    S = generator.normal(size=(n_rows, 5))
    values = np.sin(2 * S[:, 0]) * S[:, 1] + 0.5 * S[:, 2] + S[:, 3] + 0.2 * generator.normal(size=n_rows)
    weights = None
    if number == 0:
        # units and offsets far apart
        X, nu = S * 10 ** generator.uniform(-2.5, 2.5, 5) + 10 ** generator.uniform(-1, 2, 5), 1e-6
    elif number == 1:
        # columns that are there twice, and hardly any regularisation
        X, nu = np.column_stack([S, S[:, :2], S[:, 3] + 1e-5 * S[:, 4]]), 1e-9
    else:
        X, nu, weights = S, 1e-6, np.exp(1.5 * generator.normal(size=n_rows))
    return X, values, weights, nu


def targets_of(kind, number, values):
    """Real targets as they are; else classes, of which the last problem has a rare one."""
    if kind.task == "regression":
        return 3.0 + 2.0 * values
    return (values > np.quantile(values, 0.9 if number == 2 else 0.5)).astype(int)


def fitted(kind, number, loss, features, **more):
    """The model, and f, f(0) and the minimum of its objective."""
    X, values, weights, nu = problem(number)
    y = targets_of(kind, number, values)
    chosen = {"loss": loss, "random_state": 0, "dtype": "float64"}
    if "features" in kind.hyperparameters:
        chosen["features"] = features
    wanted = {"scale": "none", "nu": nu, "lam": 1e3, "stages": 20, "gamma": 0.3, "n_landmarks": 40}
    wanted |= {"n_features": 40, "block_size": 8}
    names = taken(kind, chosen)
    given = chosen | {name: value for name, value in wanted.items() if name in names}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(**given, **more).fit(X, y, sample_weight=weights)
    scale, center = (model.target_scale_, model.target_center_) if kind.task == "regression" else (1.0, 0.0)
    targets = (y - center) / scale if kind.task == "regression" else np.where(y == 1, 1.0, -1.0)
    s = np.ones(len(X)) if weights is None else weights / weights.mean()
    strong, weak = (given["lam"], 1.0) if "lam" in given else (1.0, nu)
    z, offset = functions(model, X, features), 0.0
    penalties = np.full(z.shape[1], weak)
    if is_free(model):
        z, penalties = np.column_stack([z, np.ones(len(X))]), np.append(penalties, 0.0)
    elif model.task == "classification":
        # a bound is of the minimum beside the offset
        offset = log_odds(y, s) if regularises_all(model) else float(model.constants_[0])
    least = smooth_minimum(loss, z, targets, s, penalties, strong, offset)
    return model, model.history_[-1]["objective"], model.history_[0]["objective"], least


def regularises_all(model):
    """Whether a constant is regularised too."""
    return getattr(model.solver_type(), "regularises_all", False)


def is_free(model):
    """Whether a constant beside the functions is not regularised."""
    return not regularises_all(model) and bool(n_constant(model))


def n_constant(model):
    """How many of the solver's functions are constant."""
    return getattr(solver_of(model), "n_constant", 0)


def log_odds(y, s):
    """The offset at which classes begin."""
    share = s @ (y == 1) / s.sum()
    return float(np.log(share / (1 - share)))


def functions(model, X, features):
    """z of rows with |w|^2 as the norm, without a constant that is not regularised."""
    if features == "linear":
        return np.column_stack([X, np.ones(len(X))]) if regularises_all(model) and n_constant(model) else X
    if getattr(model, "landmarks_", None) is None or not len(model.landmarks_):
        return np.asarray(model.basis(np.float64).values(X))
    kernels = dk.kernel_matrix(np.vstack([model.landmarks_, X]), model.landmarks_, gamma=model.gamma_)
    r = len(model.landmarks_)
    eigenvalues, vectors = np.linalg.eigh(kernels[:r])
    kept = eigenvalues > 1e-13 * eigenvalues[-1]
    return kernels[r:] @ (vectors[:, kept] / np.sqrt(eigenvalues[kept]))


def check(kind, number, loss, features, **more):
    """Whether it says that it has converged; if so, it is where that says."""
    try:
        model, f, zero, least = fitted(kind, number, loss, features, **more)
    except DivergenceError:
        # columns as they are may be too much for first steps
        return False
    # a constant that is regularised is shifted at the end
    assert f >= least - ROUNDING * zero or regularises_all(model), "the minimum is the minimum"
    for stage in model.history_[1:]:
        bound = stage.get("bound", stage.get("gap"))
        # a constant that is regularised is shifted after the last stage
        if bound is not None and not (
            regularises_all(model) and stage is model.history_[-1] and model.ended_ != "converged"
        ):
            assert stage["objective"] - least <= bound + ROUNDING * zero, "every bound that is told holds"
    if model.ended_ != "converged":
        return False
    assert f - least <= model.tol * (zero - f) + ROUNDING * zero, (number, loss, features)
    return True


@pytest.mark.parametrize(
    "name", slow_but(ALGORITHMS, "newton", "newton_regressor", "rbcd_regressor", "csvrg")
)
def test_converged_is_within_the_tolerance_of_the_minimum(name):
    kind = ALGORITHMS[name]
    words = kind.hyperparameters["features"].words if "features" in kind.hyperparameters else ["nystroem"]
    allowed = kind.hyperparameters["loss"].words
    losses = FEW.get(name, [loss for loss in LOSSES[kind.task] if loss in allowed][:1])
    # the norm of nystroem features is that of the kernel's space
    chosen = [word for word in ("linear", "random", "nystroem") if word in words]
    said = [
        check(kind, number, loss, features) for number in range(3) for loss in losses for features in chosen
    ]
    if kind.__name__.startswith("Newton"):
        assert np.mean(said) > 0.8


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge"])
def test_products_too(loss):
    kind = ALGORITHMS["newton_regressor" if loss == "square" else "newton"]

    said = [
        check(kind, number, loss, features, hessian="products")
        for number in range(3)
        for features in ("linear", "random")
    ]
    assert np.mean(said) > 0.8
