"""Every estimator passes scikit-learn's own checks, without exceptions.

Estimators share the code that takes rows, targets and weights in. One of those that share it is given all
checks; those of the others are slow tests.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from distkern.runs.algorithms import algorithms
from small import taken

# estimators report what they skip (array API libraries that are not installed) as warnings
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")

#: a hundred fits to a handful of rows each need few features and rounds
SMALL = {"n_features": 32, "block_size": 16, "n_landmarks": 16, "max_rounds": 50, "search": None, "stages": 2}
#: thousands of passes over a handful of rows are as good after some hundred, and few stages suffice one block
STEPS = {
    "csvrg": {"steps_per_stage": 300},
    "pegasos": {"steps_per_stage": 1000, "lam": 0.01, "stages": 5},
    "dsg_density_ratio": {"steps_per_stage": 200},
    "dsg_gaussian_process": {"n_features": 64, "block_size": 32, "steps_per_stage": 200},
    "newton_regressor": {"n_landmarks": 32},
    "rbcd": {"block_size": 64},
    "sbmd_regressor": {"batch_size": 4, "stages": 10},
    "sdca_regressor": {"nu": 0.01},
}


#: one estimator of each base class that takes in rows or predicts in its own way
WHOLE = {"auto", "cells_regressor", "csvrg", "dsg_novelty", "newton", "newton_regressor", "simba"}
#: the same fits to sparse rows of SciPy's older and newer class, which are validated by the same line
TWICE = {"check_estimator_sparse_array", "check_estimator_sparse_matrix"}


def few(kind):
    """The defaults but for what a fit takes long by."""
    names = taken(kind, {})
    settings = {name: value for name, value in SMALL.items() if name in names}
    return kind(**settings | STEPS.get(kind.name, {}))


def name_of(check):
    """The name of a check, with what it is called with."""
    given = ",".join(f"{name}={getattr(value, '__name__', value)}" for name, value in check.keywords.items())
    return check.func.__name__ + (f"({given})" if given else "")


def checks():
    """Every estimator with every check, which is slow unless it is of ``WHOLE``."""
    for kind in algorithms().values():
        for estimator, check in estimator_checks_generator(few(kind)):
            name = name_of(check)
            repeated = name in TWICE and kind.name != "newton"
            slow = repeated or kind.name not in WHOLE
            yield pytest.param(
                estimator, check, id=f"{kind.name}-{name}", marks=[pytest.mark.slow] if slow else []
            )


CHECKS = list(checks())


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_what_estimators_share_has_all_checks():
    """A base class that none of ``WHOLE`` has, or a check of another name, would be left out silently."""
    assert {name_of(case.values[1]) for case in CHECKS} >= TWICE
    kinds = algorithms().values()
    for base in {base for kind in kinds for base in kind.__mro__}:
        having = [kind for kind in kinds if issubclass(kind, base)]
        if len({kind.__module__ for kind in having}) > 1:
            assert any(kind.name in WHOLE for kind in having), base
