"""Every estimator passes scikit-learn's own checks, without exceptions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

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
    "dsg_gaussian_process": {"n_features": 64, "block_size": 32},
    "newton_regressor": {"n_landmarks": 32},
    "rbcd": {"block_size": 64},
    "sbmd_regressor": {"batch_size": 4, "stages": 10},
    "sdca_regressor": {"nu": 0.01},
}


def few(kind):
    """The defaults but for what a fit takes long by."""
    names = taken(kind, {})
    settings = {name: value for name, value in SMALL.items() if name in names}
    return kind(**settings | STEPS.get(kind.name, {}))


@parametrize_with_checks([few(kind) for kind in algorithms().values()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
