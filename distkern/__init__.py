"""Kernel machines trained out of core on Dask.

The public names are imported when they are first used: worker processes import parts of this package and must
not pay for scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from distkern.core.version import __version__

if TYPE_CHECKING:
    from distkern.estimators import AVMClassifier, CSVRGClassifier, load_model
    from distkern.kernels import kernel_matrix
    from distkern.storage.dataset import open_dataset


__all__ = [
    "AVMClassifier",
    "CSVRGClassifier",
    "__version__",
    "kernel_matrix",
    "load_model",
    "open_dataset",
]

_HOMES = {
    "AVMClassifier": "distkern.estimators",
    "CSVRGClassifier": "distkern.estimators",
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
