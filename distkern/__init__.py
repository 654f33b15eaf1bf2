"""Kernel machines trained out of core on Dask.

The public names are imported when they are first used: worker processes import parts of this package and must
not pay for scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from distkern.core.version import __version__

if TYPE_CHECKING:
    from distkern.estimators import AVMClassifier, CSVRGClassifier, PegasosClassifier, load_model
    from distkern.estimators.random_features import RandomFeatures
    from distkern.estimators.simba import SIMBAClassifier
    from distkern.estimators.svrg import SVRGClassifier, SVRGRegressor
    from distkern.kernels import kernel_matrix
    from distkern.storage.dataset import open_dataset


__all__ = [
    "AVMClassifier",
    "CSVRGClassifier",
    "DSGClassifier",
    "DSGRegressor",
    "PegasosClassifier",
    "RandomFeatures",
    "SIMBAClassifier",
    "SVRGClassifier",
    "SVRGRegressor",
    "__version__",
    "kernel_matrix",
    "load_model",
    "open_dataset",
]

_HOMES = {
    "SIMBAClassifier": "distkern.estimators.simba",
    "SVRGRegressor": "distkern.estimators.svrg",
    "SVRGClassifier": "distkern.estimators.svrg",
    "DSGRegressor": "distkern.estimators.dsg",
    "DSGClassifier": "distkern.estimators.dsg",
    "AVMClassifier": "distkern.estimators",
    "CSVRGClassifier": "distkern.estimators",
    "PegasosClassifier": "distkern.estimators",
    "RandomFeatures": "distkern.estimators.random_features",
    "kernel_matrix": "distkern.kernels",
    "load_model": "distkern.estimators",
    "open_dataset": "distkern.storage.dataset",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'distkern' has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
