"""Novelty detection against scikit-learn's one-class machine, and on data sets."""

import dask.array as da
import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.svm import OneClassSVM

import distkern as dk
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.data.store.places import place_of
from distkern.engine.executors import open_executor
from distkern.solvers import dsg_novelty
from runs import evaluate_split


def rows(n=1200, seed=0):
    """Two clouds of different sizes and widths."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 2))
    X[: n // 3] = 0.5 * X[: n // 3] + [4.0, 0.0]
    return X


def detector(**given):
    return dk.DSGNoveltyDetector(
        **{"gamma": 0.3, "n_features": 512, "block_size": 128, "random_state": 0, **given}
    )


def test_few_rows_have_the_scores_of_the_exact_machine_however_small_nu_is():
    X, nu = np.random.default_rng(1).normal(size=(600, 5)), 0.01
    model = dk.DSGNoveltyDetector(nu=nu, scale="none", random_state=1).fit(X)
    exact = OneClassSVM(gamma=model.gamma_, nu=nu, tol=1e-6).fit(X)
    f = exact.score_samples(X) / (len(X) * nu)
    assert spearmanr(model.score_samples(X), f)[0] > 0.99
    # of rows that it has not learned from, of which the exact threshold leaves out many times nu
    fresh = np.random.default_rng(2).normal(size=(5000, 5))
    assert np.mean(exact.predict(fresh) < 0) > 4 * nu
    assert np.mean(model.predict(fresh) < 0) == pytest.approx(nu, rel=0.8)
    assert model.found_ == {"polish": "exact", "n_features": 8192, "sampler": "quasi_monte_carlo"}
    assert (len(model.history_), model.ended_) == (2, "converged")


def test_polish_is_exact_whatever_the_unit_of_the_kernel_and_the_weights():
    """No descent from the model of the dual: the objective at the best threshold is a minimum."""
    X, weights = rows(300), np.random.default_rng(2).integers(1, 5, 300)
    for given in ({}, {"kernel": "polynomial", "n_features": 256}, {"block_size": 512}):
        model = detector(nu=0.1, **given).fit(X / 4, sample_weight=weights)
        z, a = model.basis(np.float64).values(X / 4), model.coefficients_[:, 0]
        blocks = z.shape[1] // min(model.block_size, model.value("n_features"))
        s = weights / weights.mean()

        def objective(a, z=z, blocks=blocks, s=s):
            f = z @ a
            order = np.argsort(f)
            tau = f[order[np.searchsorted(np.cumsum(s[order]), 0.1 * 300)]]
            return s @ np.maximum(0, tau - f) / 300 - 0.1 * tau + 0.05 * blocks * a @ a

        here = objective(a)
        assert here <= model.history_[-1]["objective"] < 0
        generator = np.random.default_rng(0)
        for step in (0.3, 0.01):
            for _ in range(20):
                towards = z[generator.integers(300)] - z[generator.integers(300)]
                assert objective(a + step * np.abs(a).max() * towards) > here - 1e-4 * abs(here)
        assert objective(1.01 * a) > here
        assert objective(0.99 * a) > here


def test_weights_are_repeats_of_an_exact_polish():
    X, often = rows(300), np.random.default_rng(1).integers(1, 4, 300)
    weighted = detector(nu=0.05).fit(X, sample_weight=often)
    repeated = detector(nu=0.05, gamma=0.3).fit(np.repeat(X, often, axis=0))
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X), rtol=1e-4)


def test_the_share_is_right_of_many_rows_on_the_margin_in_single_precision():
    X = np.random.default_rng(0).normal(size=(1000, 20)).astype(np.float32)
    model = dk.DSGNoveltyDetector(nu=0.05, scale="none", n_features=2048, random_state=0).fit(X)
    assert np.mean(model.predict(X) < 0) <= 0.05
    assert np.mean(model.score_samples(X) <= np.quantile(model.score_samples(X), 0.05)) > 0.04


@pytest.fixture(scope="module")
def few_rows(tmp_path_factory):
    """A data set in six shards, and a function that fits to it on an executor."""
    X = rows(500).astype(np.float32)
    made = write_dataset([(X, None)], tmp_path_factory.mktemp("few") / "d", task="none", rows_per_shard=90)

    def fitted(executor, **how):
        return detector(nu=0.05, n_features=256).fit_with(made.train, executor=executor, **how)

    with open_executor("synchronous") as executor:
        return fitted, fitted(executor).coefficients_


@pytest.mark.parametrize("name", ["threads", pytest.param("local", marks=pytest.mark.slow)])
def test_an_exact_polish_has_the_same_bits_on_every_executor(name, few_rows):
    fitted, coefficients = few_rows
    with open_executor(name, workers=2) as executor:
        np.testing.assert_array_equal(fitted(executor).coefficients_, coefficients)


def test_an_interrupted_polish_goes_on_to_the_same_bits(few_rows, tmp_path, monkeypatch):
    fitted, coefficients = few_rows

    def interrupted(*given):
        raise KeyboardInterrupt
        yield

    folder = place_of(tmp_path / "checkpoints")
    with open_executor("synchronous") as executor:
        with monkeypatch.context() as patch:
            patch.setattr(dsg_novelty, "exact_novelty", interrupted)
            with pytest.raises(KeyboardInterrupt):
                fitted(executor, checkpoints=folder)
        again = fitted(executor, checkpoints=folder, resume=True)
    np.testing.assert_array_equal(again.coefficients_, coefficients)


QUASI = {"sampler": "quasi_monte_carlo"}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"kernel": "polynomial"}, {"polish": "exact", "n_features": 8192, "sampler": "monte_carlo"}),
        ({"polish": None, "n_features": 64}, QUASI),
        ({"steps_per_stage": 200, "stages": 2}, {"polish": None, "n_features": 2048, **QUASI}),
        ({"n_features": 64, "sampler": "orthogonal", "polish": "exact"}, {}),
    ],
)
def test_what_rows_and_kernel_decide_is_kept_with_the_model(given, found, tmp_path):
    X = rows(100)
    model = dk.DSGNoveltyDetector(scale="none", random_state=0, **given).fit(X)
    assert model.found_ == found
    polished = model.value("polish") == "exact"
    assert (model.history_[-1]["steps"] == 0) is polished
    if polished:
        assert len(model.coefficients_) == model.value("n_features")
    model.save(tmp_path / "m")
    loaded = dk.load_model(tmp_path / "m")
    assert loaded.found_ == found
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_sampler_that_the_kernel_has_not_is_refused():
    with pytest.raises(InputError, match="sampler quasi_monte_carlo does not support kernel polynomial"):
        dk.DSGNoveltyDetector(kernel="polynomial", **QUASI).fit(rows(50))


def test_more_rows_are_for_steps():
    X = rows(2049).astype(np.float32)
    model = detector(n_features=64, block_size=64, stages=1).fit(X)
    assert model.found_["polish"] is None
    assert model.history_[-1]["steps"] == 32
    with pytest.raises(
        InputError, match="polish: 'exact' supports at most 2048 rows, and there are 2049; leave it out"
    ):
        detector(polish="exact").fit(X)
    assert detector(polish="exact", n_features=64).fit(X[1:]).history_[-1]["steps"] == 0


@pytest.mark.parametrize("nu", [0.05, 0.2])
def test_it_is_the_one_class_machine_of_scikit_learn(nu):
    """f is 1 / (n nu) times the exact machine's, and so is the threshold; objectives agree."""
    X = rows(800)
    exact = OneClassSVM(gamma=0.3, nu=nu, tol=1e-6).fit(X)
    f, tau = exact.score_samples(X) / (len(X) * nu), float(exact.offset_[0]) / (len(X) * nu)
    model = detector(nu=nu, sampler="quasi_monte_carlo").fit(X)
    ours = model.score_samples(X)
    # above the threshold f is flat, so that its spread says little
    assert np.sqrt(np.mean((ours - f) ** 2)) < 0.01 * tau
    # that of rows that are held out is lower
    assert 0.9 * tau < model.offset_ < tau
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.95
    support = exact.dual_coef_[0] / (len(X) * nu)
    least = np.maximum(0, tau - f).mean() - nu * tau + nu / 2 * support @ f[exact.support_]
    assert model.history_[-1]["objective"] == pytest.approx(least, rel=0.05)


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5])
def test_the_share_of_outliers_is_nu(nu):
    X = rows(1000)
    model = detector(nu=nu, n_features=128, stages=2).fit(X)
    assert np.mean(model.decision_function(X) < 0) <= nu + 1e-9
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    assert np.array_equal(model.score_samples(X), model.decision_function(X) + model.offset_)
    fresh = rows(20_000, seed=1)
    assert np.mean(model.predict(fresh) < 0) == pytest.approx(nu, abs=0.01 + 0.1 * nu)


def test_the_share_is_right_of_more_rows_than_are_sampled():
    X = rows(40_000).astype(np.float32)
    model = detector(nu=0.03, n_features=64, block_size=32, stages=2).fit(X)
    # of 8,000 held-out rows, within three standard deviations
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.03, abs=0.006)
    assert np.mean(model.predict(rows(40_000, seed=1)) < 0) == pytest.approx(0.03, abs=0.006)


def test_the_threshold_after_steps_is_that_of_rows_that_were_not_learned_from():
    generator, nu = np.random.default_rng(0), 0.02
    X, fresh = (generator.normal(size=(n, 20)).astype(np.float32) for n in (2500, 8000))
    chosen = {"gamma": 0.05, "nu": nu, "n_features": 128, "block_size": 64, "stages": 2, "scale": "none"}
    model = detector(**chosen).fit(X)
    assert np.mean(model.predict(X) < 0) < nu
    # the threshold of all rows left .035 of these outside
    assert np.mean(model.predict(fresh) < 0) == pytest.approx(nu, abs=0.008)


def test_equal_rows_which_are_all_held_out_or_none_are_no_outliers():
    for seed in range(6):
        model = detector(n_features=32, block_size=32, stages=1, random_state=seed).fit(np.ones((2500, 2)))
        assert np.all(model.predict(np.ones((3, 2))) == 1)


def test_rows_that_are_equal_do_not_become_outliers_together():
    generator = np.random.default_rng(0)
    X = np.repeat(generator.normal(size=(20, 2)), 60, axis=0)
    model = detector(nu=0.1, n_features=128, stages=2).fit(X)
    # two of the twenty make up the share
    assert np.mean(model.predict(X) < 0) <= 0.1 + 1e-9


def test_weights_count_as_repetitions_do():
    X, often = rows(600), np.random.default_rng(1).integers(1, 4, 600)
    model = detector(nu=0.1, n_features=128, stages=2).fit(X, sample_weight=often)
    share = np.average(model.predict(X) < 0, weights=often)
    assert 0.05 < share <= 0.1


def test_data_sets_of_any_task_dask_arrays_and_files(tmp_path):
    X = rows(900).astype(np.float32)
    for task, y in (("none", None), ("classification", (X[:, 0] > 2).astype(int)), ("regression", X[:, 1])):
        made = write_dataset([(X, y)], tmp_path / task, task=task, scale="none", test_fraction=0.2)
        model = detector(n_features=128, stages=2).fit(made)
        with open_executor("synchronous") as executor:
            figures = evaluate_split(model, made.train, executor).figures
        assert figures["outliers"] == model.history_[-1]["train_error"] == pytest.approx(0.09, abs=0.03)
        assert figures["objective"] == pytest.approx(model.history_[-1]["objective"], abs=1e-6)
        assert figures["threshold"] == model.offset_
    lazy = da.from_array(X, chunks=(300, 2))
    model = detector(n_features=128, stages=2).fit(lazy)
    assert np.mean(model.predict(lazy).compute() < 0) == pytest.approx(0.09, abs=0.03)
    model.save(tmp_path / "m")
    loaded = dk.load_model(tmp_path / "m")
    assert loaded.offset_ == model.offset_
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
