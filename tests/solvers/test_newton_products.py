"""Newton's method without matrices: minima, number of passes, equal bits, and when it is chosen."""

import json
import subprocess
import sys

import numpy as np
import pytest

import distkern as dk
from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.engine.checkpoint import CheckpointFolder
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Nystroem
from distkern.maths.features.linear import Linear
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.model.features import fitting_in_memory
from distkern.solvers import newton_products
from distkern.solvers.base import Problem
from distkern.solvers.newton import Newton
from distkern.solvers.newton_products import MOST_PRODUCTS, conjugate_gradients, sampled_rows
from distkern.solvers.risk import Risk
from feature_problems import features_of_kind, heavy_tailed, problem_of, run_by_engine, same, train, waves
from reference import PlainRunner
from runs import posed_problem
from runs import train as train_run

NU = 1e-4
RBF = KernelChoice(find_kernel("rbf"), 1.0)


@pytest.mark.parametrize(
    ("loss", "classes", "features"),
    [
        ("squared_hinge", 2, "random"),
        ("odm", 2, "landmarks"),
        ("logistic", 2, "random"),
        ("squared_hinge", 4, "random"),
        ("softmax", 4, "random"),
        ("softmax", 3, "linear"),
        ("square", 0, "random"),
        ("huber", 0, "random"),
        ("square", 0, "linear"),
    ],
)
def test_products_end_where_matrices_do(loss, classes, features):
    X, values, weights = heavy_tailed(600)
    y = np.searchsorted(np.quantile(values, np.arange(1, classes) / classes), values) if classes else values
    kind = dk.NewtonClassifier if classes else dk.NewtonRegressor
    sizes = {"random": {"n_features": 80}, "landmarks": {"n_landmarks": 40}, "linear": {}}[features]
    given = {"loss": loss, "features": features, "nu": NU, "stages": 60, "random_state": 0, **sizes}
    matrix, products = (
        kind(hessian=hessian, tol=1e-8, **given).fit(X, y, sample_weight=weights)
        for hessian in ("matrix", "products")
    )
    assert (matrix.hessian_, products.hessian_) == ("matrix", "products")
    assert products.ended_ == "converged"
    least = matrix.history_[-1]["objective"]
    assert products.history_[-1]["objective"] == pytest.approx(least, rel=3e-7)
    f = matrix.decision_function(X) if classes else matrix.predict(X)
    other = products.decision_function(X) if classes else products.predict(X)
    np.testing.assert_allclose(other, f, atol=3e-3 * np.abs(f).max())


@pytest.mark.parametrize("columns", ["correlated", "rare"])
def test_columns_that_are_ill_conditioned_end_near_the_minimum_at_the_usual_tolerance(columns):
    """The first products of a stage gain little here; stopping at them ended 1 to 2 % above the minimum."""
    generator = np.random.default_rng(1)
    if columns == "rare":
        shares = np.exp(generator.uniform(np.log(2e-4), np.log(0.3), 40))
        flags = (generator.random((20_000, 40)) < shares).astype(float)
        X = np.hstack([flags, generator.normal(size=(20_000, 8))])
        f = X @ np.r_[generator.normal(0, 3, 40), generator.normal(0, 0.3, 8)]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    else:
        latent = generator.normal(size=(20_000, 50))
        X = latent * np.logspace(0, -3, 50) @ np.linalg.qr(generator.normal(size=(50, 50)))[0].T
        f = latent @ generator.normal(0, 0.3, 50)
    y = f + generator.logistic(size=len(f)) > 0
    given = {"loss": "squared_hinge", "features": "linear", "scale": "none", "nu": 1e-8, "random_state": 0}
    least, found = (
        dk.NewtonClassifier(hessian=hessian, tol=tol, stages=30, **given).fit(X, y).history_[-1]["objective"]
        for hessian, tol in (("matrix", 1e-6), ("products", 1e-3))
    )
    assert found < least * 1.005


def solver(loss="logistic", outputs=1, features=None, **given):
    features = Random(RBF, 200) if features is None else features
    return Newton(Risk(find_loss(loss)(), outputs), features, **{"nu": NU, "hessian": "products", **given})


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_products_are_bounded_and_fewer_with_the_preconditioner(loss, monkeypatch):
    blocks = waves(1000, 3, classes=0 if loss == "square" else 2)
    narrow = KernelChoice(find_kernel("rbf"), 4.0)
    subject = solver(loss, features=Random(narrow, 100), nu=1e-5, tol=1e-6, stages=20)
    states, runner = train(subject, blocks)
    made = runner.made.count("Hessian product")
    assert made == sum(state.steps for state in states) <= MOST_PRODUCTS * (len(states) - 1)
    monkeypatch.setattr(newton_products, "_MOST_ROWS", 0)
    plain, runner = train(subject, blocks)
    # 23 and 161, 27 and 91
    assert 2.5 * made < runner.made.count("Hessian product")
    assert states[-1].objective <= plain[-1].objective


def test_the_square_loss_is_one_solution():
    blocks = waves(2000, 3)
    states, runner = train(solver("square", tol=1e-9), blocks)
    products = ["Hessian product"] * states[-1].steps
    assert runner.made == ["start", "rows of the preconditioner", "gradient", *products, "gradient"]
    z = (
        Random(RBF, 200)
        .basis(problem_of(blocks), np.empty((0, 3)), 1.0)
        .values(np.vstack([block.features for block in blocks]))
    )
    y = np.concatenate([block.targets for block in blocks])
    w = np.linalg.solve(z.T @ z / 2000 + NU * np.eye(200), z.T @ y / 2000)
    least = 0.5 * np.square(z @ w - y).mean() + 0.5 * NU * w @ w
    assert states[-1].objective == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "softmax"])
@pytest.mark.parametrize("kind", ["random", "linear", "landmarks"])
def test_the_preconditioner_is_the_inverse_of_its_matrix(kind, loss):
    k = 3
    (block,) = waves(120, 5, classes=k, sizes=[120], weights=np.random.default_rng(0).uniform(0.5, 2, 120))
    problem = problem_of([block], k)
    sizes = {"random": {"n_features": 40}, "linear": {}, "landmarks": {"n_landmarks": 30}}[kind]
    chosen = features_of_kind(kind, RBF, **sizes).with_constant()
    landmarks = block.features[:30] if kind == "landmarks" else np.empty((0, 5))
    basis = chosen.basis(problem, landmarks, 1.0)
    sampled = PlainRunner([block]).run(sampled_rows(problem, basis, 120))
    generator = np.random.default_rng(1)
    w, g = generator.standard_normal((2, basis.size, k))
    risk, z = Risk(find_loss(loss)(), k), np.asarray(basis.values(block.features))
    found = sampled.inverse(w, risk, 0.01)(g)
    bends = risk.curvatures(z @ w, risk.targets(block), risk.weights(block))
    expected = np.empty_like(g)
    to = np.eye(basis.size)
    if kind == "linear":
        # in units of columns around their means
        to = np.diag(1 / np.append(z[:, :-1].std(axis=0), 1.0))
        to[-1, :-1] = -z[:, :-1].mean(axis=0) * np.diag(to)[:-1]
    for j in range(k):
        gram = to.T @ (z.T * bends[:, j]) @ z @ to / 120
        shift = 0.01 + 0.03 * np.trace(gram) / 120
        expected[:, j] = to @ np.linalg.solve(gram + shift * np.eye(len(gram)), to.T @ g[:, j])
    if loss == "softmax":
        expected -= expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("together", [False, True])
def test_conjugate_gradients_solve_in_as_many_steps_as_there_are_directions(together):
    generator = np.random.default_rng(0)
    hessians = [a @ a.T + np.eye(6) for a in generator.standard_normal((2, 6, 6))]
    gradient = generator.standard_normal((6, 2))

    def product(direction):
        yield from ()
        return np.column_stack([h @ direction[:, j] for j, h in enumerate(hessians)])

    found = PlainRunner([]).run(
        conjugate_gradients(
            product,
            gradient,
            lambda right: right,
            nu=1.0,
            enough=lambda gained: 1e-14 * gained,
            share=0.0,
            most=30,
            together=together,
        )
    )
    expected = np.column_stack([np.linalg.solve(h, -gradient[:, j]) for j, h in enumerate(hessians)])
    np.testing.assert_allclose(found.step, expected, rtol=1e-7)
    assert found.products <= (14 if together else 7)
    assert found.gained == pytest.approx(-0.5 * np.sum(gradient * expected), rel=1e-10)


SOLVER = solver("softmax", 3, nu=1e-5, tol=0.0, stages=3)


def run(scheduler, **how):
    blocks = waves(2500, 5, classes=3, dtype="float32", sizes=[700, 200, 900, 400, 300])
    return run_by_engine(SOLVER, blocks, scheduler, test=blocks[:1], **how)


@pytest.mark.slow
def test_the_same_bits_on_threads_and_workers_and_of_a_run_that_was_cut(local_workers, tmp_path):
    wanted = run("synchronous")
    same(run("threads", workers=3).state, wanted.state)
    same(run(local_workers).state, wanted.state)

    class CutError(Exception):
        pass

    def cut(event):
        if event.kind == "checkpoint_saved" and event["stage"] == 1:
            raise CutError

    folder = CheckpointFolder(tmp_path, {"job": 1})
    with pytest.raises(CutError):
        run("synchronous", folder=folder, listener=cut)
    same(run("synchronous", folder=folder, resume=True).state, wanted.state)


def test_nystroem_features_are_refused():
    with pytest.raises(InputError, match=r"hessian: 'products' does not support nystroem.*features='random'"):
        solver(features=Nystroem(RBF, 20))
    with pytest.raises(InputError, match="hessian"):
        dk.NewtonClassifier(hessian="products").fit(np.eye(4), [0, 1, 0, 1])
    solver(features=Linear())


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    X, values, _ = heavy_tailed(4000)
    path = tmp_path_factory.mktemp("products") / "d.zarr"
    write_dataset([(X.astype(np.float32), (values > 0).astype(int))], path, rows_per_shard=500)
    return path


def test_what_fits_the_limit_decides(path):
    data = dk.open_dataset(path).train

    def chosen(**given):
        model = dk.NewtonClassifier(features="random", **given)
        subject, problem = posed_problem(model, data)
        assert subject.takes_products == bool(problem.notes)
        return "products" if subject.takes_products else "matrix", problem.notes

    assert chosen(n_features=8000) == ("matrix", ())
    assert chosen(n_features=30_000) == (
        "products",
        ("matrices of 30,000 features are large: conjugate gradients over passes (hessian=products)",),
    )
    assert chosen(n_features=2048, memory_limit=2**29) == ("matrix", ())
    assert chosen(n_features=256, memory_limit=200 * 2**20) == ("matrix", ())
    hessian, (note,) = chosen(n_features=30_000, memory_limit=2**29)
    assert hessian == "products"
    assert "matrices of 30,000 features do not fit the memory limit: conjugate gradients" in note


@pytest.mark.parametrize(("outputs", "limit"), [(1, 512), (26, 400), (26, 300)])
def test_more_features_never_go_back_to_matrices(outputs, limit):
    problem = Problem((8192,) * 4, 16, np.dtype(np.float32), 0, n_outputs=outputs, has_test=True)

    def takes_products(size):
        subject = Newton(
            Risk(find_loss("logistic")(), outputs), Random(RBF, size), memory_limit=limit * 2**20
        )
        return fitting_in_memory(subject, problem).takes_products

    sizes = [100, *range(1900, 2600, 50), 6000, 30_000]
    found = [takes_products(size) for size in sizes]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (False, True)


@pytest.mark.parametrize("scheduler", ["synchronous", pytest.param("local", marks=pytest.mark.slow)])
def test_many_features_are_planned_within_the_limit(path, scheduler, capsys):
    flags = ["--data", str(path), "--algorithm", "newton", "--memory-limit", "512MiB", "--json"]
    flags += ["--scheduler", scheduler, "--set", "features=random", "--set", "n_features=30000"]
    assert main(["plan", *flags]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fits"]
    assert max(told["worker_bytes"], scheduler == "synchronous" and told["driver_bytes"]) < 2**29
    assert "Hessian product" in {step["name"] for step in told["passes"]}
    assert main(["plan", *flags, "--set", "hessian=matrix"]) == 2
    assert "--set hessian=products" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_stays_within_the_limit_that_no_matrix_fits(path, tmp_path):
    """A matrix of 30,000 features takes 6.7 GiB."""
    flags = ["--data", str(path), "--algorithm", "newton", "--memory-limit", "512MiB", "--out", "m"]
    flags += ["--scheduler", "synchronous", "--set", "features=random", "--set", "n_features=30000"]
    command = [sys.executable, "-m", "distkern", "train", *flags, "--set", "stages=2"]
    shown = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert "matrices of 30,000 features do not fit the memory limit" in shown.stdout + shown.stderr
    last = json.loads((tmp_path / "m" / "metrics.jsonl").read_text().splitlines()[-1])
    assert 128 * 2**20 < last["driver_peak_rss_bytes"] < 2**29
    assert last["steps"] >= 2


@pytest.mark.slow
def test_a_limit_changes_no_bits_of_matrices(path):
    data = dk.open_dataset(path).train
    given = {"n_landmarks": 60, "stages": 2, "tol": 0.0, "random_state": 0}
    free, limited = (
        train_run(dk.NewtonClassifier(memory_limit=limit, **given), data, scheduler="synchronous")
        for limit in (None, 2**29)
    )
    np.testing.assert_array_equal(free.coefficients_, limited.coefficients_)


def test_a_run_with_products_goes_on_with_the_same_limit_only(path):
    data = dk.open_dataset(path).train

    def identity(**given):
        model = dk.NewtonClassifier(features="random", random_state=0, **given)
        recipe = model.recipe()
        training = recipe.data_of(data)
        return recipe.identity(training, recipe.pose(training, has_test=False))

    assert identity(memory_limit=2**30) == identity()
    assert identity(hessian="matrix") == identity()
    assert identity(hessian="products", memory_limit=2**30) != identity(hessian="products")


def test_a_model_is_finished_under_any_limit(path, tmp_path):
    data = dk.open_dataset(path).train
    given = {"features": "random", "n_features": 64, "stages": 1, "random_state": 0}
    where = {"scheduler": "synchronous", "out": tmp_path / "m"}
    first = train_run(dk.NewtonClassifier(memory_limit=2**29, **given), data, **where)
    again = train_run(dk.NewtonClassifier(memory_limit=2**30, **given), data, resume=True, **where)
    np.testing.assert_array_equal(again.coefficients_, first.coefficients_)


def test_plans_of_products_hold_many_outputs():
    blocks = (16384,) * 8
    problem = Problem(blocks, 16, np.dtype(np.float32), 0, n_outputs=26, has_test=False)
    # of each output a factor
    rows = [newton_products.rows_of(problem, 30_000, 26, limit) for limit in (None, 2**29)]
    assert 8 * 28 * rows[0] ** 2 <= 2**29
    assert 8 * 28 * rows[1] ** 2 <= 0.1 * 2**29
    assert rows[1] > 400
    assert newton_products.rows_of(problem, 30_000, 1, None) == 3620
    assert newton_products.rows_of(problem, 64, 1, None) == 1024
