"""Every estimator makes the passes that its plan lists, and they take no more than it says."""

from collections import Counter

import numpy as np
import pytest

from distkern.core.registry import members
from distkern.engine.drive import Driver
from distkern.estimators.estimator import AbstractEstimator
from distkern.kernels.bandwidth import RULES
from distkern.landmarks import landmark_rule_names
from distkern.storage.ingest import write_dataset

ESTIMATORS = members("distkern.estimators", AbstractEstimator)
#: short runs that do not end before their last stage
SHORT = {
    "stages": 2, "n_landmarks": 12, "n_features": 32, "block_size": 16, "batch_size": 32, "max_rounds": 20,
    "patience": None, "tol": 1e-12, "n_sweeps": 2, "nu": 0.01, "lam": 0.1, "step_size": 0.01,
    "random_state": 0,
}  # fmt: skip
#: what decides which passes there are: each of these is tried
CHOICES = {
    "gamma": RULES, "landmarks": landmark_rule_names(), "polish": ("sweeps", "exact"),
    "precondition": (True, False),
}  # fmt: skip
#: sweeps until a radius is found, Newton steps until the minimum: how many is not known before
ESTIMATED = {"coverage", "gradient"}


def variants(kind):
    """Short runs of an estimator, each with one choice made."""
    parameters = kind.hyperparameters
    for features in parameters["features"].words if "features" in parameters else [None]:
        chosen = {} if features is None else {"features": features}
        takes = [
            name for name, one in parameters.items() if features in one.used_with.get("features", [features])
        ]
        given = chosen | {name: value for name, value in SHORT.items() if name in takes}
        yield given
        for name in sorted(CHOICES.keys() & takes):
            yield from (
                {**given, name: value} for value in CHOICES[name] if value != parameters[name].default
            )


@pytest.fixture(scope="module", params=["dense", "sparse"])
def data_sets(request, tmp_path_factory):
    """A data set for each task, with test rows and a feature-major copy."""
    generator = np.random.default_rng(0)
    X = np.where(generator.random((300, 6)) < 0.6, generator.random((300, 6)), 0.0).astype(np.float32)
    folder = tmp_path_factory.mktemp("outlines")
    return {
        task: write_dataset(
            [(X, generator.integers(0, 3, 300))], folder / task, task=task, scale="none", test_fraction=0.2,
            rows_per_shard=24, columns=True, sparse=request.param == "sparse",
        )
        for task in ("classification", "regression")
    }  # fmt: skip


@pytest.mark.parametrize("kind", [pytest.param(kind, id=name) for name, kind in ESTIMATORS.items()])
def test_the_outline_lists_the_passes_that_are_made(kind, data_sets, monkeypatch):
    made = []
    execute = Driver._execute
    monkeypatch.setattr(Driver, "_execute", lambda self, step: made.append(step) or execute(self, step))
    data = data_sets[kind.task]
    for given in variants(kind):
        made.clear()
        model = kind(**given)
        solver, problem = model.problem(model._data_of_split(data.train), has_test=True)
        outlined = {}
        for outline in solver.outline(problem):
            outlined.setdefault((outline.step.name, outline.step.split), []).append(outline)
        model.fit_with(data.train, test=data.test)
        counts = Counter((step.name, step.split) for step in made)
        assert counts.keys() == outlined.keys(), given
        for key, count in counts.items():
            if key[0] not in ESTIMATED:
                assert count == sum(outline.times for outline in outlined[key]), (given, key)
        for step in made:
            planned = outlined[step.name, step.split]
            assert all(type(outline.step) is type(step) for outline in planned)
            for name in ("workspace_bytes", "result_bytes", "process_bytes", "driver_bytes"):
                most = max(getattr(outline.step.cost, name) for outline in planned)
                assert getattr(step.cost, name) <= most, (given, step.name, name)
