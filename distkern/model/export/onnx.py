"""``distkern.model.export``: a fitted model as an ONNX file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.python_words import in_python
from distkern.core.version import __version__
from distkern.data.store.atomic import write_bytes_atomic
from distkern.data.store.places import Location, place_of
from distkern.model.export.answers import codes, in_order, labels, probabilities
from distkern.model.export.bases import combined
from distkern.model.export.graph import IR_VERSION, OPSET, Graph, Value, onnx_library
from distkern.model.export.kernels import refusal
from distkern.model.export.rows import scaled
from distkern.model.value import FittedModel

#: protobuf holds no larger message
_MOST_BYTES = 2**31 - 2**20


@in_python
def export(model: Any, path: Location) -> None:
    """Write a fitted model as an ONNX file, for serving without Python or without this package.

    The file holds scaling, transforms and metric of the columns, kernel or random features, and what makes
    labels and probabilities. It computes in double precision and agrees with ``predict``,
    ``predict_proba`` and ``decision_function`` within 1e-5 (labels where no class is that near to another).

    ======= ================================== ========================================================
    name    shape                              what
    ======= ================================== ========================================================
    X       (n_rows, n_features) float32       input: the columns of ``fit`` in their order and units
    label   (n_rows,)                          of classifiers; dates are texts
    probabilities (n_rows, n_classes) float32  of classifiers that have ``predict_proba``
    decision (n_rows,) or (n_rows, n_classes) float32  of classifiers
    prediction (n_rows,) or (n_rows, n_quantiles) float32  of regressors
    ======= ================================== ========================================================

    Parameters
    ----------
    model : estimator
        Fitted: a linear machine, or one over landmarks, Nystroem features or random features.
    path : str or path-like
        File to write, as ``"model.onnx"``.

    Raises
    ------
    InputError
        If the package ``onnx`` is missing (``pip install 'distkern[onnx]'``), or the model has no formula in
        ONNX: machines in cells, models of encoded columns (texts, categories, dates), novelty detectors,
        density ratios, random features of the polynomial kernel; the message names the reason.

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
    helper, types = onnx_library().helper, onnx_library().TensorProto
    fitted, kind = _checked(model), type(model).__name__
    coefficients = np.asarray(fitted.coefficients, dtype=np.float64)
    graph = Graph(fitted.n_outputs)
    rows = scaled(Value(graph, "X").cast("DOUBLE"), fitted.columns.scaling)
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
    facts = {"algorithm": fitted.told_name, **({"feature_names": json.dumps(names)} if names else {})}
    helper.set_model_props(made, facts)
    if made.ByteSize() > _MOST_BYTES:
        raise refusal(f"the file would have {made.ByteSize():,} bytes, and ONNX files have at most 2 GiB")
    onnx_library().checker.check_model(made)
    write_bytes_atomic(place_of(path), made.SerializeToString())


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
        found["decision"] = (decision.without_axis(1), "FLOAT", [])
    elif len(classes) == 2:
        # two classes that compete: the second's lead
        lead = decision.columns([1]) - decision.columns([0])
        found["decision"] = (lead.without_axis(1), "FLOAT", [])
    else:
        found["decision"] = (decision, "FLOAT", [model.n_outputs])
    return found


def _of_numbers(model: FittedModel, decision: Value) -> Answers:
    if model.n_outputs == 1:
        return {"prediction": (decision.without_axis(1), "FLOAT", [])}
    return {"prediction": (in_order(decision, model.levels), "FLOAT", [model.n_outputs])}


def _checked(estimator: Any) -> FittedModel:
    """The model of an estimator; refuses what is no fitted one, and what has no formula."""
    name = type(estimator).__name__
    if not hasattr(estimator, "hyperparameters") or not hasattr(type(estimator), "task"):
        raise InputError(f"a {name} is no model of distkern", where="model", hint="give a fitted estimator")
    if estimator.task == "none" or name == "DSGDensityRatio":
        raise refusal(f"{name} says other things of rows than labels, probabilities or numbers")
    check_is_fitted(estimator)
    model: FittedModel = estimator.model_
    table = model.columns.table
    if table is not None and not table.is_mere:
        encoded = [column.name for column in table.columns if not column.is_itself]
        shown = ", ".join(map(repr, encoded[:3])) + (", ..." if len(encoded) > 3 else "")
        raise refusal(f"the model encodes columns of a table ({shown}), which has no formula in ONNX")
    return model
