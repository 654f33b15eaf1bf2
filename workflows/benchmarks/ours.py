"""This package's algorithms, by the classes that a user imports."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from workflows.benchmarks.methods import Facts, Given, Method, Predict, Settings, grid, widths

_CENTRES = 1024
#: as the normal equations have them
_NU = {"nu": [1e-7, 1e-6]}


def _fit(classifier: str, regressor: str | None) -> Callable[[Settings, Given], Predict]:
    def fit(settings: Settings, given: Given) -> Predict:
        import dask

        import distkern

        kind = getattr(distkern, regressor if given.is_regression and regressor else classifier)
        here = {"scheduler": "synchronous"} if given.threads == 1 else {"scheduler": "threads"}
        with dask.config.set(num_workers=given.threads, **here), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(random_state=0, **settings).fit(given.train.X, given.train.y)
        return model.predict

    return fit


def _nothing(facts: Facts) -> list[Settings]:
    return [{}]


def _kernel(lists: dict[str, list[float]], **given: Any) -> Callable[[Facts], list[Settings]]:
    """Return all widths with all listed values; the fit searches the others."""

    def candidates(facts: Facts) -> list[Settings]:
        own = {name: value for name, value in given.items() if name != "loss" or facts.task != "regression"}
        tried = grid(gamma=widths(facts), **lists)
        return [{**own, "n_landmarks": _CENTRES, **one} for one in tried]

    return candidates


def _method(
    name: str,
    classifier: str,
    regressor: str | None,
    candidates: Callable[[Facts], list[Settings]],
    sparse: bool = False,
) -> Method:
    tasks = ("classification", "regression") if regressor else ("classification",)
    return Method(
        name, "distkern", candidates, _fit(classifier, regressor), ours=True, sparse=sparse, tasks=tasks
    )


OURS = (
    _method("cells", "CellClassifier", "CellRegressor", _nothing),
    _method("cells_quick", "CellClassifier", "CellRegressor", lambda facts: [{"search": "quick"}]),
    _method("newton", "NewtonClassifier", "NewtonRegressor", _kernel(_NU, loss="squared_hinge"), sparse=True),
    _method("svrg", "SVRGClassifier", "SVRGRegressor", _kernel(_NU, features="nystroem"), sparse=True),
    _method("csvrg", "CSVRGClassifier", None, _kernel({})),
    _method("dsg", "DSGClassifier", "DSGRegressor", lambda facts: grid(gamma=widths(facts)), sparse=True),
    _method("pegasos", "PegasosClassifier", None, lambda facts: grid(lam=[1e-6, 1e-5, 1e-4]), sparse=True),
)
