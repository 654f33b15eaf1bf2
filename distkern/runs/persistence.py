"""Models on disk: plain arrays and JSON, nothing that executes on load."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import CorruptDataError, InputError
from distkern.common.labels import code_of, date_text, plain_labels
from distkern.common.python_words import in_python
from distkern.common.shapes import shaped
from distkern.common.types import Array
from distkern.common.version import __version__
from distkern.monitor.history import History
from distkern.runs.facts import ModelFacts
from distkern.storage.arrays import array_bytes, check_arrays, load_arrays, save_arrays
from distkern.storage.description import Description, as_read, fingerprint
from distkern.storage.places import Location, Place, absolute, remove_tree

_DESCRIPTION = Description("distkern-model", "a model", 6, "train it again")

#: how often a model is read that others replace meanwhile
_READINGS = 4
#: hyperparameters of earlier versions, without a say in what a fitted model is
_RETIRED = {"n_candidates"}


def save_model(model: Any, path: Place) -> None:
    """Write ``model.json`` and ``arrays`` into the folder ``path``.

    ``arrays`` is written whole first and ``model.json`` last, so a folder with a ``model.json`` is a whole
    model. The folder may hold other things already (``metrics.jsonl``, ``checkpoints``).
    """
    from distkern.runs.belongings import refuse_others_model
    from distkern.storage.atomic import write_text_atomic

    further = None if model._further is None else model._further.loaded()
    description = {
        **_lasting(model, further),
        "distkern-version": __version__,
        "numpy-version": np.__version__,
        "n_iter": int(model.n_iter_),
        "ended": model.ended_,
        "found": dict(model.found_),
        "history": model.history_,
        **({} if model.importances_ is None else {"importances": asdict(model.importances_)}),
        **({"updates": list(model.updates_)} if model.updates_ else {}),
    }
    kept = {} if further is None else further.arrays
    # before anything is removed: a model that is there stays where this one cannot be written
    _DESCRIPTION.text({**description, "arrays": ""})
    refuse_others_model(path)
    path.mkdir(parents=True, exist_ok=True)
    (path / "model.json").unlink(missing_ok=True)
    if (path / "arrays").exists():
        remove_tree(path / "arrays")
    model._save_parts(path)
    description["arrays"] = save_arrays(path / "arrays", model._arrays() | model.map_arrays() | kept)
    write_text_atomic(path / "model.json", _DESCRIPTION.text(description))


def _lasting(model: Any, further: SavedForUpdate | None) -> dict[str, Any]:
    """What ``model.json`` says of the model itself, beside its arrays, and not of the run that found it."""
    # what a threshold may be, of probabilities
    shares = model.class_shares_ if model._chances() is not None else None
    return {
        "algorithm": model.name,
        "params": _params(model),
        "classes": None if not hasattr(model, "classes_") else _labels_to_json(model.classes_),
        "n_features": int(model.width_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", [])] or None,
        "target_name": getattr(model, "target_name_", None),
        **({} if model.zero_based_ is None else {"zero_based": model.zero_based_}),
        **({} if model.dtype_ is None else {"dtype": model.dtype_.name}),
        **({} if model.table_ is None else {"table": model.table_.to_json()}),
        "scaling": None if model.scaling_ is None else model.scaling_.to_json(),
        "class_weights": None if model.class_weights_ is None else model.class_weights_.tolist(),
        "mean_weight": float(model.mean_weight_),
        **({} if shares is None else {"class_shares": shares.tolist()}),
        **_plain(model._facts()),
        **({} if further is None else {"further": further.facts}),
    }


def fingerprint_of(model: Any, further: SavedForUpdate) -> str:
    """What a fitted model is known by, with all that it keeps for updates: 16 hexadecimal digits.

    Models of equal bits have the same one, whichever run found them.
    """
    digest = hashlib.sha256(fingerprint(as_read(_lasting(model, further))).encode())
    for name, values in sorted((model._arrays() | model.map_arrays() | further.arrays).items()):
        digest.update(f"{name} {values.dtype} {values.shape} ".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()[:16]


def refuse_other_model(folder: Place, model: Any, data: str, begins: Any = None) -> None:
    """Raise :class:`InputError` unless a run would find the model that is in ``folder``.

    Its algorithm and parameters must be those of ``model``, and its data the split with the fingerprint
    ``data``; of an update, ``begins`` says from which model it begins and which splits it learns from.
    """
    sources, began = (data,), ""
    if begins is not None:
        sources, began = tuple(dict.fromkeys(begins.sources)), begins.fingerprint
    stored = _DESCRIPTION.read(ModelFacts, read_description(folder), str(folder / "model.json"))
    ours = as_read(_params(model))
    # a run that has ended is the same under any other limit
    keys = [name for name in sorted(ours) if name != "memory_limit" and stored.params.get(name) != ours[name]]
    if stored.algorithm != model.name or keys:
        what = f"of another job ({keys[0] if keys else stored.algorithm} differs)"
    elif stored.further is not None and stored.further.sources != sources:
        what = "that has learned from other rows"
    elif stored.further is not None and stored.further.began != began:
        what = "that was updated from another model"
    else:
        return
    hint = "train to another folder or remove it"
    raise InputError(f"holds a finished model {what}", where=str(folder), hint=hint)


@in_python
def load_model(path: Location) -> Any:
    """Load the fitted estimator that :meth:`save` or ``distkern train`` wrote to a folder or URL.

    Parameters
    ----------
    path : str or path-like
        The model's folder. Loading executes nothing that lies in it.

    Returns
    -------
    model : estimator
        The estimator of the class that was saved, fitted.

    Raises
    ------
    InputError
        If there is no finished model, or another version wrote it.
    CorruptDataError
        If anything in it is not what was written.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 5), [0, 0, 1, 1] * 5
    >>> dk.NewtonClassifier(features="linear", random_state=0).fit(X, y).save("model")
    >>> load_model("model").predict([[0.0], [3.0]])
    array([0, 1])
    """
    # what is read later must be found from another working folder too
    folder = absolute(path)
    for _ in range(_READINGS):
        facts, known = _opened(folder)
        try:
            return _loaded(folder, facts)
        except CorruptDataError:
            # an update may have taken its place meanwhile, whose arrays are not those of the one before
            if _opened(folder)[1] == known:
                raise
    return _loaded(folder, read_description(folder))


def _loaded(folder: Place, facts: dict[str, Any]) -> Any:
    from distkern.runs.algorithms import algorithm

    where = str(folder / "model.json")
    described = _DESCRIPTION.read(ModelFacts, facts, where)
    kind = algorithm(described.algorithm)
    if kind is None:
        raise InputError(f"unknown algorithm {described.algorithm!r}", where=where, hint="upgrade distkern")
    # what is kept for updates is read by them, but for the ranges of the columns: they say how many there are
    arrays = load_arrays(folder / "arrays", fingerprint=described.arrays, but=_OWN)
    n_ranges = len(np.atleast_1d(arrays.pop(f"{_FURTHER}low", np.zeros(0))))
    arrays.pop(f"{_FURTHER}high", None)
    if n_ranges not in (0, described.n_features):
        raise _DESCRIPTION.damaged(f"ranges of {n_ranges} features for {described.n_features}", where)
    try:
        model = _restored(kind, described, arrays, facts, str(folder))
        if described.further is not None:
            model._further = StoredForUpdate(folder, described.arrays, facts["further"], described.n_features)
        return model
    except InputError:
        raise
    except KeyError as error:
        raise _DESCRIPTION.damaged(f"{error} is missing", where) from None
    except MemoryError as error:
        hint = "load it on a machine with more memory, or train again if it has fewer features"
        what = f"there is not enough memory for its basis functions of {described.n_features:,} features"
        raise InputError(what, where=where, hint=hint) from error
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        # it is under its own fingerprint and still makes no model
        raise _DESCRIPTION.damaged(str(error), where) from error


def _restored(
    kind: Any, described: ModelFacts, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str
) -> Any:
    model = kind(**{name: one for name, one in described.params.items() if name not in _RETIRED})
    try:
        model.check_parameters()
    except InputError as error:
        raise ValueError(str(error)) from None
    if described.classes is not None:
        model.classes_ = described.classes.array
        weights = described.params.get("class_weight")
        if isinstance(weights, dict):
            # the keys of JSON are texts
            labels = plain_labels(model.classes_)
            model.class_weight = {}
            for key, weight in weights.items():
                code = code_of(labels, key)
                model.class_weight[key if code is None else labels[code]] = weight
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
    of_classes = described.class_shares
    model.class_shares_ = None if of_classes is None else np.asarray(of_classes)
    model.history_ = History(described.history)
    model.updates_ = tuple(facts.get("updates", ()))
    model.take_map(arrays)
    model._restore(arrays, facts, where)
    model.check_restored()
    return model


def read_description(folder: Place) -> dict[str, Any]:
    """The content of ``model.json``, as it was written."""
    return _opened(folder)[0]


def read_fingerprint(folder: Place) -> str:
    """The fingerprint of ``model.json``, which differs between models and between runs; raises as
    :func:`read_description`."""
    return _opened(folder)[1]


def check_model(folder: Place) -> str:
    """Compare the arrays of the model in ``folder`` with their checksums, a few MiB at a time; return
    :func:`read_fingerprint` of it. Raises as :func:`load_model`."""
    facts, known = _opened(folder)
    described = _DESCRIPTION.read(ModelFacts, facts, str(folder / "model.json"))
    check_arrays(folder / "arrays", fingerprint=described.arrays)
    return known


def _opened(folder: Place) -> tuple[dict[str, Any], str]:
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
    return _DESCRIPTION.load(file)


def _params(model: Any) -> dict[str, Any]:
    return {name: _plain(value) for name, value in model.stored_params().items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        return date_text(value)
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
    return {"dtype": kind, "values": plain_labels(labels)}


#: what the names of its arrays in a model's folder begin with
_FURTHER = "further."
_OWN = f"{_FURTHER}own."


@dataclass(frozen=True)
class SavedForUpdate:
    """What a model keeps for updates.

    Attributes
    ----------
    solver_state : fields of the solver's last state by name, arrays and numbers
    n_rows, weight : rows that it has learned from, equal ones of few as one, and the sum of their weights
    sources : fingerprints of the splits of data sets with these rows; "" for arrays
    low, high : (n_features,) the smallest and the largest number of each column of these rows, in their own
        units; without numbers where they are not known
    began : :func:`fingerprint_of` the model that the last update began from; "" of a model that was fitted
    """

    solver_state: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0
    weight: float = 0.0
    sources: tuple[str, ...] = ()
    low: Array = field(default_factory=lambda: np.zeros(0))
    high: Array = field(default_factory=lambda: np.zeros(0))
    began: str = ""

    def __post_init__(self) -> None:
        # thousands of batches of arrays are one source
        object.__setattr__(self, "sources", tuple(dict.fromkeys(self.sources)))

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model's folder holds of it."""
        own = {f"{_OWN}{name}": np.asarray(value) for name, value in self.solver_state.items()}
        return {**own, f"{_FURTHER}low": self.low, f"{_FURTHER}high": self.high}

    @property
    def facts(self) -> dict[str, Any]:
        """What ``model.json`` says of it."""
        names = [f"{_FURTHER}low", f"{_FURTHER}high", *(f"{_OWN}{name}" for name in self.solver_state)]
        facts = {"n_rows": self.n_rows, "weight": self.weight, "sources": list(self.sources), "arrays": names}
        return {**facts, "began": self.began} if self.began else facts

    def loaded(self) -> SavedForUpdate:
        """Itself, in memory."""
        return self


@dataclass(frozen=True)
class StoredForUpdate:
    """A :class:`SavedForUpdate` in a model's folder.

    Attributes
    ----------
    folder : of the model
    fingerprint : of its arrays
    facts : see :attr:`SavedForUpdate.facts`
    n_features : of the model
    """

    folder: Place
    fingerprint: str
    facts: Mapping[str, Any]
    n_features: int

    @property
    def n_bytes(self) -> int:
        """Bytes of it in memory; raises as :meth:`loaded`."""
        return array_bytes(self.folder / "arrays", self.facts["arrays"])

    def loaded(self) -> SavedForUpdate:
        """Return it in memory; raises as :func:`~distkern.storage.arrays.load_arrays`."""
        arrays = load_arrays(self.folder / "arrays", self.facts["arrays"], fingerprint=self.fingerprint)
        own = {name.removeprefix(_OWN): values for name, values in arrays.items() if name.startswith(_OWN)}
        where = str(self.folder / "model.json")
        try:
            low, high = (shaped(arrays, f"{_FURTHER}{end}", None) for end in ("low", "high"))
        except (KeyError, ValueError) as error:
            raise _DESCRIPTION.damaged(str(error), where) from None
        if not len(low) == len(high) in (0, self.n_features):
            raise _DESCRIPTION.damaged(f"ranges of {len(low)} columns for {self.n_features}", where)
        if odd := [name for name, values in own.items() if values.dtype.kind not in "fiub"]:
            raise _DESCRIPTION.damaged(f"{odd[0]} is not of real numbers", where)
        return SavedForUpdate(
            {name: values if values.ndim else values.item() for name, values in own.items()},
            int(self.facts["n_rows"]),
            float(self.facts["weight"]),
            tuple(self.facts["sources"]),
            low,
            high,
            str(self.facts.get("began", "")),
        )
