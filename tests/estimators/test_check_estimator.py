"""Every estimator passes scikit-learn's own checks, without exceptions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from distkern.runs.algorithms import algorithms

# estimators report what they skip (array API libraries that are not installed) as warnings
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")

#: a hundred fits to a handful of rows each do not need the features and rounds of a default fit
SMALL = {"n_features": 256, "block_size": 64, "max_rounds": 2000}


def small(kind):
    """The defaults but for the number of random features and of rounds."""
    known = kind().get_params()
    unused = {"n_features"} if known.get("features") == "linear" else set()
    return kind(**{name: value for name, value in SMALL.items() if name in known and name not in unused})


@parametrize_with_checks([small(kind) for kind in algorithms().values()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
