"""What holds of updates, whichever algorithm made the model."""

import numpy as np
import pytest

from distkern.engine.executors import open_executor
from distkern.estimators.updating import begun
from distkern.runs.algorithms import algorithms
from distkern.runs.evaluation import evaluate_split
from distkern.runs.run import train
from distkern.storage.ingest import write_dataset
from small import small

ALGORITHMS = algorithms()
#: algorithms that begin anew, whatever is given
REFUSED = ("sdca", "simba", "dsg_novelty", "dsg_density_ratio", "dsg_gaussian_process", "cells")
UPDATED = [name for name in ALGORITHMS if not name.startswith(REFUSED) and not name.startswith("auto")]
#: more stages and rows than of the small settings, so that a run comes near its minimum
SETTINGS = {"stages": 10, "lam": 64.0, "nu": 1e-3, "step_size": None, "steps_per_stage": None, "gamma": 2.0}
N_OLD, N_NEW = 480, 240


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A function that gives data sets of old rows, new ones, and both, of one distribution."""
    folder, made = tmp_path_factory.mktemp("rows"), {}

    def of(task):
        if task not in made:
            generator = np.random.default_rng(0)
            X = generator.random((N_OLD + N_NEW, 3)).astype(np.float32)
            f = X[:, 0] + np.sin(4 * X[:, 1]) + 0.3 * generator.normal(size=len(X))
            y = f if task == "regression" else (f > np.median(f)).astype(int)
            parts = {"old": slice(0, N_OLD), "new": slice(N_OLD, None), "all": slice(None)}
            made[task] = {
                name: write_dataset(
                    [(X[part], y[part])], folder / task / name, task=task, scale="none", rows_per_shard=120
                )
                for name, part in parts.items()
            }
        return made[task]

    return of


def fitted(name, rows):
    kind = ALGORITHMS[name]
    given = {key: value for key, value in SETTINGS.items() if key in small(kind)}
    data = rows(kind.task)
    return kind(**small(kind, **given)).fit(data["old"].train), data


def updated(model, splits, **how):
    found, _ = begun(model, splits)
    return train(found, splits[-1], scheduler="synchronous", **how)


def objective(model, data):
    with open_executor("synchronous") as executor:
        return evaluate_split(model, data["all"].train, executor).figures["objective"]


@pytest.mark.parametrize("name", UPDATED)
def test_an_update_comes_near_a_fit_to_all_rows(name, rows):
    model, data = fitted(name, rows)
    splits = [data["old"].train, data["new"].train]
    after = updated(model, splits)
    whole = ALGORITHMS[name](**model.get_params()).fit(data["all"].train)
    before, now, best = (objective(one, data) for one in (model, after, whole))
    assert now <= max(1.05 * best, before) + 1e-6
    assert after.updates_[-1]["rows"] == N_NEW
    assert model.updates_ == ()
    assert after._further.n_rows == N_OLD + N_NEW
