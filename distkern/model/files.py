"""What a model's folder holds of it, and what it is known by."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.names import date_text, plain_labels
from distkern.data.store.description import as_read, fingerprint
from distkern.model.value import FittedModel


def lasting(model: FittedModel) -> dict[str, Any]:
    """What ``model.json`` says of the model itself, beside its arrays, and not of the run that found it."""
    columns, chosen, further = model.columns, model.chosen, model.further
    # what a threshold may be, of probabilities
    shares = model.class_shares if model.chances is not None else None
    own = model.facts()
    if chosen is not None:
        params = dict(chosen.settings)
        own["chosen"] = {"name": model.name.removesuffix("_regressor"), "because": chosen.because}
        own["chosen"] |= {"params": params}
        if chosen.held_out is not None:
            own["chosen"]["held_out"] = list(chosen.held_out)
    return {
        "algorithm": model.told_name,
        "params": plain(model.told_params),
        "classes": None if model.classes is None else _labels_to_json(model.classes),
        "n_features": int(model.width),
        "feature_names": [str(name) for name in columns.names or ()] or None,
        "target_name": columns.target_name,
        **({} if columns.zero_based is None else {"zero_based": columns.zero_based}),
        **({} if columns.dtype is None else {"dtype": columns.dtype.name}),
        **({} if columns.table is None else {"table": columns.table.to_json()}),
        "scaling": None if columns.scaling is None else columns.scaling.to_json(),
        "class_weights": None if model.class_weights is None else model.class_weights.tolist(),
        "mean_weight": float(model.mean_weight),
        **({} if shares is None else {"class_shares": shares.tolist()}),
        **plain(own),
        **({} if further is None else {"further": further.loaded().facts}),
    }


def description(model: FittedModel) -> dict[str, Any]:
    """What ``model.json`` says, beside versions and its arrays."""
    return {
        **lasting(model),
        "n_iter": int(model.n_iter),
        "ended": model.ended,
        "found": dict(model.found),
        "history": model.history,
        **({} if model.importances is None else {"importances": asdict(model.importances)}),
        **({"updates": list(model.updates)} if model.updates else {}),
    }


def stored_arrays(model: FittedModel) -> dict[str, NDArray[Any]]:
    """All arrays of a model's folder."""
    return model.arrays() | ({} if model.further is None else model.further.loaded().arrays)


def fingerprint_of(model: FittedModel) -> str:
    """What it is known by, with all that it keeps for updates: 16 hexadecimal digits.

    Models of equal bits have the same one, whichever run found them.
    """
    digest = hashlib.sha256(fingerprint(as_read(lasting(model))).encode())
    for name, values in sorted(stored_arrays(model).items()):
        digest.update(f"{name} {values.dtype} {values.shape} ".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()[:16]


def plain(value: Any) -> Any:
    """A value as JSON has it; None for random states."""
    if isinstance(value, np.datetime64):
        return date_text(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {plain(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    return value


def _labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    kind = {"O": "object", "U": "string", "S": "string"}.get(labels.dtype.kind, labels.dtype.str)
    return {"dtype": kind, "values": plain_labels(labels)}
