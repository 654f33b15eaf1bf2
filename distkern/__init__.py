"""Kernel machines trained out of core on Dask.

The public names are imported when they are first used: worker processes import parts of this package and must
not pay for scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from distkern.common.version import __version__

if TYPE_CHECKING:
    from distkern.common.errors import InputError
    from distkern.estimators.auto import KernelClassifier, KernelRegressor
    from distkern.estimators.avm import AVMClassifier
    from distkern.estimators.cells import CellClassifier, CellRegressor
    from distkern.estimators.csvrg import CSVRGClassifier
    from distkern.estimators.density_ratio import DSGDensityRatio
    from distkern.estimators.dsg import DSGClassifier, DSGRegressor
    from distkern.estimators.gaussian_process import DSGGaussianProcessRegressor
    from distkern.estimators.newton import NewtonClassifier, NewtonRegressor
    from distkern.estimators.norma import NORMAClassifier, NORMARegressor
    from distkern.estimators.novelty import DSGNoveltyDetector
    from distkern.estimators.pegasos import PegasosClassifier
    from distkern.estimators.random_features import RandomFeatures
    from distkern.estimators.rbcd import RBCDClassifier, RBCDRegressor
    from distkern.estimators.sbmd import SBMDClassifier, SBMDRegressor
    from distkern.estimators.sdca import SDCAClassifier, SDCARegressor
    from distkern.estimators.simba import SIMBAClassifier
    from distkern.estimators.svrg import SVRGClassifier, SVRGRegressor
    from distkern.kernels import kernel_matrix
    from distkern.runs.persistence import load_model
    from distkern.runs.writing import write_dataset
    from distkern.search.tuning.api import tune
    from distkern.storage.dataset import Dataset, open_dataset

__all__ = [
    "AVMClassifier",
    "CSVRGClassifier",
    "CellClassifier",
    "CellRegressor",
    "DSGClassifier",
    "DSGDensityRatio",
    "DSGGaussianProcessRegressor",
    "DSGNoveltyDetector",
    "DSGRegressor",
    "Dataset",
    "InputError",
    "KernelClassifier",
    "KernelRegressor",
    "NORMAClassifier",
    "NORMARegressor",
    "NewtonClassifier",
    "NewtonRegressor",
    "PegasosClassifier",
    "RBCDClassifier",
    "RBCDRegressor",
    "RandomFeatures",
    "SBMDClassifier",
    "SBMDRegressor",
    "SDCAClassifier",
    "SDCARegressor",
    "SIMBAClassifier",
    "SVRGClassifier",
    "SVRGRegressor",
    "__version__",
    "kernel_matrix",
    "load_model",
    "open_dataset",
    "tune",
    "write_dataset",
]

_HOMES = {
    "AVMClassifier": "distkern.estimators.avm",
    "CSVRGClassifier": "distkern.estimators.csvrg",
    "CellClassifier": "distkern.estimators.cells",
    "CellRegressor": "distkern.estimators.cells",
    "DSGClassifier": "distkern.estimators.dsg",
    "DSGDensityRatio": "distkern.estimators.density_ratio",
    "DSGGaussianProcessRegressor": "distkern.estimators.gaussian_process",
    "DSGNoveltyDetector": "distkern.estimators.novelty",
    "DSGRegressor": "distkern.estimators.dsg",
    "Dataset": "distkern.storage.dataset",
    "InputError": "distkern.common.errors",
    "KernelClassifier": "distkern.estimators.auto",
    "KernelRegressor": "distkern.estimators.auto",
    "NORMAClassifier": "distkern.estimators.norma",
    "NORMARegressor": "distkern.estimators.norma",
    "NewtonClassifier": "distkern.estimators.newton",
    "NewtonRegressor": "distkern.estimators.newton",
    "PegasosClassifier": "distkern.estimators.pegasos",
    "RBCDClassifier": "distkern.estimators.rbcd",
    "RBCDRegressor": "distkern.estimators.rbcd",
    "RandomFeatures": "distkern.estimators.random_features",
    "SBMDClassifier": "distkern.estimators.sbmd",
    "SBMDRegressor": "distkern.estimators.sbmd",
    "SDCAClassifier": "distkern.estimators.sdca",
    "SDCARegressor": "distkern.estimators.sdca",
    "SIMBAClassifier": "distkern.estimators.simba",
    "SVRGClassifier": "distkern.estimators.svrg",
    "SVRGRegressor": "distkern.estimators.svrg",
    "kernel_matrix": "distkern.kernels",
    "load_model": "distkern.runs.persistence",
    "open_dataset": "distkern.storage.dataset",
    "tune": "distkern.search.tuning.api",
    "write_dataset": "distkern.runs.writing",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value: object = getattr(import_module(_HOMES[name]), name)
    elif name[:1].isupper() and name in (others := _other_estimators()):
        value = others[name]
    else:
        raise AttributeError(f"module 'distkern' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_other_estimators()})


def _other_estimators() -> dict[str, type]:
    """Estimators in the folder that are not listed above, which type checkers do not see; imports all."""
    from distkern.runs.algorithms import algorithms

    return {kind.__name__: kind for kind in algorithms().values() if kind.__name__ not in _HOMES}
