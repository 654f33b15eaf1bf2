"""What type checkers and editors see of the package: ``distkern/__init__.pyi``."""

import ast
import inspect
import re
import subprocess
import sys

import pytest

import distkern
import stub
from distkern.runs.algorithms import estimators

RIGHT = """\
model = dk.CSVRGClassifier(gamma="median/4", class_weight={1: 2.0}, kernel="matern", smoothness=1.5)
dk.DSGRegressor(loss="quantile", quantiles=[0.1, 0.9], sampler="monte_carlo").partial_fit([[0.0]], [1.0])
model.predict_proba([[1.0]])
dk.tune(model, dk.open_dataset("d.zarr"), jobs=2).estimator
dk.load_model("model").predict([[1.0]])
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


@pytest.mark.parametrize("name", estimators())
def test_a_constructor_has_the_names_and_defaults_that_it_has(name):
    classes = {node.name: node for node in ast.parse(stub.text()).body if isinstance(node, ast.ClassDef)}
    (made,) = (node for node in classes[name].body if isinstance(node, ast.FunctionDef))
    defaults = {
        argument.arg: ast.literal_eval(value)
        for argument, value in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True)
        if value is not None
    }
    signature = inspect.signature(getattr(distkern, name)).parameters.values()
    assert defaults == {parameter.name: parameter.default for parameter in signature}


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
