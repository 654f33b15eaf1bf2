"""Units of columns do not matter: scaled in a first pass, kept in the model, the same everywhere."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from distkern import (
    AVMClassifier,
    CSVRGClassifier,
    DSGClassifier,
    DSGRegressor,
    KernelClassifier,
    NewtonClassifier,
    PegasosClassifier,
    SIMBAClassifier,
    SVRGClassifier,
    load_model,
)
from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.data.ingest import write_dataset
from distkern.data.spreads import Spreads
from distkern.engine.drive import Driver
from distkern.runs.data import from_arrays
from distkern.runs.sources import ScaledSource
from file_rows import rows_of
from runs import evaluate, plan, train

SMALL = {
    CSVRGClassifier: {"n_landmarks": 64, "stages": 2, "gamma": "scale", "lam": 1e4},
    AVMClassifier: {"n_landmarks": 64, "gamma": "scale", "lam": 1e4},
    PegasosClassifier: {},
    SIMBAClassifier: {"max_rounds": 1000, "stages": 2, "nu": 0.01, "patience": None},
    DSGClassifier: {"n_features": 512, "block_size": 128, "stages": 2},
    SVRGClassifier: {"n_features": 256, "stages": 3, "nu": 1e-6},
    NewtonClassifier: {"n_landmarks": 64, "nu": 1e-6, "gamma": "scale"},
}
#: those that stream rows as CSVRG does
STREAMED = (AVMClassifier, SVRGClassifier, PegasosClassifier)
UNITS = np.array([1e6, 1e-6, 1.0, 1e3, 1e-3])
PASS = "spreads of the columns"


def halves(n_rows=600, seed=0):
    """Classes on both sides of a plane, in numbers around 0 of about one size."""
    X = np.random.default_rng(seed).normal(size=(n_rows, len(UNITS)))
    return X, (X @ [1.0, -1.0, 0.5, 1.0, -0.7] > 0).astype(int)


def small(kind, **given):
    return kind(**{**SMALL[kind], "random_state": 0, **given})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data set in many units, which was not scaled."""
    X, y = halves(2000)
    path = tmp_path_factory.mktemp("units") / "d.zarr"
    return write_dataset(
        [((X * UNITS).astype(np.float32), y)],
        path,
        scale="none",
        test_fraction=0.2,
        rows_per_shard=300,
        columns=True,
    )


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in STREAMED)) for kind in SMALL]
)
def test_units_of_columns_do_not_matter(kind):
    (X, y), (X_test, y_test) = halves(), halves(seed=1)
    plain = small(kind).fit(X, y)
    assert plain.scaling_ is None
    assert "scale" not in plain.found_
    model = small(kind).fit(X * UNITS, y)
    assert model.found_["scale"] == model.scaling_.kind == "standard"
    note = model.history_[-1]["notes"][0]
    assert note.startswith("columns scaled (standard): their ranges were ")
    assert model.score(X_test * UNITS, y_test) > plain.score(X_test, y_test) - 0.02
    unscaled = small(kind, scale="none").fit(X * UNITS, y)
    assert unscaled.score(X_test * UNITS, y_test) < model.score(X_test * UNITS, y_test) - 0.05


@pytest.mark.parametrize(
    ("kind", "scaler"),
    [("standard", StandardScaler()), ("minmax", MinMaxScaler()), ("maxabs", MaxAbsScaler())],
)
def test_it_is_the_scaling_of_scikit_learn(kind, scaler):
    X, y = halves()
    X = X * UNITS + 3.0
    model = small(NewtonClassifier, scale=kind).fit(X, y)
    scaled = model.scaling_.apply(X, np.float64)
    np.testing.assert_allclose(scaled, scaler.fit_transform(X), rtol=1e-6, atol=1e-6)
    own = small(NewtonClassifier, scale="none").fit(scaled, y)
    np.testing.assert_array_equal(model.decision_function(X), own.decision_function(scaled))


@pytest.mark.parametrize("kind", [PegasosClassifier, SIMBAClassifier, NewtonClassifier])
def test_sparse_rows_keep_their_zeros(kind):
    X, y = halves()
    X[np.abs(X) < 0.5] = 0.0
    y = (X @ [1.0, -1.0, 0.5, 1.0, -0.7] > 0).astype(int)
    model = small(kind).fit(csr_matrix(X * UNITS), y)
    assert model.scaling_.kind == "maxabs"
    np.testing.assert_allclose(model.scaling_.factor, 1.0 / np.abs(X * UNITS).max(axis=0))
    # dense rows are scaled in the same way if that is asked for
    dense = small(kind, scale="maxabs").fit(X * UNITS, y)
    assert model.score(csr_matrix(X * UNITS), y) == pytest.approx(dense.score(X * UNITS, y), abs=0.02)
    assert model.score(csr_matrix(X * UNITS), y) > 0.85
    with pytest.raises(InputError, match=r"^scale is 'standard', which would make the zeros"):
        small(kind, scale="standard").fit(csr_matrix(X), y)


def test_weights_are_repetitions():
    X, y = halves(300)
    X = X * UNITS
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    weighted = small(NewtonClassifier).fit(X, y, weights).scaling_
    repeated = small(NewtonClassifier).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).scaling_
    np.testing.assert_allclose(weighted.shift, repeated.shift, rtol=1e-9)
    np.testing.assert_allclose(weighted.factor, repeated.factor, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SVRGClassifier, SIMBAClassifier])
@pytest.mark.parametrize("scheduler", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_the_same_bits_of_a_data_set_on_every_scheduler(kind, scheduler, data, tmp_path):
    here = small(kind).fit_with(data.train, test=data.test)
    there = train(small(kind), data.train, test=data.test, out=tmp_path / "m", scheduler=scheduler, workers=2)
    np.testing.assert_array_equal(here.coefficients_, there.coefficients_)
    assert here.scaling_ == there.scaling_
    again = load_model(tmp_path / "m")
    assert again.scaling_ == here.scaling_
    assert again.found_["scale"] == "standard"
    # the stored rows are scaled when they are looked at: by evaluate, by score, and as plain arrays
    error = evaluate(again, data.test)["error"]
    assert error == pytest.approx(here.history_[-1]["test_error"], abs=1e-9)
    assert (
        1 - error
        == pytest.approx(again.score(data.test))
        == pytest.approx(again.score(data.test[:], data.test.labels))
    )
    assert error < 0.1


def test_the_pass_is_planned_and_made_first(data, monkeypatch):
    made, execute = [], Driver._execute
    monkeypatch.setattr(Driver, "_execute", lambda self, step: made.append(step) or execute(self, step))
    model = small(SVRGClassifier)
    planned = [step.name for step in plan(model, data.train, test=data.test).passes]
    model.fit_with(data.train, test=data.test)
    assert made[0].name == planned[0] == PASS
    assert PASS not in [step.name for step in plan(small(SVRGClassifier, scale="none"), data.train).passes]


def test_a_data_set_that_was_scaled_is_not_scaled_again(tmp_path):
    X, y = halves()
    scaled = write_dataset([(X * UNITS, y)], tmp_path / "d.zarr", scale="minmax")
    model = small(NewtonClassifier).fit(scaled.train)
    assert model.scaling_ == scaled.scaling
    assert PASS not in [step.name for step in plan(small(NewtonClassifier), scaled.train).passes]
    with pytest.raises(InputError, match=r"^scale is 'maxabs', but the rows are stored scaled \(minmax\)"):
        small(NewtonClassifier, scale="maxabs").fit(scaled.train)


def test_a_map_standardises_the_columns_of_a_data_set_that_was_scaled(tmp_path):
    X, y = halves()
    scaled = write_dataset([(X * UNITS, y)], tmp_path / "d.zarr", scale="minmax")
    model = small(NewtonClassifier, scale="standard").fit(scaled.train)
    assert model.scaling_ == scaled.scaling
    rows = rows_of(scaled.train)
    standard = StandardScaler().fit_transform(rows)
    np.testing.assert_allclose(model.model_.map.apply(rows), standard, rtol=1e-4, atol=1e-4)
    assert model.score(X * UNITS, y) > 0.95


def test_dask_arrays_and_rows_to_watch_are_scaled_as_well():
    (X, y), (X_test, y_test) = halves(), halves(seed=1)
    X, X_test = X * UNITS, X_test * UNITS
    whole = small(SVRGClassifier).fit(X, y, eval_set=(X_test, y_test))
    assert whole.history_[-1]["test_error"] == pytest.approx(1 - whole.score(X_test, y_test))
    for chunks in ((600, 5), (200, 5)):
        lazy = small(SVRGClassifier).fit(da.from_array(X, chunks=chunks), da.from_array(y, chunks=chunks[0]))
        np.testing.assert_allclose(lazy.scaling_.factor, whole.scaling_.factor, rtol=1e-6)
        assert lazy.score(X_test, y_test) > 0.9


def test_kernels_of_numbers_of_at_least_0_get_none_or_what_keeps_them_there():
    X, y = halves()
    X = np.abs(X) * UNITS
    model = NewtonClassifier(kernel="chi2", n_landmarks=32, random_state=0).fit(X, y)
    assert model.scaling_ is None
    with pytest.raises(InputError, match=r"^scale is 'standard', and kernel chi2"):
        NewtonClassifier(kernel="chi2", scale="standard").fit(X, y)
    assert NewtonClassifier(kernel="chi2", scale="maxabs", n_landmarks=32).fit(X, y).scaling_.kind == "maxabs"


def test_the_machine_that_the_package_chooses_scales_by_itself():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1100))
    y = (X[:, 0] + 0.1 * X[:, 1] > 0).astype(int)
    X[:, 0] *= 1e-6
    model = KernelClassifier(search=None, random_state=0).fit(X, y)
    assert model.scaling_.kind == model.machine_.scaling_.kind == "standard"
    assert model.score(X, y) == model.machine_.score(X, y)


def test_batches_go_on_as_the_fit_before_has_scaled():
    X, y = halves()
    model = small(DSGClassifier).fit(X * UNITS, y)
    scaling = model.scaling_
    model.partial_fit(X * UNITS, y)
    assert model.scaling_ is scaling
    assert model.score(X * UNITS, y) > 0.9
    with pytest.raises(InputError, match=r"^scale: a single batch"):
        DSGRegressor(scale="standard").partial_fit(X, y)


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([[0.0, 0.0], [1.0, 30.0]], "none"),
        ([[0.0, 0.0], [1.0, 31.0]], "standard"),
        ([[0.0, 5.0], [1.0, 5.0]], "none"),
        ([[0.0], [101.0]], "minmax"),
        ([[-101.0], [-100.5]], "minmax"),
        ([[0.0], [0.009]], "minmax"),
        ([[0.0] * 30, [1.0] * 29 + [50.0]], "none"),
        ([[0.0] * 30, [1.0] * 29 + [0.0009]], "standard"),
        ([[3.0], [3.0]], "none"),
        ([[3.0], [4.0]], "minmax"),
        ([[-4.0, 0.0], [-3.0, 1.0]], "minmax"),
        ([[1.0, 5.0], [2.0, 5.0]], "none"),
    ],
)
def test_what_is_chosen_by_the_ranges(rows, kind):
    assert Spreads.of(np.array(rows), None).chosen() == kind
    sparse = SparseRows.of_scipy(csr_matrix(np.array(rows)))
    assert Spreads.of(sparse, None).chosen() in ("none", "maxabs")


def test_sums_of_parts_are_those_of_all_rows():
    rows = np.random.default_rng(0).normal(size=(400, 3)) * [1, 1e5, 1e-5] + 1e3
    parts = [Spreads.of(part, None) for part in np.array_split(rows, 7)]
    found = parts[0]
    for part in parts[1:]:
        found = Spreads.add(found, part)
    np.testing.assert_allclose(found.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.squares, 400 * rows.var(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(found.ranges, np.ptp(rows, axis=0))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_number_is_the_same_in_its_row_and_in_its_column(is_sparse):
    X, y = halves()
    X = X * UNITS
    given = csr_matrix(X * (np.abs(X) > UNITS)) if is_sparse else X
    model = small(SIMBAClassifier)
    rows = SparseRows.of_scipy(given) if is_sparse else given
    source = from_arrays(rows, y, None, model.task).source
    kind = "maxabs" if is_sparse else "standard"
    scaling = Spreads.of(rows, None).scaling(kind)
    group = ScaledSource(source, scaling).group(0)()
    positions, columns = np.array([3, 0, 7]), np.array([4, 1])
    by_row = np.asarray(group.rows(positions).to_scipy().toarray() if is_sparse else group.rows(positions))
    by_column = group.columns(columns)
    by_column = by_column.to_scipy().toarray() if is_sparse else np.asarray(by_column)
    np.testing.assert_array_equal(by_row[:, columns], by_column[:, positions].T)
    blocks = [block.features for block in group.blocks()]
    first = blocks[0].to_scipy().toarray() if is_sparse else blocks[0]
    np.testing.assert_array_equal(first[positions], by_row)
