"""The examples in the docstrings of estimators and functions run."""

import doctest
import importlib

import numpy as np
import pytest

import distkern
from distkern.core import parameters, python_words, text
from distkern.estimators import declared
from distkern.runs.algorithms import estimators


@pytest.mark.parametrize("name", estimators())
def test_the_example_of_a_class_runs(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    kind = estimators()[name]
    module = importlib.import_module(kind.__module__)
    examples = doctest.DocTestParser().get_doctest(kind.__doc__, {**vars(module), "np": np}, name, None, 0)
    assert examples.examples, "give the class an example"
    assert doctest.DocTestRunner(verbose=False).run(examples).failed == 0


@pytest.mark.parametrize("module", [declared, parameters, python_words, text])
def test_the_examples_of_a_module_run(module):
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


def test_public_functions_have_examples_that_run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("kernel_matrix", "load_model", "open_dataset", "tune", "write_dataset"):
        function = getattr(distkern, name)
        names = {"np": np, "dk": distkern, **vars(distkern)}
        examples = doctest.DocTestParser().get_doctest(function.__doc__, names, name, None, 0)
        assert examples.examples, name
        assert doctest.DocTestRunner(verbose=False).run(examples).failed == 0, name
