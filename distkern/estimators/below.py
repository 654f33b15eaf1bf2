"""A fitted model under another one: found, checked against what the other learns from, told from others."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.common.errors import InputError
from distkern.solvers._cells.below import Below
from distkern.solvers.risk import Risk
from distkern.storage.scaling import Scaling

if TYPE_CHECKING:
    from distkern.estimators.estimator import AbstractEstimator
    from distkern.runs.data import TrainingData

#: what a model that is stored says of the one below, which lies in its folder
STORED = "sha256:"
_WHERE = "base"


def model_below(base: Any, task: str) -> Any:
    """The fitted estimator that ``base`` is, or that lies in the folder of this name.

    Raises
    ------
    InputError
        If there is none, or it is of another task.
    """
    from distkern.estimators.estimator import AbstractEstimator
    from distkern.runs.persistence import load_model

    if isinstance(base, str):
        try:
            base = load_model(base)
        except InputError as error:
            raise InputError(f"{base!r} {error.what}", where=_WHERE, mend=error.mend) from None
    if not isinstance(base, AbstractEstimator) or (base.task, hasattr(base, "predict")) != (task, True):
        raise InputError(
            f"a {type(base).__name__} does no {task}", where=_WHERE, mend=f"give a model for {task}"
        )
    if not hasattr(base, "coef_"):
        raise InputError("it is not fitted", where=_WHERE, mend="fit it first, to the same rows")
    return base


def check_below(model: Any, own: AbstractEstimator, data: TrainingData) -> None:
    """Refuse a model that sees rows in another way than the one that is to be fitted above it.

    Raises
    ------
    InputError
        Naming what differs: columns, scaling, classes or outputs.
    """
    mend = "give a model of the same data"
    if model.width_ != data.source.n_features:
        raise InputError(
            f"it is of {model.width_} features, and the rows have {data.source.n_features}",
            where=_WHERE,
            mend=mend,
        )
    names, ours = (getattr(one, "feature_names_in_", None) for one in (model, own))
    if names is not None and ours is not None and not np.array_equal(names, ours):
        raise InputError("its columns have other names, or another order", where=_WHERE, mend=mend)
    if (model.table_ is None) != (own.table_ is None) or (
        model.table_ is not None and own.table_ is not None and model.table_.columns != own.table_.columns
    ):
        raise InputError("its columns became features in another way", where=_WHERE, mend=mend)
    if _scaling(model.scaling_) != _scaling(data.scaling):
        raise InputError(
            "its rows were scaled in another way", where=_WHERE, mend=f"{mend}, fitted with scale='none'"
        )
    if len(data.classes) and not np.array_equal(model.classes_, data.classes):
        raise InputError(
            f"its classes are {model.classes_.tolist()}, and not {data.classes.tolist()}",
            where=_WHERE,
            mend=mend,
        )
    if not len(data.classes) and model.coef_.shape[1] != 1:
        raise InputError(
            f"it has {model.coef_.shape[1]} outputs", where=_WHERE, mend="give one of one output"
        )


def _scaling(scaling: Scaling | None) -> Scaling | None:
    return None if scaling is None or scaling.kind == "none" else scaling


def below_of(model: Any, risk: Risk) -> Below:
    """What passes take of it, in the units of a risk."""
    single, double = (model.basis(dtype) for dtype in (np.float32, np.float64))
    return Below(single, double, model.coef_, model.intercept_, risk)


def digest_of(model: Any) -> str:
    """What tells a fitted model from others."""
    digest = sha256(json.dumps([model.name, model.stored_params()], sort_keys=True, default=str).encode())
    for name, values in sorted(model._arrays().items()):
        digest.update(f"{name} {values.dtype.str} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return STORED + digest.hexdigest()
