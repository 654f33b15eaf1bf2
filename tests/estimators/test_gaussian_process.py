"""Gaussian process regression against its closed form, in scikit-learn's words."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import distkern as dk
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.maths.kernels import find_kernel
from distkern.maths.kernels.bandwidth import width_from_gamma
from distkern.maths.kernels.euclidean import Gaussian
from distkern.solvers.dsg_gaussian_process import Posterior


def synthetic(n, seed=0):
    """The paper's: y = cos(pi |x| / 2) exp(-pi |x| / 20) + 0.1 e of x uniform in [-5, 5]^2."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-5, 5, (n, 2))
    length = np.linalg.norm(X, axis=1)
    y = np.cos(np.pi * length / 2) * np.exp(-0.1 * np.pi * length / 2)
    return X, y + 0.1 * generator.standard_normal(n)


def process(**given):
    settings = {"n_features": 512, "block_size": 128, "random_state": 0}
    return dk.DSGGaussianProcessRegressor(**{**settings, **given})


def exact(X, y, gamma, noise):
    kernel = RBF((2 * gamma) ** -0.5, length_scale_bounds="fixed")
    return GaussianProcessRegressor(kernel, alpha=noise**2, normalize_y=True, optimizer=None).fit(X, y)


@pytest.mark.parametrize("gamma", [pytest.param(0.02, marks=pytest.mark.slow), 0.5])
def test_mean_and_deviation_are_those_of_the_closed_form(gamma):
    X, y = synthetic(1000)
    T = synthetic(200, seed=1)[0]
    model = process(gamma=gamma, noise=0.3, n_features=1024).fit(X, y)
    mean, deviation = model.predict(T, return_std=True)
    theirs, its_deviation = exact(X, y, gamma, 0.3).predict(T, return_std=True)
    assert np.sqrt(np.mean((mean - theirs) ** 2)) < 0.03
    assert np.sqrt(np.mean((deviation**2 - its_deviation**2) ** 2)) < 0.03
    np.testing.assert_allclose(deviation, its_deviation, rtol=0.2)
    assert model.predict([[9.0, 9.0]], True)[1] > 2 * deviation.max()


@pytest.mark.slow
def test_the_marginal_likelihood_is_the_closed_form_and_finds_the_noise():
    X, y = synthetic(500)
    model = process(gamma=0.5).fit(X, y)
    share = model.noise_ / model.target_scale_
    assert model.noise_ == pytest.approx(0.1, rel=0.2)
    assert model.log_marginal_likelihood_ == pytest.approx(
        exact(X, y, 0.5, share).log_marginal_likelihood_value_, rel=0.05
    )
    for other in (0.7, 1.4):
        given = process(gamma=0.5, noise=share * other).fit(X, y)
        assert given.log_marginal_likelihood_ < model.log_marginal_likelihood_


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "width"), [("rbf", 0.7), ("rbf", 2.0), ("laplacian", 2.0)])
def test_the_width_is_found_of_functions_drawn_from_the_prior(kernel, width):
    generator = np.random.default_rng(1)
    X = generator.uniform(-3, 3, (500, 2))
    prior = find_kernel(kernel).from_parameters(gamma=find_kernel(kernel).gamma_from_width(width, 2))
    matrix = prior.closed_form(X, X) + 1e-8 * np.eye(500)
    y = np.linalg.cholesky(matrix) @ generator.standard_normal(500) + 0.2 * generator.standard_normal(500)
    model = process(kernel=kernel).fit(X, y)
    found = width_from_gamma(find_kernel(kernel), model.gamma_, 2)
    assert found == pytest.approx(width, rel=0.5)


def test_the_evidence_of_a_matrix_is_the_density_of_the_targets():
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((40, 3)), generator.standard_normal(40)
    often = generator.integers(1, 4, 40)
    all_rows, all_targets = np.repeat(X, often, axis=0), np.repeat(y, often)
    matrix = Gaussian(0.3).closed_form(all_rows, all_rows)
    expected = multivariate_normal(cov=matrix + 0.25 * np.eye(len(matrix))).logpdf(all_targets)
    found = Posterior.of(Gaussian(0.3).closed_form(X, X), y, often.astype(float)).evidence(0.5)
    assert found == pytest.approx(expected, rel=1e-9)


def test_of_sparse_rows_and_of_kernels_without_a_width_nothing_is_looked_for():
    X, y = synthetic(200)
    assert process().fit(csr_matrix(X), y).gamma_ == process(gamma="scale").fit(csr_matrix(X), y).gamma_
    assert process(kernel="arc_cosine").fit(X, y).gamma_ == 1.0


@pytest.mark.slow
def test_deviations_hold_what_they_say():
    """95 % of functions drawn from the prior lie within 1.96 deviations."""
    generator = np.random.default_rng(0)
    X = generator.uniform(0, 4, (400, 1))
    kernel = np.exp(-((X - X.T) ** 2))
    drawn = np.linalg.cholesky(kernel + 1e-8 * np.eye(400)) @ generator.standard_normal((400, 10))
    inside = []
    for f in drawn.T:
        y = f + 0.3 * generator.standard_normal(400)
        model = process(gamma=1.0, n_features=256, noise=0.3 / y[:60].std()).fit(X[:60], y[:60])
        mean, deviation = model.predict(X[60:], return_std=True)
        inside.append(np.mean(np.abs(mean - f[60:]) < 1.96 * deviation))
    assert np.mean(inside) == pytest.approx(0.95, abs=0.06)


@pytest.mark.slow
def test_a_row_that_weighs_two_counts_as_two():
    X, y = synthetic(300)
    often = np.repeat(np.arange(300), 2)
    twice = process(gamma=0.1, noise=0.3).fit(X[often], y[often])
    weighted = process(gamma=0.1, noise=0.3).fit(X, y, sample_weight=np.full(300, 2.0))
    once = process(gamma=0.1, noise=0.3).fit(X, y)
    for ours, theirs in zip(weighted.predict(X, True), twice.predict(X, True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    assert np.all(twice.predict(X, True)[1] < once.predict(X, True)[1])


def test_it_is_kept_and_lazy_and_on_data_sets(tmp_path):
    X, y = synthetic(900)
    made = write_dataset([(X.astype(np.float32), y)], tmp_path / "d", task="regression", rows_per_shard=200)
    model = process(gamma=1.0).fit(made)
    model.save(tmp_path / "m")
    loaded = dk.load_model(tmp_path / "m")
    for ours, theirs in zip(loaded.predict(X[:50], True), model.predict(X[:50], True), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (loaded.noise_, loaded.nu_) == (model.noise_, model.nu_)
    lazy = model.predict(da.from_array(X, chunks=(300, 2)), return_std=True)[1]
    np.testing.assert_allclose(lazy.compute(), model.predict(X, True)[1], rtol=1e-6)
    split = model.predict(made.train, return_std=True)[1].compute()
    assert split.shape == (900,)


def test_what_is_refused():
    X, y = synthetic(100)
    with pytest.raises(InputError, match="for at most 4096 features, and there are 8192"):
        process(n_features=8192).fit(X, y)
    ended = process(stages=3).fit(X, y, callbacks=lambda line: True)
    with pytest.raises(InputError, match="ended before its last stage"):
        ended.predict(X, return_std=True)
