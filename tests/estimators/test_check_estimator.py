"""Every estimator passes scikit-learn's own checks, without exceptions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from distkern.estimators.names import algorithms

# estimators report what they skip (array API libraries that are not installed) as warnings
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")


@parametrize_with_checks([kind() for kind in algorithms().values()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
