"""What users would pick instead."""

from __future__ import annotations

import inspect
from typing import Any

from workflows.benchmarks import equations
from workflows.benchmarks.methods import Facts, Given, Method, Predict, Settings, grid, scaled, widths

_CENTRES = 1024
_ROUNDS, _PATIENCE = 3000, 50
#: rows of an exact machine
_MOST_EXACT = 20_000


def _lightgbm(settings: Settings, given: Given) -> Predict:
    import lightgbm as lgb

    kind = lgb.LGBMRegressor if given.is_regression else lgb.LGBMClassifier
    model = kind(
        n_estimators=_ROUNDS, learning_rate=0.1, n_jobs=given.threads, verbose=-1, random_state=0, **settings
    )
    # releases since 4.7 want the two apart
    held_out: dict[str, Any] = {"eval_set": [(given.valid.X, given.valid.y)]}
    if "eval_X" in inspect.signature(model.fit).parameters:
        held_out = {"eval_X": given.valid.X, "eval_y": given.valid.y}
    stopping = [lgb.early_stopping(_PATIENCE, verbose=False)]
    return model.fit(given.train.X, given.train.y, callbacks=stopping, **held_out).predict


def _xgboost(settings: Settings, given: Given) -> Predict:
    import xgboost as xgb

    kind = xgb.XGBRegressor if given.is_regression else xgb.XGBClassifier
    model = kind(
        n_estimators=_ROUNDS,
        learning_rate=0.1,
        tree_method="hist",
        early_stopping_rounds=_PATIENCE,
        n_jobs=given.threads,
        random_state=0,
        **settings,
    )
    model.fit(given.train.X, given.train.y, eval_set=[(given.valid.X, given.valid.y)], verbose=False)
    return model.predict


def _histograms(settings: Settings, given: Given) -> Predict:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if given.is_regression else HistGradientBoostingClassifier
    model = kind(
        max_iter=_ROUNDS, early_stopping=True, n_iter_no_change=_PATIENCE, random_state=0, **settings
    )
    own = inspect.signature(model.fit).parameters
    # releases that take no validation rows hold out a tenth of the others
    held_out = {"X_val": given.valid.X, "y_val": given.valid.y} if "X_val" in own else {}
    return model.fit(given.train.X, given.train.y, **held_out).predict


def _svc(settings: Settings, given: Given, module: str = "sklearn.svm") -> Predict:
    import importlib

    svm = importlib.import_module(module)
    if given.is_regression:
        targets, back = scaled(given)
        regressor = svm.SVR(cache_size=1000, epsilon=0.02, **settings).fit(given.train.X, targets)
        return lambda X: back(regressor.predict(X))
    return svm.SVC(cache_size=1000, **settings).fit(given.train.X, given.train.y).predict


def _intel_svc(settings: Settings, given: Given) -> Predict:
    return _svc(settings, given, "sklearnex.svm")


def _nystroem(settings: Settings, given: Given) -> Predict:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    n = len(given.train.y)
    features = Nystroem(gamma=settings["gamma"], n_components=min(settings["n_landmarks"], n), random_state=0)
    if given.is_regression:
        targets, back = scaled(given)
        model = make_pipeline(features, Ridge(alpha=1e-6 * n)).fit(given.train.X, targets)
        return lambda X: back(model.predict(X))
    machine = LinearSVC(C=settings["C"], dual=False, random_state=0)
    return make_pipeline(features, machine).fit(given.train.X, given.train.y).predict


def _random_sgd(settings: Settings, given: Given) -> Predict:
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import SGDClassifier, SGDRegressor
    from sklearn.pipeline import make_pipeline

    features = RBFSampler(gamma=settings["gamma"], n_components=settings["n_features"], random_state=0)
    given_to_both = {"alpha": settings["alpha"], "average": True, "random_state": 0}
    if given.is_regression:
        targets, back = scaled(given)
        model = make_pipeline(features, SGDRegressor(**given_to_both)).fit(given.train.X, targets)
        return lambda X: back(model.predict(X))
    machine = SGDClassifier(n_jobs=given.threads, **given_to_both)
    return make_pipeline(features, machine).fit(given.train.X, given.train.y).predict


def _linear(settings: Settings, given: Given) -> Predict:
    from sklearn.svm import LinearSVC, LinearSVR

    if given.is_regression:
        targets, back = scaled(given)
        regressor = LinearSVR(random_state=0, **settings).fit(given.train.X, targets)
        return lambda X: back(regressor.predict(X))
    return LinearSVC(random_state=0, **settings).fit(given.train.X, given.train.y).predict


def _incremental(settings: Settings, given: Given) -> Predict:
    import dask
    import dask.array as da
    import numpy as np
    from dask_ml.wrappers import Incremental
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    rows = da.from_array(given.train.X, chunks=(20_000, -1))
    with dask.config.set(scheduler="threads", num_workers=given.threads):
        if given.is_regression:
            targets, back = scaled(given)
            model: Any = Incremental(SGDRegressor(random_state=0, **settings), scoring="r2")
            model.fit(rows, da.from_array(targets, chunks=20_000))
            return lambda X: back(np.asarray(model.estimator_.predict(X)))
        model = Incremental(SGDClassifier(random_state=0, **settings), scoring="accuracy")
        codes = np.arange(given.facts.n_classes)
        model.fit(rows, da.from_array(given.train.y, chunks=20_000), classes=codes)
        return model.estimator_.predict


def _kernel_settings(facts: Facts) -> list[Settings]:
    if facts.task == "regression":
        return grid(gamma=widths(facts), n_landmarks=[_CENTRES])
    return grid(gamma=widths(facts), n_landmarks=[_CENTRES], C=[1.0, 10.0])


def _exact_settings(facts: Facts) -> list[Settings]:
    return grid(gamma=widths(facts), C=[1.0, 10.0, 100.0])


def _leaves(name: str, values: tuple[int, ...]) -> Any:
    return lambda facts: grid(**{name: values})


PEERS = (
    Method("lightgbm", "lightgbm", _leaves("num_leaves", (31, 255)), _lightgbm, sparse=True),
    Method("xgboost", "xgboost", _leaves("max_depth", (6, 12)), _xgboost, sparse=True),
    Method("hist_gradient_boosting", "sklearn", _leaves("max_leaf_nodes", (31, 255)), _histograms),
    Method("svc", "sklearn", _exact_settings, _svc, sparse=True, most_rows=_MOST_EXACT, choosing_rows=5000),
    Method("intelex_svc", "sklearnex", _exact_settings, _intel_svc, most_rows=None, choosing_rows=5000),
    Method("nystroem_linear", "sklearn", _kernel_settings, _nystroem, sparse=True),
    Method(
        "rbf_sampler_sgd",
        "sklearn",
        lambda facts: grid(gamma=widths(facts), n_features=[2048], alpha=[1e-6, 1e-5]),
        _random_sgd,
        sparse=True,
    ),
    Method("linear_svc", "sklearn", lambda facts: grid(C=[0.1, 1.0, 10.0]), _linear, sparse=True),
    Method("dask_ml_incremental", "dask_ml", lambda facts: grid(alpha=[1e-6, 1e-5, 1e-4]), _incremental),
    Method(
        "normal_equations",
        "scipy",
        lambda facts: grid(gamma=widths(facts), n_landmarks=[_CENTRES], nu=[1e-7, 1e-6]),
        equations.fit,
    ),
)
