"""What of scikit-learn's checks is made with the slow tests."""

import pytest

#: the same fits to sparse rows of the older class, which are validated by the same line
TWICE = "check_estimator_sparse_matrix"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if f"-{TWICE}]" in item.name:
            item.add_marker(pytest.mark.slow)
