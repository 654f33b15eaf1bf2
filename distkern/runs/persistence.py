"""Models on disk: plain arrays and JSON, nothing that executes on load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import DistkernError, InputError
from distkern.common.types import Array
from distkern.common.version import __version__
from distkern.monitor.explanation import Explanation
from distkern.monitor.history import History
from distkern.storage.arrays import array_names, load_arrays, save_arrays
from distkern.storage.description import Description, as_read
from distkern.storage.places import Location, Place, absolute, remove_tree
from distkern.storage.scaling import Scaling
from distkern.storage.table import Table

_DESCRIPTION = Description("distkern-model", "a model", 5, "train it again")


@dataclass(frozen=True)
class _Labels:
    """Labels of classes: ``dtype`` is numpy's, or "string"."""

    dtype: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class _Further:
    """What is kept for updates: see :class:`~distkern.runs.persistence.Further`."""

    n_rows: int
    weight: float
    sources: tuple[str, ...]
    arrays: tuple[str, ...]


@dataclass(frozen=True)
class _Model:
    """What ``model.json`` says of every model; estimators add their own facts."""

    algorithm: str
    params: dict[str, Any]
    classes: _Labels | None
    n_features: int
    feature_names: tuple[str, ...] | None
    n_iter: int
    scaling: Scaling | None
    class_weights: tuple[float, ...] | None
    mean_weight: float
    history: tuple[dict[str, Any], ...]
    arrays: str
    target_name: str | None = None
    ended: str | None = None
    found: dict[str, Any] = field(default_factory=dict)
    table: Table | None = None
    zero_based: bool | None = None
    dtype: Literal["float32", "float64"] | None = None
    importances: Explanation | None = None
    class_shares: tuple[float, ...] | None = None
    row_shares: tuple[float, ...] | None = None
    further: _Further | None = None
    updates: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        columns = self.n_features if self.table is None else len(self.table.columns)
        if self.table is not None and self.table.n_features != self.n_features:
            raise ValueError(f"a table of {self.table.n_features} features for {self.n_features}")
        n_names = columns if self.feature_names is None else len(self.feature_names)
        if self.n_features < 1 or n_names != columns:
            raise ValueError(f"other names than those of {self.n_features} features")


def save_model(model: Any, path: Place) -> None:
    """Write ``model.json`` and ``arrays`` into the folder ``path``.

    ``arrays`` is written whole first and ``model.json`` last, so a folder with a ``model.json`` is a whole
    model. The folder may hold other things already (``metrics.jsonl``, ``checkpoints``).
    """
    from distkern.storage.atomic import write_text_atomic

    # what a threshold may be, of probabilities
    shares = model.class_shares_ if model._chances() is not None else None
    description = {
        "algorithm": model.name,
        "distkern-version": __version__,
        "numpy-version": np.__version__,
        "params": _params(model),
        "classes": None if not hasattr(model, "classes_") else _labels_to_json(model.classes_),
        "n_features": int(model.width_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "target_name": getattr(model, "target_name_", None),
        **({} if model.zero_based_ is None else {"zero_based": model.zero_based_}),
        **({} if model.dtype_ is None else {"dtype": model.dtype_.name}),
        **({} if model.table_ is None else {"table": model.table_.to_json()}),
        "n_iter": int(model.n_iter_),
        "ended": model.ended_,
        "found": dict(model.found_),
        "scaling": None if model.scaling_ is None else model.scaling_.to_json(),
        "class_weights": None if model.class_weights_ is None else model.class_weights_.tolist(),
        "mean_weight": float(model.mean_weight_),
        **({} if shares is None else {"row_shares": shares.tolist()}),
        "history": model.history_,
        **({} if model.importances_ is None else {"importances": asdict(model.importances_)}),
        **({"updates": list(model.updates_)} if model.updates_ else {}),
        **_plain(model._facts()),
    }
    further = None if model._further is None else model._further.loaded()
    kept = {} if further is None else further.arrays
    if further is not None:
        description["further"] = further.facts
    # before anything is removed: a model that is there stays where this one cannot be written
    _DESCRIPTION.text({**description, "arrays": ""})
    _refuse_others_files(path)
    path.mkdir(parents=True, exist_ok=True)
    (path / "model.json").unlink(missing_ok=True)
    if (path / "arrays").exists():
        remove_tree(path / "arrays")
    model._save_parts(path)
    description["arrays"] = save_arrays(path / "arrays", model._arrays() | model.map_arrays() | kept)
    write_text_atomic(path / "model.json", _DESCRIPTION.text(description))


def _refuse_others_files(path: Place) -> None:
    """Raise :class:`InputError` for a file, and for a folder whose ``arrays`` are none of a model."""
    if path.is_file():
        raise InputError("is a file", where=str(path), hint="give a folder")
    if (path / "model.json").is_file() or not (path / "arrays").exists():
        return
    try:
        array_names(path / "arrays")
    except DistkernError:
        raise InputError(
            "holds something else under the name 'arrays'", where=str(path), hint="give another folder"
        ) from None


def refuse_other_model(folder: Place, model: Any, sources: Sequence[str]) -> None:
    """Raise :class:`InputError` unless the model in ``folder`` has ``model``'s algorithm and parameters, and
    has learned from these ``sources``, fingerprints of splits."""
    stored = _DESCRIPTION.read(_Model, read_description(folder), str(folder / "model.json"))
    ours = as_read(_params(model))
    # a run that has ended is the same under any other limit
    keys = [name for name in sorted(ours) if name != "memory_limit" and stored.params.get(name) != ours[name]]
    if stored.algorithm != model.name or keys:
        what = f"of another job ({keys[0] if keys else stored.algorithm} differs)"
    elif learned_from(folder) not in (None, tuple(dict.fromkeys(sources))):
        what = "that has learned from other rows"
    else:
        return
    hint = "train to another folder or remove it"
    raise InputError(f"holds a finished model {what}", where=str(folder), hint=hint)


def learned_from(folder: Place) -> tuple[str, ...] | None:
    """Fingerprints of the splits that a finished model has learned from; None where it does not say."""
    stored = _DESCRIPTION.read(_Model, read_description(folder), str(folder / "model.json"))
    return None if stored.further is None else stored.further.sources


def load_model(path: Location) -> Any:
    """The fitted estimator that :meth:`save` or ``distkern train`` wrote to the folder or URL ``path``.

    Raises
    ------
    InputError
        If there is no finished model, or another version wrote it.
    CorruptDataError
        If anything in it is not what was written.
    """
    from distkern.runs.algorithms import algorithm

    # what is read later must be found from another working folder too
    folder = absolute(path)
    where = str(folder / "model.json")
    facts = read_description(folder)
    described = _DESCRIPTION.read(_Model, facts, where)
    kind = algorithm(described.algorithm)
    if kind is None:
        raise InputError(f"unknown algorithm {described.algorithm!r}", where=where, hint="upgrade distkern")
    # what is kept for updates is read by them
    arrays = load_arrays(folder / "arrays", fingerprint=described.arrays, but=_FURTHER)
    try:
        model = _restored(kind, described, arrays, facts, str(folder))
        if described.further is not None:
            model._further = StoredFurther(folder, described.arrays, facts["further"])
        return model
    except InputError:
        raise
    except KeyError as error:
        raise _DESCRIPTION.damaged(f"{error} is missing", where) from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        # it is under its own fingerprint and still makes no model
        raise _DESCRIPTION.damaged(str(error), where) from error


def _restored(
    kind: Any, described: _Model, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str
) -> Any:
    model = kind(**described.params)
    try:
        model.check_parameters()
    except InputError as error:
        raise ValueError(str(error)) from None
    if described.classes is not None:
        dtype = str if described.classes.dtype == "string" else np.dtype(described.classes.dtype)
        model.classes_ = np.asarray(described.classes.values, dtype=dtype)
        weights = described.params.get("class_weight")
        if isinstance(weights, dict):
            # the keys of JSON are texts
            labels = {str(label): label for label in model.classes_.tolist()}
            model.class_weight = {labels.get(key, key): weight for key, weight in weights.items()}
    model.table_, model.zero_based_ = described.table, described.zero_based
    model.n_features_in_ = described.n_features if described.table is None else len(described.table.columns)
    if described.feature_names is not None:
        model.feature_names_in_ = np.asarray(described.feature_names, dtype=object)
    model.dtype_ = None if described.dtype is None else np.dtype(described.dtype)
    model.target_name_ = described.target_name
    model.n_iter_, model.ended_ = described.n_iter, described.ended
    model.found_, model.importances_ = described.found, described.importances
    model.scaling_ = described.scaling
    of_classes = described.class_weights
    model.class_weights_ = None if of_classes is None else np.asarray(of_classes)
    model.mean_weight_ = described.mean_weight
    model.class_shares_ = _shares(model, described)
    model.history_ = History(described.history)
    model.updates_ = described.updates
    model.take_map(arrays)
    model._restore(arrays, facts, where)
    return model


def _shares(model: Any, described: _Model) -> NDArray[np.float64] | None:
    """The shares of the classes in the rows."""
    if described.row_shares is not None or described.class_shares is None:
        return None if described.row_shares is None else np.asarray(described.row_shares)
    # earlier versions counted the weights of classes, unless probabilities were calibrated
    shares = np.asarray(described.class_shares)
    if model.class_weights_ is None or model._is_calibrated:
        return shares
    weights = model.class_weights_
    rows = np.where(weights > 0, shares / np.where(weights > 0, weights, 1.0), 0.0)
    return np.asarray(rows / rows.sum())


def read_description(folder: Place) -> dict[str, Any]:
    """The content of ``model.json``, as it was written."""
    file = folder / "model.json"
    if not file.is_file():
        unfinished = (folder / "checkpoints").is_dir()
        raise InputError(
            "its training has not finished" if unfinished else "is not a model (no model.json)",
            where=str(folder),
            hint="run the train command again with --resume"
            if unfinished
            else "give the folder that train wrote",
        )
    try:
        return _DESCRIPTION.open(file.read_bytes(), str(file))[0]
    except OSError as error:
        raise _DESCRIPTION.damaged(f"it cannot be read: {error.strerror}", str(file)) from None


def _params(model: Any) -> dict[str, Any]:
    return {name: _plain(value) for name, value in model.stored_params().items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None
    return value


def _labels_to_json(labels: NDArray[Any]) -> dict[str, Any]:
    kind = {"O": "object", "U": "string", "S": "string"}.get(labels.dtype.kind, labels.dtype.str)
    # dates as texts, which JSON has no others of
    values = labels.astype(str) if labels.dtype.kind == "M" else labels
    return {"dtype": kind, "values": values.tolist()}


#: what the names of its arrays in a model's folder begin with
_FURTHER = "further."
_OWN = f"{_FURTHER}own."


@dataclass(frozen=True)
class Further:
    """What a model keeps for updates.

    Attributes
    ----------
    own : what its solver has kept of its last state, by name: arrays and numbers
    n_rows, weight : rows that it has learned from, equal ones of few as one, and the sum of their weights
    sources : fingerprints of the splits of data sets that these are of; "" for arrays
    low, high : (n_features,) the smallest and the largest number of each column of these rows, in their own
        units; without numbers where they are not known
    """

    own: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    weight: float = 0.0
    sources: tuple[str, ...] = ()
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        # thousands of batches of arrays are one source
        object.__setattr__(self, "sources", tuple(dict.fromkeys(self.sources)))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model's folder holds of it."""
        own = {f"{_OWN}{name}": np.asarray(value) for name, value in self.own.items()}
        return {**own, f"{_FURTHER}low": self.low, f"{_FURTHER}high": self.high}

    @property
    def facts(self) -> dict[str, Any]:
        """What ``model.json`` says of it."""
        names = [f"{_FURTHER}low", f"{_FURTHER}high", *(f"{_OWN}{name}" for name in self.own)]
        return {"n_rows": self.n_rows, "weight": self.weight, "sources": list(self.sources), "arrays": names}

    def loaded(self) -> Further:
        """Itself, in memory."""
        return self


@dataclass(frozen=True)
class StoredFurther:
    """A :class:`Further` that lies in a model's folder.

    Attributes
    ----------
    folder : of the model
    fingerprint : of its arrays
    facts : see :attr:`Further.facts`
    """

    folder: Place
    fingerprint: str
    facts: Mapping[str, Any]

    def loaded(self) -> Further:
        """It, in memory; raises as :func:`~distkern.storage.arrays.load_arrays`."""
        arrays = load_arrays(self.folder / "arrays", self.facts["arrays"], fingerprint=self.fingerprint)
        own = {name.removeprefix(_OWN): values for name, values in arrays.items() if name.startswith(_OWN)}
        return Further(
            {name: values if values.ndim else values.item() for name, values in own.items()},
            int(self.facts["n_rows"]),
            float(self.facts["weight"]),
            tuple(self.facts["sources"]),
            arrays[f"{_FURTHER}low"],
            arrays[f"{_FURTHER}high"],
        )
