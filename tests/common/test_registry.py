"""Members of families are found in their folders, the file of a name before others."""

from __future__ import annotations

import subprocess
import sys

import pytest
from sklearn.base import BaseEstimator

from distkern.common.errors import InputError
from distkern.common.registry import find, lookup, members
from distkern.engine.executors import AbstractExecutor
from distkern.features import AbstractFeatures
from distkern.formats.base import AbstractFormat
from distkern.kernels import AbstractKernel
from distkern.landmarks.base import AbstractLandmarkRule
from distkern.losses import AbstractLoss
from distkern.samplers.base import AbstractSampler
from distkern.solvers.base import AbstractSolver

FAMILIES = {
    "distkern.engine.executors": AbstractExecutor,
    "distkern.estimators": BaseEstimator,
    "distkern.features": AbstractFeatures,
    "distkern.formats": AbstractFormat,
    "distkern.kernels": AbstractKernel,
    "distkern.landmarks": AbstractLandmarkRule,
    "distkern.losses": AbstractLoss,
    "distkern.samplers": AbstractSampler,
    "distkern.solvers": AbstractSolver,
}


@pytest.mark.parametrize("package", FAMILIES)
def test_each_member_is_found_by_its_name(package: str) -> None:
    base = FAMILIES[package]
    known = members(package, base)
    assert known
    assert {name: find(package, base, name) for name in known} == known


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    assert lookup("distkern.kernels", AbstractKernel, "laplacain") is None
    with pytest.raises(InputError, match="did you mean 'laplacian'"):
        find("distkern.kernels", AbstractKernel, "laplacain")


def test_a_member_of_another_base_is_none() -> None:
    assert lookup("distkern.kernels", AbstractLoss, "laplacian") is None


def test_asking_for_one_imports_no_other() -> None:
    code = (
        "import sys\n"
        "from distkern.common.registry import find\n"
        "from distkern.solvers.base import AbstractSolver\n"
        "assert find('distkern.solvers', AbstractSolver, 'newton').name == 'newton'\n"
        "print([name for name in ('csvrg', 'simba', 'cells') if f'distkern.solvers.{name}' in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
