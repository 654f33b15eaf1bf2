"""Regressors centre and scale their targets: any unit, any offset, figures in the user's units."""

import json

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

import distkern
from distkern import NewtonClassifier, NewtonRegressor
from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.core.targets import plain_targets
from distkern.data.ingest import write_dataset
from distkern.engine.executors import open_executor
from file_rows import everything
from runs import evaluate, evaluate_split

LOSSES = ("square", "huber", "epsilon_insensitive", "absolute", "quantile")
SMALL = {"gamma": 2.0, "random_state": 0, "n_features": 256}
REGRESSORS = {
    "dsg": lambda **given: distkern.DSGRegressor(**SMALL, block_size=32, batch_size=256, stages=2, **given),
    "polished": lambda **given: distkern.DSGRegressor(
        **SMALL, block_size=32, batch_size=256, stages=2, polish="exact", **given
    ),
    "svrg": lambda **given: distkern.SVRGRegressor(**SMALL, stages=3, **given),
    "nystroem": lambda **given: distkern.SVRGRegressor(
        gamma=2.0, random_state=0, features="nystroem", n_landmarks=100, stages=3, **given
    ),
    "linear": lambda **given: distkern.SVRGRegressor(features="linear", random_state=0, stages=3, **given),
}
CASES = [
    (kind, loss)
    for kind in REGRESSORS
    for loss in LOSSES
    if not (kind == "polished" and loss not in ("square", "huber"))
]

#: every loss, and every kind with a loss whose solution is found in another way
QUICK = [
    *(("dsg", loss) for loss in LOSSES if loss not in ("square", "huber", "absolute")),
    ("polished", "huber"),
    ("svrg", "quantile"),
    ("nystroem", "square"),
    ("linear", "epsilon_insensitive"),
]


def rows(n_rows=800, seed=0):
    generator = np.random.default_rng(seed)
    features = generator.random((n_rows, 3))
    values = 2 * features[:, 0] + np.sin(3 * features[:, 1]) - features[:, 2]
    return features, values + 0.05 * generator.standard_normal(n_rows)


UNITS = [(115_000.0, 200_000.0), (1.0, 1e7), (1e-6, 0.0)]


@pytest.mark.parametrize(
    ("kind", "loss", "factor", "offset"),
    [
        pytest.param(*case, *UNITS[number % len(UNITS)], marks=[] if case in QUICK else [pytest.mark.slow])
        for number, case in enumerate(CASES)
    ],
)
def test_the_unit_of_the_targets_does_not_matter(kind, loss, factor, offset):
    features, values = rows()
    model = REGRESSORS[kind](loss=loss).fit(features, values)
    moved = REGRESSORS[kind](loss=loss).fit(features, offset + factor * values)
    assert model.score(features, values) > 0.8
    np.testing.assert_allclose(
        (moved.predict(features) - offset) / factor, model.predict(features), atol=1e-5
    )
    assert moved.history_[-1]["objective"] == pytest.approx(model.history_[-1]["objective"], rel=1e-5)
    assert moved.history_[-1]["train_rmse"] == pytest.approx(factor * model.history_[-1]["train_rmse"])


@pytest.mark.parametrize(
    ("kind", "loss", "constant"),
    [("dsg", "huber", "delta"), ("polished", "huber", "delta"), ("svrg", "epsilon_insensitive", "epsilon")],
)
def test_constants_of_losses_are_in_the_units_of_the_targets(kind, loss, constant):
    features, values = rows()
    model = REGRESSORS[kind](loss=loss, **{constant: 0.3}).fit(features, values)
    moved = REGRESSORS[kind](loss=loss, **{constant: 300.0}).fit(features, 1e5 + 1e3 * values)
    np.testing.assert_allclose((moved.predict(features) - 1e5) / 1e3, model.predict(features), atol=1e-6)
    other = REGRESSORS[kind](loss=loss, **{constant: 3.0}).fit(features, 1e5 + 1e3 * values)
    assert np.abs(other.predict(features) - moved.predict(features)).max() > 10.0


def test_a_huber_loss_that_is_too_narrow_to_learn_with_is_refused():
    """On house prices delta=1 left R^2 at -0.04."""
    features, values = rows()
    with pytest.raises(InputError, match=r"delta is 1, but the targets have scale .*loss='absolute'"):
        REGRESSORS["svrg"](loss="huber", delta=1.0).fit(features, 1e5 * values)
    REGRESSORS["svrg"](loss="huber", delta=1.0).fit(features, np.full(len(values), 1e5))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_constant_targets(kind):
    features, _ = rows(100)
    for loss, value in (("square", 0.0), ("huber", 1e7 + 0.1), ("huber", -3e-6)):
        model = REGRESSORS[kind](loss=loss).fit(features, np.full(100, value))
        assert np.array_equal(model.predict(features), np.full(100, value))
        assert model.history_[-1]["objective"] == 0.0


@pytest.mark.slow
def test_quantiles_of_heavy_tails_have_their_shares():
    features, _ = rows(2000)
    values = 50_000 * np.random.default_rng(1).standard_cauchy(2000) + 1e6
    levels = [0.1, 0.5, 0.9]
    for kind in ("dsg", "svrg"):
        model = REGRESSORS[kind](loss="quantile", quantiles=levels).fit(features, values)
        shares = (values[:, None] <= model.predict(features)).mean(axis=0)
        np.testing.assert_allclose(shares, levels, atol=0.06)
        if kind == "svrg":
            np.testing.assert_array_equal(model.target_center_, np.sort(values)[[199, 999, 1799]])
        else:
            # its constants are those of what the functions leave
            np.testing.assert_allclose(shares, levels, atol=1.001 / len(values))


def test_linear_models_have_an_intercept():
    """A line through the origin and the mean of y has slope 0 here, on average: its R^2 is 0.2."""
    features = np.random.default_rng(0).random((500, 1))
    values = 3 * features[:, 0] + 1e6
    for rows_given in (features, sparse.csr_matrix(features)):
        model = distkern.SVRGRegressor(features="linear", nu=0.0, stages=20, tol=0.0, random_state=0)
        model.fit(rows_given, values)
        assert model.coefficients_[0, 0] == pytest.approx(3.0, rel=1e-3)
        assert model.constants_[0] == pytest.approx(1e6, abs=3e-3)
        assert model.score(rows_given, values) > 0.99999


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dsg", "svrg"])
def test_a_repeated_row_is_a_row_of_twice_the_weight(kind):
    features, values = rows(1200)
    weights = np.ones(1200)
    weights[:300] = 2.0
    loss = "huber"
    weighted = REGRESSORS[kind](loss=loss).fit(features, values, weights)
    places = np.concatenate([np.arange(1200), np.arange(300)])
    repeated = REGRESSORS[kind](loss=loss).fit(features[places], values[places])
    np.testing.assert_array_equal(weighted.target_center_, repeated.target_center_)
    assert weighted.target_scale_ == repeated.target_scale_


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """A data set whose targets are of the size of prices, in blocks of 100 rows."""
    features, values = rows(1000)
    chunks = [(features[:800], 200_000 + 1e5 * values[:800])]
    held_out = [(features[800:], 200_000 + 1e5 * values[800:])]
    out = tmp_path_factory.mktemp("houses") / "d.zarr"
    return write_dataset(chunks, out, held_out, task="regression", scale="none", rows_per_shard=100)


@pytest.mark.parametrize(("kind", "loss"), [("dsg", "huber"), ("svrg", "square"), ("linear", "quantile")])
def test_figures_are_those_of_the_predictions(kind, loss, houses, tmp_path):
    model = REGRESSORS[kind](loss=loss).fit_with(houses.train, test=houses.test)
    model.save(tmp_path / "m")
    loaded = distkern.load_model(tmp_path / "m")
    last = model.history_[-1]
    assert last["error"] == "mean squared error"
    for name, split in (("train", houses.train), ("test", houses.test)):
        features, values = everything(split)
        predicted = loaded.predict(features)
        figures = evaluate(loaded, split)
        expected = {
            "rmse": mean_squared_error(values, predicted) ** 0.5,
            "mae": mean_absolute_error(values, predicted),
            "r2": r2_score(values, predicted),
        }
        for figure, value in expected.items():
            assert figures[figure] == pytest.approx(value, rel=1e-6)
            assert last[f"{name}_{figure}"] == pytest.approx(value, rel=1e-4)
        assert last[f"{name}_error"] == pytest.approx(expected["rmse"] ** 2, rel=1e-4)
        scale, norm = loaded.target_scale_, float(np.sum(loaded.coefficients_**2))
        if kind == "dsg":
            norm *= loaded.n_blocks_
        norm += float(np.sum((loaded.constants_ - loaded.target_center_) ** 2))
        residuals = np.abs(predicted - values) / scale
        mean_loss = {
            "square": np.mean(residuals**2) / 2,
            "huber": np.mean(np.where(residuals < 1.35, residuals**2 / 2, 1.35 * (residuals - 0.675))),
            "quantile": np.mean(residuals) / 2,
        }[loss]
        objective = mean_loss + 0.5 * loaded.value("nu") * norm / scale**2
        assert figures["objective"] == pytest.approx(objective, rel=1e-5)
        if name == "train":
            assert last["objective"] == pytest.approx(objective, rel=1e-4)


@pytest.mark.parametrize("seed", [229, 243])
def test_ten_rows_do_not_diverge(seed):
    """Steps of single rows did, for one seed in two hundred."""
    generator = np.random.default_rng(seed)
    features, values = generator.normal(size=(10, 4)), generator.normal(size=10)
    model = distkern.SVRGRegressor(n_features=64, random_state=seed).fit(features, values)
    assert model.history_[-1]["objective"] < 0.1


def test_the_first_batch_decides_the_units():
    features, values = rows(2000)
    prices = 200_000 + 1e5 * values
    order = np.argsort(prices)[500:][:512]
    model = REGRESSORS["dsg"](loss="huber")
    model.partial_fit(features[order], prices[order])
    center, scale = model.target_center_, model.target_scale_
    assert center == np.median(np.sort(prices[order])[:511])
    for start in range(0, 2000, 500):
        model.partial_fit(features[start : start + 500], prices[start : start + 500])
    assert model.target_center_ == center
    assert model.target_scale_ == scale
    assert model.score(features, prices) > 0.8


def test_inspect_and_report_tell_the_figures(houses, tmp_path, capsys):
    arguments = [
        *("train", "--data", str(houses.path), "--algorithm", "svrg", "--out", str(tmp_path / "m")),
        *("--scheduler", "synchronous", "--set", "n_features=32", "--set", "stages=1"),
    ]
    assert main(arguments) == 0
    assert "train rmse   test rmse" in "".join(capsys.readouterr())
    last = json.loads((tmp_path / "m" / "metrics.jsonl").read_text().splitlines()[-1])
    report = (tmp_path / "m" / "report.html").read_text()
    assert main(["inspect", str(tmp_path / "m"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    for name in ("train mae", "test mae", "train r2", "test r2"):
        value = last[name.replace(" ", "_")]
        assert any(f">{value:.{digits}g}<" in report for digits in (4, 6)), name
    assert facts["targets"]["scale"] == pytest.approx(1e5 * rows(1000)[1][:800].std(), rel=1e-6)


LEVELS = (0.9, 0.1, 0.5)


def noisy(n, seed=0):
    """y = sin(x) + (0.2 + 0.1 x) e, x uniform in [0, 5]."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(0, 5, (n, 1))
    return X, np.sin(X[:, 0]) + (0.2 + 0.1 * X[:, 0]) * generator.standard_normal(n)


def regressor(**given):
    settings = {"loss": "quantile", "quantiles": LEVELS, "n_features": 128, "block_size": 32}
    return distkern.DSGRegressor(**{**settings, "nu": 1e-5, "random_state": 0, **given})


@pytest.mark.slow
def test_a_share_of_q_lies_below_the_quantile_q():
    X, y = noisy(6000)
    model = regressor().fit(X, y)
    below = (y[:, None] <= model.predict(X)).mean(axis=0)
    np.testing.assert_allclose(below, LEVELS, atol=5e-4)
    fresh, targets = noisy(40_000, seed=1)
    predicted = model.predict(fresh)
    np.testing.assert_allclose((targets[:, None] <= predicted).mean(axis=0), LEVELS, atol=0.015)
    truth = np.sin(fresh) + (0.2 + 0.1 * fresh) * norm.ppf(LEVELS)
    assert np.sqrt(np.mean((predicted - truth) ** 2)) < 0.1


def test_quantiles_do_not_cross_and_cost_no_more_for_it(tmp_path):
    X, y = noisy(300)
    levels = tuple(np.round(np.linspace(0.9, 0.1, 9), 1).tolist())
    model = regressor(quantiles=levels, nu=0.0, gamma=20.0).fit(X, y)
    crossing = model.basis(np.float64).combine(X, model.coefficients_) + model.constants_
    assert np.any(np.diff(crossing, axis=1) > 0)
    sorted_ones = model.predict(X)
    assert np.all(np.diff(sorted_ones, axis=1) <= 0)

    def pinball(f):
        short = y[:, None] - f
        return np.maximum(np.array(levels) * short, (np.array(levels) - 1) * short).mean()

    assert pinball(sorted_ones) < pinball(crossing)
    made = write_dataset([(X.astype(np.float32), y)], tmp_path / "d", task="regression", scale="none")
    with open_executor("synchronous") as executor:
        figures = evaluate_split(model, made.train, executor).figures
    assert figures["pinball"] == pytest.approx(pinball(sorted_ones), rel=1e-3)


@pytest.mark.slow
def test_the_end_is_counted_over_all_of_more_rows_than_are_sampled():
    X, y = noisy(30_000)
    model = regressor(n_features=64, stages=2).fit(X.astype(np.float32), y)
    below = (y[:, None] <= model.predict(X.astype(np.float32))).mean(axis=0)
    np.testing.assert_allclose(below, LEVELS, atol=1e-3)


_WORDS = ["a", "b"] * 6
_NUMBERS = [0, 1] * 6
X = np.random.default_rng(0).normal(size=(12, 2))


def holed(values, hole):
    return [*values[:4], hole, *values[5:]]


TARGETS = {
    "list with None": holed(_WORDS, None),
    "list with NaN": holed(_WORDS, np.nan),
    "texts of numpy": np.array(holed(_WORDS, np.nan)),
    "objects": np.array(holed(_WORDS, None), dtype=object),
    "floats": np.array(holed(_NUMBERS, np.nan)),
    "string": pandas.Series(holed(_WORDS, None), dtype="string"),
    "str": pandas.Series(holed(_WORDS, None), dtype="str"),
    "categories": pandas.Series(holed(_WORDS, None), dtype="category"),
    "Int64": pandas.Series(holed(_NUMBERS, None), dtype="Int64"),
    "Arrow in pandas": pandas.Series(holed(_WORDS, None), dtype=pandas.ArrowDtype(pa.string())),
    "Arrow": pa.array(holed(_WORDS, None)),
    "Polars": polars.Series(holed(_WORDS, None)),
    "Polars' categories": polars.Series(holed(_WORDS, None), dtype=polars.Categorical),
}
ROWS = {
    "array": X,
    "numbers": pandas.DataFrame(X, columns=["u", "v"]),
    "mixed": pandas.DataFrame({"u": X[:, 0], "t": ["p", "q", "r"] * 4}),
}


@pytest.mark.parametrize("kind", TARGETS)
def test_a_missing_target_is_refused_by_its_row(kind, tmp_path):
    for rows in ROWS.values():
        with pytest.raises(InputError, match=r"^y, row 5 \(index 4\): the target is missing"):
            distkern.write_dataset(rows, TARGETS[kind], tmp_path / "d.zarr")
        with pytest.raises(InputError, match=r"^y, row 5 \(index 4\): the target is missing"):
            NewtonClassifier(n_landmarks=3).fit(rows, TARGETS[kind])
    assert not (tmp_path / "d.zarr").exists()
    model = NewtonClassifier(n_landmarks=3, stages=1).fit(X, _WORDS)
    with pytest.raises(InputError, match="y, row 5"):
        model.score(X, TARGETS[kind])
    with pytest.raises(InputError, match="eval_set, row 5"):
        NewtonClassifier(n_landmarks=3).fit(X, _WORDS, eval_set=(X, TARGETS[kind]))


@pytest.mark.filterwarnings("ignore:Dask currently has limited support")
@pytest.mark.parametrize("kind", ["string", "str", "categories", "floats"])
def test_missing_targets_of_dask(kind, tmp_path):
    y = dd.from_pandas(pandas.Series(TARGETS[kind]), npartitions=2)
    model = NewtonClassifier(n_landmarks=3, stages=1).fit(X, _WORDS)
    for rows in (dd.from_pandas(ROWS["mixed"], npartitions=2), da.from_array(X, chunks=(6, 2))):
        with pytest.raises(InputError, match="row 5"):
            distkern.write_dataset(rows, y, tmp_path / "d.zarr", task="classification")
        with pytest.raises(InputError, match="row 5"):
            NewtonClassifier(n_landmarks=3).fit(rows, y)
    with pytest.raises(InputError, match=r"^y, row 5"):
        NewtonClassifier(n_landmarks=3).fit(ROWS["mixed"], y)
    with pytest.raises(InputError, match="y, block 0, row 5"):
        model.score(da.from_array(X, chunks=(6, 2)), y)


def test_numbers_beside_masks_stay_what_they_are():
    assert plain_targets(pandas.Series(_NUMBERS, dtype="Int64")).dtype == np.int64
    assert plain_targets(pandas.Series([True, False], dtype="boolean")).dtype == np.bool_
    assert NewtonClassifier(n_landmarks=3, stages=1).fit(
        X, pandas.Series(_NUMBERS, dtype="Int64")
    ).classes_.tolist() == [0, 1]
    with pytest.raises(InputError, match="y, row 5"):
        NewtonRegressor(n_landmarks=3).fit(X, holed(_NUMBERS, None))
