"""Data for tests of cells, and cells without a search."""

from __future__ import annotations

from functools import partial

import numpy as np

from distkern.estimators.cells import CellClassifier, CellRegressor

Classifier, Regressor = partial(CellClassifier, search=None), partial(CellRegressor, search=None)


def rows(n_rows, n_features=3, seed=0):
    """Return normal rows of two classes separated by a wave."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features)).astype(np.float32)
    return X, (np.sin(3 * X[:, 0]) + X[:, 1] > 0).astype(int)
