"""``RandomFeatures`` as scikit-learn and Dask use it."""

import dask.array as da
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import distkern as dk
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.kernels import find_kernel


def rows(n, d=5, seed=0):
    return np.random.default_rng(seed).random((n, d))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([dk.RandomFeatures(n_features=64)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_features_are_those_of_the_basis_in_either_precision():
    X = rows(700)
    transformer = dk.RandomFeatures(n_features=200, random_state=3, gamma=0.7).fit(X)
    single = transformer.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert transformer.transform(X).dtype == np.float64
    basis = RandomFeatureBasis(find_kernel("rbf")(gamma=0.7), 5, 200, 3)
    np.testing.assert_allclose(single, basis.values(X.astype(np.float32)), atol=1e-6)
    np.testing.assert_allclose(transformer.transform(X), single, atol=1e-5)
    assert list(transformer.get_feature_names_out()[:2]) == ["randomfeatures0", "randomfeatures1"]
    assert len(transformer.get_feature_names_out()) == 200


def test_dask_arrays_stay_lazy_and_give_the_same_bits():
    X = rows(700)
    transformer = dk.RandomFeatures(n_features=64).fit(da.from_array(X, chunks=(256, 2)))
    lazy = transformer.transform(da.from_array(X, chunks=(256, 2)))
    assert lazy.shape == (700, 64)
    assert lazy.chunks[0] == (256, 256, 188)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), transformer.transform(X))


def test_gamma_by_rule_of_arrays_and_dask_arrays():
    X = 3 * rows(500)
    expected = 1 / (5 * X.var())
    assert dk.RandomFeatures(gamma="scale").fit(X).kernel_.gamma == pytest.approx(expected)
    lazy = da.from_array(X, chunks=(100, 5))
    assert dk.RandomFeatures(gamma="scale").fit(lazy).kernel_.gamma == pytest.approx(expected)


def test_splits_of_a_data_set_are_scaled_as_they_were(tmp_path):
    raw, labels = 5 * rows(300).astype(np.float32), np.arange(300) % 2

    def train(name, scale):
        data = write_dataset([(raw, labels)], tmp_path / name, scale=scale, rows_per_shard=128, shuffle=False)
        return data.train

    scaled, plain, other = train("a", "minmax"), train("b", "none"), train("c", "unit")
    transformer = dk.RandomFeatures(n_features=32, gamma="scale").fit(scaled)
    values = transformer.transform(scaled)
    assert values.chunks[0] == scaled.block_rows
    values = values.compute(scheduler="synchronous")
    np.testing.assert_allclose(transformer.transform(raw), values, atol=1e-5)
    later = transformer.transform(plain).compute(scheduler="synchronous")
    np.testing.assert_allclose(later, values, atol=1e-5)
    with pytest.raises(InputError, match="scaled with unit, the training rows with minmax"):
        transformer.transform(other)


def test_a_pipeline_learns_what_no_linear_model_can():
    X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = make_pipeline(dk.RandomFeatures(gamma=2.0, n_features=256), RidgeClassifier())
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.93


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rbff"}, "kernel"),
        ({"n_features": 7}, "n_features must be a positive even number"),
        ({"sampler": "fast"}, "sampler"),
        ({"kernel": "chi2", "gamma": 1.0}, "gamma=1.0 has no effect with kernel='chi2'"),
        ({"kernel": "chi2", "gamma": "scale"}, "gamma='scale' has no effect with kernel='chi2'"),
        (
            {"kernel": "laplacian", "sampler": "orthogonal"},
            "sampler orthogonal supports only rotation-invariant",
        ),
        ({"gamma": -1.0}, "gamma"),
        ({"degree": 1}, "degree=1 has no effect with kernel='rbf'"),
    ],
)
def test_refuses_by_name(parameters, message):
    with pytest.raises(InputError, match=message):
        dk.RandomFeatures(**parameters).fit(rows(5))


def test_refuses_rows_outside_of_the_domain():
    X = rows(9)
    X[7, 2] = -0.5
    with pytest.raises(InputError, match="X, row 7, column 2: kernel chi2 needs numbers >= 0"):
        dk.RandomFeatures(kernel="chi2").fit(X)
    with pytest.raises(InputError, match="row 7, column 2"):
        dk.RandomFeatures(kernel="chi2").fit(np.abs(X)).transform(X)


@pytest.mark.parametrize("by", ["set_output", "set_config"])
def test_frames_of_lazy_rows_are_lazy_and_keep_the_index(by):
    X = pd.DataFrame(rows(30), columns=list("abcde")).set_index(np.arange(100, 130))
    lazy = dask.dataframe.from_pandas(X, npartitions=3)
    features = dk.RandomFeatures(gamma=1.0, n_features=8)
    # arrays of them have no names
    plain = features.fit(X.to_numpy()).transform(X.to_numpy())
    with config_context(transform_output="pandas" if by == "set_config" else "default"):
        if by == "set_output":
            features.set_output(transform="pandas")
        of_array = features.transform(lazy.to_dask_array(lengths=True))
        here, there = features.fit_transform(X), features.fit_transform(lazy)
        assert isinstance(here, pd.DataFrame)
        assert isinstance(there, dask.dataframe.DataFrame)
        pd.testing.assert_frame_equal(there.compute(), here)
        assert here.columns.tolist() == features.get_feature_names_out().tolist()
        np.testing.assert_array_equal(here.to_numpy(), plain)
        assert here.index.tolist() == X.index.tolist()
        assert isinstance(of_array, dask.dataframe.DataFrame)
        np.testing.assert_array_equal(of_array.compute().to_numpy(), plain)
        typed = features.transform(lazy.astype("Float64"))
        pd.testing.assert_frame_equal(typed.compute(), here)


def test_frames_of_splits_are_lazy_and_those_of_polars_are_in_memory(tmp_path):
    data = dk.write_dataset(rows(30), None, tmp_path / "d.zarr", scale="none")
    features = dk.RandomFeatures(gamma=1.0, n_features=8).fit(data)
    plain = features.transform(data.train).compute()
    found = features.set_output(transform="pandas").transform(data.train)
    np.testing.assert_array_equal(found.compute().to_numpy(), plain)
    features.set_output(transform="polars")
    with pytest.raises(InputError, match="set_output: Polars frames hold all rows in memory"):
        features.transform(data.train)
