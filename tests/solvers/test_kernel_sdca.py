"""k-SDCA: minima against exact solvers, the duality gap, parties, resumption and max_support."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

import distkern
from distkern import SDCAClassifier
from distkern.core.errors import InputError
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Support
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers.compare.kernel_sdca import KernelSDCA
from distkern.solvers.compare.sdca import SDCA
from distkern.solvers.risk import Risk
from feature_problems import (
    all_rows,
    dense_and_sparse,
    exact_minimum,
    keeps_its_bits,
    targets_of,
    train,
    waves,
)

NU = 1e-2


def solver(loss="hinge", outputs=1, *, risk=None, max_support=20_000, **settings):
    risk = risk or Risk(find_loss(loss)(), outputs)
    features = Support(KernelChoice(find_kernel("rbf"), 2.0), max_support)
    return KernelSDCA(risk, features, **{"nu": NU, "stages": 4, "tol": 0.0, **settings})


def objective(subject, kernel, y, coefficients, s=1.0):
    """Return the objective of f = K coefficients, in float64."""
    f = kernel @ coefficients
    norm = np.einsum("ij,ij->", coefficients, f)
    return 0.5 * subject.nu * norm + np.mean(s * subject.risk.loss.row_values(f, y))


def of_all_rows(state, x):
    """Return coefficients of all rows, 0 outside of the support."""
    found = np.zeros((len(x), state.coefficients.shape[1]))
    places = {row.tobytes(): place for place, row in enumerate(x)}
    for row, own in zip(np.asarray(state.landmarks), state.coefficients, strict=True):
        found[places[row.tobytes()]] = own
    return found


def root(kernel):
    """Return Z with Z Z' = K."""
    values, vectors = np.linalg.eigh(kernel)
    return vectors * np.sqrt(np.maximum(values, 0.0))


@pytest.mark.parametrize("n", [600, pytest.param(2500, marks=pytest.mark.slow)])
def test_a_support_vector_machine(n):
    blocks = waves(n, classes=2)
    subject = solver(stages=60, tol=3e-4)
    states, _ = train(subject, blocks)
    x, y = all_rows(blocks), targets_of(subject, blocks)
    kernel = rbf_kernel(x, gamma=2.0)
    z = root(kernel)
    machine = LinearSVC(C=1 / (NU * n), loss="hinge", fit_intercept=False, tol=1e-7, max_iter=10**6)
    w = machine.fit(z, y[:, 0]).coef_.T
    minimum = 0.5 * NU * np.sum(w**2) + np.mean(np.maximum(0.0, 1.0 - y * (z @ w)))
    last = states[-1]
    assert last.gap <= 3e-4 * last.objective
    assert minimum * (1 - 1e-5) < last.objective < minimum * (1 + 1e-3)
    assert last.objective == pytest.approx(objective(subject, kernel, y, of_all_rows(last, x)), rel=1e-9)
    assert len(last.support) < 0.7 * n
    assert (np.diff([state.dual for state in states]) >= -1e-12).all()


def test_kernel_ridge_regression():
    blocks = waves()
    subject = solver("square", stages=100, tol=1e-5)
    last = train(subject, blocks)[0][-1]
    x, y = all_rows(blocks), targets_of(subject, blocks)
    machine = KernelRidge(alpha=NU * len(y), kernel="rbf", gamma=2.0).fit(x, y)
    kernel = rbf_kernel(x, gamma=2.0)
    minimum = objective(subject, kernel, y, machine.dual_coef_)
    assert minimum * (1 - 1e-9) < last.objective < minimum * (1 + 1e-4)
    np.testing.assert_allclose(kernel @ of_all_rows(last, x), machine.predict(x), atol=0.02)


@pytest.mark.slow
def test_several_outputs_with_weights():
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 600)
    subject = solver(risk=Risk(find_loss("hinge")(), 3, None, float(weights.mean())), stages=3)
    keeps_its_bits(subject, waves(classes=3, weights=weights, dtype="float32"))
    blocks = waves(classes=3, weights=weights)
    last = train(subject, blocks)[0][-1]
    x, y = all_rows(blocks), targets_of(subject, blocks)
    coefficients = of_all_rows(last, x)
    s = weights / weights.mean()
    # -a y of the hinge, for 0 <= a y <= s
    duals = coefficients * NU * 600
    assert ((duals * y >= -1e-9) & (duals * y <= s[:, None] + 1e-9)).all()
    kernel = rbf_kernel(x, gamma=2.0)
    norm = 0.5 * NU * np.einsum("ij,ij->", coefficients, kernel @ coefficients)
    assert last.dual == pytest.approx(np.sum(duals * y) / 600 - norm, rel=1e-6)
    assert last.objective == pytest.approx(objective(subject, kernel, y, coefficients, s), rel=1e-6)


@pytest.mark.slow
def test_sparse_rows_as_dense_ones():
    dense, sparse = (train(solver(stages=2), blocks)[0][-1] for blocks in dense_and_sparse())
    np.testing.assert_array_equal(dense.support, sparse.support)
    np.testing.assert_allclose(dense.coefficients, sparse.coefficients, rtol=1e-9, atol=1e-12)


def test_more_support_than_allowed_is_refused_with_what_to_do():
    with pytest.raises(InputError, match=r"max_support: more than 100 training rows .*features='nystroem'"):
        train(solver(max_support=100), waves(classes=2))


def test_a_model_with_its_support_is_kept(tmp_path):
    x = np.random.default_rng(0).random((400, 4)).astype(np.float32)
    y = np.array(["a", "b"])[(x[:, 0] > 0.5).astype(int)]
    model = SDCAClassifier(features="kernel", loss="hinge", stages=3, tol=0.0, random_state=3).fit(x, y)
    model.save(tmp_path / "m")
    loaded = distkern.load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.landmarks_, model.landmarks_)
    np.testing.assert_array_equal(loaded.decision_function(x), model.decision_function(x))
    assert model.score(x, y) > 0.85


@pytest.mark.slow
def test_of_few_rows_the_gap_closes_in_the_stages_that_are_usual():
    blocks = waves(300, classes=2)
    subject = SDCAClassifier(features="kernel", random_state=0)
    X, y = all_rows(blocks), np.concatenate([np.asarray(block.targets) for block in blocks])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        subject.fit(X, y)
    first, last = subject.history_[0], subject.history_[-1]
    assert last["gap"] <= 1e-3 * (first["objective"] - last["objective"])
    risk = Risk(find_loss("logistic")())
    signs = targets_of(solver("logistic"), blocks)
    _, least = exact_minimum(risk, root(rbf_kernel(X, gamma=subject.gamma_)), signs, SDCA.nu)
    assert least * (1 - 1e-6) < last["objective"] < least + last["gap"]
