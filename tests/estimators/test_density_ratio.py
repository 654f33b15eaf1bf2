"""Log-ratios of densities that are known, what they say of divergence, and the permutation test."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import norm

import distkern as dk
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset


def samples(n, d=1, seed=0, shift=1.0):
    """p = N(0, I) and q = N(shift e_1, I)."""
    generator = np.random.default_rng(seed)
    P, Q = generator.normal(size=(2, n, d))
    Q[:, 0] += shift
    return P, Q


def truth(X):
    return norm.logpdf(X[:, 0]) - norm.logpdf(X[:, 0], loc=1.0)


def ratio(**given):
    return dk.DSGDensityRatio(**{"n_features": 256, "block_size": 64, "random_state": 0, **given})


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2])
def test_the_ratio_of_normal_densities(d):
    P, Q = samples(10_000, d)
    model = ratio(n_features=512, block_size=128).fit(P, Q)
    fresh = np.concatenate(samples(5000, d, seed=1))
    assert np.sqrt(np.mean((model.log_ratio(fresh) - truth(fresh)) ** 2)) < 0.1
    # KL of normal densities 1 apart
    assert model.kl_divergence_ == pytest.approx(0.5, abs=0.05)
    assert model.kl_divergence(*samples(10_000, d, seed=2)) == pytest.approx(0.5, abs=0.05)


def test_samples_of_other_sizes_weigh_the_same():
    """The ratio is of densities, and not of numbers of rows."""
    P, Q = samples(20_000)
    model = ratio().fit(P[:4000], Q)
    middle = np.linspace(-0.5, 1.5, 50)[:, None]
    assert np.abs(model.log_ratio(middle) - truth(middle)).max() < 0.25


@pytest.mark.slow
def test_the_sign_is_that_of_p_over_q_and_labels_do_as_well():
    P, Q = samples(1000)
    both, labels = np.concatenate([P, Q]), np.repeat(["p", "the other"], 1000)
    by_samples, by_labels = ratio(stages=2).fit(P, Q), ratio(stages=2).fit(both, labels == "p")
    np.testing.assert_array_equal(by_samples.coefficients_, by_labels.coefficients_)
    assert by_samples.log_ratio([[-1.0]]) > 0 > by_samples.log_ratio([[2.0]])
    assert by_labels.predict([[-1.0], [2.0]]).tolist() == [True, False]
    # of classes_[1], "the other", to classes_[0]
    assert ratio(stages=2).fit(both, labels).log_ratio([[-1.0]]) < 0


def test_two_data_sets_sparse_rows_and_dask_arrays(tmp_path):
    P, Q = (part.astype(np.float32) for part in samples(900, 2))
    made = [
        write_dataset([(part, None)], tmp_path / name, task="none", scale="none", rows_per_shard=300)
        for name, part in (("p", P), ("q", Q))
    ]
    model = ratio(stages=2).fit(*made)
    assert model.log_ratio([[-1.0, 0.0]]) > 0.3 > -0.3 > model.log_ratio([[2.0, 0.0]])
    model.save(tmp_path / "m")
    loaded = dk.load_model(tmp_path / "m")
    assert loaded.kl_divergence_ == model.kl_divergence_
    np.testing.assert_array_equal(loaded.log_ratio(P), model.log_ratio(P))
    assert ratio(stages=2).fit(csr_matrix(P), csr_matrix(Q)).log_ratio(csr_matrix([[-1.0, 0.0]])) > 0.3
    lazy = ratio(stages=2).fit(da.from_array(P, chunks=(300, 2)), da.from_array(Q, chunks=(300, 2)))
    assert lazy.log_ratio([[-1.0, 0.0]]) > 0.3
    scaled = write_dataset([(Q, None)], tmp_path / "s", task="none", scale="standard")
    with pytest.raises(InputError, match="was scaled differently from"):
        ratio().fit(made[0], scaled)


@pytest.mark.slow
def test_permutations_tell_samples_apart_only_where_they_differ():
    model = ratio(stages=2).fit(*samples(1000))
    found = model.permutation_test(*samples(100, seed=1), n_permutations=199, random_state=0)
    assert found.p_value == 1 / 200
    assert found.n_permutations == 199
    assert found.statistic == pytest.approx(1.0, abs=0.5)
    # of one distribution p-values are uniform, whatever f is
    values = [
        model.permutation_test(
            *samples(50, seed=seed, shift=0.0), n_permutations=99, random_state=seed
        ).p_value
        for seed in range(2, 202)
    ]
    assert np.mean(np.array(values) <= 0.1) == pytest.approx(0.1, abs=0.06)
    assert np.mean(values) == pytest.approx(0.5, abs=0.07)


def test_what_is_refused():
    P, Q = samples(60)
    with pytest.raises(InputError, match="the rows have 3 labels"):
        ratio().fit(P, np.arange(60) % 3)
    with pytest.raises(InputError, match=r"rows of shape \(1,\) and of shape \(2,\)"):
        ratio().fit(P, samples(60, 2)[0])
    model = ratio(stages=1).fit(P, Q)
    with pytest.raises(InputError, match="label 7 is unknown to the model"):
        model.kl_divergence(P, np.full(60, 7))
    with pytest.raises(InputError, match="one of the samples has no rows"):
        model.permutation_test(P, np.ones(60, dtype=int))
    with pytest.raises(InputError, match="n_permutations must be an integer >= 1, got 0"):
        model.permutation_test(P, Q, n_permutations=0)


def test_training_rows_of_one_sample_alone_are_refused():
    P, Q = samples(60)
    rows, labels = np.concatenate([P, Q]), np.repeat([1, 0], 60)
    # rows of Dask arrays that weigh 0 stay where they are
    for absent in (0, 1):
        lazy = (da.from_array(part, chunks=60) for part in (rows, labels, 1.0 * (labels != absent)))
        message = f"no training row has label {absent}, or all such rows weigh 0; give rows of both samples"
        with pytest.raises(InputError, match=message):
            ratio().fit(*lazy)
