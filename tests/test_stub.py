"""What type checkers and editors see of the package: ``distkern/__init__.pyi``."""

import ast
import inspect
import re
import shutil
import subprocess
import sys

import pytest

import distkern
import stub
from distkern.estimators.declared import METHODS
from distkern.runs.algorithms import estimators

RIGHT = """\
model = dk.CSVRGClassifier(gamma="median/4", class_weight={1: 2.0}, kernel="matern", smoothness=1.5)
dk.DSGRegressor(loss="quantile", quantiles=[0.1, 0.9], sampler="monte_carlo").partial_fit([[0.0]], [1.0])
model.predict_proba([[1.0]])
dk.tune(model, dk.open_dataset("d.zarr"), jobs=2).estimator
dk.load_model("model").predict([[1.0]])
"""
#: assert_type fails where a checker knows less than it says
SCRIPT = """\
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import distkern as dk

X: NDArray[np.float64] = np.random.default_rng(0).normal(size=(300, 4))
y = (X[:, 0] > 0).astype(int)
target = X[:, 0] + X[:, 1]

auto = dk.KernelClassifier(memory_limit="512MiB", random_state=0).fit(X, y)
assert_type(auto, dk.KernelClassifier)
assert_type(auto.predict(X), NDArray[Any])
assert_type(auto.predict_proba(X), NDArray[Any])
assert_type(auto.score(X, y), float)
assert_type(auto.algorithm_, str)
explanation = auto.explain(X, y, n_repeats=3)
frame = explanation.importances
print(frame.sort_values("importance").head(3), explanation.importances_mean.sum())
auto.save("auto-model")

coreset = dk.CSVRGClassifier(loss="odm", kernel="rbf", gamma=4.0, n_landmarks=64, lam=64.0)
assert_type(coreset.fit(X, y).decision_function(X), NDArray[Any])
assert_type(coreset.coefficients_.shape, tuple[Any, ...])
avm = dk.AVMClassifier(gamma="median/2", stages=3).fit(X, y)
print(avm.landmarks_, avm.history_.to_frame(), avm.classes_.tolist())
newton = dk.NewtonClassifier(loss="logistic", features="linear", class_weight={0: 1.0, 1: 2.0})
newton.fit(X, y, eval_set=(X, y), early_stopping=2, verbose=False)
print(newton.coef_ @ X.T + newton.intercept_)
ridge = dk.NewtonRegressor(features="random", n_features=128).fit(X, target)
assert_type(ridge.predict(X), NDArray[Any])
quantiles = dk.DSGRegressor(loss="quantile", quantiles=[0.1, 0.9], stages=2).fit(X, target)
process = dk.DSGGaussianProcessRegressor(n_features=64).fit(X, target)
mean, deviation = process.predict(X, return_std=True)
cells = dk.CellClassifier(search="quick", C=1.0, metric=None).fit(X, y)
assert_type(cells.metric_importances_, NDArray[np.float64])
svrg = dk.SVRGClassifier(stages=3, step_size=None, scale="standard").fit(X, y).partial_fit(X, y)
pegasos = dk.PegasosClassifier(random_state=np.random.RandomState(0)).fit(X, y)
simba = dk.SIMBAClassifier(nu=0.1).fit(X, y)
sdca = dk.SDCARegressor(features="nystroem", n_landmarks=32).fit(X, target)
for model in (coreset, avm, newton, svrg, pegasos, simba):
    print(type(model).__name__, model.n_iter_, model.get_params()["random_state"])

features = dk.RandomFeatures(kernel="laplacian", n_features=64).fit(X)
assert_type(features.transform(X), NDArray[Any])
assert_type(dk.kernel_matrix(X, gamma=0.5), NDArray[np.float64])
data = dk.write_dataset(X, y, "data.zarr", test_fraction=0.2, overwrite=True)
assert_type(data, dk.Dataset)
print(data.n_rows, data.classes, data.head(), len(data.train))
found = dk.tune(dk.NewtonClassifier(), data, {"nu": [1e-3, 1e-5]}, metric="auc")
print(found.settings, found.value, found.to_frame().columns)
found = dk.tune(dk.KernelRegressor(), X, target, scoring="r2", memory_limit="1GiB")
dk.export(newton, "model.onnx")
loaded = dk.load_model("auto-model")
assert_type(loaded.predict(X), NDArray[Any])
print(loaded.predict_proba([[0.0, 1.0, 2.0, 3.0]]).round(3), loaded.history_[-1]["objective"])
"""
WRONG = {
    "dk.CSVRGClassifier(gama=1.0)": 'Unexpected keyword argument "gama"',
    "dk.CSVRGClassifier(1.0)": "Too many positional arguments",
    'dk.CSVRGClassifier(kernel="rfb")': 'Argument "kernel"',
    'dk.KernelClassifier(random_state="none")': 'Argument "random_state"',
    'dk.open_dataset("d.zarr", 1)': "Too many arguments",
    'dk.CellRegressor().n_support_ + ""': "Unsupported operand types",
    "dk.CSVRGClasifier()": 'no attribute "CSVRGClasifier"',
}


def test_the_stub_is_what_the_estimators_say():
    assert stub.PATH.read_text(encoding="utf-8") == stub.text(), "run python tests/stub.py"


@pytest.fixture(scope="module")
def classes():
    tree = ast.parse(stub.PATH.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("name", estimators())
def test_a_constructor_has_the_names_and_defaults_that_it_has(name, classes):
    made = next(node for node in classes[name].body if getattr(node, "name", "") == "__init__")
    defaults = {
        argument.arg: ast.literal_eval(value)
        for argument, value in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True)
        if value is not None
    }
    signature = inspect.signature(getattr(distkern, name)).parameters.values()
    assert defaults == {parameter.name: parameter.default for parameter in signature}


@pytest.mark.parametrize("name", estimators())
def test_hovering_a_class_shows_parameters_attributes_and_an_example(name, classes):
    kind, shown = estimators()[name], ast.get_docstring(classes[name])
    for parameter, declared in kind.hyperparameters.items():
        assert f"\n{parameter} : {declared.docstring_type}\n    " in shown, parameter
    for attribute in kind.fitted_attributes:
        assert re.search(rf"^{attribute} : \S", shown, re.M), attribute
    assert "\n>>> " in shown
    assert shown == inspect.getdoc(kind)


def test_hovering_a_method_or_function_shows_its_docstring(classes):
    tree = ast.parse(stub.PATH.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    shown = {node.name for node in functions if ast.get_docstring(node)}
    assert {node.name for node in functions} - shown == {"__init__", "__dask_graph__"}
    assert {*METHODS} - shown == {one for one in METHODS if one.endswith("_request")}


def test_it_is_shipped():
    assert stub.PATH.with_name("py.typed").is_file()


@pytest.mark.slow
def test_a_type_checker_takes_what_is_right_and_nothing_else(repository, tmp_path):
    readme = (repository / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(import distkern as dk\n.*?)```", readme, re.S)
    lines = [*example[1].splitlines(), *RIGHT.splitlines(), *WRONG]
    snippet = tmp_path / "snippet.py"
    snippet.write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", snippet, "--cache-dir", tmp_path / "cache", "--no-pretty"]
    run = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=240)
    errors = {}
    for number, told in re.findall(r"snippet\.py:(\d+): error: (.*)", run.stdout):
        line = lines[int(number) - 1]
        errors[line] = f"{errors.get(line, '')} {told}"
    assert errors.keys() == WRONG.keys(), run.stdout + run.stderr
    for line, told in errors.items():
        assert WRONG[line] in told


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_strict_checkers_know_the_types_of_a_whole_script(checker, tmp_path, repository):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    if checker == "mypy":
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", script]
    else:
        # pip install basedpyright brings the node that pyright runs on
        tool = shutil.which("basedpyright") or shutil.which("pyright")
        if tool is None:
            pytest.skip("pyright is not installed")
        (tmp_path / "pyrightconfig.json").write_text(
            f'{{"typeCheckingMode": "standard", "extraPaths": ["{repository}"]}}', encoding="utf-8"
        )
        command = [tool, "--pythonpath", sys.executable, "--project", tmp_path, script]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stdout + run.stderr
