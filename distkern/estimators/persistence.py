"""Models on disk: plain arrays and JSON, nothing that executes on load."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError, InputError
from distkern.core.version import __version__
from distkern.storage.arrays import load_arrays, save_arrays
from distkern.storage.atomic import write_text_atomic
from distkern.storage.places import Location, Place, place_of, remove_tree
from distkern.storage.scaling import Scaling

ENCODING_TYPE = "distkern-model"
ENCODING_VERSION = 1


def save_model(model: Any, path: Place) -> None:
    """Write ``model.json`` and ``arrays`` into the folder ``path``.

    ``arrays`` is written whole first and ``model.json`` last, so a folder with a ``model.json`` is a whole
    model. The folder may hold other things already (``metrics.jsonl``, ``checkpoints``).
    """
    description = {
        "encoding-type": ENCODING_TYPE,
        "encoding-version": ENCODING_VERSION,
        "algorithm": model.name,
        "distkern-version": __version__,
        "numpy-version": np.__version__,
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "classes": None if not hasattr(model, "classes_") else _labels_to_json(model.classes_),
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "target_name": getattr(model, "target_name_", None),
        "n_iter": int(model.n_iter_),
        "scaling": None if model.scaling_ is None else model.scaling_.to_json(),
        "class_weights": None if model.class_weights_ is None else model.class_weights_.tolist(),
        "mean_weight": float(model.mean_weight_),
        "history": model.history_,
        **model._facts(),
    }
    path.mkdir(parents=True, exist_ok=True)
    (path / "model.json").unlink(missing_ok=True)
    if (path / "arrays").exists():
        remove_tree(path / "arrays")
    save_arrays(path / "arrays", model._arrays())
    write_text_atomic(path / "model.json", json.dumps(description, indent=1) + "\n")


def load_model(path: Location) -> Any:
    """The fitted estimator that :meth:`save` or ``distkern train`` wrote to the folder or URL ``path``.

    Raises
    ------
    InputError
        If there is no finished model, or a newer version wrote it.
    CorruptDataError
        If its arrays are not what was written.
    """
    from distkern.estimators.names import algorithms

    folder = place_of(path)
    description = read_description(folder)
    kinds = algorithms()
    kind = kinds.get(description["algorithm"])
    if kind is None:
        raise InputError(
            f"unknown algorithm {description['algorithm']!r}", where=str(folder), mend="upgrade distkern"
        )
    model = kind(**description["params"])
    arrays = load_arrays(folder / "arrays")
    if description["classes"] is not None:
        model.classes_ = _labels_from_json(description["classes"])
    model.n_features_in_ = description["n_features"]
    if description["feature_names"] is not None:
        model.feature_names_in_ = np.asarray(description["feature_names"], dtype=object)
    # models that older versions wrote do not say
    model.target_name_ = description.get("target_name")
    model.n_iter_ = description["n_iter"]
    model.scaling_ = None if description["scaling"] is None else Scaling.from_json(description["scaling"])
    weights = description["class_weights"]
    model.class_weights_ = None if weights is None else np.asarray(weights)
    model.mean_weight_ = description["mean_weight"]
    model.history_ = description["history"]
    try:
        model._restore(arrays, description, str(folder))
    except KeyError as error:
        raise CorruptDataError(f"{error} is missing", where=str(folder), mend="train again") from None
    return model


def read_description(folder: Place) -> dict[str, Any]:
    """The checked content of ``model.json``."""
    file = folder / "model.json"
    if not file.is_file():
        unfinished = (folder / "checkpoints").is_dir()
        raise InputError(
            "its training has not finished" if unfinished else "is not a model (no model.json)",
            where=str(folder),
            mend="run the train command again with --resume"
            if unfinished
            else "give the folder that train wrote",
        )
    try:
        description: dict[str, Any] = json.loads(file.read_text())
        kind, version = description["encoding-type"], int(description["encoding-version"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDataError(
            f"model.json cannot be read ({error})", where=str(folder), mend="train again"
        ) from None
    if kind != ENCODING_TYPE:
        raise InputError(
            f"holds a {kind}, not a model", where=str(folder), mend="give the folder that train wrote"
        )
    if version > ENCODING_VERSION:
        raise InputError(
            f"written in format version {version}, and this distkern reads up to {ENCODING_VERSION}",
            where=str(folder),
            mend="upgrade distkern",
        )
    return description


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    return value


def _labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    kind = "string" if labels.dtype.kind in "OUS" else labels.dtype.str
    return {"dtype": kind, "values": labels.tolist()}


def _labels_from_json(stored: dict[str, Any]) -> NDArray[Any]:
    if stored["dtype"] == "string":
        return np.asarray(stored["values"], dtype=str)
    return np.asarray(stored["values"], dtype=np.dtype(stored["dtype"]))
