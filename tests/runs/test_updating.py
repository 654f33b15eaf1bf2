"""Updates: exact where sums allow it, how far new rows have drifted, and what is refused."""

import numpy as np
import pandas
import pytest
from sklearn.base import clone

import distkern as dk
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.runs import persistence
from runs import begun

N_OLD = 300
OLD, NEW = slice(0, N_OLD), slice(N_OLD, None)


def some_rows(n_rows=400, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 3))
    y = 5.0 + X[:, 0] + X[:, 1] ** 2 + 0.1 * generator.normal(size=n_rows)
    return X, y, generator.random(n_rows) + 0.5


def loaded(model, folder):
    model.save(folder)
    return dk.load_model(folder)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("task", ["regression", "binary", "three classes"])
def test_linear_rows_equal_a_fit_to_all_of_them(tmp_path, task, weighted):
    X, y, weights = some_rows()
    weights = weights if weighted else np.ones(len(y))
    kind, f, chosen = dk.NewtonRegressor, "predict", {}
    if task != "regression":
        y = (y > 6).astype(int) + (task != "binary") * (y > 7)
        kind, f, chosen = dk.NewtonClassifier, "decision_function", {"loss": "least_squares"}
    plain = kind(features="linear", scale="none", nu=1e-3, dtype="float64", **chosen)
    model = loaded(clone(plain).fit(X[OLD], y[OLD], weights[OLD]), tmp_path / "m")
    # in two steps, for sums are kept of updates too
    for part in (slice(N_OLD, 350), slice(350, None)):
        model.update(X[part], y[part], weights[part])
    whole = plain.fit(X, y, weights)
    np.testing.assert_allclose(getattr(model, f)(X), getattr(whole, f)(X), atol=1e-10)
    assert model.history_[-1]["objective"] == pytest.approx(whole.history_[-1]["objective"], abs=1e-10)


def test_batches_end_where_a_fit_to_all_rows_does():
    X, y, weights = some_rows()
    plain = dk.NewtonRegressor(features="linear", scale="none", nu=1e-3, dtype="float64")
    model = clone(plain)
    for start in range(0, len(X), 50):
        part = slice(start, start + 50)
        model.partial_fit(X[part], y[part], sample_weight=weights[part])
    np.testing.assert_allclose(model.predict(X), plain.fit(X, y, weights).predict(X), atol=1e-10)


def test_batches_without_a_class_are_refused_first_and_taken_later():
    X, y, _ = some_rows()
    labels = np.array(["less", "no", "yes"])[(y > 5).astype(int) + (y > 6)]
    few = labels != "yes"
    model = dk.NewtonClassifier(features="linear", loss="least_squares")
    with pytest.raises(InputError, match="the first batch has no row of class 'yes'"):
        model.partial_fit(X[few], labels[few], classes=np.unique(labels))
    with pytest.raises(InputError, match="the first batch has no row of class 'yes'"):
        model.partial_fit(X, labels, classes=np.unique(labels), sample_weight=few.astype(float))
    with pytest.raises(InputError, match=r"y: label 'yes' is not among the classes"):
        model.partial_fit(X, labels, classes=["less", "no"])
    assert not hasattr(model, "coefficients_")
    model.partial_fit(X, labels, classes=np.unique(labels))
    with pytest.raises(InputError, match="differs from the classes of the first call"):
        model.partial_fit(X, labels, classes=["less", "no"])
    before = model.decision_function(X)
    model.partial_fit(X[few], labels[few], classes=np.unique(labels))
    assert not np.array_equal(model.decision_function(X), before)
    remedy = r"no partial_fit, .*: use the square loss without hessian='products', or fit and update"
    with pytest.raises(AttributeError, match=remedy):
        dk.NewtonClassifier().partial_fit(X, labels)
    with pytest.raises(InputError, match="nu"):
        dk.NewtonRegressor(nu=-1.0).partial_fit(X, y)
    machine = dk.KernelRegressor(algorithm="newton", settings={"features": "linear"}, random_state=0)
    assert not hasattr(machine, "partial_fit")
    assert not hasattr(machine.fit(X, y), "partial_fit")


def test_sums_are_kept_of_many_rows_of_many_columns():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(17_000, 40))
    y = X @ generator.normal(size=40) + generator.normal(size=17_000)
    plain = dk.NewtonRegressor(features="linear", scale="none", nu=1e-3, dtype="float64")
    model = clone(plain).partial_fit(X[:16_500], y[:16_500]).partial_fit(X[16_500:], y[16_500:])
    np.testing.assert_allclose(model.predict(X), plain.fit(X, y).predict(X), atol=1e-9)


def test_kernels_end_at_the_minimum_over_all_rows_at_the_landmarks_of_the_model(tmp_path):
    X, y, s = some_rows()
    model = dk.NewtonRegressor(n_landmarks=30, gamma=0.5, nu=1e-4, scale="none", random_state=0)
    model = loaded(model.fit(X[OLD], y[OLD], s[OLD]), tmp_path / "m").update(X[NEW], y[NEW], s[NEW])

    def kernel(left, right):
        return np.exp(-0.5 * np.square(left[:, None] - right[None]).sum(axis=2))

    s = s / s.mean()
    center = (s * y).mean()
    scale = np.sqrt((s * np.square(y - center)).mean())
    K = kernel(X, model.landmarks_)
    matrix = K.T @ (s[:, None] * K) / len(X) + 1e-4 * kernel(model.landmarks_, model.landmarks_)
    coefficients = np.linalg.solve(matrix, K.T @ (s * (y - center) / scale) / len(X))
    np.testing.assert_allclose(model.predict(X), center + scale * K @ coefficients, atol=1e-8)


def test_targets_that_were_constant_get_a_scale():
    X, y, _ = some_rows()
    y[OLD] = 0.1
    plain = dk.NewtonRegressor(features="linear", scale="none", dtype="float64")
    model = clone(plain).fit(X[OLD], y[OLD]).update(X[NEW], y[NEW])
    np.testing.assert_allclose(model.predict(X), plain.fit(X, y).predict(X), atol=1e-10)
    same = clone(plain).fit(X[OLD], y[OLD]).update(X[OLD], y[OLD])
    np.testing.assert_allclose(same.predict(X), 0.1)


def test_a_matrix_of_many_functions_is_not_kept(monkeypatch):
    monkeypatch.setattr("distkern.solvers.newton_sums.MOST_KEPT", 8)
    X, y, _ = some_rows()
    model = dk.NewtonRegressor(n_landmarks=16, random_state=0).fit(X[OLD], y[OLD])
    with pytest.raises(InputError, match=r"some of its 300 training rows are missing.*old"):
        model.update(X[NEW], y[NEW])
    with pytest.raises(InputError, match="the old rows have weight 40, but the training rows had 300"):
        model.update(X[NEW], y[NEW], old=(X[:40], y[:40]))
    before = model.predict(X)
    model.update(X[NEW], y[NEW], old=(X[OLD], y[OLD]))
    assert not np.array_equal(model.predict(X), before)


def test_other_losses_end_at_the_minimum_over_old_and_new_rows():
    X, y, _ = some_rows(1200)
    y = (y > 6).astype(int)
    plain = dk.NewtonClassifier(n_landmarks=16, gamma=0.5, nu=1e-2, tol=1e-9, scale="none", random_state=0)
    model = clone(plain).fit(X[OLD], y[OLD])
    landmarks = model.landmarks_
    model.update(X[NEW], y[NEW], old=[(X[:100], y[:100]), (X[100:N_OLD], y[100:N_OLD])])
    np.testing.assert_array_equal(model.landmarks_, landmarks)
    f = model.decision_function(X) * np.where(y == 1, 1.0, -1.0)
    K = np.exp(-0.5 * np.square(X[:, None] - landmarks[None]).sum(axis=2))
    slopes = -np.where(y == 1, 1.0, -1.0) / (1 + np.exp(f))
    own = np.exp(-0.5 * np.square(landmarks[:, None] - landmarks[None]).sum(axis=2))
    gradient = K.T @ slopes / len(X) + 1e-2 * own @ model.coefficients_[:, 0]
    assert np.abs(gradient).max() < 1e-5


def test_the_machine_that_was_chosen_is_updated(tmp_path):
    X, y, _ = some_rows()
    settings = {"features": "linear", "loss": "square"}
    model = dk.KernelRegressor(algorithm="newton", settings=settings, random_state=0).fit(X[OLD], y[OLD])
    before = model.predict(X)
    again = loaded(model, tmp_path / "m").update(X[NEW], y[NEW])
    assert again.algorithm_ == "newton"
    assert not np.array_equal(again.predict(X), before)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(loaded(again, tmp_path / "n").predict(X), again.predict(X))


def test_a_stored_model_goes_on_as_the_one_that_was_fitted(tmp_path):
    X, y, _ = some_rows()
    model = dk.DSGRegressor(n_features=64, block_size=32, batch_size=50, random_state=0).fit(X[OLD], y[OLD])
    again = loaded(model, tmp_path / "m")
    for one in (model, again):
        one.partial_fit(X[NEW], y[NEW])
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


def test_loading_reads_nothing_that_updates_alone_need(tmp_path, monkeypatch):
    X, y, _ = some_rows()
    model = dk.NewtonRegressor(n_landmarks=30, random_state=0).fit(X[OLD], y[OLD])
    model.save(tmp_path / "m")
    read = []
    load = persistence.load_arrays
    monkeypatch.setattr(persistence, "load_arrays", lambda *a, **k: read.append(load(*a, **k)) or read[-1])
    again = dk.load_model(tmp_path / "m")
    assert not [name for name in read[0] if name.startswith("further")]
    again.save(tmp_path / "again")
    own = dk.load_model(tmp_path / "again").model_.further.loaded().solver_state
    np.testing.assert_array_equal(own["gram"], model.model_.further.solver_state["gram"])


def data_set(folder, X, y, **how):
    return write_dataset([(X, y)], folder, **{"scale": "none", "rows_per_shard": 64, **how})


@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
def test_drift_is_what_numpy_counts(tmp_path, scale):
    X, y, _ = some_rows()
    X[NEW, 1] *= 2
    X[N_OLD] = X[:N_OLD].max(axis=0)
    old, new = (
        data_set(tmp_path / name, X[part], y[part], task="regression", scale=scale)
        for name, part in (("old", OLD), ("new", NEW))
    )
    model = dk.NewtonRegressor(features="linear", scale="auto" if scale != "none" else "none").fit(old)
    found = model.update(new).updates_[-1]
    assert found["rows"] == 100
    assert found["after"]["rmse"] <= found["before"]["rmse"]
    if scale == "standard":
        assert found["drift"] is None
        return
    if scale == "none":
        assert found["drift"] is None
        model = dk.NewtonRegressor(features="linear", scale="standard").fit(old)
        found = model.update(new).updates_[-1]
    X = X.astype(np.float32)
    low, high = X[OLD].min(axis=0), X[OLD].max(axis=0)
    shares = ((X[NEW] < low) | (X[NEW] > high)).mean(axis=0)
    told = {one["column"]: one for one in found["drift"]["most"]}
    assert found["drift"]["columns"] == np.count_nonzero(shares) == len(told)
    for place in np.flatnonzero(shares):
        one = told[f"column {place + 1}"]
        assert one["outside"] == pytest.approx(shares[place])
        ranges = [one[name] for name in ("low", "high", "new_low", "new_high")]
        wanted = [low[place], high[place], X[NEW, place].min(), X[NEW, place].max()]
        np.testing.assert_allclose(ranges, wanted, rtol=1e-5)
    # the next update compares with all rows so far
    np.testing.assert_allclose(model.model_.further.high, X.max(axis=0), rtol=1e-5)


def test_target_means_do_not_drift(tmp_path):
    generator = np.random.default_rng(0)
    agents, size = generator.integers(0, 40, 800), generator.normal(size=800)
    y = generator.normal(size=40)[agents] + size
    frame = pandas.DataFrame({"agent": [f"a{one}" for one in agents], "size": size})
    old = dk.write_dataset(frame[:600], y[:600], tmp_path / "old", task="regression")
    model = dk.NewtonRegressor(features="linear").fit(old)
    assert model.table_.features[0] == "mean of target by agent"
    found = model.update(frame[600:].assign(size=size[600:] + 4.0), y[600:]).updates_[-1]
    assert [one["column"] for one in found["drift"]["most"]] == ["size"]


def test_rows_of_other_scalings_and_codes_are_those_of_the_model(tmp_path):
    X, y, _ = some_rows()
    labels = np.array(["less", "no", "yes"])[(y > 5).astype(int) + (y > 6)]
    old = data_set(tmp_path / "old", X[OLD], labels[OLD], scale="minmax")
    plain = {"features": "linear", "loss": "least_squares"}
    model = dk.NewtonClassifier(**plain).fit(old)
    # without one of the classes, and scaled in another way
    few = np.flatnonzero(labels[NEW] != "less") + N_OLD
    found = [clone(model).fit(old).update(X[few], labels[few]).decision_function(X)]
    for scale in ("standard", "minmax"):
        new = data_set(tmp_path / scale, X[few], labels[few], scale=scale)
        found.append(clone(model).fit(old).update(new).decision_function(X))
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)
    np.testing.assert_allclose(found[2], found[0], atol=1e-5)
    assert not np.allclose(found[0], model.decision_function(X), atol=1e-3)


def test_what_cannot_be_is_refused_with_what_to_do(tmp_path):
    X, y, _ = some_rows()
    labels = (y > 6).astype(int)
    old = data_set(tmp_path / "old", X[OLD], labels[OLD])
    model = dk.NewtonClassifier(features="linear", loss="least_squares").fit(old)
    third = data_set(tmp_path / "third", X[NEW], labels[NEW] + (np.arange(100) == 7) * 2)
    with pytest.raises(InputError, match=r"has rows of class [23], which the model does not know"):
        model.update(third)
    with pytest.raises(InputError, match="label 2 of row 7 is unknown to the model"):
        model.update(X[NEW], np.where(np.arange(100) == 7, 2, 0))
    with pytest.raises(InputError, match="has learned from these rows already"):
        model.update(old)
    with pytest.raises(InputError, match="is given twice"):
        begun(model, [third.train, third.train])
    other = data_set(tmp_path / "other", X[NEW, :2], labels[NEW])
    with pytest.raises(InputError, match="2 features, but the model has 3"):
        model.update(other)
    sdca = dk.SDCAClassifier(stages=1, n_features=32).fit(X[OLD], labels[OLD])
    with pytest.raises(InputError, match=r"sdca cannot go on.*its dual variables.*as one data set"):
        sdca.update(X[NEW], labels[NEW])
    polished = dk.DSGClassifier(n_features=32, block_size=32, polish="exact").fit(X[OLD], labels[OLD])
    before = polished.decision_function(X)
    with pytest.raises(InputError, match="polished"):
        polished.update(X[NEW], labels[NEW])
    np.testing.assert_array_equal(polished.decision_function(X), before)


@pytest.mark.parametrize("task", ["regression", "classes"])
def test_updates_with_arrays_tell_the_errors_on_their_rows(task):
    X, y, _ = some_rows()
    if task == "regression":
        model, name = dk.NewtonRegressor(features="linear", random_state=0), "rmse"
    else:
        model, name = dk.NewtonClassifier(features="linear", loss="least_squares", random_state=0), "error"
        y = np.where(y > 6, "high", "low")
    model.fit(X[OLD], y[OLD])

    def error():
        found = model.predict(X[NEW])
        return np.sqrt(np.mean((found - y[NEW]) ** 2)) if name == "rmse" else np.mean(found != y[NEW])

    before = error()
    told = model.update(X[NEW], y[NEW]).updates_[-1]
    assert told["before"] == {name: pytest.approx(before, rel=1e-9)}
    assert told["after"] == {name: pytest.approx(error(), rel=1e-9)}
