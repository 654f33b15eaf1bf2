"""Models as ONNX files say what they say here, and what has no formula is refused by name."""

import numpy as np
import pandas
import pytest
from sklearn.datasets import make_classification

import distkern as dk
from distkern.core.errors import InputError
from distkern.maths.kernels import FEATURE_KERNELS, TILE_KERNELS
from distkern.runs.algorithms import estimators

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

X, Y = make_classification(400, 6, n_informative=4, n_classes=3, random_state=0)
X = X.astype(np.float32)
TWO = (Y > 0).astype(int)
EXACT = {"random_state": 0, "dtype": "float64"}
REAL = (X[:, 0] + np.abs(X[:, 1])).astype(np.float64)
NEW = np.concatenate([X[:50] + np.float32(0.1), 3 * X[50:60], X[:1] * 0])


def said(model, path, rows=NEW):
    """What the file of a model says of rows, by name."""
    dk.export(model, path / "m.onnx")
    session = onnxruntime.InferenceSession(path / "m.onnx", providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows.astype(np.float32)}), strict=True))


def check(model, path, rows=NEW):
    """``model`` computes in double precision, as files do: single precision rounds by more."""
    rows = rows.astype(np.float32)
    found = said(model, path, rows)
    rows = rows.astype(np.float64)
    if hasattr(model, "classes_"):
        decision = model.decision_function(rows)
        scale = max(1.0, np.abs(decision).max())
        np.testing.assert_allclose(found["decision"], decision, rtol=1e-5, atol=1e-5 * scale)
        assert ("probabilities" in found) == hasattr(model, "predict_proba")
        if "probabilities" in found:
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-5)
        assert (found["label"] == model.predict(rows)).mean() >= 0.99
        assert {"f": "f", "i": "i", "b": "b"}.get(model.classes_.dtype.kind, "O") == found["label"].dtype.kind
    else:
        expected = model.predict(rows)
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found["prediction"], expected, rtol=1e-5, atol=1e-5 * scale)
    return found


@pytest.mark.parametrize("labels", [TWO, Y], ids=["two", "three"])
@pytest.mark.parametrize(
    "model",
    [
        dk.NewtonClassifier(features="linear"),
        dk.NewtonClassifier(),
        dk.NewtonClassifier(features="random", n_features=128),
        dk.NewtonClassifier(loss="squared_hinge"),
        dk.NewtonClassifier(class_weight={0: 1.0, 1: 5.0}),
        dk.NewtonClassifier(loss="softmax", features="linear", class_weight="balanced"),
        dk.CSVRGClassifier(n_landmarks=64),
        dk.CSVRGClassifier(loss="logistic", n_landmarks=64, scale="standard"),
        dk.SVRGClassifier(n_features=128, stages=3),
        dk.SVRGClassifier(loss="softmax", features="nystroem", n_landmarks=50, stages=3),
        dk.AVMClassifier(n_landmarks=64, stages=2),
        dk.PegasosClassifier(),
        dk.SIMBAClassifier(nu=0.1, max_rounds=200),
        dk.DSGClassifier(n_features=256, stages=2),
        dk.KernelClassifier(algorithm="newton"),
    ],
    ids=lambda model: f"{model.name}-{getattr(model, 'loss', '')}-{getattr(model, 'features', '')}",
)
def test_classifiers_say_the_same(model, labels, tmp_path):
    check(model.set_params(**EXACT).fit(X, labels), tmp_path)


def test_models_in_single_precision_are_said_more_exactly(tmp_path):
    model = dk.NewtonClassifier(random_state=0).fit(X, TWO)
    assert model.dtype_ == np.float32
    np.testing.assert_allclose(said(model, tmp_path)["probabilities"], model.predict_proba(NEW), atol=2e-4)


@pytest.mark.parametrize("loss", ["square", "huber", "absolute", "epsilon_insensitive"])
def test_regressors_predict_the_same(loss, tmp_path):
    check(dk.SVRGRegressor(loss=loss, n_features=128, stages=3, **EXACT).fit(X, REAL), tmp_path)


def test_quantiles_are_sorted_in_their_order(tmp_path):
    model = dk.DSGRegressor(loss="quantile", quantiles=[0.9, 0.1, 0.5], n_features=256, stages=2, **EXACT)
    found = check(model.fit(X, 1e3 * REAL), tmp_path)["prediction"]
    assert (found[:, 0] >= found[:, 2]).all()
    assert (found[:, 2] >= found[:, 1]).all()


@pytest.mark.parametrize("kernel", [*TILE_KERNELS])
def test_kernels_at_landmarks(kernel, tmp_path):
    rows = np.abs(X) / 10
    model = dk.NewtonRegressor(kernel=kernel, features="nystroem", n_landmarks=40, **EXACT)
    check(model.fit(rows, REAL), tmp_path, np.abs(NEW) / 10)


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_matern_of_any_smoothness(smoothness, tmp_path):
    model = dk.CSVRGClassifier(kernel="matern", smoothness=smoothness, n_landmarks=40, **EXACT)
    check(model.fit(X, TWO), tmp_path)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_arc_cosine_of_any_degree(degree, tmp_path):
    how = {"kernel": "arc_cosine", "degree": degree, **EXACT}
    rows = X.astype(np.float64)
    check(dk.NewtonRegressor(features="nystroem", n_landmarks=40, **how).fit(rows, REAL), tmp_path)


@pytest.mark.parametrize("kernel", [*FEATURE_KERNELS])
def test_random_features_of_kernels(kernel, tmp_path):
    # float64 rows: frequencies without a mean are 1e8 and more, whose phases single precision does not hold
    rows = np.abs(X).astype(np.float64) / 10
    model = dk.NewtonRegressor(kernel=kernel, features="random", n_features=96, **EXACT)
    model.fit(rows, REAL)
    if kernel == "polynomial":
        with pytest.raises(InputError, match="random features of kernel polynomial have no formula in ONNX"):
            dk.export(model, tmp_path / "m.onnx")
        return
    found = said(model, tmp_path, np.abs(NEW) / 10)["prediction"]
    expected = model.predict((np.abs(NEW) / 10).astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sampler", ["monte_carlo", "orthogonal", "quasi_monte_carlo", "fastfood"])
def test_random_features_of_samplers(sampler, tmp_path):
    model = dk.SVRGClassifier(sampler=sampler, n_features=128, stages=2, **EXACT)
    check(model.fit(X, TWO), tmp_path)


@pytest.mark.parametrize("scale", ["none", "standard", "minmax", "maxabs", "normal", "ranks"])
@pytest.mark.parametrize("metric", [None, "diagonal", "full"])
def test_scaling_transforms_and_metrics(scale, metric, tmp_path):
    if metric is not None and scale in ("minmax", "maxabs"):
        pytest.skip("no such pair")
    # a column that takes few values has equal quantiles
    rows = X.copy()
    rows[:, 5] = np.round(rows[:, 5])
    model = dk.NewtonClassifier(n_landmarks=50, scale=scale, metric=metric, **EXACT)
    new = np.concatenate([rows[:60], NEW])
    check(model.fit(rows, TWO), tmp_path, new)


@pytest.mark.parametrize("scale", ["unit", "ball", "standard"])
def test_scalings_of_data_sets(scale, tmp_path):
    data = dk.write_dataset(X, TWO, tmp_path / "d.zarr", scale=scale)
    model = dk.NewtonClassifier(features="linear", random_state=0).fit(data)
    found, expected = said(model, tmp_path)["probabilities"], model.predict_proba(NEW)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    "classes", [["no", "yes"], [False, True], [1.0, 2.0], [-1, 1]], ids=["text", "bool", "float", "int"]
)
def test_labels_keep_their_type(classes, tmp_path):
    model = dk.NewtonClassifier(features="linear", threshold=0.3, **EXACT)
    found = check(model.fit(X, np.array(classes)[TWO]), tmp_path)
    assert set(found["label"].tolist()) == set(classes)


def test_a_frame_of_numbers_keeps_the_names_of_its_columns(tmp_path):
    onnx = pytest.importorskip("onnx")
    frame = pandas.DataFrame(X, columns=[*"abcdef"])
    dk.export(dk.NewtonClassifier(**EXACT).fit(frame, TWO), tmp_path / "m.onnx")
    facts = {one.key: one.value for one in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert facts == {"algorithm": "newton", "feature_names": '["a", "b", "c", "d", "e", "f"]'}


def test_missing_numbers_are_filled_as_in_the_table(tmp_path):
    frame = pandas.DataFrame(np.where(X > 1.5, np.nan, X), columns=[*"abcdef"]).astype("float32")
    model = dk.NewtonClassifier(**EXACT).fit(frame, TWO)
    assert np.isnan(frame).any(axis=None)
    assert model.table_.columns[0].fill != 0
    dk.export(model, tmp_path / "m.onnx")
    session = pytest.importorskip("onnxruntime").InferenceSession(tmp_path / "m.onnx")
    (found,) = session.run(["probabilities"], {"X": frame.to_numpy()})
    np.testing.assert_allclose(found, model.predict_proba(frame), atol=1e-5)


def test_a_loaded_model_is_exported(tmp_path):
    dk.NewtonClassifier(**EXACT).fit(X, TWO).save(tmp_path / "model")
    check(dk.load_model(tmp_path / "model"), tmp_path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: dk.CellClassifier(search=None).fit(X, TWO), "machines in cells have no formula"),
        (lambda: dk.DSGNoveltyDetector().fit(X), "DSGNoveltyDetector does not predict labels"),
        (lambda: dk.DSGDensityRatio(stages=1).fit(X, TWO), "DSGDensityRatio does not predict labels"),
        (
            lambda: dk.NewtonClassifier().fit(
                pandas.DataFrame({"k": np.array([*"abc"])[Y], "x": X[:, 0]}), TWO
            ),
            r"encodes columns of a table \('k'\)",
        ),
        (lambda: object(), "a object is not a distkern estimator"),
    ],
)
def test_others_are_refused_by_name(make, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        dk.export(make(), tmp_path / "m.onnx")
    assert not [*tmp_path.iterdir()]


def test_without_onnx_the_command_that_installs_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(InputError, match=r"pip install 'distkern\[onnx\]'"):
        dk.export(dk.NewtonClassifier(features="linear").fit(X, TWO), tmp_path / "m.onnx")


def test_every_estimator_is_exported_or_refused():
    """Nothing new is left out of this file."""
    tried = {"Newton", "CSVRG", "SVRG", "AVM", "Pegasos", "SIMBA", "DSG", "Kernel", "Cell"}
    others = {"NORMA", "SDCA", "RBCD", "SBMD", "RandomFeatures"}
    for name in estimators():
        kind = name.removesuffix("Classifier").removesuffix("Regressor")
        assert kind in tried | others or name.startswith("DSG"), name
