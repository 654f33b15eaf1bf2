"""Pickles of loaded models, where the folder that they were loaded from is gone."""

import copy
import io
import pickle
import shutil

import cloudpickle
import joblib
import numpy as np
import pytest

import distkern as dk
from distkern.core.errors import CorruptDataError, InputError
from distkern.model import value


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "cloudpickle": lambda model: pickle.loads(cloudpickle.dumps(model)),
    "joblib": by_joblib,
    "deepcopy": copy.deepcopy,
}
MODELS = {
    "newton": dk.NewtonClassifier(loss="least_squares", n_landmarks=16, random_state=0),
    "auto": dk.KernelClassifier(algorithm="cells", settings={"max_cell_rows": 100}, search="quick"),
}
X = np.random.default_rng(0).normal(size=(200, 3))
y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


@pytest.fixture(scope="module", params=MODELS)
def saved(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / request.param
    model = MODELS[request.param].fit(X, y)
    model.save(folder)
    return folder, model


def moved(saved, tmp_path):
    """A loaded model whose folder can be removed, and what was saved."""
    folder, model = saved
    shutil.copytree(folder, tmp_path / "m")
    return dk.load_model(tmp_path / "m"), model


@pytest.mark.parametrize("way", WAYS)
def test_a_pickle_needs_no_folder(saved, way, tmp_path):
    model, wanted = moved(saved, tmp_path)
    again = WAYS[way](model)
    shutil.rmtree(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), wanted.decision_function(X))
    again.save(tmp_path / "n")
    np.testing.assert_array_equal(dk.load_model(tmp_path / "n").predict(X), wanted.predict(X))


def test_it_can_be_updated(saved, tmp_path):
    model, wanted = moved(saved, tmp_path)
    again = pickle.loads(pickle.dumps(model))
    shutil.rmtree(tmp_path / "m")
    old = None if wanted.name == "newton" else (X, y)
    again.update(X[:50] + 0.1, y[:50], old=old)
    other = copy.deepcopy(wanted).update(X[:50] + 0.1, y[:50], old=old)
    np.testing.assert_array_equal(again.decision_function(X), other.decision_function(X))


def test_what_is_too_large_or_gone_is_refused_when_it_is_pickled(saved, tmp_path, monkeypatch):
    model, _ = moved(saved, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(value, "MOST_PICKLED", 100)
        with pytest.raises(
            InputError, match=r"a pickle would hold .* and holds at most 100 B; copy the folder"
        ):
            pickle.dumps(model)
    shallow = copy.copy(model)
    assert shallow.model_ is model.model_
    shutil.rmtree(tmp_path / "m")
    with pytest.raises((InputError, CorruptDataError)):
        pickle.dumps(model)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_loaded_model_whose_folder_has_changed_says_to_load_it_again(saved, is_replaced, tmp_path):
    model, _ = moved(saved, tmp_path)
    shutil.rmtree(tmp_path / "m")
    if is_replaced:
        again = dk.NewtonClassifier(loss="least_squares", n_landmarks=16, random_state=1)
        again.fit(X, 1 - y).save(tmp_path / "m")
    for use in (pickle.dumps, lambda model: model.save(tmp_path / "n")):
        with pytest.raises((InputError, CorruptDataError), match=r"load (it|that) again"):
            use(model)
    assert not (tmp_path / "n").exists()
