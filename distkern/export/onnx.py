"""``distkern.export``: a fitted model as an ONNX file."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from distkern.common.errors import InputError
from distkern.common.python_words import in_python
from distkern.common.version import __version__
from distkern.export.answers import codes, in_order, labels, probabilities
from distkern.export.bases import combined
from distkern.export.graph import IR_VERSION, OPSET, Graph, Value, onnx_library
from distkern.export.kernels import refusal
from distkern.export.rows import scaled
from distkern.storage.atomic import write_bytes_atomic
from distkern.storage.places import Location, place_of

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
    _check(model)
    coefficients = np.asarray(model.coefficients_, dtype=np.float64)
    graph = Graph(coefficients.shape[1])
    basis = model.applied_basis(np.float64)
    rows = scaled(Value(graph, "X").cast("DOUBLE"), model.scaling_)
    decision = combined(basis, rows, coefficients) + np.asarray(model.constants_, dtype=np.float64)
    answers = _of_classes(model, decision) if model.task == "classification" else _of_numbers(model, decision)
    outputs = []
    for name, (value, kind, shape) in answers.items():
        graph.named(value if kind in ("STRING", "INT64", "BOOL", "DOUBLE") else value.cast(kind), name)
        outputs.append(helper.make_tensor_value_info(name, getattr(types, kind), ["n_rows", *shape]))
    given = helper.make_tensor_value_info("X", types.FLOAT, ["n_rows", int(model.width_)])
    made = helper.make_model(
        helper.make_graph(graph.nodes, type(model).__name__, [given], outputs, graph.constants),
        producer_name="distkern",
        producer_version=__version__,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    made.ir_version = IR_VERSION
    names = [str(name) for name in getattr(model, "feature_names_in_", [])]
    facts = {"algorithm": model.name, **({"feature_names": json.dumps(names)} if names else {})}
    helper.set_model_props(made, facts)
    if made.ByteSize() > _MOST_BYTES:
        raise refusal(f"the file would have {made.ByteSize():,} bytes, and ONNX files have at most 2 GiB")
    onnx_library().checker.check_model(made)
    write_bytes_atomic(place_of(path), made.SerializeToString())


Answers = dict[str, tuple[Value, str, list[int]]]


def _of_classes(model: Any, decision: Value) -> Answers:
    classes, n_outputs = model.classes_, decision.graph.n_outputs
    chances = None
    if model._chances() is not None:
        chances = probabilities(model._loss(), decision, model.class_weights_)
    label, kind = labels(codes(decision, chances, model._cut()), classes)
    found: Answers = {"label": (label, kind, [])}
    if chances is not None:
        found["probabilities"] = (chances, "FLOAT", [len(classes)])
    if n_outputs == 1:
        found["decision"] = (decision.without_axis(1), "FLOAT", [])
    elif len(classes) == 2:
        # two classes that compete: the second's lead
        lead = decision.columns([1]) - decision.columns([0])
        found["decision"] = (lead.without_axis(1), "FLOAT", [])
    else:
        found["decision"] = (decision, "FLOAT", [n_outputs])
    return found


def _of_numbers(model: Any, decision: Value) -> Answers:
    n_outputs = decision.graph.n_outputs
    if n_outputs == 1:
        return {"prediction": (decision.without_axis(1), "FLOAT", [])}
    return {"prediction": (in_order(decision, model._loss().levels), "FLOAT", [n_outputs])}


def _check(model: Any) -> None:
    """Refuse what is no fitted model, and what has no formula."""
    if not hasattr(model, "hyperparameters") or not hasattr(type(model), "task"):
        raise InputError(
            f"a {type(model).__name__} is no model of distkern", where="model", hint="give a fitted estimator"
        )
    model._fitted()
    name = type(model).__name__
    if model.task == "none" or name == "DSGDensityRatio":
        raise refusal(f"{name} says other things of rows than labels, probabilities or numbers")
    if model.table_ is not None and not model.table_.is_mere:
        encoded = [column.name for column in model.table_.columns if not column.is_mere]
        shown = ", ".join(map(repr, encoded[:3])) + (", ..." if len(encoded) > 3 else "")
        raise refusal(f"the model encodes columns of a table ({shown}), which has no formula in ONNX")
