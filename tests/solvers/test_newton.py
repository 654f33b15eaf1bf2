"""Newton's method over explicit features: minima against SciPy and scikit-learn, and refusals."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import distkern as dk
from distkern.core.errors import InputError
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.linear import Linear
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import LOSSES, find_loss
from distkern.solvers import newton_matrices, newton_sums
from distkern.solvers.base import Problem, Trouble
from distkern.solvers.newton import Newton
from distkern.solvers.newton_sums import RowSums
from distkern.solvers.risk import Risk
from feature_problems import exact_minimum, features_of_kind, heavy_tailed, train
from reference import cut_blocks
from small import slow_but

NU = 1e-3
RBF = KernelChoice(find_kernel("rbf"), 1.0)


def penalties(z, free):
    """Return nu of each coefficient, (r, 1), 0 for the last ``free`` ones."""
    return NU * (np.arange(z.shape[1]) < z.shape[1] - free)[:, None]


def features_of(model, X):
    """Return z of the rows in which the norm is |w|^2; linear features have a constant."""
    if model.features == "linear":
        return np.column_stack([X, np.ones(len(X))])
    if model.features != "nystroem":
        return np.asarray(model.basis(np.float64).values(X))
    kernels = dk.kernel_matrix(np.vstack([model.landmarks_, X]), model.landmarks_, gamma=model.gamma_)
    r = len(model.landmarks_)
    eigenvalues, vectors = np.linalg.eigh(kernels[:r])
    return kernels[r:] @ (vectors / np.sqrt(eigenvalues)) @ vectors.T


@pytest.mark.parametrize("features", ["nystroem", "random", "linear"])
@pytest.mark.parametrize(
    ("loss", "classes"),
    [("squared_hinge", 2), ("logistic", 2), ("odm", 2), ("squared_hinge", 3), ("odm", 3), ("softmax", 3)],
)
def test_classifiers_end_at_the_minimum(features, loss, classes):
    X, values, weights = heavy_tailed(900)
    y = np.searchsorted(np.quantile(values, np.arange(1, classes) / classes), values)
    # of a Hessian of which blocks are taken convergence is linear
    tol = 1e-7 if loss == "softmax" else 1e-9
    sizes = {"linear": {}, "random": {"n_features": 40}, "nystroem": {"n_landmarks": 30}}[features]
    model = dk.NewtonClassifier(
        loss=loss, features=features, nu=NU, tol=tol, stages=60, random_state=0, **sizes
    ).fit(X, y, sample_weight=weights)
    own, other = (1.0, 0.0) if loss == "softmax" else (1.0, -1.0)
    codes = np.arange(classes) if classes > 2 else 1
    targets = np.where(y[:, None] == codes, own, other)
    z = features_of(model, X)
    free = int(features == "linear" or loss in ("logistic", "softmax"))
    if free and features != "linear":
        z = np.column_stack([z, np.ones(len(z))])
    risk = Risk(find_loss(loss)(), targets.shape[1])
    w, least = exact_minimum(risk, z, targets, penalties(z, free), weights / weights.mean())
    assert model.ended_ == "converged"
    assert model.history_[-1]["objective"] == pytest.approx(least, rel=100 * tol)
    f = model.decision_function(X)
    np.testing.assert_allclose(f.reshape(len(X), -1), z @ w, atol=2e-3 * np.abs(f).max())


@pytest.mark.parametrize("features", ["nystroem", "linear"])
@pytest.mark.parametrize("loss", ["square", "huber"])
def test_regressors_end_at_the_minimum(features, loss):
    X, values, weights = heavy_tailed(900)
    y = 50 + 20 * values
    sizes = {} if features == "linear" else {"n_landmarks": 30}
    given = {"delta": 5.0} if loss == "huber" else {}
    model = dk.NewtonRegressor(
        loss=loss, features=features, nu=NU, tol=1e-10, stages=60, random_state=0, **sizes, **given
    ).fit(X, y, sample_weight=weights)
    scale, center = model.target_scale_, model.target_center_
    z = features_of(model, X)
    targets = ((y - center) / scale)[:, None]
    own = find_loss(loss)(**({"delta": 5.0 / scale} if given else {}))
    free = int(features == "linear")
    w, least = exact_minimum(Risk(own), z, targets, penalties(z, free), weights / weights.mean())
    assert model.ended_ == "converged"
    assert model.history_[-1]["objective"] == pytest.approx(least, rel=1e-9)
    np.testing.assert_allclose(model.predict(X), center + scale * (z @ w)[:, 0], rtol=1e-4)
    if loss == "square":
        assert len(model.history_) == 2
        z = X if free else z
        ridge = Ridge(alpha=NU * len(X), fit_intercept=bool(free))
        ridge.fit(z, targets[:, 0], weights / weights.mean())
        np.testing.assert_allclose(model.predict(X), center + scale * ridge.predict(z), atol=1e-7)


def test_all_rows_as_landmarks_are_kernel_ridge_regression():
    X, values, _ = heavy_tailed(200)
    model = dk.NewtonRegressor(gamma=0.5, n_landmarks=200, nu=1e-2, random_state=0).fit(X, values)
    expected = KernelRidge(alpha=1e-2 * 200, kernel="rbf", gamma=0.5)
    expected.fit(X, (values - values.mean()) / values.std())
    np.testing.assert_allclose(
        model.predict(X), values.mean() + values.std() * expected.predict(X), atol=1e-8
    )


def solver(loss="squared_hinge", outputs=1, **given):
    return Newton(Risk(find_loss(loss)(), outputs), Linear(), **given)


def few_blocks(n=300, dtype=np.float64):
    X, values, _ = heavy_tailed(n)
    return cut_blocks(X.astype(dtype), (values > 0).astype(np.int32), (n // 2, n - n // 2))


def test_a_stage_is_a_matrix_and_steps_that_are_a_pass_each(monkeypatch):
    monkeypatch.setattr(newton_sums, "_LEAST_STEPS", 2)
    subject = solver("logistic", tol=1e-13)
    states, runner = train(subject, few_blocks())
    steps = [state.steps for state in states[1:]]
    stages = [["Newton matrix"] + ["gradient"] * number for number in steps]
    stages[0].insert(1, "norms of rows")
    assert runner.made == ["start", *(name for stage in stages for name in stage)]
    # the gradient of the last step shows that nothing is left to do
    assert steps[0] == 2
    assert steps[-1] > 0
    assert np.all(np.diff([state.objective for state in states]) < 0)
    assert states[-1].upper <= 1e-13 * (states[0].objective - states[-1].objective)
    assert states[-1].upper < 1e-4 * states[-2].upper


def test_many_classes_need_few_matrices():
    """A matrix for each class costs as much as many steps, which the gradient ends."""
    X, y = load_digits(return_X_y=True)
    given = {"n_landmarks": 300, "gamma": "median", "random_state": 0}
    model = dk.NewtonClassifier(nu=1e-8, **given).fit(X / 16.0, y)
    assert model.ended_ == "converged"
    assert len(model.history_) - 1 <= 4


@pytest.mark.parametrize("loss", ["square", "huber"])
def test_wide_kernels_in_single_precision_lose_little(loss):
    """Single-precision sums of these kernels separate only a few directions."""
    X, values, _ = heavy_tailed(400)
    given = {"gamma": 0.1, "n_landmarks": 60, "nu": 1e-7, "tol": 1e-6, "loss": loss, "random_state": 0}
    exact = dk.NewtonRegressor(**given).fit(X, values)
    single = dk.NewtonRegressor(**given).fit(X.astype(np.float32), values)
    assert single.history_[-1]["objective"] == pytest.approx(exact.history_[-1]["objective"], rel=1e-4)


def test_as_many_steps_as_a_matrix_is_worth():
    def steps(outputs, features, **sizes):
        problem = Problem((10000,), 54, np.dtype(np.float32), 0, n_outputs=outputs, has_test=False)
        kind = features_of_kind(features, RBF, **sizes).spanning()
        subject = Newton(Risk(find_loss("logistic")(), outputs), kind)
        return subject.method.schedule(problem, kind.footprint(problem)).most_steps

    few, many = ({"n_landmarks": size} for size in (256, 4096))
    # each matrix takes less than eight passes, or more than twelve
    assert steps(1, "landmarks", **few) == 8
    assert steps(1, "landmarks", **many) == 12
    assert steps(1, "nystroem", **many) == 12
    assert 8 < steps(7, "landmarks", **few) < 12


def test_a_step_that_is_too_long_is_made_shorter(monkeypatch):
    blocks = few_blocks()
    plain = train(solver(tol=1e-9), blocks)[0]
    bend = newton_matrices.NewtonMatrices.bend
    # of a matrix that is an eighth of the Hessian steps are eight times too long
    monkeypatch.setattr(newton_matrices.NewtonMatrices, "bend", lambda self, *how: bend(self, *how) / 8)
    states, runner = train(solver(tol=1e-9, stages=40), blocks)
    assert runner.made.count("gradient") > sum(state.steps for state in states)
    assert np.all(np.diff([state.objective for state in states]) < 1e-12)
    assert states[-1].objective == pytest.approx(plain[-1].objective, rel=1e-6)


def sampling(monkeypatch, rows):
    monkeypatch.setattr(newton_sums, "_LEAST_SAMPLE", rows)
    monkeypatch.setattr(newton_sums, "_SAMPLE_PASSES", 0)
    monkeypatch.setattr(newton_sums, "_PARABOLA_PASSES", 0)
    monkeypatch.setattr(newton_sums, "MOST_KEPT", 0)
    monkeypatch.setattr(newton_sums, "_FEW", 0)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "square"])
def test_matrices_of_a_sample_end_at_the_same_minimum(monkeypatch, loss):
    X, values, _ = heavy_tailed(3000)
    sizes = (500,) * 6
    blocks = cut_blocks(X, values if loss == "square" else (values > 0).astype(np.int32), sizes)
    whole, _ = train(solver(loss, tol=1e-9, stages=30), blocks)
    sampling(monkeypatch, 60)
    monkeypatch.setattr(newton_sums, "_LEAST_STEPS", 3)
    monkeypatch.setattr(newton_sums, "_MOST_STEPS", 3 if loss == "logistic" else 12)
    states, runner = train(solver(loss, tol=1e-9, stages=30), blocks)
    assert runner.made[:4] == ["start", "Newton matrix", "norms of rows", "gradient of the sample"]
    # where the sample leads is better than nothing, and not the minimum
    if loss == "logistic":
        # a pass for each step, and one where the sample has led; a stage begins where the last has ended
        assert len(states) > 2
        assert runner.made.count("gradient") == 1 + sum(state.steps for state in states)
    zero, least = states[0].objective, whole[-1].objective
    assert states[1].objective < least + 0.1 * (zero - least)
    assert states[-1].objective == pytest.approx(whole[-1].objective, rel=1e-8)
    np.testing.assert_allclose(states[-1].coefficients, whole[-1].coefficients, atol=2e-4)


@pytest.mark.parametrize("hessian", ["matrix", "products"])
def test_columns_in_units_far_apart_are_all_learned_from_a_sample(hessian):
    """A sample's matrix is damped in each column's unit; one unit left all but the largest column at 0."""
    generator = np.random.default_rng(0)
    flags = (generator.random((20_000, 8)) < 0.1).astype(float)
    X = np.column_stack([1e4 * generator.normal(size=20_000), flags])
    f = flags @ np.array([3.0, -3.0, 3.0, -3.0, 3.0, -3.0, 3.0, -3.0]) + 1e-4 * X[:, 0]
    y = (f + generator.logistic(size=20_000) > 0).astype(np.int32)
    found = []
    for units in (np.ones(9), np.r_[1e-4, np.ones(8)]):
        states, runner = train(
            solver("logistic", nu=1e-9, hessian=hessian), cut_blocks(X * units, y, (5000,) * 4)
        )
        assert {"gradient of the sample", "rows of the preconditioner"} & {*runner.made}
        found.append(states[-1].objective)
    assert found[0] == pytest.approx(found[1], rel=2e-3)


@pytest.fixture
def ascending(monkeypatch):
    """Steps that go up."""
    exact = newton_matrices.NewtonMatrices.inverse
    monkeypatch.setattr(
        newton_matrices.NewtonMatrices, "inverse", lambda *given: (lambda right: -right, exact(*given)[1])
    )


def test_where_no_step_of_a_sample_is_lower_the_run_ends(ascending, monkeypatch):
    X, values, _ = heavy_tailed(3000)
    blocks = cut_blocks(X, (values > 0).astype(np.int32), (500,) * 6)
    sampling(monkeypatch, 60)
    subject = solver(stages=9)
    states, _ = train(subject, blocks)
    # the third matrix might be of all rows
    assert [state.steps for state in states[1:]] == [0, 0, 0]
    assert states[-1].objective == states[0].objective
    assert "no step lowers the objective" in subject.measures(states[-1]).stopped


def test_a_sample_that_overstates_the_curvature_does_not_make_a_run_converge(monkeypatch):
    """Decrements by its matrix say that nothing is left; the bound takes the gradient over all rows."""
    X, values, _ = heavy_tailed(3000)
    blocks = cut_blocks(X, (values > 0).astype(np.int32), (500,) * 6)

    def over_landmarks(**given):
        kind = features_of_kind("nystroem", RBF, n_landmarks=20)
        return Newton(Risk(find_loss("squared_hinge")()), kind, nu=1e-4, **given)

    whole, _ = train(over_landmarks(tol=1e-9, stages=30), blocks)
    sampling(monkeypatch, 60)
    monkeypatch.setattr(newton_sums, "_SAMPLED_STAGES", 99)
    exact = newton_matrices.NewtonMatrices.inverse

    def overstated(*given):
        solve, shift = exact(*given)
        return (lambda right: 1e-4 * solve(right)), shift

    monkeypatch.setattr(newton_matrices.NewtonMatrices, "inverse", overstated)
    subject = over_landmarks(stages=8)
    states, _ = train(subject, blocks)
    for state in states[1:]:
        assert state.objective - whole[-1].objective <= state.upper
    assert subject.measures(states[-1]).converged


def test_a_matrix_that_rounding_spoiled_is_shifted_until_a_step_is_lower(monkeypatch):
    X, values, _ = heavy_tailed(2000)
    blocks = cut_blocks(X, values.astype(np.float64), (1000,) * 2)
    exact, shifts = newton_matrices.NewtonMatrices.inverse, []

    def spoiled(self, basis, matrices, nu, least=0.0):
        shifts.append(least)
        solve, shift = exact(self, basis, matrices, nu, least)
        return (solve if least > 5e-7 else lambda right: -1e3 * right), shift

    kind = features_of_kind("nystroem", RBF, n_landmarks=20)
    subject = Newton(Risk(find_loss("square")()), kind, nu=1e-9)
    wanted, _ = train(subject, blocks)
    monkeypatch.setattr(newton_matrices.NewtonMatrices, "inverse", spoiled)
    states, _ = train(subject, blocks)
    assert shifts[0] == 0.0
    assert len(shifts) == 3
    assert states[-1].objective == pytest.approx(wanted[-1].objective, rel=1e-3)
    # a shifted matrix proves nothing
    assert states[-1].upper > wanted[-1].upper


def test_rounding_in_the_matrix_of_a_smooth_kernel_is_not_taken_for_convergence():
    """Single precision hides the directions of least curvature, in which a third of the variance lies."""
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, (6000, 3))
    y = 10 * np.sin(3 * X[:, 0]) * X[:, 1] + 50 + X[:, 2] + 0.3 * generator.normal(size=6000)
    given = {"gamma": 0.05, "nu": 1e-11, "n_landmarks": 400, "random_state": 0, "scale": "none"}
    exact = dk.NewtonRegressor(dtype="float64", **given).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="dtype='float64'"):
        single = dk.NewtonRegressor(dtype="float32", **given).fit(X, y)
    assert exact.ended_ == "converged"
    assert exact.score(X, y) > single.score(X, y) + 0.01


@pytest.mark.parametrize(
    ("hessian", "n_rows"),
    slow_but(product(("matrix", "products"), (2000, 20_000)), ("matrix", 20_000), ("products", 2000)),
)
def test_where_only_rounding_is_left_the_run_ends_at_the_minimum(hessian, n_rows):
    """Columns as they are in single precision: no bound can be shown, and ten stages brought nothing."""
    generator = np.random.default_rng(0)
    S = generator.normal(size=(n_rows, 4))
    X = np.column_stack([2000 + 10 * S[:, 0], 3e5 + 1e5 * S[:, 1], S[:, 2], S[:, 3] > 0])
    y = S.sum(axis=1) + generator.normal(size=n_rows) > 0
    given = {"features": "linear", "hessian": hessian, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="dtype='float64'"):
        model = dk.NewtonClassifier(scale="none", **given).fit(X.astype(np.float32), y)
    assert model.ended_.startswith("stuck")
    assert model.n_iter_ < 10
    least = dk.NewtonClassifier(scale="none", tol=1e-6, dtype="float64", **given).fit(X, y).history_[-1]
    zero, last = model.history_[0]["objective"], model.history_[-1]["objective"]
    assert last - least["objective"] <= model.tol * (zero - last)


def test_a_parabola_that_a_sample_does_not_solve_gets_its_matrix(monkeypatch):
    X, values, _ = heavy_tailed(3000)
    blocks = cut_blocks(X, values, (500,) * 6)
    sampling(monkeypatch, 12)
    monkeypatch.setattr(newton_sums, "_MOST_STEPS", 1)
    monkeypatch.setattr(newton_sums, "_LEAST_STEPS", 1)
    states, runner = train(solver("square", tol=1e-12), blocks)
    assert [state.sampled for state in states[1:]] == [True, False]
    assert runner.made.count("Newton matrix") == 2
    Z = np.column_stack([X, np.ones(3000)])
    expected = np.linalg.solve(Z.T @ Z / 3000 + 1e-6 * np.diag([1, 1, 1, 1, 0]), Z.T @ values / 3000)
    np.testing.assert_allclose(states[-1].coefficients[:, 0], expected, rtol=1e-9)


def test_samples_are_taken_of_many_rows_and_for_a_parabola_of_many_functions():
    def sample(loss, size, n_rows):
        kind = features_of_kind("landmarks", RBF, n_landmarks=size)
        problem = Problem(
            (5000,) * (n_rows // 5000), 54, np.dtype(np.float32), 0, n_outputs=1, has_test=False
        )
        subject = Newton(Risk(find_loss(loss)(), 1), kind)
        return subject.method.schedule(problem, kind.footprint(problem)).sample(0)

    assert sample("logistic", 256, 15_000) is None
    found = sample("logistic", 256, 50_000)
    # a quarter at most, whatever a matrix takes
    assert len(found.blocks) * found.rows_per_block == pytest.approx(12500, rel=0.01)
    found = sample("logistic", 1024, 1_000_000)
    # 1024^2 products for each row, and in half a pass 1024 (2 * 56 + 90 + 4) / 2
    worth = 1_000_000 * (2 * 56 + 90 + 4) / 2 / 1024
    assert len(found.blocks) * found.rows_per_block == pytest.approx(worth, rel=0.03)
    found = sample("logistic", 4096, 100_000)
    assert len(found.blocks) * found.rows_per_block == pytest.approx(16384, rel=0.01)
    assert sample("square", 256, 100_000) is None
    assert sample("square", 4096, 100_000) == found


def test_strips_of_a_matrix_change_nothing(monkeypatch):
    blocks = few_blocks()
    whole, _ = train(solver(), blocks)
    monkeypatch.setattr(newton_matrices, "_STRIP_BYTES", 120)
    strips, runner = train(solver(), blocks)
    assert runner.made.count("Newton matrix") == 2 * (len(strips) - 1)
    assert len(strips) == len(whole)
    np.testing.assert_allclose(strips[-1].coefficients, whole[-1].coefficients, rtol=1e-10)


def test_where_no_step_is_lower_the_run_ends_and_says_so(ascending):
    blocks = few_blocks()
    subject = solver(stages=9)
    states, _ = train(subject, blocks)
    assert len(states) == 2
    assert states[1].steps == 0
    assert states[1].objective == states[0].objective
    measures = subject.measures(states[1])
    assert not measures.converged
    assert "no step lowers the objective" in measures.stopped
    assert "set a larger nu" in measures.shortfall


@pytest.mark.parametrize("name", ["hinge", "absolute", "epsilon_insensitive", "quantile"])
def test_losses_without_curvature_are_refused(name):
    loss = find_loss(name)()
    with pytest.raises(
        InputError, match=f"'{name}' has no second derivative; use one of .*(squared_hinge|huber)"
    ):
        Newton(Risk(loss, len(loss.levels or (0,))), Linear())
    kind = dk.NewtonClassifier if loss.target_kind == "binary" else dk.NewtonRegressor
    assert name in LOSSES
    of = "classifiers" if loss.target_kind == "binary" else "regressors"
    told = rf"'{name}' is a loss for {of} \(.*dsg.*\) and cannot be used here; use .*(squared_hinge|square)"
    with pytest.raises(InputError, match=told):
        kind(loss=name).fit(np.eye(4), [0, 1, 0, 1])


def test_what_the_hints_say():
    assert "nu" in solver().hint(Trouble.DIVERGED)
    assert "stages" in solver().hint(Trouble.UNFINISHED)


def test_sums_that_rounding_leaves_indefinite_get_a_minimum():
    generator = np.random.default_rng(0)
    basis = np.linalg.qr(generator.normal(size=(80, 80)))[0]
    true = (basis * np.geomspace(1e6, 1e-6, 80)) @ basis.T
    rounding = generator.normal(scale=1e-4, size=true.shape)
    weights = basis[:, :20] @ generator.normal(size=(20, 1))
    slopes = -true @ weights + generator.normal(scale=1e-4, size=(80, 1))
    n_rows, at_zero = 10_000, 0.5 * float((weights * (true @ weights)).sum())
    sums = RowSums(true + rounding + rounding.T, slopes, np.zeros(0), n_rows, 1.0, n_rows, at_zero, 0.0)
    assert np.linalg.eigvalsh(sums.gram)[0] < 0
    definite = sums.definite()
    assert definite.definite() is definite
    found = definite.point(-np.linalg.solve(definite.gram, slopes), 1.0, 0.0, np.zeros((80, 1)))
    # the true minimum is 0, and the indefinite parabola has none
    assert abs(found.value) < 1e-6 * at_zero / n_rows
    # sums of double precision stay as they are
    exact = replace(sums, gram=true + 1e-6 * np.eye(80))
    assert exact.definite() is exact
