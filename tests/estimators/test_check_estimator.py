"""Every estimator passes scikit-learn's own checks, without exceptions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from distkern.estimators.names import algorithms

# estimators report what they skip (array API libraries that are not installed) as warnings
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")

#: a hundred fits to a handful of rows each do not need the features of a default fit
SMALL = {"n_features": 256, "block_size": 64}


def small(kind):
    """The defaults but for the number of random features."""
    known = kind().get_params()
    if known.get("features") == "linear":
        return kind()
    return kind(**{name: value for name, value in SMALL.items() if name in known})


@parametrize_with_checks([small(kind) for kind in algorithms().values()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
