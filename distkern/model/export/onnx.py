"""``distkern.export``: a fitted model as an ONNX file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.python_words import in_python
from distkern.core.version import __version__
from distkern.data.store.atomic import write_bytes_atomic
from distkern.data.store.places import Location, place_of
from distkern.maths.losses.base import AbstractLoss
from distkern.maths.losses.classes import Logistic, Softmax
from distkern.model.export.bases import combined, scaled
from distkern.model.export.graph import IR_VERSION, OPSET, Graph, Value, onnx_library
from distkern.model.export.kernels import refusal
from distkern.model.value import FittedModel

#: limit of a protobuf message
_MOST_BYTES = 2**31 - 2**20


@in_python
def export(model: Any, path: Location) -> None:
    """Write a fitted model as an ONNX file, for serving without Python or without this package.

    The file holds scaling, transforms and metric of the columns, the kernel or random features, and the
    formulas of labels and probabilities. It computes in double precision and agrees with ``predict``,
    ``predict_proba`` and ``decision_function`` within 1e-5 (labels can differ if two classes are that close).

    ======= ================================== ========================================================
    name    shape                              content
    ======= ================================== ========================================================
    X       (n_rows, n_features) float32       input: the columns of ``fit`` in their order and units
    label   (n_rows,)                          classifiers; dates are strings
    probabilities (n_rows, n_classes) float32  classifiers with ``predict_proba``
    decision (n_rows,) or (n_rows, n_classes) float32  classifiers
    prediction (n_rows,) or (n_rows, n_quantiles) float32  regressors
    ======= ================================== ========================================================

    Parameters
    ----------
    model : estimator
        A fitted linear model, or a model over landmarks, Nystroem features or random features.
    path : str or path-like
        File to write, such as ``"model.onnx"``.

    Raises
    ------
    InputError
        If the package ``onnx`` is missing (``pip install 'distkern[onnx]'``), or the model has no formula in
        ONNX: machines in cells, models of encoded columns (texts, categories, dates, ids), novelty
        detectors, density ratios, random features of the polynomial kernel. The message names the reason.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = NewtonClassifier(random_state=0).fit(X, y)
    >>> export(model, "moons.onnx")
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession("moons.onnx")
    >>> (label,) = session.run(["label"], {"X": X[:3].astype("float32")})
    >>> bool((label == model.predict(X[:3])).all())
    True
    """
    _refuse_swapped(model, path)
    place = place_of(path)
    if isinstance(place, Path) and (place.is_dir() or not place.parent.is_dir()):
        what = "is a folder" if place.is_dir() else f"there is no folder {place.parent}"
        raise InputError(what, where=str(place), hint='give a file in an existing folder, as "model.onnx"')
    helper, types = onnx_library().helper, onnx_library().TensorProto
    fitted, kind = _checked(model), type(model).__name__
    coefficients = np.asarray(fitted.coefficients, dtype=np.float64)
    graph = Graph(fitted.n_outputs)
    rows = scaled(_filled(Value(graph, "X").cast("DOUBLE"), fitted), fitted.columns.scaling)
    values = combined(fitted.applied_basis(np.float64), rows, coefficients)
    decision = values + np.asarray(fitted.constants, dtype=np.float64)
    answers = (
        _of_numbers(fitted, decision)
        if fitted.classes is None
        else _of_classes(fitted, fitted.classes, decision)
    )
    outputs = []
    for name, (value, of_type, shape) in answers.items():
        is_kept = of_type in ("STRING", "INT64", "BOOL", "DOUBLE")
        graph.named(value if is_kept else value.cast(of_type), name)
        outputs.append(helper.make_tensor_value_info(name, getattr(types, of_type), ["n_rows", *shape]))
    given = helper.make_tensor_value_info("X", types.FLOAT, ["n_rows", fitted.width])
    made = helper.make_model(
        helper.make_graph(graph.nodes, kind, [given], outputs, graph.constants),
        producer_name="distkern",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    made.ir_version = IR_VERSION
    names = [str(name) for name in fitted.columns.names or ()]
    facts = {"algorithm": fitted.saved_name, **({"feature_names": json.dumps(names)} if names else {})}
    helper.set_model_props(made, facts)
    if made.ByteSize() > _MOST_BYTES:
        raise refusal(f"the file would have {made.ByteSize():,} bytes, and ONNX files have at most 2 GiB")
    onnx_library().checker.check_model(made)
    write_bytes_atomic(place, made.SerializeToString())


def _refuse_swapped(model: Any, path: Any) -> None:
    """Refuse a path in place of the model, with the call that has both where they belong."""
    if isinstance(path, str | os.PathLike):
        if not isinstance(model, str | os.PathLike) or not (place_of(path) / "model.json").exists():
            return
        given = f"load_model({os.fspath(path)!r})"
    else:
        given = "model"
    if isinstance(model, str | os.PathLike):
        hint = f"the model comes first: export({given}, {os.fspath(model)!r})"
        raise InputError("is a path, not a model", where="model", hint=hint)


Answers = dict[str, tuple[Value, str, list[int]]]


def _of_classes(model: FittedModel, classes: NDArray[Any], decision: Value) -> Answers:
    chances = None
    if model.chances is not None:
        chances = probabilities(model.loss, decision, model.class_weights)
    label, kind = labels(codes(decision, chances, model.cut), classes)
    found: Answers = {"label": (label, kind, [])}
    if chances is not None:
        found["probabilities"] = (chances, "FLOAT", [len(classes)])
    if model.n_outputs == 1:
        found["decision"] = (decision.as_vector(), "FLOAT", [])
    elif len(classes) == 2:
        # two competing classes: the second minus the first
        lead = decision.columns([1]) - decision.columns([0])
        found["decision"] = (lead.as_vector(), "FLOAT", [])
    else:
        found["decision"] = (decision, "FLOAT", [model.n_outputs])
    return found


def _of_numbers(model: FittedModel, decision: Value) -> Answers:
    if model.n_outputs == 1:
        return {"prediction": (decision.as_vector(), "FLOAT", [])}
    return {"prediction": (in_order(decision, model.levels), "FLOAT", [model.n_outputs])}


def _checked(estimator: Any) -> FittedModel:
    """Return the model of a fitted estimator; refuse other objects, and models without a formula."""
    name = type(estimator).__name__
    if not hasattr(estimator, "hyperparameters") or not hasattr(type(estimator), "task"):
        hint = f"give load_model({estimator!r})" if isinstance(estimator, str) else "give a fitted estimator"
        raise InputError(f"a {name} is not a distkern estimator", where="model", hint=hint)
    if estimator.task == "none" or name == "DSGDensityRatio":
        raise refusal(f"{name} does not predict labels, probabilities or numbers")
    check_is_fitted(estimator)
    model: FittedModel = estimator.model_
    table = model.columns.table
    encoded = [column.name for column in table.columns if not column.is_identity] if table else []
    if encoded:
        shown = ", ".join(map(repr, encoded[:3])) + (", ..." if len(encoded) > 3 else "")
        raise refusal(
            f"the model encodes columns of a table ({shown}), and the encoding has no formula in ONNX"
        )
    return model


def _filled(rows: Value, model: FittedModel) -> Value:
    """Return the rows with missing numbers filled as in the columns of a table."""
    table = model.columns.table
    if table is None:
        return rows
    fills = table.encode(np.full((1, len(table.columns)), np.nan))
    return rows.where(rows.apply("IsNaN").apply("Not"), fills)


def probabilities(loss: AbstractLoss, decision: Value, weights: NDArray[np.float64] | None) -> Value:
    """Return probabilities (n, n_classes) of decision values (n, n_outputs), as ``predict_proba``.

    ``weights`` of the classes are removed, see :func:`~distkern.model.prediction.unweighted`.

    Raises
    ------
    InputError
        If the loss has no formula in ONNX.
    """
    if isinstance(loss, Logistic):
        found = _of_logistic(decision)
    elif isinstance(loss, Softmax):
        found = decision.apply("Softmax", axis=1)
    else:
        raise refusal(f"the probabilities of loss {loss.name!r} have no formula in ONNX")
    if weights is None:
        return found
    return _normalized(found * (1.0 / np.where(weights > 0, weights, 1.0)))


def _of_logistic(decision: Value) -> Value:
    graph, chances = decision.graph, decision.apply("Sigmoid")
    n_outputs = graph.n_outputs
    if n_outputs == 1:
        return graph.concatenated([1.0 - chances, chances])
    totals = chances.reduced("Sum", 1, keep=True)
    # far from every class, all classes are equally likely
    is_some = totals.apply("Greater", 0.0)
    return (chances / totals.where(is_some, 1.0)).where(is_some, 1.0 / n_outputs)


def _normalized(shares: Value) -> Value:
    return shares / shares.reduced("Sum", 1, keep=True)


def codes(decision: Value, chances: Value | None, cut: float | NDArray[np.float64] | None) -> Value:
    """Return codes (n,) of the predicted classes, as :func:`~distkern.model.prediction.codes_of`."""
    if cut is not None and chances is not None:
        if isinstance(cut, np.ndarray):
            return (chances * cut).apply("ArgMax", axis=1, keepdims=0)
        return chances.columns([1]).as_vector().apply("GreaterOrEqual", float(cut)).cast("INT64")
    if decision.graph.n_outputs == 1:
        return decision.as_vector().apply("Greater", 0.0).cast("INT64")
    return decision.apply("ArgMax", axis=1, keepdims=0)


def labels(found: Value, classes: NDArray[Any]) -> tuple[Value, str]:
    """Return the labels (n,) of codes, and their ONNX type; dates become strings."""
    graph = found.graph
    if classes.dtype.kind == "b":
        return graph.op("Gather", graph.constant(classes.astype(bool)), found), "BOOL"
    if classes.dtype.kind in "iu":
        return graph.op("Gather", graph.whole(classes), found), "INT64"
    if classes.dtype.kind == "f":
        return graph.op("Gather", graph.constant(classes.astype(np.float64)), found), "DOUBLE"
    texts = np.array([str(label) for label in classes.tolist()], dtype=object)
    return graph.op("Gather", graph.constant(texts), found), "STRING"


def in_order(quantiles: Value, levels: tuple[float, ...]) -> Value:
    """Return predicted quantiles (n, n_levels), sorted in each row as their levels are."""
    graph = quantiles.graph
    ascending = graph.sorted_rows(quantiles, len(levels))
    return ascending.columns(np.argsort(np.argsort(levels, kind="stable"), kind="stable"))
