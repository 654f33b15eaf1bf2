"""Every algorithm can be measured on held-out rows, called back and ended early."""

import numpy as np
import pytest

from distkern.core.errors import InputError
from distkern.runs.algorithms import algorithms
from small import each, most_classes, small

ALGORITHMS = algorithms()


@pytest.fixture(params=each(ALGORITHMS))
def kind(request):
    return ALGORITHMS[request.param]


def rows(kind, n_rows, seed):
    """Those that overlap, so that the errors of stages differ."""
    generator = np.random.default_rng(seed)
    X = generator.random((n_rows, 3)).astype(np.float32)
    noise = generator.standard_normal(n_rows)
    if kind.task == "regression":
        return X, 100 + 10 * (X[:, 0] + 0.5 * noise)
    codes = np.digitize(X[:, 0] + 0.3 * noise, [0.4, 0.7])
    return X, np.array(["a", "b", "c"])[np.minimum(codes, most_classes(kind) - 1)]


def error_of(model, X, y):
    if model.task == "regression":
        return np.mean((model.predict(X) - y) ** 2)
    if model.task == "none":
        return np.mean(model.predict(X) < 0)
    return 1 - model.score(X, y)


def test_held_out_rows_are_measured_and_callbacks_told(kind):
    (X, y), held_out = rows(kind, 200, 0), rows(kind, 90, 1)
    told = []
    model = kind(**small(kind)).fit(X, y, eval_set=held_out, callbacks=told.append)
    assert [line["stage"] for line in told] == [line["stage"] for line in model.history_[1:]]
    assert told[0].items() <= model.history_[1].items()
    assert model.history_[-1]["test_error"] == pytest.approx(error_of(model, *held_out), rel=1e-5, abs=1e-9)
    alone = kind(**small(kind)).fit(X, y)
    assert np.array_equal(alone.coefficients_, model.coefficients_)
    assert alone.history_[-1]["test_error"] is None


def test_a_callback_ends_the_fit(kind):
    X, y = rows(kind, 200, 0)
    whole, model = kind(**small(kind)).fit(X, y), kind(**small(kind))
    if kind.name.startswith(("auto", "cells")):
        with pytest.raises(InputError, match="callbacks: cells has a model only after its last stage"):
            model.fit(X, y, callbacks=lambda line: True)
        return
    model.fit(X, y, callbacks=[lambda line: 1, lambda line: np.True_])
    if whole.n_iter_ == 1:
        assert model.ended_ == whole.ended_
        return
    assert (model.ended_, model.n_iter_, len(model.history_)) == ("stopped by a callback", 1, 2)
    assert model.history_[-1]["ended"] == model.ended_
    assert model.history_[-1]["objective"] == whole.history_[1]["objective"]
    assert model.predict(X).shape == y.shape


def test_the_model_of_the_best_stage_is_kept(kind):
    (X, y), held_out = rows(kind, 200, 0), rows(kind, 90, 1)
    stages = {"stages": 6} if "stages" in kind.hyperparameters else {}
    model = kind(**small(kind, **stages))
    if kind.name.startswith(("auto", "cells")):
        with pytest.raises(InputError, match="cells has a model only after its last stage"):
            model.fit(X, y, eval_set=held_out, early_stopping=1)
        return
    model.fit(X, y, eval_set=held_out, early_stopping=1)
    errors = [line["test_error"] for line in model.history_[1:]]
    assert model.n_iter_ == 1 + int(np.argmin(errors))
    assert error_of(model, *held_out) == pytest.approx(min(errors), rel=1e-5, abs=1e-9)
    if model.ended_ == "stopped early":
        # it went on as long as it was getting better
        assert np.all(np.diff(errors[:-1]) < 0)
        assert errors[-1] >= errors[-2]
