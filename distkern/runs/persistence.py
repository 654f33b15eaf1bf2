"""Models on disk: plain arrays and JSON, nothing that executes on load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError, InputError
from distkern.core.names import code_of, plain_labels
from distkern.core.version import __version__
from distkern.data.store.arrays import check_arrays, load_arrays, save_arrays
from distkern.data.store.description import as_read
from distkern.data.store.places import Location, Place, absolute, remove_tree
from distkern.model.columns import Columns
from distkern.model.files import description, plain, stored_arrays
from distkern.model.further import DESCRIPTION, FURTHER, OWN, StoredForUpdate
from distkern.model.settings import Settings
from distkern.model.value import ChosenBy, FittedModel
from distkern.runs.facts import ModelFacts
from distkern.show.history import History

#: how often a model is read that others replace meanwhile
_READINGS = 4
#: hyperparameters of earlier versions, without a say in what a fitted model is
_RETIRED = {"n_candidates"}


def save_model(model: FittedModel, path: Place) -> None:
    """Write ``model.json`` and ``arrays`` into the folder ``path``.

    ``arrays`` is written whole first and ``model.json`` last, so a folder with a ``model.json`` is a whole
    model. The folder may hold other things already (``metrics.jsonl``, ``checkpoints``).
    """
    from distkern.data.store.atomic import write_text_atomic
    from distkern.runs.belongings import refuse_others_model

    versions = {"distkern-version": __version__, "numpy-version": np.__version__}
    content, arrays = {**description(model), **versions}, stored_arrays(model)
    # before anything is removed: a model that is there stays where this one cannot be written
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
    """Raise :class:`InputError` unless a run would find the model that is in ``folder``.

    Its algorithm and parameters must be those of ``recipe``, and its data the split with the fingerprint
    ``data``; an update says from which model it begins and which splits it learns from.
    """
    begins = recipe.begins
    sources, began = (data,), ""
    if begins is not None:
        sources, began = tuple(dict.fromkeys(begins.sources)), begins.fingerprint
    stored = DESCRIPTION.read(ModelFacts, read_description(folder), str(folder / "model.json"))
    ours = as_read(plain(recipe.told_params))
    # a run that has ended is the same under any other limit
    keys = [name for name in sorted(ours) if name != "memory_limit" and stored.params.get(name) != ours[name]]
    if stored.algorithm != recipe.told_name or keys:
        what = f"of another job ({keys[0] if keys else stored.algorithm} differs)"
    elif stored.further is not None and stored.further.sources != sources:
        what = "that has learned from other rows"
    elif stored.further is not None and stored.further.began != began:
        what = "that was updated from another model"
    else:
        return
    hint = "train to another folder or remove it"
    raise InputError(f"holds a finished model {what}", where=str(folder), hint=hint)


def read_model(path: Location) -> FittedModel:
    """The fitted model in the folder or URL ``path``.

    Raises
    ------
    InputError
        If there is no finished model, or another version wrote it.
    CorruptDataError
        If anything in it is not what was written.
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


def _loaded(folder: Place, facts: dict[str, Any]) -> FittedModel:
    from distkern.runs.algorithms import algorithm

    where = str(folder / "model.json")
    described = DESCRIPTION.read(ModelFacts, facts, where)
    kind = algorithm(described.algorithm)
    if kind is None:
        raise InputError(f"unknown algorithm {described.algorithm!r}", where=where, hint="upgrade distkern")
    # what is kept for updates is read by them, but for the ranges of the columns: they say how many there are
    arrays = load_arrays(folder / "arrays", fingerprint=described.arrays, but=OWN)
    n_ranges = len(np.atleast_1d(arrays.pop(f"{FURTHER}low", np.zeros(0))))
    arrays.pop(f"{FURTHER}high", None)
    if n_ranges not in (0, described.n_features):
        raise DESCRIPTION.damaged(f"ranges of {n_ranges} features for {described.n_features}", where)
    try:
        further = None
        if described.further is not None:
            own = described.arrays, facts["further"], described.n_features
            further = StoredForUpdate(folder, *own)
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
        # it is under its own fingerprint and still makes no model
        raise DESCRIPTION.damaged(str(error), where) from error


def _restored(
    kind: Any,
    described: ModelFacts,
    arrays: Mapping[str, NDArray[Any]],
    facts: Mapping[str, Any],
    further: StoredForUpdate | None,
    where: str,
) -> FittedModel:
    from distkern.runs.algorithms import algorithm

    params = {name: one for name, one in described.params.items() if name not in _RETIRED}
    classes = None if described.classes is None else described.classes.array
    weights = params.get("class_weight")
    if classes is not None and isinstance(weights, dict):
        # the keys of JSON are texts
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
        _cleaned(kind, params)
        outer, kind = kind, algorithm(f"{by['name']}{'_regressor' if kind.task == 'regression' else ''}")
        if kind is None:
            raise ValueError(f"unknown algorithm {by['name']!r}")
        shared = {name: one for name, one in params.items() if name in kind.hyperparameters}
        params = (
            {name: one.default for name, one in kind.hyperparameters.items()} | shared | dict(chosen.settings)
        )
    table = described.table
    names = None if described.feature_names is None else np.asarray(described.feature_names, dtype=object)
    columns = Columns(
        estimator=kind.__name__ if chosen is None else outer.__name__,
        n_features_in=described.n_features if table is None else len(table.columns),
        feature_names_in=names,
        table=table,
        target_name=described.target_name,
        zero_based=described.zero_based,
        scaling=described.scaling,
        dtype=None if described.dtype is None else np.dtype(described.dtype),
    )
    settings = _cleaned(kind, params).finding(described.found)
    known = {
        "name": kind.name,
        "task": kind.task,
        "params": params,
        "settings": settings,
        "columns": columns,
        "classes": classes,
        "n_iter": described.n_iter,
        "history": History(described.history),
        "importances": described.importances,
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


def _cleaned(kind: Any, params: dict[str, Any]) -> Settings:
    """The settings of stored hyperparameters, which go together."""
    unknown = params.keys() - kind.hyperparameters.keys()
    if unknown:
        raise ValueError(f"unknown hyperparameter {sorted(unknown)[0]!r}")
    values = {name: params.get(name, one.default) for name, one in kind.hyperparameters.items()}
    try:
        settings = Settings.of(kind.hyperparameters, values, kind.solver_type, kind.left_open)
        settings.row_scale()
        if kind.solver_type is not None:
            kind.kind.solver_of(settings, kind.kind.risk_of(settings))
    except InputError as error:
        raise ValueError(str(error)) from None
    return settings


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
    described = DESCRIPTION.read(ModelFacts, facts, str(folder / "model.json"))
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
    return DESCRIPTION.load(file)
