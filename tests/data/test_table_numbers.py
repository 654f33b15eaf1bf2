import hashlib
import struct
from functools import partial

import numpy as np
import pandas
import pytest

import distkern as dk
from distkern.cli.facts import data_facts
from distkern.core.errors import InputError
from distkern.data import frames, table_fit
from distkern.data.frames import fit_frame
from distkern.data.table_numbers import informative_values
from distkern.runs import learned
from distkern.runs.writing import write_dataset

N_ROWS, N_AGENTS = 1500, 30


@pytest.fixture(scope="module")
def sold():
    """Sales by agents, who sell more or less whatever their number."""
    generator = np.random.default_rng(0)
    agents = generator.integers(0, N_AGENTS, N_ROWS)
    numbers = generator.permutation(1000)[:N_AGENTS]
    size, region = generator.normal(size=N_ROWS).round(1), generator.choice(["north", "south"], N_ROWS)
    y = generator.normal(size=N_AGENTS)[agents] + np.sin(2 * size) + 0.3 * generator.normal(size=N_ROWS)
    return pandas.DataFrame({"agent": numbers[agents].astype(float), "size": size, "region": region}), y


def columns_of(frame):
    rows = frame.assign(region=frame["region"].astype("category").cat.codes)
    return rows.to_numpy(np.float64), [frame.columns.get_loc("region")]


def test_numbers_of_agents_are_informative_and_smooth_columns_are_not(sold):
    rows, categories = columns_of(sold[0])
    wanted = (sold[1] > 0)[:, None].astype(float)
    for targets in (sold[1][:, None], wanted, np.hstack([wanted, 1.0 - wanted])):
        assert informative_values(rows, targets, [0, 1], categories) == [0]
    noise = np.random.default_rng(1).normal(size=(N_ROWS, 1))
    assert informative_values(rows, noise, [0, 1], categories) == []
    assert informative_values(rows[:200], sold[1][:200, None], [0, 1], categories) == []


def test_rows_of_one_group_do_not_learn_from_each_other(sold):
    rows, categories = columns_of(sold[0])
    groups = rows[:, 0].astype(np.uint64)
    assert informative_values(rows, sold[1][:, None], [0, 1], categories, groups) == []


def test_copies_of_rows_do_not_learn_from_each_other():
    generator = np.random.default_rng(0)
    rows = np.column_stack([generator.integers(0, 100, 400), generator.integers(0, 2, 400)]).astype(float)
    rows, noise = np.repeat(rows, 5, axis=0), np.repeat(generator.normal(size=400), 5)[:, None]
    assert informative_values(rows, noise, [0], [1]) == []


def test_what_is_missing_is_a_value(sold):
    rows, categories = columns_of(sold[0])
    rows[rows[:, 0] < 300, 0] = np.nan
    assert informative_values(rows, sold[1][:, None], [0, 1], categories) == [0]


@pytest.mark.parametrize("is_real", [True, False])
def test_frames_and_files_have_target_means_of_numbers(sold, tmp_path, is_real):
    frame, y = sold
    frame = frame.assign(agent=frame["agent"].where(frame["agent"] > 50))
    labels = y if is_real else np.where(y > 0, "yes", "no")
    kind = dk.NewtonRegressor if is_real else dk.NewtonClassifier
    model = kind(features="linear", random_state=0).fit(frame, labels)
    name = f"mean of {'target' if is_real else 'yes'} by agent"
    signs = tuple(f"sign {at} of agent" for at in range(1, 33))
    assert model.table_.features[:35] == ("agent", name, *signs, "size")
    data = write_dataset(frame, labels, tmp_path / "d.zarr", shuffle=False)
    assert data.table.columns[0].values == model.table_.columns[0].values
    np.testing.assert_allclose(data.table.columns[0].means, model.table_.columns[0].means, rtol=1e-12)
    # the means of later rows are those of the table, and an unknown agent is like all
    column = data.table.columns[0]
    agents = np.array([frame["agent"].max(), np.nan, 0.5])
    found = np.zeros((3, 34))
    column.encode(agents, found, None)
    wanted = np.asarray(y if is_real else y > 0, dtype=float)
    own = [frame["agent"] == agents[0], frame["agent"].isna()]
    np.testing.assert_allclose(found[:2, 1], [wanted[rows].mean() for rows in own], atol=0.05)
    np.testing.assert_allclose(found[2], [frame["agent"].min(), wanted.mean(), *np.zeros(32)], rtol=1e-12)
    digest = hashlib.blake2b(struct.pack("<d", agents[0]), digest_size=4).digest()
    bits = [int(bit) for byte in digest for bit in f"{byte:08b}"]
    np.testing.assert_allclose(found[0, 2:], (2.0 * np.array(bits) - 1.0) / np.sqrt(32))
    assert column.becomes == "33 features and 1 mean target"
    # a training row has those of other folds
    means = data.train.reader(0)().features[:, 1]
    assert len(np.unique(means)) > 3 * len(column.values)


def test_a_saved_model_predicts_by_them(sold, tmp_path):
    frame, y = sold
    model = dk.NewtonRegressor(features="linear", random_state=0).fit(frame, y)
    model.save(tmp_path / "m")
    expected = model.predict(frame)
    np.testing.assert_array_equal(dk.load_model(tmp_path / "m").predict(frame), expected)
    assert np.mean((expected - y) ** 2) < 0.6 * np.var(y)


def test_rows_of_new_agents_are_reported_and_predicted_by_their_other_columns(sold):
    frame, y = sold
    model = dk.KernelRegressor(random_state=0).fit(frame, y)
    inside = next(n for n in range(int(frame["agent"].min()), 1000) if n not in set(frame["agent"]))
    sizes = frame["size"].to_numpy()
    for agent in (inside, 10.0**9):
        with pytest.warns(
            UserWarning, match=r"^rows with a number not in the training rows.*: agent \(1,500\)$"
        ):
            predicted = model.predict(frame.assign(agent=agent))
        assert np.corrcoef(predicted, np.sin(2 * sizes))[0, 1] > 0.9


def test_rows_of_a_dask_frame_are_encoded_once(sold):
    frame, y = sold
    model = dk.NewtonRegressor(random_state=0).fit(frame, y)
    new = frame.assign(region="west")
    lazy = pytest.importorskip("dask.dataframe").from_pandas(new, npartitions=2)
    with pytest.warns(UserWarning, match=r"region \(750\)") as notes:
        predicted = model.predict(lazy).compute()
    assert len(notes) == 2
    with pytest.warns(UserWarning, match=r"region \(1,500\)"):
        np.testing.assert_allclose(predicted, model.predict(new), atol=1e-4)


def test_partial_dependence_on_agents_is_shown_by_agent(sold):
    frame, y = sold
    model = dk.NewtonRegressor(random_state=0).fit(frame, y)
    curve = model.explain(frame, y, features=["agent"]).curves[0]
    assert (curve.kind, curve.rug) == ("category", ())
    assert set(curve.values) <= set(frame["agent"].astype(int))
    assert {type(value) for value in curve.values} == {int}
    with pytest.raises(InputError, match="unknown column 'sign 1 of agent'; it is a feature of 'agent'"):
        model.explain(frame, y, features=["sign 1 of agent"])


def test_messages_name_columns_and_not_their_signs(sold, tmp_path):
    frame, y = sold
    model = dk.KernelRegressor(random_state=0, algorithm="newton").fit(frame, y)
    other = write_dataset(frame.rename(columns={"agent": "seller"}), y, tmp_path / "d.zarr")
    with pytest.raises(InputError, match=r"column 'agent' is missing and column 'seller' is unknown; rename"):
        model.predict(other.train)
    linear = dk.NewtonRegressor(features="linear", random_state=0).fit(frame, y)
    assert not hasattr(linear, "coef_")
    assert len(linear.coefficients_) == len(linear.table_.features)
    cells = dk.CellRegressor(metric="diagonal", random_state=0).fit(frame, y)
    assert cells.metric_importances_.shape == cells.feature_names_in_.shape
    assert cells.metric_importances_.sum() == pytest.approx(1.0)
    assert data_facts(other)["columns"] == "seller, size, region"
    record = {**frame.iloc[0].to_dict(), "colour": "red"}
    with pytest.raises(InputError, match=r"X\[\[.*\]\] of a frame, (\{.*\}) of a record") as refused:
        model.predict([record])
    code = refused.value.hint.split("of a frame, ")[1].removesuffix(" of a record")
    kept = eval(code, {"row": record, "model": model})
    assert model.predict([kept]) == model.predict(frame[:1])


def test_named_numbers_have_them_where_the_algorithm_is_chosen(sold, tmp_path):
    frame, y = sold
    frame = frame.drop(columns="region")
    features = write_dataset(frame, y, tmp_path / "d.zarr").table.features
    assert (len(features), features[:3]) == (35, ("agent", "mean of target by agent", "sign 1 of agent"))
    model = dk.KernelRegressor(random_state=0).fit(frame, y)
    assert (model.table_.features, model.n_features_in_) == (features, 2)
    predicted = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame.to_numpy()), predicted)
    of_array = dk.KernelRegressor(random_state=0).fit(frame.to_numpy(), y)
    assert getattr(of_array, "table_", None) is None
    # the coefficients of other estimators are those of the columns
    assert getattr(dk.NewtonRegressor(random_state=0).fit(frame, y), "table_", None) is None
    # sizes are no names, nor are numbers that say nothing
    assert getattr(dk.KernelRegressor(random_state=0).fit(frame[["size"]], y), "table_", None) is None
    noise = np.random.default_rng(0).permutation(y)
    assert getattr(dk.KernelRegressor(random_state=0).fit(frame, noise), "table_", None) is None


def test_a_sample_of_many_rows_tells_whether_numbers_are_names(sold, monkeypatch):
    frame, y = sold
    frame, sizes = frame.drop(columns="region"), []
    monkeypatch.setattr(learned, "_SAMPLE", 700)
    monkeypatch.setattr(frames, "fit_frame", lambda X, *given: sizes.append(len(X)) or fit_frame(X, *given))
    kind = partial(dk.KernelRegressor, algorithm="newton", settings={"nu": 1e-3})
    plain = kind().fit(frame.assign(agent=np.arange(len(y)) % 30), y)
    assert (sizes, getattr(plain, "table_", None)) == ([500], None)
    assert (kind().fit(frame, y).table_.has_means, sizes) == (True, [500, 500, 1500])


def test_dependence_finds_the_means_of_stored_numbers(sold):
    frame, y = sold
    column = dk.NewtonRegressor(features="linear", random_state=0).fit(frame, y).table_.columns[0]
    rounded = np.float32(np.asarray(column.values)[:, None] * 1.0000001).astype(np.float64)
    assert column.grid(rounded, 100).tolist() == list(column.values)


def test_sums_over_the_values_of_many_columns_are_bounded(sold, monkeypatch):
    frame, y = sold
    frame = frame.assign(other=frame["agent"] % 7 + frame["agent"] // 100 * 7)
    assert [len(column.values) for column in fit_frame(frame, y, "regression").table.columns[:1]] == [30]
    # the columns with the fewest values come first: sums of 3 numbers for each of 30 values, and of 27 or so
    monkeypatch.setattr(table_fit, "_MOST_SUMS", 3 * frame["other"].nunique())
    assert not fit_frame(frame, y, "regression").table.columns[0].has_means
