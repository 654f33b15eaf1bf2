"""Members of families are found in their folders, the file of a name before others."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from distkern import NewtonClassifier
from distkern.common import registry
from distkern.common.errors import InputError
from distkern.common.registry import find, lookup, lookup_class, members
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
def test_each_member_is_found_by_its_name(package):
    base = FAMILIES[package]
    known = members(package, base)
    assert known
    assert {name: find(package, base, name) for name in known} == known


def test_an_unknown_name_is_refused_with_the_nearest():
    assert lookup("distkern.kernels", AbstractKernel, "laplacain") is None
    with pytest.raises(InputError, match="did you mean 'laplacian'"):
        find("distkern.kernels", AbstractKernel, "laplacain")


@pytest.mark.parametrize(
    ("family", "one"), [("losses", "loss"), ("kernels", "kernel"), ("formats", "format")]
)
def test_an_unknown_name_is_told_with_the_word_for_one(family, one):
    package = f"distkern.{family}"
    with pytest.raises(InputError, match=f"unknown {one} 'none of them'"):
        find(package, FAMILIES[package], "none of them")


def test_a_member_that_lacks_something_is_told_of(tmp_path):
    (tmp_path / "half.py").write_text(
        "from distkern.losses.base import AbstractElementwiseLoss\n"
        "class Half(AbstractElementwiseLoss):\n"
        "    name = 'half'\n"
        "    derivative = value = staticmethod(lambda f, y, parameters: 0.0 * f)\n"
    )
    code = (
        "import sys\n"
        "import distkern.losses\n"
        "distkern.losses.__path__.append(sys.argv[1])\n"
        "distkern.losses.find_loss('half')\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert run.stderr.endswith("distkern.losses.half: Half has a name and lacks curvature\n")


@pytest.mark.slow
def test_a_class_is_found_by_its_own_name_and_without_the_files_of_others():
    code = (
        "import sys\n"
        "from sklearn.base import BaseEstimator\n"
        "from distkern.common.registry import lookup_class\n"
        "kind = lookup_class('distkern.estimators', BaseEstimator, 'DSGGaussianProcessRegressor')\n"
        "assert kind.name == 'dsg_gaussian_process'\n"
        "files = {'auto', 'avm', 'cells', 'csvrg', 'newton', 'svrg'}\n"
        "assert not {f'distkern.estimators.{file}' for file in files} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert lookup_class("distkern.estimators", BaseEstimator, "AbstractDSG") is None


def test_a_name_is_looked_for_once(monkeypatch):
    found = find("distkern.kernels", AbstractKernel, "rbf")
    known = members("distkern.kernels", AbstractKernel)
    monkeypatch.setattr(registry, "_files", None)
    assert find("distkern.kernels", AbstractKernel, "rbf") is found
    assert members("distkern.kernels", AbstractKernel) == known


def test_a_member_of_another_base_is_none():
    assert lookup("distkern.kernels", AbstractLoss, "laplacian") is None


def test_predicting_rows_with_a_stored_model_imports_little(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 3))
    NewtonClassifier(n_landmarks=5, stages=2, random_state=0).fit(rows, rows[:, 0] > 0).save(tmp_path)
    code = (
        "import sys, distkern, numpy\n"
        f"distkern.load_model({str(tmp_path)!r}).predict(numpy.zeros((2, 3)))\n"
        "print(*(name for name in sys.modules if name.startswith('distkern')), 'dask' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    *imported, has_dask = ran.stdout.split()
    assert has_dask == "False"
    others = {
        "engine.checkpoint",
        "engine.drive",
        "engine.executors",
        "estimators.fitting",
        "estimators.mapped",
        "runs.data",
        "runs.importance",
        "runs.scaled",
        "search",
        "solvers.simba",
        "storage.atomic",
        "storage.dataset",
        "storage.frames",
    }
    assert not {f"distkern.{name}" for name in others} & set(imported)
    # half of them are families and solvers: signatures name the parameters of all kernels and losses, and a
    # solver declares those of its estimators
    assert len(imported) <= 140, sorted(imported)


def test_asking_for_one_imports_no_other():
    code = (
        "import sys\n"
        "from distkern.common.registry import find\n"
        "from distkern.solvers.base import AbstractSolver\n"
        "assert find('distkern.solvers', AbstractSolver, 'newton').name == 'newton'\n"
        "print([name for name in ('csvrg', 'simba', 'cells') if f'distkern.solvers.{name}' in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
