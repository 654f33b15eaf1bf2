"""Models on disk: plain arrays and JSON. Loading executes nothing."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from distkern.core.common_parameters import THRESHOLD
from distkern.core.errors import CorruptDataError, InputError
from distkern.core.names import code_of, date_text, plain_labels
from distkern.core.version import __version__
from distkern.data.scaling import Scaling
from distkern.data.store.arrays import check_arrays, load_arrays, save_arrays
from distkern.data.store.description import as_read, check_line, fingerprint
from distkern.data.store.description import described as described_as
from distkern.data.store.places import Location, Place, absolute, is_whole, remove_tree
from distkern.model.parts import DESCRIPTION, FURTHER, OWN, Columns, History, StoredForUpdate
from distkern.model.settings import AbstractSettings, ChosenBy, Settings, StoredSettings
from distkern.model.value import FittedModel
from distkern.runs.algorithms import algorithm

#: attempts to read a model that others replace meanwhile
_READINGS = 4


def save_model(model: FittedModel, path: Place) -> None:
    """Write ``model.json`` and ``arrays`` into the folder ``path``.

    ``arrays`` is written first and ``model.json`` last, so a folder with a ``model.json`` holds a complete
    model. The folder may hold other files (``metrics.jsonl``, ``checkpoints``).
    """
    from distkern.data.store.atomic import write_text_atomic
    from distkern.runs.folder import refuse_others_model

    versions = {"distkern-version": __version__, "numpy-version": np.__version__}
    content, arrays = {**description(model), **versions}, stored_arrays(model)
    # before anything is removed: if this model cannot be written, the existing one stays
    DESCRIPTION.text({**content, "arrays": ""})
    refuse_others_model(path)
    path.mkdir(parents=True, exist_ok=True)
    (path / "model.json").unlink(missing_ok=True)
    if (path / "arrays").exists():
        remove_tree(path / "arrays")
    model.save_parts(path)
    content["arrays"] = save_arrays(path / "arrays", arrays)
    write_text_atomic(path / "model.json", DESCRIPTION.text(content))


def refuse_other_model(folder: Place, recipe: Any, data: str) -> None:
    """Raise :class:`InputError` unless a run would make the model in ``folder``.

    Algorithm and parameters must be those of ``recipe``, and the data must be the split with fingerprint
    ``data``; an update also compares the previous model and the splits it learned from.
    """
    update_run = recipe.update_run
    sources, began = (data,), ""
    if update_run is not None:
        sources, began = tuple(dict.fromkeys(update_run.sources)), update_run.fingerprint
    stored = DESCRIPTION.read(ModelFacts, read_description(folder), str(folder / "model.json"))
    ours = as_read(plain(recipe.saved_params))
    # a finished run does not depend on the limit
    keys = [name for name in sorted(ours) if name != "memory_limit" and stored.params.get(name) != ours[name]]
    if stored.algorithm != recipe.saved_name or keys:
        what = f"of another job ({keys[0] if keys else stored.algorithm} differs)"
    elif stored.further.sources != sources:
        what = "of other training rows"
    elif stored.further.began != began:
        what = "updated from another model"
    else:
        return
    hint = "train to another folder or remove it"
    raise InputError(f"holds a finished model {what}", where=str(folder), hint=hint)


def read_model(path: Location) -> FittedModel:
    """Return the fitted model in a folder or URL.

    Raises
    ------
    InputError
        If there is no complete model, or another version wrote it.
    CorruptDataError
        If a file differs from what was written.
    """
    # parts that are read later must be found from another working directory too
    folder = absolute(path)
    for _ in range(_READINGS):
        facts, known = _opened(folder)
        try:
            return _loaded(folder, facts)
        except CorruptDataError:
            # an update may have replaced the model and its arrays meanwhile
            if _opened(folder)[1] == known:
                raise
    return _loaded(folder, read_description(folder))


def _loaded(folder: Place, facts: dict[str, Any]) -> FittedModel:
    where = str(folder / "model.json")
    described = DESCRIPTION.read(ModelFacts, facts, where)
    kind = algorithm(described.algorithm)
    if kind is None:
        raise InputError(f"unknown algorithm {described.algorithm!r}", where=where, hint="upgrade distkern")
    if not is_whole(folder / "arrays"):
        raise DESCRIPTION.damaged("the arrays of the model are missing", where)
    # updates read their own arrays; the ranges of the columns are read for their number
    arrays = load_arrays(folder / "arrays", fingerprint=described.arrays, but=OWN)
    n_ranges = len(np.atleast_1d(arrays.pop(f"{FURTHER}low", np.zeros(0))))
    arrays.pop(f"{FURTHER}high", None)
    if n_ranges not in (0, described.n_features):
        raise DESCRIPTION.damaged(f"ranges of {n_ranges} features for {described.n_features}", where)
    try:
        further = StoredForUpdate(folder, described.arrays, facts["further"], described.n_features)
        return _restored(kind, described, arrays, facts, further, str(folder))
    except InputError:
        raise
    except KeyError as error:
        raise DESCRIPTION.damaged(f"{error} is missing", where) from None
    except MemoryError as error:
        hint = "load it on a machine with more memory, or train again if it has fewer features"
        what = f"there is not enough memory for its basis functions of {described.n_features:,} features"
        raise InputError(what, where=where, hint=hint) from error
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        # the fingerprint is right, but the content is not a valid model
        raise DESCRIPTION.damaged(str(error), where) from error


def _restored(
    kind: Any,
    described: ModelFacts,
    arrays: Mapping[str, NDArray[Any]],
    facts: Mapping[str, Any],
    further: StoredForUpdate,
    where: str,
) -> FittedModel:
    params = dict(described.params)
    classes = None if described.classes is None else described.classes.array
    weights = params.get("class_weight")
    if classes is not None and isinstance(weights, dict):
        # keys in JSON are strings
        labels = plain_labels(classes)
        params["class_weight"] = known_labels = {}
        for key, weight in weights.items():
            code = code_of(labels, key)
            known_labels[key if code is None else labels[code]] = weight
    chosen = None
    if (by := facts.get("chosen")) is not None:
        held_out = by.get("held_out")
        held_out = None if held_out is None else (held_out[0], held_out[1])
        own = str(by["because"]), dict(by["params"]), held_out
        chosen = ChosenBy(kind.name, params, kind.__name__, *own)
        _cleaned(kind.name, params, {})
        outer, kind = kind, algorithm(f"{by['name']}{'_regressor' if kind.task == 'regression' else ''}")
        if kind is None:
            raise ValueError(f"unknown algorithm {by['name']!r}")
        shared = {name: one for name, one in params.items() if name in kind.hyperparameters}
        params = (
            {name: one.default for name, one in kind.hyperparameters.items()} | shared | dict(chosen.settings)
        )
    columns = _columns(described, kind.__name__ if chosen is None else outer.__name__)
    importances = None
    if described.importances is not None:
        # imported here, as in _columns: most models have none
        from distkern.show.explanation import Explanation

        importances = described_as(Explanation, described.importances)
    settings: AbstractSettings
    if chosen is None and facts["distkern-version"] == __version__:
        # checked before they were written, and predictions need no solver
        clean = partial(_cleaned, kind.name, params, described.found)
        # a rule for gamma has become a number
        values = params | ({"gamma": facts["gamma"]} if "gamma" in facts else {})
        settings = StoredSettings(values, described.found, clean)
        THRESHOLD.clean("threshold", params.get("threshold"))
    else:
        params = kind().stored_params() | params
        settings = _cleaned(kind.name, params, described.found)
    known = {
        "name": kind.name,
        "task": kind.task,
        "params": params,
        "settings": settings,
        "columns": columns,
        "classes": classes,
        "n_iter": described.n_iter,
        "history": History(described.history),
        "importances": importances,
        "ended": described.ended,
        "updates": tuple(facts.get("updates", ())),
        "mean_weight": described.mean_weight,
        "class_weights": None if described.class_weights is None else np.asarray(described.class_weights),
        "class_shares": None if described.class_shares is None else np.asarray(described.class_shares),
        "further": further,
        "chosen": chosen,
    }
    found: FittedModel = kind.kind.read(known, arrays, facts, where)
    return found


def _columns(described: ModelFacts, estimator: str) -> Columns:
    """Return the columns of a stored model; ValueError if they contradict each other."""
    table, n_columns = None, described.n_features
    if described.table is not None:
        from distkern.data.table import Table

        table = described_as(Table, described.table)
        n_columns = len(table.columns)
        if table.n_features != described.n_features:
            raise ValueError(f"a table of {table.n_features} features for {described.n_features}")
    n_names = n_columns if described.feature_names is None else len(described.feature_names)
    if described.n_features < 1 or n_names != n_columns:
        raise ValueError(f"{n_names} names for {n_columns} columns of {described.n_features} features")
    return Columns(
        estimator=estimator,
        n_features_in=n_columns,
        feature_names_in=None
        if described.feature_names is None
        else np.asarray(described.feature_names, dtype=object),
        table=table,
        target_name=described.target_name,
        zero_based=described.zero_based,
        scaling=described.scaling,
        dtype=None if described.dtype is None else np.dtype(described.dtype),
    )


def _cleaned(name: str, params: dict[str, Any], found: Mapping[str, Any]) -> Settings:
    """Return the settings of an algorithm's stored hyperparameters; ValueError if they are invalid."""
    kind = algorithm(name)
    assert kind is not None, "it is known"
    unknown = params.keys() - kind.hyperparameters.keys()
    if unknown:
        raise ValueError(f"unknown hyperparameter {sorted(unknown)[0]!r}")
    values = {name: params.get(name, one.default) for name, one in kind.hyperparameters.items()}
    try:
        settings = Settings.of(kind.hyperparameters, values, kind.solver_type(), kind.left_open)
        settings.row_scale()
        if settings.solver is not None:
            kind.kind.solver_of(settings, kind.kind.risk_of(settings))
    except InputError as error:
        raise ValueError(str(error)) from None
    return settings.finding(found)


def read_description(folder: Place) -> dict[str, Any]:
    """Return the content of ``model.json`` as it was written."""
    return _opened(folder)[0]


def read_fingerprint(folder: Place) -> str:
    """Return the fingerprint of ``model.json``, different for each run; raises as
    :func:`read_description`.
    """
    return _opened(folder)[1]


def check_model(folder: Place) -> str:
    """Compare the arrays of a model with their checksums, a few MiB at a time, and return its fingerprint.

    Raises as :func:`read_model`.
    """
    facts, known = _opened(folder)
    described = DESCRIPTION.read(ModelFacts, facts, str(folder / "model.json"))
    check_arrays(folder / "arrays", fingerprint=described.arrays)
    return known


def _opened(folder: Place) -> tuple[dict[str, Any], str]:
    file = folder / "model.json"
    if not file.is_file():
        what, hint = "is not a model (no model.json)", "give the folder that `distkern train` or save wrote"
        if (folder / "checkpoints").is_dir():
            what, hint = "its training has not finished", "run the train command again with --resume"
        elif (folder / "manifest.json").is_file():
            what = "is a data set, not a model"
        elif folder.is_file() and folder.name != file.name:
            what, hint = "is a file, not a model", f"{hint}, before any file of rows"
        elif folder.name == file.name:
            what, hint = "is a file of a model, not its folder", f"give {folder.parent}"
        raise InputError(what, where=str(folder), hint=hint)
    return DESCRIPTION.load(file)


@dataclass(frozen=True)
class Labels:
    """Labels of classes; ``dtype`` is numpy's name, or "string"."""

    dtype: str
    values: tuple[bool | int | float | str, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.array.tolist())) < len(self.values):
            raise ValueError("no classes, or a repeated class")

    @property
    def array(self) -> NDArray[Any]:
        """The labels as an array; ValueError if they do not have their type."""
        known = re.fullmatch(r"string|object|[|<>][biuf]\d|[<>]M8\[\w+\]", self.dtype)
        if known is None:
            raise ValueError(f"labels cannot have type {self.dtype!r}")
        try:
            found = np.asarray(self.values, {"string": str}.get(self.dtype, self.dtype))
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None
        if found.dtype.kind not in "UM" and found.tolist() != [*self.values]:
            raise ValueError(f"labels without type {self.dtype!r}")
        return found


@dataclass(frozen=True)
class SavedForUpdateFacts:
    """Facts stored for updates, see :class:`~distkern.model.parts.SavedForUpdate`."""

    n_rows: int
    weight: float
    sources: tuple[str, ...]
    arrays: tuple[str, ...]
    began: str = ""

    def __post_init__(self) -> None:
        if self.n_rows < 0 or not 0 <= self.weight < math.inf:
            raise ValueError(f"{self.n_rows} training rows of weight {self.weight}")


@dataclass(frozen=True)
class OutsideFacts:
    """A column with numbers outside its previous range, and the share of rows with them."""

    column: str
    outside: float


@dataclass(frozen=True)
class DriftFacts:
    """How far the rows of an update lie outside the previous ranges."""

    columns: int
    most: tuple[OutsideFacts, ...]


@dataclass(frozen=True)
class UpdateFacts:
    """What commands show of an update."""

    number: int
    rows: int
    before: dict[str, float | None]
    after: dict[str, float | None]
    drift: DriftFacts | None

    def __post_init__(self) -> None:
        if self.before.keys() != self.after.keys():
            raise ValueError("an update with different figures before and after")


@dataclass(frozen=True)
class ModelFacts:
    """What ``model.json`` holds for every model; kinds of models add their own facts."""

    algorithm: str
    params: dict[str, Any]
    classes: Labels | None
    n_features: int
    feature_names: tuple[str, ...] | None
    n_iter: int
    scaling: Scaling | None
    class_weights: tuple[float, ...] | None
    mean_weight: float
    history: tuple[dict[str, Any], ...]
    arrays: str
    further: SavedForUpdateFacts
    target_name: str | None = None
    ended: str | None = None
    found: dict[str, Any] = field(default_factory=dict)
    table: dict[str, Any] | None = None
    zero_based: bool | None = None
    dtype: Literal["float32", "float64"] | None = None
    importances: dict[str, Any] | None = None
    class_shares: tuple[float, ...] | None = None
    updates: tuple[UpdateFacts, ...] = ()

    def __post_init__(self) -> None:
        if self.scaling is not None:
            self.scaling.check_width(self.n_features)
        n_classes = 0 if self.classes is None else len(self.classes.values)
        for of_classes in (self.class_weights, self.class_shares):
            if of_classes is not None and len(of_classes) != n_classes:
                raise ValueError(f"weights or shares of {len(of_classes)} classes for {n_classes}")
        for line in self.history:
            check_line(line)


def lasting(model: FittedModel) -> dict[str, Any]:
    """Return the facts of ``model.json`` about the model itself, not about the run that made it."""
    columns, chosen, further = model.columns, model.chosen, model.further
    # thresholds apply to probabilities
    shares = model.class_shares if model.chances is not None else None
    own = model.facts()
    if chosen is not None:
        params = dict(chosen.settings)
        own["chosen"] = {"name": model.name.removesuffix("_regressor"), "because": chosen.because}
        own["chosen"] |= {"params": params}
        if chosen.held_out is not None:
            own["chosen"]["held_out"] = list(chosen.held_out)
    return {
        "algorithm": model.saved_name,
        "params": plain(model.saved_params),
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
        "further": further.loaded().facts,
    }


def description(model: FittedModel) -> dict[str, Any]:
    """Return the content of ``model.json`` without versions and arrays."""
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
    """Return all arrays of a model's folder."""
    return model.arrays() | model.further.loaded().arrays


def fingerprint_of(model: FittedModel) -> str:
    """Return a fingerprint of the model with everything it stores for updates: 16 hexadecimal digits.

    Models with equal bits have equal fingerprints, whichever run made them.
    """
    digest = hashlib.sha256(fingerprint(as_read(lasting(model))).encode())
    for name, values in sorted(stored_arrays(model).items()):
        digest.update(f"{name} {values.dtype} {values.shape} ".encode())
        digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()[:16]


def plain(value: Any) -> Any:
    """Return a value as JSON holds it; None for random states."""
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
