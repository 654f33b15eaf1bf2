"""Means of the target over the categories of a column."""

import hashlib

import numpy as np
import pandas
import pytest
from sklearn.preprocessing import TargetEncoder

import distkern as dk
from distkern.core.errors import InputError
from distkern.data import table_fit
from distkern.data.frames import fit_frame
from distkern.data.options import ShardOptions
from distkern.runs.writing import write_dataset
from file_rows import feature, made, rows_of
from mixed_tables import adult


def smoothing_of(codes, y):
    """The variance within values over that between them, from mean squares."""
    counts = np.bincount(codes)
    means = np.bincount(codes, y) / counts
    n, k = len(y), len(counts)
    within = ((y - means[codes]) ** 2).sum() / (n - k)
    among = (counts * (means - y.mean()) ** 2).sum() / (k - 1)
    between = (among - within) * (k - 1) / (n - (counts**2).sum() / n)
    return np.clip(within / between, 0.1, 100.0) if between > 0 else 100.0


def test_target_means_are_those_of_scikit_learn(tmp_path):
    frame = adult(2000)
    frame.to_csv(tmp_path / "a.csv", index=False)
    data = made(tmp_path, tmp_path / "a.csv")
    y = (frame["income"] == ">50K").to_numpy().astype(float)
    column = next(column for column in data.table.columns if column.name == "state")
    codes = frame["state"].astype("category").cat.codes.to_numpy()
    target = TargetEncoder(smooth=smoothing_of(np.where(codes < 0, codes.max() + 1, codes), y))
    target.fit(frame[["state"]], y)
    np.testing.assert_allclose([mean for (mean,) in column.means], target.encodings_[0], rtol=1e-12)
    assert column.default == pytest.approx((target.target_mean_,))


def test_the_target_means_of_training_rows_are_those_of_other_rows(tmp_path, monkeypatch):
    frame = adult(600)
    frame.to_csv(tmp_path / "a.csv", index=False)
    found_folds = []

    def folds_of(self, translated, keys):
        found_folds.append(folds_by_values(self, translated, keys))
        return found_folds[-1]

    folds_by_values = table_fit.TableFit.folds
    monkeypatch.setattr(table_fit.TableFit, "folds", folds_of)
    data = made(tmp_path, tmp_path / "a.csv")
    y = (frame["income"] == ">50K").to_numpy()
    folds, states = found_folds[0], frame["state"].fillna("?").to_numpy()
    s = smoothing_of(np.unique(states, return_inverse=True)[1], y)
    assert np.bincount(folds).min() > 100
    found = feature(data, "mean of >50K by state")
    for row in range(0, 600, 7):
        others = folds != folds[row]
        alike = others & (states == states[row])
        expected = (y[alike].sum() + s * y[others].mean()) / (alike.sum() + s)
        assert found[row] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("noise", "least", "most"), [(0.0, 0.9, 1.0), (30.0, 0.0, 0.5)])
def test_rare_categories_are_trusted_as_far_as_categories_are_informative(tmp_path, noise, least, most):
    generator = np.random.default_rng(0)
    cities = generator.integers(0, 100, 400)
    y = generator.normal(1e6, 10.0, 100)[cities] + noise * generator.normal(size=400)
    frame = pandas.DataFrame({"city": [f"city {city:02}" for city in cities], "size": y[::-1]})
    data = write_dataset(frame, y, tmp_path / "d.zarr", categorical={"city": "target"}, shuffle=False)
    rare = (np.bincount(cities) > 0) & (np.bincount(cities) <= 3)
    plain = (np.bincount(cities, y - y.mean()) / np.bincount(cities))[rare]
    kept = np.ravel(data.table.columns[0].means)[rare] - y.mean()
    assert least < kept @ plain / (plain @ plain) < most


def test_many_categories_have_indicators_where_there_are_too_many_classes_for_means(tmp_path):
    codes = np.arange(2000) % 85
    frame, y = pandas.DataFrame({"where": [f"place {code}" for code in codes], "size": codes}), codes % 40
    column = write_dataset(frame, y, tmp_path / "d.zarr").table.columns[0]
    assert (column.encoding, len(column.features)) == ("onehot", 85)
    with pytest.raises(InputError, match="40 classes"):
        write_dataset(frame, y, tmp_path / "e.zarr", categorical={"where": "target"})


def test_signs_of_many_categories_are_as_far_apart_as_indicators(tmp_path):
    codes = np.arange(3000) % 300
    frame = pandas.DataFrame({"shop": [f"shop {code}" if code else None for code in codes]})
    data = write_dataset(frame, codes + 0.5, tmp_path / "d.zarr", scale="none", shuffle=False)
    signs = np.column_stack([feature(data, f"sign {at} of shop") for at in range(1, 33)])
    np.testing.assert_array_equal(signs[:300], signs[300:600])
    distances = np.square(signs[:300, None] - signs[:300]).sum(axis=2)[np.triu_indices(300, 1)]
    assert distances.mean() == pytest.approx(2.0, abs=0.02)
    # a binomial of 32 differences of 4 / 32
    assert distances.std() == pytest.approx(np.sqrt(32 / 4) * 4 / 32, rel=0.05)
    column = data.table.columns[0]
    words = [column.levels[0], column.levels[1], "no shop", None]
    places = np.array([0.0, 1.0, -1.0, np.nan])
    features = np.zeros((4, 33))
    column.encode(places, features)
    for word, row in zip(words[:2], features, strict=False):
        digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
        bits = [int(bit) for byte in digest for bit in f"{byte:08b}"]
        np.testing.assert_allclose(row[1:], (2.0 * np.array(bits) - 1.0) / np.sqrt(32))
    # an unknown category is in the middle, a missing one is another category
    assert not features[2, 1:].any()
    np.testing.assert_allclose(np.abs(features[3, 1:]), 1.0 / np.sqrt(32))


@pytest.mark.parametrize("scale", ["minmax", "none"])
def test_maps_take_the_signs_of_a_category_as_one_column(tmp_path, scale):
    codes = np.random.default_rng(0).integers(0, 300, 3000)
    frame = pandas.DataFrame({"shop": [f"shop {code}" for code in codes], "size": np.arange(3000) % 57})
    data = write_dataset(frame, np.sin(codes), tmp_path / "d.zarr", scale=scale)
    assert data.table.multiplicity == (0, *[32] * 32, 1)
    model = dk.NewtonRegressor(scale="standard", metric="diagonal", random_state=0).fit(data.train)
    rows = model.model_.map.transform.apply(rows_of(data.train), np.float64)
    np.testing.assert_allclose(rows.var(axis=0), [1.0, *[1 / 32] * 32, 1.0], rtol=0.2)


@pytest.mark.parametrize("scale", ["normal", "ranks", "standard"])
def test_new_rows_are_where_training_rows_of_their_value_are(tmp_path, scale):
    generator = np.random.default_rng(0)
    codes = np.where(generator.random(4000) < 0.7, 0, generator.integers(0, 60, 4000))
    frame = pandas.DataFrame({"shop": [f"shop {code}" for code in codes], "size": generator.random(4000)})
    y = codes % 2 + 0.3 * generator.normal(size=4000)
    data = write_dataset(frame, y, tmp_path / "d.zarr", scale="none")
    model = dk.NewtonRegressor(scale=scale, metric="diagonal", random_state=0).fit(data.train)
    apply = model.model_.map.transform.apply
    learned, columns = rows_of(data.train), data.table.columns[0]
    features = np.zeros((1, 33))
    columns.encode(np.array([columns.levels.index("shop 0")], dtype=float), features)
    of_shop = learned[np.isclose(learned[:, 1:33], features[:, 1:]).all(axis=1)]
    new = np.hstack([features, [[0.5]]])
    # most rows have this value, and their ranks would reach from 0 to .7
    assert len(of_shop) > 2500
    assert np.abs(apply(of_shop, np.float64)[:, 0] - apply(new, np.float64)[0, 0]).max() < 0.1


def test_signs_need_no_targets(tmp_path):
    names = [f"shop {code % 2500}" for code in range(7500)]
    frame = pandas.DataFrame({"shop": names, "size": np.arange(7500.0)})
    data = write_dataset(frame, None, tmp_path / "d.zarr", task="none")
    column = data.table.columns[0]
    assert (column.encoding, column.outputs, len(column.features)) == ("signs", (), 32)
    # as with targets of too many classes for means
    data = write_dataset(frame, np.arange(7500) % 40, tmp_path / "e.zarr")
    assert data.table.columns[0] == column


def test_copies_of_a_row_do_not_learn_its_target_by_target_means(tmp_path):
    generator = np.random.default_rng(0)
    cities = generator.integers(0, 300, 400)
    frame = pandas.DataFrame(
        {"city": [f"city {city}" for city in cities], "size": generator.normal(size=400)}
    )
    labels = generator.integers(0, 2, 400)
    frame, y = pandas.concat([frame] * 3, ignore_index=True), np.tile(labels, 3)
    data = write_dataset(frame, y, tmp_path / "d.zarr", categorical={"city": "target"}, shuffle=False)
    means = feature(data, "mean of 1 by city")
    # of copies in other folds they would correlate by .5
    assert abs(np.corrcoef(means, y)[0, 1]) < 0.2


@pytest.mark.parametrize("is_real", [True, False])
def test_independent_observations_of_one_row_are_in_its_target_means(tmp_path, is_real):
    """Of ten rows of a city, which are all equal, about eight are in the mean of each: none its own."""
    generator = np.random.default_rng(0)
    cities = np.repeat(np.arange(200), 10)
    noise = generator.normal(size=2000)
    y = generator.normal(size=200)[cities] + 0.5 * noise
    y = y if is_real else (y > 0).astype(int)
    frame = pandas.DataFrame({"city": [f"city {city:03}" for city in cities], "half": cities % 2})
    how = {"categorical": {"city": "target"}, "scale": "none"}
    data = write_dataset(frame, y, tmp_path / "d.zarr", shuffle=False, **how)
    name = f"mean of {'target' if is_real else 1} by city"
    means = feature(data, name)
    assert len(np.unique(means.reshape(200, 10)[0])) == 5
    of_city = y.reshape(200, 10).mean(axis=1)[cities]
    assert np.corrcoef(means, of_city)[0, 1] > 0.95
    # the mean of the others goes down if a row's own target goes up
    assert np.corrcoef(means - of_city, y - of_city)[0, 1] < -0.3
    shuffled = write_dataset(frame, y, tmp_path / "s.zarr", shuffle=True, **how)
    assert sorted(feature(shuffled, name)) == sorted(means)
    # a frame in memory has the same means, scaled
    found = fit_frame(frame, y, data.task, None, None, ShardOptions(categorical={"city": "target"}))
    in_memory = found.features[:, found.table.features.index(name)]
    np.testing.assert_allclose(in_memory, (means - means.min()) / np.ptp(means), rtol=1e-4, atol=1e-5)
