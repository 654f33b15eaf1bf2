"""Members of families are found in their folders, the file of a name before others."""

import subprocess
import sys

import pytest
from sklearn.base import BaseEstimator

from distkern.core import registry
from distkern.core.errors import InputError
from distkern.core.registry import Family, class_name
from distkern.data.formats.base import FORMATS
from distkern.engine.executors import EXECUTORS
from distkern.maths.features import FEATURES
from distkern.maths.kernels import KERNELS
from distkern.maths.landmarks import LANDMARK_RULES
from distkern.maths.losses import CURVED_LOSSES, LOSSES, AbstractLoss, takes
from distkern.maths.samplers import SAMPLERS
from distkern.solvers.base import SOLVERS

FAMILIES = {
    "executor": EXECUTORS,
    "estimator": Family("distkern.estimators", BaseEstimator),
    "features": FEATURES,
    "format": FORMATS,
    "kernel": KERNELS,
    "landmark rule": LANDMARK_RULES,
    "loss": LOSSES,
    "sampler": SAMPLERS,
    "solver": SOLVERS,
}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=list(FAMILIES))
def test_each_member_is_found_by_its_name(family):
    assert len(family) == len(list(family)) > 0
    assert {name: family.find(name) for name in family} == dict(family)


def test_an_unknown_name_is_refused_with_the_nearest():
    assert KERNELS.get("laplacain") is None
    with pytest.raises(InputError, match="did you mean 'laplacian'"):
        KERNELS.find("laplacain")


@pytest.mark.parametrize("one", ["loss", "kernel", "format"])
def test_an_unknown_name_is_refused_with_the_word_for_one(one):
    with pytest.raises(InputError, match=f"unknown {one} 'none of them'"):
        FAMILIES[one].find("none of them")


def test_a_part_of_a_family():
    whole = {name for name, kind in LOSSES.items() if kind.target_kind == "real"}
    assert set(LOSSES.where(takes("real"))) == whole
    assert set(CURVED_LOSSES.where(takes("real"))) == whole & set(CURVED_LOSSES)
    assert "hinge" in LOSSES
    assert "hinge" not in CURVED_LOSSES
    with pytest.raises(InputError, match="use one of logistic"):
        CURVED_LOSSES.where(takes("binary")).where(lambda kind: kind.name == "logistic").find("hinge")


def test_a_member_that_lacks_something_is_refused(tmp_path):
    (tmp_path / "half.py").write_text(
        "from distkern.maths.losses.base import AbstractElementwiseLoss\n"
        "class Half(AbstractElementwiseLoss):\n"
        "    name = 'half'\n"
        "    derivative = value = staticmethod(lambda f, y, parameters: 0.0 * f)\n"
    )
    code = (
        "import sys\n"
        "import distkern.maths.losses\n"
        "distkern.maths.losses.__path__.append(sys.argv[1])\n"
        "distkern.maths.losses.find_loss('half')\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert run.stderr.endswith("distkern.maths.losses.half: Half has a name but lacks curvature\n")


@pytest.mark.slow
def test_a_class_is_found_by_its_own_name_and_without_the_files_of_others():
    code = (
        "import sys\n"
        "from sklearn.base import BaseEstimator\n"
        "from distkern.core.registry import Family, class_name\n"
        "family = Family('distkern.estimators', BaseEstimator, class_name)\n"
        "kind = family['DSGGaussianProcessRegressor']\n"
        "assert kind.name == 'dsg_gaussian_process'\n"
        "files = {'auto', 'avm', 'cells', 'csvrg', 'newton', 'svrg'}\n"
        "assert not {f'distkern.estimators.{file}' for file in files} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert "AbstractDSG" not in Family("distkern.estimators", BaseEstimator, class_name)


def test_a_name_is_looked_for_once(monkeypatch):
    found, known = KERNELS.find("rbf"), dict(KERNELS)
    monkeypatch.setattr(registry, "_files", None)
    assert KERNELS.find("rbf") is found
    assert dict(KERNELS) == known


def test_a_member_of_another_base_is_none():
    assert Family("distkern.maths.kernels", AbstractLoss).get("laplacian") is None
