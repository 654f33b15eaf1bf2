"""What users call on an estimator: what ``dir(model)`` and the stub of editors show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: methods for users, in the order in which they are used; each estimator has some of them
METHODS = (
    "fit",
    "fit_predict",
    "fit_transform",
    "partial_fit",
    "update",
    "predict",
    "predict_proba",
    "decision_function",
    "score_samples",
    "log_ratio",
    "kl_divergence",
    "permutation_test",
    "transform",
    "score",
    "explain",
    "save",
    "get_params",
    "set_params",
    "set_output",
    "get_feature_names_out",
    "get_metadata_routing",
    "set_fit_request",
    "set_partial_fit_request",
    "set_predict_request",
    "set_score_request",
)


def shown(model: Any, names: Iterable[str]) -> list[str]:
    """Of all names of an estimator its hyperparameters, fitted attributes and methods for users.

    Names that begin with an underscore stay: Python's own come with them.
    """

    def is_shown(name: str) -> bool:
        if name.startswith("_") or name in model.hyperparameters:
            return True
        # scikit-learn's way to say that there is no model yet, or that this loss gives no probabilities
        return (name.endswith("_") or name in METHODS) and hasattr(model, name)

    return [name for name in names if is_shown(name)]
